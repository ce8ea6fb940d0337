//! The acts of a scenario.

use super::parts;
use crate::results::findings::scenario::{lines, totals};
use crate::results::summary::Summary;
use crate::words::format::quantity;
use assay_lang::tr;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let lines = lines(summary);
    (!lines.is_empty()).then(|| {
        html! {
            div.scroll.stack tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { (tr!("Step")) }
                            th.n scope="col" { (tr!("Time")) }
                            th.n scope="col" { (tr!("Rate")) }
                            th.n scope="col" { (tr!("Slowest operation")) }
                            th.n scope="col" { (tr!("Longest gap")) }
                            th.n scope="col" { (tr!("Deadlines missed")) }
                            th scope="col" { (tr!("Found")) }
                        }
                    }
                    tbody {
                        @for line in &lines {
                            tr {
                                th scope="row" { (line.name) }
                                td.n.main data-name=(tr!("Time")) { (line.time) }
                                td.n data-name=(tr!("Rate")) { (line.rate) }
                                td.n data-name=(tr!("Slowest operation")) { (line.slowest) }
                                td.n data-name=(tr!("Longest gap")) { (line.gap) }
                                td.n data-name=(tr!("Deadlines missed")) { (line.missed) }
                                td { @if let Some(found) = &line.found { (found) } }
                            }
                        }
                    }
                }
            }
            @for (scenario, total) in totals(summary) {
                p {
                    (tr!("All of {scenario}: ", scenario)) b { (quantity(total.unit, total.stats.median)) }
                    " (" (parts::spread(&total)) ")"
                }
            }
        }
    })
}
