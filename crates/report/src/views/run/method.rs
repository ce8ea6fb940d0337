//! Method of the measurement and its limits.

use crate::document::{Block, Fact, Section};
use crate::results::stopping::sentences;
use crate::results::summary::Summary;
use crate::words::labels::MEANINGS;
use crate::words::sentence;
use assay_lang::{tr, translated};
use assay_model::job::Content;
use assay_model::plan::{Place, Plan};
use assay_model::units::Bytes;

/// Describes the data that was read and overwritten.
fn written(plan: &Plan) -> String {
    let size = plan.file_size;
    let region = match &plan.place {
        Place::File { .. } => {
            return tr!(
                "An existing file or device was read ({size}); nothing was written",
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

/// Returns true if the trials are steps of a workload, which has no test file.
fn is_of_steps(plan: &Plan) -> bool {
    plan.file_size == Bytes(0)
}

/// Describes the order of trials.
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

/// Returns the labels with their meanings.
pub(crate) fn labels() -> [Block; 2] {
    let meanings = MEANINGS.iter().map(|(label, meaning)| Fact {
        name: translated(label).to_owned(),
        text: sentence(translated(meaning)),
        tone: None,
    });
    [
        Block::Heading(tr!("Labels").to_owned()),
        Block::Facts(meanings.collect()),
    ]
}

/// Describes how a run was measured, and the limits of its figures.
pub(super) fn section(summary: &Summary<'_>) -> Section {
    let plan = &summary.run.header.plan;
    let mut section = Section::new("method", tr!("Method and limits"));
    section.blocks.extend(labels());
    section.say(
        tr!("The device's share is the smaller of two witnesses: the block layer's counters of the device that \
             holds the file, and what the kernel accounts to the measuring process, less what is still dirty in \
             the test file. A witness that is missing is not replaced by a guess."),
        None,
    );
    let stopping = sentences(summary.run).into_iter();
    let stopping = stopping.map(|how| tr!("The run: {how}.", how));
    let measured = [
        sentence(&written(plan)),
        tr!("Every I/O is timed. Flushes that a job asks for lie within its measured time.").to_owned(),
        tr!("Intervals without a completion are kept, and so are the longest gaps.").to_owned(),
        tr!("A result is the median over completed trials; a trial is never dropped for its value. Failed and skipped trials make no figure and are listed.").to_owned(),
        tr!("1 MB/s is a million bytes per second; 1 MiB is 1 048 576 bytes.").to_owned(),
    ];
    let measured = std::iter::once(order(plan)).chain(stopping).chain(measured);
    section.heading(tr!("How it was measured"));
    section.list(measured.collect());
    section.heading(tr!("What it cannot tell"));
    let limits = [
        tr!(
            "The figures are of this one device, in its present state of wear and fill, on this machine and kernel."
        ),
        tr!(
            "Evidence ends at the device's connector: what a controller does with acknowledged data is not seen, and a device that lies about its cache is believed."
        ),
        tr!(
            "With few trials the intervals are wide; two runs are compared by a comparison, not by their medians."
        ),
        tr!(
            "Beneath a loop device, a virtual machine or a network, somebody else's cache may answer."
        ),
    ];
    section.list(limits.map(str::to_owned).into());
    section
}
