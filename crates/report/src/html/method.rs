//! How the figures came about, and what they cannot tell.

use crate::labels::MEANINGS;
use crate::stopping::sentences;
use crate::summary::Summary;
use assay_model::job::Content;
use assay_model::plan::{Place, Plan};
use maud::{Markup, html};

/// What was read and overwritten.
fn written(plan: &Plan) -> String {
    let size = plan.file_size;
    let region = match &plan.place {
        Place::File { .. } => {
            return format!("An existing file was read ({size}); nothing was written");
        }
        Place::Directory { .. } => format!("A test file of {size}"),
        Place::Device { .. } => format!("A region of {size} of the device"),
    };
    let contents = if plan.jobs.iter().any(|p| p.job.content == Content::Zero) {
        "some jobs write zeros, which a controller may compress"
    } else {
        "contents neither compress nor repeat"
    };
    format!(
        "{region} was really written before it was read, so that reads hit no holes; {contents}"
    )
}

/// What each label means.
pub fn labels() -> Markup {
    html! {
        dl {
            @for (label, meaning) in MEANINGS {
                dt { span class={ "label " (label) } { (label) } }
                dd { (meaning) "." }
            }
        }
    }
}

pub fn markup(summary: &Summary<'_>) -> Markup {
    let plan = &summary.run.header.plan;
    html! {
        h3 { "Labels" }
        (labels())
        p {
            "The device's share is the smaller of two witnesses: the block layer's counters of the device that \
             holds the file, and what the kernel accounts to the measuring process, less what is still dirty in \
             the test file. A witness that is missing is not replaced by a guess."
        }
        h3 { "How it was measured" }
        ul {
            li { "The trials of all jobs were run in rounds, each round in a new random order (seed " (plan.seed) "), so that heat, wear and filling caches fall on all jobs alike." }
            @for sentence in sentences(summary.run) {
                li { "The run: " (sentence) "." }
            }
            li { (written(plan)) "." }
            li { "Every I/O is timed. Flushes that a job asks for lie within its measured time." }
            li { "Intervals without a completion are kept, and so are the longest gaps." }
            li { "A result is the median over completed trials; a trial is never dropped for its value. Failed and skipped trials make no figure and are listed." }
            li { "1 MB/s is a million bytes per second; 1 MiB is 1 048 576 bytes." }
        }
        h3 { "What it cannot tell" }
        ul {
            li { "The figures are of this one device, in its present state of wear and fill, on this machine and kernel." }
            li { "Evidence ends at the device's connector: what a controller does with acknowledged data is not seen, and a device that lies about its cache is believed." }
            li { "With few trials the intervals are wide; two runs are compared by a comparison, not by their medians." }
            li { "Beneath a loop device, a virtual machine or a network, somebody else's cache may answer." }
        }
    }
}
