//! The page of a run or an import.

use super::site::{Here, reply, site};
use crate::asked::{Asked, address, segment};
use crate::reply::{Problem, Reply};
use crate::stored::{Stored, load, named};
use assay_lang::tr;
use assay_report::html as pages;
use maud::{Markup, html};

/// The page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let found = named(asked, "page")?;
    let stored = load(asked, &found)?;
    let site = site(asked.served, Here::Runs, lead(found.id.id()));
    let page = match &stored {
        Stored::Run(run) => pages::markup_in(&site, run),
        Stored::Import(import) => {
            let verdicts = asked.served.program.verdicts(import);
            pages::import_in(&site, import, verdicts.as_ref())
        }
    };
    Ok(reply(&page).tagged(found.tag))
}

/// Links to a comparison, the series and the files of a run.
fn lead(id: &str) -> Markup {
    let file = |ending: &str| format!("/runs/{}/run.{ending}", segment(id));
    html! {
        ul.ways aria-label=(tr!("This run")) {
            li { a href=(address("/compare", [("run", id)])) { (tr!("Compare with another run")) } }
            li { a href={ "/runs/" (segment(id)) "/series" } { (tr!("Its series")) } }
            li { a href=(file("json")) { (tr!("Download as JSON")) } }
            li { a href=(file("csv")) { (tr!("Download as CSV")) } }
            li { a href=(file("xlsx")) { (tr!("Download for Excel")) } }
        }
    }
}
