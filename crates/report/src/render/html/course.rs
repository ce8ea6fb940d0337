//! Rate over time: of sequential and sustained jobs, and of every other trial
//! in which something stood still.

use super::figure;
use crate::charts::data::Gallery;
use assay_lang::{counted, tr};
use maud::{Markup, html};

/// Courses that are drawn.
const DRAWN: usize = 60;

pub fn markup(gallery: &Gallery) -> Option<Markup> {
    let charts = &gallery.courses;
    let left_out = gallery.courses_left_out + charts.len().saturating_sub(DRAWN);
    (!charts.is_empty()).then(|| {
        html! {
            p.soft {
                (tr!("Reads and writes together, in intervals of the trial's series. The lane below the curve marks \
                 every interval in which nothing completed. Dashed lines are steady levels, drawn where the \
                 rate changed for good. A long curve is thinned out to the smallest and the largest rate of \
                 each stretch, so that no dip is lost."))
            }
            @if left_out > 0 {
                p { (counted!(
                    left_out,
                    "{n} more trial of these jobs have no curve here; those that stood still longest have one.",
                    "{n} more trials of these jobs have no curve here; those that stood still longest have one."
                )) }
            }
            div.charts { @for chart in charts.iter().take(DRAWN) { (figure::of(chart)) } }
        }
    })
}
