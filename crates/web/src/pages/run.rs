//! Page of a run or an import.

use super::{Here, reply, site};
use crate::asked::{Asked, address, segment};
use crate::reply::{Problem, Reply};
use crate::stored::{Stored, found, load};
use assay_lang::tr;
use assay_report::{facts, html as pages};
use assay_series::standings;
use maud::{Markup, html};

/// Number of newest runs of other units that a run is compared with. Reading them takes some
/// hundredths of a second.
const NEWEST: u32 = 250;

/// Renders the page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let found = found(asked)?;
    let stored = load(asked, &found)?;
    let site = site(asked.served, Here::Runs, lead(found.id.id()));
    let page = match &stored {
        Stored::Run(run) => {
            let standings = standings(asked.store, &facts::of(run), NEWEST)?;
            let is_placed = standings.figures.iter().any(|placed| placed.primary);
            pages::markup_in(&site, run, is_placed.then_some(&standings))
        }
        Stored::Import(import) => {
            let verdicts = asked.served.program.verdicts(import);
            pages::import_in(&site, import, verdicts.as_ref())
        }
    };
    // The tag is made of the rendered page: the rank among other runs changes with the store.
    Ok(reply(&page))
}

/// Renders links to a comparison, the series and the files of a run.
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
