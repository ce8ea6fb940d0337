//! Method behind the figures, and its limits.

use crate::results::stopping::sentences;
use crate::results::summary::Summary;
use crate::words::labels::MEANINGS;
use crate::words::text::sentence;
use assay_lang::{tr, translated};
use assay_model::job::Content;
use assay_model::plan::{Place, Plan};
use assay_model::units::Bytes;
use maud::{Markup, html};

/// Describes the data that was read and overwritten.
fn written(plan: &Plan) -> String {
    let size = plan.file_size;
    let region = match &plan.place {
        Place::File { .. } => {
            return tr!(
                "An existing file was read ({size}); nothing was written",
                size
            );
        }
        Place::Simulated { .. } => {
            return tr!(
                "Nothing was measured: a model of a device computed all figures, each trial on a new one that is idle and empty"
            )
            .to_owned();
        }
        Place::Directory { .. } | Place::Device { .. } if is_of_steps(plan) => {
            return tr!(
                "What was written and read, and with which contents, is what each step says of itself"
            )
            .to_owned();
        }
        Place::Memory => return tr!("Main memory was measured; no storage took part").to_owned(),
        Place::Directory { .. } => tr!("A test file of {size}", size),
        Place::Device { .. } => tr!("A region of {size} of the device", size),
    };
    let contents = if plan.jobs.iter().any(|p| p.job.content == Content::Zero) {
        tr!("some jobs write zeros, which a controller may compress")
    } else {
        tr!("contents neither compress nor repeat")
    };
    tr!(
        "{region} was really written before it was read, so that reads hit no holes; {contents}",
        region,
        contents
    )
}

/// Returns true if the trials are steps of a work, which has no test file of its own.
fn is_of_steps(plan: &Plan) -> bool {
    plan.file_size == Bytes(0)
}

/// The order of trials.
fn order(plan: &Plan) -> String {
    if is_of_steps(plan) {
        return tr!(
            "The steps were done in the order of the work, all of them once in each repetition (seed {seed}).",
            seed = plan.seed
        );
    }
    tr!(
        "The trials of all jobs were run in rounds, each round in a new random order (seed {seed}), so that heat, wear and filling caches fall on all jobs alike.",
        seed = plan.seed
    )
}

/// Renders the meanings of all labels.
pub fn labels() -> Markup {
    html! {
        dl {
            @for (label, meaning) in MEANINGS {
                dt { span class={ "label " (label) } { (translated(label)) } }
                dd { (sentence(translated(meaning))) }
            }
        }
    }
}

pub fn markup(summary: &Summary<'_>) -> Markup {
    let plan = &summary.run.header.plan;
    html! {
        h3 { (tr!("Labels")) }
        (labels())
        p {
            (tr!("The device's share is the smaller of two witnesses: the block layer's counters of the device that \
             holds the file, and what the kernel accounts to the measuring process, less what is still dirty in \
             the test file. A witness that is missing is not replaced by a guess."))
        }
        h3 { (tr!("How it was measured")) }
        ul {
            li { (order(plan)) }
            @for how in sentences(summary.run) {
                li { (tr!("The run: {how}.", how)) }
            }
            li { (sentence(&written(plan))) }
            li { (tr!("Every I/O is timed. Flushes that a job asks for lie within its measured time.")) }
            li { (tr!("Intervals without a completion are kept, and so are the longest gaps.")) }
            li { (tr!("A result is the median over completed trials; a trial is never dropped for its value. Failed and skipped trials make no figure and are listed.")) }
            li { (tr!("1 MB/s is a million bytes per second; 1 MiB is 1 048 576 bytes.")) }
        }
        h3 { (tr!("What it cannot tell")) }
        ul {
            li { (tr!("The figures are of this one device, in its present state of wear and fill, on this machine and kernel.")) }
            li { (tr!("Evidence ends at the device's connector: what a controller does with acknowledged data is not seen, and a device that lies about its cache is believed.")) }
            li { (tr!("With few trials the intervals are wide; two runs are compared by a comparison, not by their medians.")) }
            li { (tr!("Beneath a loop device, a virtual machine or a network, somebody else's cache may answer.")) }
        }
    }
}
