//! Error pages.

use super::site::{Here, section, site};
use crate::reply::Problem;
use crate::served::Served;
use assay_lang::tr;
use assay_report::text::clean;
use maud::{Markup, html};

/// Renders the page of a problem.
pub fn page(served: &Served, problem: &Problem) -> String {
    let title = match problem {
        Problem::Missing(_) => tr!("Nothing is here"),
        Problem::Wrong(_) => tr!("This cannot be shown"),
        _ => tr!("The results cannot be read now"),
    };
    let contents = html! {
        p { (words(problem)) }
        p { a href="/runs" { (tr!("All runs")) } }
    };
    let main = section("problem", title, &contents);
    let page = site(served, Here::Elsewhere, Markup::default()).page(title, &main);
    page.into_string()
}

/// Describes a problem in a sentence.
pub fn words(problem: &Problem) -> String {
    match problem {
        Problem::Missing(what) => tr!("There is no {what}.", what = clean(what)),
        Problem::Wrong(why) => clean(why),
        Problem::Store(error) => tr!(
            "The store failed: {error}",
            error = clean(&error.to_string())
        ),
        Problem::Busy => tr!("Too many requests wait: try again in a few seconds.").to_owned(),
        Problem::Broken | Problem::Unchanged(_) => {
            tr!("assay failed on this request: the other pages still work.").to_owned()
        }
    }
}
