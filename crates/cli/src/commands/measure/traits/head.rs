//! Heading of the traits: the run, the device, and the part of it that was asked.

use super::found::Found;
use assay_flash::traits::Trait;
use assay_flash::traits::ask::TraitJob;
use assay_lang::{counted, tr, translated};
use assay_model::run::{Run, RunStatus};
use assay_model::trial::Outcome;
use assay_report::document::Section;
use assay_report::text::clean;
use assay_report::words::style::Tone;
use serde_json::{Value, json};

/// Returns the number of trials of each trait's points; 1 where only the long write was asked for.
fn trials_of_points(run: &Run) -> u32 {
    let jobs = run.header.plan.jobs.iter();
    let points = jobs
        .filter(|planned| TraitJob::of(&planned.job).is_some_and(|asked| asked.what != Trait::Slc));
    points.map(|planned| planned.trials).max().unwrap_or(1)
}

fn completed(run: &Run) -> usize {
    let trials = run.trials.iter();
    trials
        .filter(|trial| trial.outcome == Outcome::Completed)
        .count()
}

/// Says where, how often and what was measured, and how far it came unless that is all of it.
pub fn say(run: &Run, found: &Found, section: &mut Section) {
    let header = &run.header;
    let each = counted!(
        trials_of_points(run),
        "{n} trial of each point",
        "{n} trials of each point"
    );
    let place = tr!(
        "{size} of {path}, {each}",
        size = header.plan.file_size,
        path = clean(&header.plan.place.path().display().to_string()),
        each
    );
    let labels: Vec<&str> = found.labels.iter().map(|one| translated(one)).collect();
    let said = match labels.is_empty() {
        true => place,
        false => tr!(
            "{place}; figures: {labels}",
            place,
            labels = labels.join(", ")
        ),
    };
    section.say(said, None);
    let (done, planned) = (completed(run), header.plan.order.len());
    if run.status != RunStatus::Finished || done < planned {
        let status = translated(run.status.word());
        let far = tr!(
            "{status}: {done} of {planned} trials completed",
            status,
            done,
            planned
        );
        section.say(far, Some(Tone::Care));
    }
}

/// The same for programs, with the traits.
pub fn value(run: &Run, found: &Found, traits: &[Value]) -> Value {
    let header = &run.header;
    json!({
        "schema": 1,
        "run": header.id,
        "status": run.status.word(),
        "device": header.storage.words(),
        "path": header.plan.place.path().display().to_string(),
        "size_bytes": header.plan.file_size.0,
        "trials": trials_of_points(run),
        "trials_completed": completed(run),
        "trials_planned": header.plan.order.len(),
        "labels": found.labels,
        "traits": traits,
    })
}
