//! Results of the memory test.

use super::steps;
use crate::results::findings::Sentence;
use crate::results::summary::Summary;
use assay_lang::{counted, tr};
use assay_model::act::memory::{BitFlip, MemoryStep, MemoryStepResult, StressStep};
use assay_model::units::Bytes;

/// Maximum number of flips to list.
const FLIPS_TOLD: usize = 10;

fn stressed<'a>(summary: &Summary<'a>) -> Vec<&'a StressStep> {
    let steps = steps(summary).into_iter();
    let stressed = steps.filter_map(|step| match &step.found {
        MemoryStepResult::Stress(found) => Some(found),
        MemoryStepResult::Bandwidth(_) | MemoryStepResult::Latency(_) => None,
    });
    stressed.collect()
}

/// Answers whether the memory retains written data; `None` if it was not stressed.
pub fn answer(summary: &Summary<'_>) -> Option<Sentence> {
    let all = stressed(summary);
    let tested = Bytes(all.iter().map(|step| step.tested_bytes).max()?);
    let flips: u64 = all.iter().map(|step| step.flips).sum();
    let text = match flips {
        0 => tr!(
            "No errors: {tested} of memory hold what is written to them",
            tested
        ),
        _ => tr!(
            "MEMORY IS FAULTY: {words} of {tested} did not hold what had been written",
            words = counted!(flips, "{n} word", "{n} words"),
            tested
        ),
    };
    Some(Sentence {
        bad: flips > 0,
        text,
    })
}

pub(super) fn lines(summary: &Summary<'_>) -> Vec<Sentence> {
    let all = stressed(summary);
    let Some(last) = all.last() else {
        return Vec::new();
    };
    let flips: u64 = all.iter().map(|step| step.flips).sum();
    let line = |bad, text| Sentence { bad, text };
    let mut lines = vec![line(flips > 0, verdict(&all, flips))];
    let found = all
        .iter()
        .flat_map(|step| step.first.iter().map(move |flip| (step, flip)));
    lines.extend(
        found
            .take(FLIPS_TOLD)
            .map(|(step, flip)| line(true, of_flip(step, flip))),
    );
    if flips > FLIPS_TOLD as u64 {
        let more = flips - FLIPS_TOLD as u64;
        let more = counted!(more, "{n} word", "{n} words");
        lines.push(line(true, tr!("and {more} more", more)));
    }
    if all.iter().any(|step| step.flipped_on_purpose.is_some()) {
        let text = tr!(
            "a bit was flipped on purpose, for a test of assay itself: that is no fault of this memory"
        );
        lines.push(line(false, text.to_owned()));
    }
    lines.push(line(false, coverage(last)));
    lines
}

/// Describes the flips of a step in a sentence; `None` without any.
pub fn flips(step: &MemoryStep) -> Option<String> {
    match &step.found {
        MemoryStepResult::Stress(found) if found.flips > 0 => Some(verdict(&[found], found.flips)),
        _ => None,
    }
}

fn verdict(all: &[&StressStep], flips: u64) -> String {
    let moved = Bytes(all.iter().map(|step| step.moved_bytes).sum());
    let tested = Bytes(all.iter().map(|step| step.tested_bytes).max().unwrap_or(0));
    let whole = |step: &&&StressStep| step.end_phase == step.pattern.phases();
    let patterns = counted!(
        all.iter().filter(whole).count(),
        "{n} pattern",
        "{n} patterns"
    );
    match flips {
        0 => tr!(
            "no bit flip in {tested} of memory: {patterns} done, {moved} written and read",
            tested,
            patterns,
            moved
        ),
        _ => tr!(
            "MEMORY IS FAULTY: {words} of {tested} did not hold what had been written; {patterns} done, {moved} written and read",
            words = counted!(flips, "{n} word", "{n} words"),
            tested,
            patterns,
            moved
        ),
    }
}

fn of_flip(step: &StressStep, flip: &BitFlip) -> String {
    let bits: Vec<String> = flip.bits().map(|bit| bit.to_string()).collect();
    let physical = flip.physical.map_or_else(
        || tr!("physical address unknown").to_owned(),
        |address| tr!("physical {address}", address = format!("{address:#x}")),
    );
    let cpu = step.cpus.get(flip.thread as usize).copied().flatten();
    let cpu = cpu.map_or_else(|| "?".to_owned(), |cpu| cpu.to_string());
    tr!(
        "{pattern}: address {address} ({physical}): expected {expected}, found {found} (bits {bits}) on CPU {cpu}; wrong in {wrong} of {reads} further reads",
        pattern = step.pattern.name(),
        address = format!("{:#x}", flip.address),
        physical,
        expected = format!("{:#018x}", flip.expected),
        found = format!("{:#018x}", flip.found),
        bits = bits.join(" "),
        cpu,
        wrong = flip.wrong_reads,
        reads = flip.reads
    )
}

/// Describes the memory that was not tested.
fn coverage(step: &StressStep) -> String {
    let locked = match step.locked_bytes {
        0 => tr!("none of it was locked").to_owned(),
        locked => tr!("{locked} of it were locked", locked = Bytes(locked)),
    };
    step.untested.bytes.map_or_else(
        || locked.clone(),
        |untested| {
            tr!(
                "{untested} of the machine were not tested: the kernel and other processes have them, or they are left to them; {locked}",
                untested = Bytes(untested),
                locked
            )
        },
    )
}
