//! Describes series and their changes; safe to display.

use crate::results::describe;
use crate::words::{change, clean, quantity, utc};
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::{
    Circumstance, CircumstanceChange, Opinion, OpinionState, SeriesChange, StoredSeries, Turn,
};

/// Series and its last change.
#[derive(Clone, Debug)]
pub struct ListedSeries {
    /// The series.
    pub series: StoredSeries,
    /// Newest change of the series; `None` if it has none.
    pub change: Option<SeriesChange>,
    /// True if the change is an open slowdown since the requested time.
    pub is_new: bool,
}

/// Names a series on its device: `rand-read-4k: read`, with the condition.
pub fn name(series: &StoredSeries) -> String {
    let metric = describe::spoken(&format!("{}: {}", series.job, series.metric), false);
    match series.condition.is_empty() {
        true => metric,
        false => tr!(
            "{metric} under {condition}",
            metric,
            condition = clean(&series.condition)
        ),
    }
}

/// Names the device of a series and its machine.
pub fn device(series: &StoredSeries) -> String {
    let model = match series.unit.is_empty() {
        true => clean(&series.model),
        false => clean(&format!("{} ({})", series.model, series.unit)),
    };
    match series.target.is_empty() {
        true => model,
        false => tr!(
            "{device} on {machine}",
            device = model,
            machine = clean(&series.target)
        ),
    }
}

/// Formats the day of a time: `2026-11-03`.
pub fn day(unix_ms: u64) -> String {
    utc(unix_ms).chars().take(10).collect()
}

/// Describes a change in one sentence, without its events.
pub fn sentence(series: &StoredSeries, of: &SeriesChange) -> String {
    let value = |centre| quantity(series.unit_of_measure, centre);
    let effect = of.effect_percent.map_or_else(String::new, change);
    let parts = (
        day(of.started_unix_ms),
        clean(&of.run),
        value(of.before.centre),
        value(of.after.centre),
    );
    let (day, run, before, after) = parts;
    let text = match of.turn {
        Turn::Slower => tr!(
            "slower, {effect}, since {day} (run {run}): {before} before, {after} after",
            effect,
            day,
            run,
            before,
            after
        ),
        Turn::Faster => tr!(
            "faster, {effect}, since {day} (run {run}): {before} before, {after} after",
            effect,
            day,
            run,
            before,
            after
        ),
    };
    format!("{}: {text}", name(series))
}

/// Describes the compared runs on both sides.
pub fn compared(of: &SeriesChange) -> String {
    let runs = |n: u32| counted!(n, "{n} run", "{n} runs");
    tr!(
        "{after} compared with {before} before it, p {p}",
        after = runs(of.after.runs),
        before = runs(of.before.runs),
        p = Probability(of.p)
    )
}

/// Probability that is formatted with few digits.
struct Probability(f64);

impl std::fmt::Display for Probability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            p if p >= 0.001 => write!(f, "{p:.3}"),
            p => write!(f, "{p:.0e}"),
        }
    }
}

/// Names of circumstances.
const CIRCUMSTANCES: [(Circumstance, &str); Circumstance::ALL.len()] = [
    (Circumstance::Unit, key!("unit")),
    (Circumstance::Firmware, key!("firmware")),
    (Circumstance::Bus, key!("bus")),
    (Circumstance::Kernel, key!("kernel")),
    (Circumstance::Scheduler, key!("scheduler")),
    (Circumstance::Governor, key!("governor")),
    (Circumstance::WriteCache, key!("write cache")),
    (Circumstance::FileSystem, key!("file system")),
    (Circumstance::Machine, key!("machine")),
    (Circumstance::Cpu, key!("CPU")),
    (Circumstance::Os, key!("system")),
    (Circumstance::Assay, key!("assay")),
];

/// Describes an event: `firmware: 3.1 -> 3.2`.
pub fn event(event: &CircumstanceChange) -> String {
    let mut known = CIRCUMSTANCES.iter();
    let known = known.find(|(circumstance, _)| circumstance.name() == event.circumstance);
    let name = known.map_or(event.circumstance.as_str(), |(_, words)| translated(words));
    clean(&format!("{name}: {} -> {}", event.before, event.after))
}

/// Describes the events of a change in one sentence; they are possible causes, not proven ones.
pub fn events(of: &SeriesChange) -> String {
    match of.events.is_empty() {
        true => tr!("nothing that runs record changed with it").to_owned(),
        false => {
            let all: Vec<String> = of.events.iter().map(event).collect();
            tr!("changed with it: {events}", events = all.join("; "))
        }
    }
}

/// Describes a user's opinion of a change in one sentence.
pub fn opinion(of: &Opinion) -> String {
    let (author, day) = (clean(&of.author), day(of.at_unix_ms));
    let said = match of.state {
        OpinionState::Accepted => tr!("accepted by {author} on {day}", author, day),
        OpinionState::False => tr!("marked as no change by {author} on {day}", author, day),
    };
    match of.note.is_empty() {
        true => said,
        false => format!("{said}: {}", clean(&of.note)),
    }
}
