//! Describes and counts the results of power cuts.

use crate::results::findings::{Finding, Sentence};
use crate::words::{clean, percent};
use assay_lang::{counted, in_english, tr};
use assay_model::act::StepDetail;
use assay_model::act::powercut::{CutStep, StreamFound};
use assay_model::run::Run;
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_stats::summary::upper_bound;
use std::collections::BTreeMap;

/// Maximum number of examples.
const EXAMPLES: usize = 8;
/// Maximum number of lines from a file system check among the examples.
const DAMAGE_LINES: usize = 3;

/// Totals over all cycles of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Number of cycles.
    pub cycles: u32,
    /// Number of cycles in which a guarantee was broken.
    pub bad: u32,
    /// Number of cycles without a result: no write had been acknowledged before the cut.
    pub idle: u32,
    /// Number of cycles after which the file system could not be mounted.
    pub not_mounted: u32,
    /// Number of cycles after which the file system was checked.
    pub file_system_checks: u32,
    /// Number of cycles after which the check found damage.
    pub damaged: u32,
    /// Results by way of writing, in order of first occurrence.
    pub streams: Vec<StreamFound>,
    /// Kernel log messages, with their counts.
    pub said: BTreeMap<String, u32>,
    /// First examples of damage.
    pub examples: Vec<String>,
}

/// Sums up the power cuts of a run; `None` if it has none.
pub fn total(run: &Run) -> Option<Total> {
    let mut total = Total::default();
    for trial in &run.trials {
        if let Some(step) = cut(trial) {
            total.add(trial.trial, step);
        }
    }
    (total.cycles > 0).then_some(total)
}

fn cut(trial: &TrialRecord) -> Option<&CutStep> {
    match trial.detail.as_deref() {
        Some(StepDetail::Powercut(step)) => Some(step),
        _ => None,
    }
}

impl Total {
    fn add(&mut self, cycle: u32, step: &CutStep) {
        self.cycles += 1;
        self.bad += u32::from(step.is_bad());
        let acknowledged = step
            .found
            .streams
            .iter()
            .any(|found| found.acknowledged > 0);
        self.idle += u32::from(!acknowledged && !step.is_bad());
        self.not_mounted += u32::from(step.found.not_mounted.is_some());
        self.file_system_checks += u32::from(step.found.check.is_some());
        self.damaged += u32::from(step.damage().is_some());
        for line in &step.found.said {
            *self.said.entry(line.clone()).or_default() += 1;
        }
        let not_mounted = step.found.not_mounted.iter();
        self.examples
            .extend(not_mounted.map(|why| format!("cycle {cycle}: {why}")));
        if let Some(check) = step.damage() {
            let said = check.said.iter().take(DAMAGE_LINES);
            self.examples
                .extend(said.map(|line| format!("cycle {cycle}, {}: {line}", check.command)));
        }
        for found in &step.found.streams {
            let examples = found.examples.iter();
            self.examples
                .extend(examples.map(|what| format!("cycle {cycle}, {}: {what}", found.kind)));
            match self
                .streams
                .iter_mut()
                .find(|known| known.kind == found.kind)
            {
                Some(known) => join(known, found),
                None => self.streams.push(StreamFound {
                    examples: Vec::new(),
                    ..found.clone()
                }),
            }
        }
    }

    fn sum(&self, of: fn(&StreamFound) -> u64) -> u64 {
        self.streams.iter().map(of).sum()
    }

    /// Returns the error message of the command, in English; `None` if nothing was lost.
    pub fn failure(&self) -> Option<String> {
        in_english(|| (self.bad > 0).then(|| self.conclusion()))
    }

    /// Returns the verdict in a sentence.
    pub fn conclusion(&self) -> String {
        let acknowledged = self.sum(|stream| stream.acknowledged);
        let checked = self.sum(|stream| stream.checked);
        let cuts = counted!(self.cycles, "{n} cut", "{n} cuts");
        let bound = percent(upper_bound(self.bad, self.cycles - self.idle).unwrap_or(1.0));
        if self.bad == 0 {
            return tr!(
                "{cuts}, {acknowledged} writes acknowledged, {checked} of them checked: every one is there; a cut loses something in at most {bound} of cases (95 % confidence)",
                cuts,
                acknowledged,
                checked,
                bound
            );
        }
        tr!(
            "NOT SAFE: in {bad} of {cuts} something that was acknowledged is not there: of {checked} checked writes {lost} lost, {torn} torn, {misordered} out of order, {garbage} places with garbage, {unmounted} times no file system, {damaged} times a damaged one; up to {bound} of cuts (95 % confidence)",
            bad = self.bad,
            cuts,
            checked,
            lost = self.sum(|stream| stream.lost),
            torn = self.sum(|stream| stream.torn),
            misordered = self.sum(|stream| stream.misordered),
            garbage = self.sum(|stream| stream.garbage),
            unmounted = self.not_mounted,
            damaged = self.damaged,
            bound
        )
    }
}

fn join(known: &mut StreamFound, found: &StreamFound) {
    known.acknowledged += found.acknowledged;
    known.checked += found.checked;
    known.lost += found.lost;
    known.torn += found.torn;
    known.misordered += found.misordered;
    known.garbage += found.garbage;
    known.beyond += found.beyond;
}

/// Answers whether acknowledged data survives a power cut; `None` if there was none.
pub fn answer(run: &Run) -> Option<Sentence> {
    let total = total(run)?;
    let cuts = counted!(total.cycles, "{n} cut", "{n} cuts");
    let text = if total.bad > 0 {
        tr!(
            "NOT SAFE: acknowledged data was lost in {bad} of {cuts}",
            bad = total.bad,
            cuts
        )
    } else if total.idle == total.cycles {
        tr!("Not known: before no cut had a write been acknowledged").to_owned()
    } else {
        tr!(
            "Safe so far: nothing that was acknowledged was lost in {cuts}",
            cuts
        )
    };
    Some(Sentence {
        bad: total.bad > 0,
        text,
    })
}

/// Returns the finding over all power cuts of a run.
pub fn finding(run: &Run) -> Option<Finding> {
    let total = total(run)?;
    let mut lines = vec![total.conclusion()];
    lines.extend(total.streams.iter().map(of_stream));
    lines.extend(total.examples.iter().take(EXAMPLES).map(|line| clean(line)));
    if total.idle > 0 {
        lines.push(counted!(
            total.idle,
            "{n} cut says nothing: no write had been acknowledged before it",
            "{n} cuts say nothing: no write had been acknowledged before them"
        ));
    }
    if total.file_system_checks > 0 && total.damaged == 0 {
        lines.push(tr!(
            "the file system was checked {times} times after its journal was replayed: no damage",
            times = total.file_system_checks
        ));
    }
    let more = total.examples.len().saturating_sub(EXAMPLES);
    if more > 0 {
        lines.push(tr!("and {more} more", more));
    }
    for (line, times) in total.said.iter().take(EXAMPLES) {
        lines.push(tr!(
            "the kernel said, {times} times: {line}",
            times,
            line = clean(line)
        ));
    }
    Some(Finding::concluding(total.bad > 0, lines))
}

fn of_stream(found: &StreamFound) -> String {
    let kind = clean(&found.kind);
    let (acknowledged, checked, beyond) = (found.acknowledged, found.checked, found.beyond);
    if !found.is_bad() {
        return tr!(
            "{kind}: {acknowledged} acknowledged, {checked} checked, all there; {beyond} more were under way",
            kind,
            acknowledged,
            checked,
            beyond
        );
    }
    tr!(
        "{kind}: {acknowledged} acknowledged, {checked} checked: {lost} LOST, {torn} TORN, {misordered} OUT OF ORDER, {garbage} GARBAGE",
        kind,
        acknowledged,
        checked,
        lost = found.lost,
        torn = found.torn,
        misordered = found.misordered,
        garbage = found.garbage
    )
}

/// Describes a cycle in a line.
pub fn in_brief(step: &CutStep) -> String {
    let after = Nanos(step.after_ns);
    let away = Nanos(step.away_ns);
    if let Some(why) = &step.found.not_mounted {
        return tr!(
            "cut after {after}: NO FILE SYSTEM: {why}",
            after,
            why = clean(why)
        );
    }
    if let Some(check) = step.damage() {
        return tr!(
            "cut after {after}: THE FILE SYSTEM IS DAMAGED: {command}: {said}",
            after,
            command = clean(&check.command),
            said = clean(&check.said.join("; "))
        );
    }
    let sum = |of: fn(&StreamFound) -> u64| step.found.streams.iter().map(of).sum::<u64>();
    let acknowledged = sum(|stream| stream.acknowledged);
    if !step.is_bad() {
        return tr!(
            "cut after {after}, back after {away}: {acknowledged} acknowledged, {checked} checked, all there",
            after,
            away,
            acknowledged,
            checked = sum(|stream| stream.checked)
        );
    }
    tr!(
        "cut after {after}, back after {away}: {acknowledged} acknowledged: {lost} LOST, {torn} TORN, {misordered} OUT OF ORDER, {garbage} GARBAGE",
        after,
        away,
        acknowledged,
        lost = sum(|stream| stream.lost),
        torn = sum(|stream| stream.torn),
        misordered = sum(|stream| stream.misordered),
        garbage = sum(|stream| stream.garbage)
    )
}
