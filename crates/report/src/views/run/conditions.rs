//! Settings in force during the trials: one value if all agree, else all values.

use crate::charts::draw::Chart;
use crate::document::{Column, Section, Table, TableRow};
use crate::results::summary::Summary;
use crate::words::format::celsius;
use crate::words::style::Tone;
use crate::words::text::{Fact, clean, enumerate};
use assay_lang::{counted, tr};
use assay_model::condition::Condition;
use assay_model::evidence::{Evidence, QueueSettings, Snapshot};
use assay_model::run::Run;
use assay_model::units::Bytes;

/// Returns the settings that the kernel reported around all trials, and their course through the
/// run.
pub(super) fn section(summary: &Summary<'_>, session: Option<&Chart>) -> Section {
    let mut section = Section::new("conditions", tr!("Conditions"));
    section.table(varied(summary.run));
    let trials = summary.run.trials.iter();
    let evidence: Vec<&Evidence> = trials.filter_map(|t| t.evidence.as_ref()).collect();
    if evidence.is_empty() {
        return section;
    }
    section.say(
        tr!("As seen around all trials; where they differ, every value is listed. Each trial's own are in its evidence."),
        Some(Tone::Soft),
    );
    section.facts(facts(&evidence));
    section.charts(session.map_or(&[], std::slice::from_ref));
    section
}

/// Returns the conditions of a sweep: the settings made, and the values read back.
pub(crate) fn varied(run: &Run) -> Table {
    let rows = run.header.plan.conditions.iter().map(|condition| {
        let set = condition.settings.iter().map(ToString::to_string);
        TableRow::new(vec![
            clean(&condition.name).into(),
            trials(run, condition).into(),
            clean(&set.collect::<Vec<_>>().join("; ")).into(),
            read_back(run, condition).into(),
        ])
    });
    Table {
        columns: vec![
            Column::text(tr!("Condition")),
            Column::text(tr!("Trials")),
            Column::text(tr!("Set")),
            Column::text(tr!("Read back before its trials")),
        ],
        rows: rows.collect(),
    }
}

fn trials(run: &Run, condition: &Condition) -> String {
    let own = run
        .trials
        .iter()
        .filter(|trial| trial.condition.as_ref() == Some(&condition.name));
    let counted = own.filter(|trial| trial.counts());
    let words: Vec<&str> = counted.map(|trial| trial.outcome.word()).collect();
    let completed = words.iter().filter(|word| **word == "completed").count();
    match words.len() - completed {
        0 => counted!(completed, "{n} trial", "{n} trials"),
        others => tr!(
            "{trials} completed, {others} not",
            trials = counted!(completed, "{n} trial", "{n} trials"),
            others
        ),
    }
}

/// Returns all values read back under a condition, each once.
fn read_back(run: &Run, condition: &Condition) -> String {
    let own = run
        .trials
        .iter()
        .filter(|trial| trial.condition.as_ref() == Some(&condition.name));
    let settings = own.flat_map(|trial| &trial.in_force).map(|setting| {
        let value = setting.value.as_deref();
        let value = value.unwrap_or(tr!("cannot be read back"));
        clean(&format!("{}: {value}", setting.knob))
    });
    distinct(settings).join("; ")
}

fn facts(evidence: &[&Evidence]) -> Vec<Fact> {
    let queues = |of: fn(&QueueSettings) -> Option<String>| {
        let queues = evidence.iter().flat_map(|e| &e.queues);
        listed(queues.filter_map(|q| Some(format!("{} ({})", of(q)?, clean(&q.name)))))
    };
    let snapshots = || evidence.iter().flat_map(|e| [&e.before, &e.after]);
    let cpus = || snapshots().flat_map(|s| &s.cpus);
    let governors = listed(cpus().filter_map(|cpu| Some(clean(cpu.governor.as_deref()?))));
    let memory = snapshots().filter_map(|s| s.memory?.available_bytes);
    let facts: [(&'static str, Option<String>); 10] = [
        (
            tr!("I/O scheduler"),
            queues(|q| q.scheduler.as_deref().map(clean)),
        ),
        (
            tr!("read-ahead"),
            queues(|q| Some(format!("{} KiB", q.read_ahead_kib?))),
        ),
        (
            tr!("queue depth of the scheduler"),
            queues(|q| Some(q.nr_requests?.to_string())),
        ),
        (
            tr!("largest request"),
            queues(|q| Some(format!("{} KiB", q.max_request_kib?))),
        ),
        (tr!("write cache"), queues(|q| Some(cache(q)?.to_owned()))),
        (tr!("CPU governor"), governors),
        (
            tr!("CPU frequency"),
            span(cpus().filter_map(|c| c.khz), |khz| {
                format!("{} MHz", khz / 1_000)
            }),
        ),
        (
            tr!("memory available"),
            span(memory, |bytes| Bytes(bytes).to_string()),
        ),
        (tr!("temperature"), heat(snapshots())),
        (
            tr!("share of a trial that tasks waited for I/O"),
            pressure(evidence),
        ),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn cache(queue: &QueueSettings) -> Option<&'static str> {
    use assay_model::evidence::WriteCache;
    Some(match queue.write_cache? {
        WriteCache::Back => tr!("volatile (write back)"),
        WriteCache::Through => tr!("none (write through)"),
    })
}

fn listed(values: impl Iterator<Item = String>) -> Option<String> {
    let values = distinct(values);
    (!values.is_empty()).then(|| enumerate(&values))
}

fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn span<T: Ord + Copy>(
    values: impl Iterator<Item = T> + Clone,
    show: impl Fn(T) -> String,
) -> Option<String> {
    let (low, high) = (values.clone().min()?, values.max()?);
    let (low, high) = (show(low), show(high));
    Some(if low == high {
        low
    } else {
        tr!("{low} to {high}", low, high)
    })
}

/// Describes the temperature of the hottest zone, from the coolest to the hottest moment.
fn heat<'s>(snapshots: impl Iterator<Item = &'s Snapshot>) -> Option<String> {
    let hottest = snapshots.filter_map(|s| s.thermal.iter().map(|zone| zone.millicelsius).max());
    let hottest: Vec<i64> = hottest.collect();
    span(hottest.into_iter(), celsius)
}

fn pressure(evidence: &[&Evidence]) -> Option<String> {
    let waits = evidence.iter().filter_map(|e| {
        let (before, after) = (e.before.pressure?, e.after.pressure?);
        let elapsed_ns = e.after.at_ns.checked_sub(e.before.at_ns)?;
        let waited_ns = after.io_some_us.checked_sub(before.io_some_us)? * 1_000;
        (elapsed_ns > 0).then(|| waited_ns * 100 / elapsed_ns)
    });
    let waits: Vec<u64> = waits.collect();
    span(waits.into_iter(), |share| format!("{share} %"))
}
