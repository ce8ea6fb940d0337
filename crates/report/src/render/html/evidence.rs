//! The evidence of every trial, folded away by job.

use super::parts;
use crate::results::describe;
use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use crate::words::format::{celsius, percent};
use crate::words::text::{clean, numbered};
use assay_judge::{DirectionEvidence, Measured};
use assay_lang::{counted, key, tr, translated};
use assay_model::evidence::{CpuState, Evidence, Snapshot};
use assay_model::job::Direction;
use assay_model::units::Bytes;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let jobs: Vec<&JobSummary<'_>> = summary
        .jobs
        .iter()
        .filter(|job| job.trials.iter().any(|trial| trial.measured().is_some()))
        .collect();
    (!jobs.is_empty()).then(|| {
        html! {
            p.soft {
                (tr!("What the kernel said just before and just after each trial, and the label that follows from it. \
                 A dash means that the kernel does not tell."))
            }
            @for job in &jobs { (of_job(job, room(jobs.len()))) }
        }
    })
}

/// Returns the number of trials listed for each of `jobs` jobs: a page must stay small enough to be
/// opened.
fn room(jobs: usize) -> usize {
    /// Rows of a page.
    const ROWS: usize = 600;
    (ROWS / jobs.max(1)).clamp(2, 40)
}

/// The trials that are listed: first of all those whose labels are the rarest.
fn listed<'j, 'a>(job: &'j JobSummary<'a>, most: usize) -> Vec<&'j JudgedTrial<'a>> {
    let measured = job.trials.iter().filter(|trial| trial.measured().is_some());
    let mut trials: Vec<&JudgedTrial<'a>> = measured.collect();
    if trials.len() > most {
        let words = |trial: &JudgedTrial<'_>| -> Vec<&'static str> {
            trial.labels(None).iter().map(Measured::label).collect()
        };
        let mut counts: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        for trial in &trials {
            *counts.entry(words(trial)).or_default() += 1;
        }
        trials.sort_by_key(|trial| counts.get(&words(trial)).copied());
        trials.truncate(most);
        trials.sort_by_key(|trial| trial.record.position);
    }
    trials
}

fn of_job(job: &JobSummary<'_>, most: usize) -> Markup {
    let both = job.job.rw.reads() && job.job.rw.writes();
    let listed = listed(job, most);
    let measured = job.trials.iter().filter(|trial| trial.measured().is_some());
    let left_out = measured.count() - listed.len();
    html! {
        details {
            summary {
                strong { (clean(&job.job.name)) } " "
                @for direction in [Direction::Read, Direction::Write] {
                    @let labels = job.labels(Some(direction));
                    @if both { (describe::direction(direction)) ": " }
                    (parts::labels(&labels)) " "
                }
            }
            @if left_out > 0 {
                p { (counted!(
                    left_out,
                    "{n} more trial with labels such as these: assay report -o run.csv, or assay show --json, has them all.",
                    "{n} more trials with labels such as these: assay report -o run.csv, or assay show --json, has them all."
                )) }
            }
            div.scroll tabindex="0" {
                table {
                    thead {
                        tr {
                            @for column in COLUMNS { th scope="col" { (translated(column)) } }
                            @for column in CONDITIONS { th.beside scope="col" { (translated(column)) } }
                        }
                    }
                    tbody {
                        @for trial in listed { (of_trial(trial)) }
                    }
                }
            }
        }
    }
}

const COLUMNS: [&str; 10] = [
    key!("Trial"),
    key!("Of"),
    key!("Label"),
    key!("Because"),
    key!("Device share"),
    key!("Bytes by layer"),
    key!("Flushes"),
    key!("Volatile cache"),
    key!("Dirty at stop"),
    key!("Others on the device"),
];
/// Not printed: they are in the section on conditions.
const CONDITIONS: [&str; 2] = [key!("Queue"), key!("CPU and heat")];

fn of_trial(trial: &JudgedTrial<'_>) -> Markup {
    let number = numbered(trial.record.trial);
    let rows: Vec<(Direction, &DirectionEvidence)> = trial.directions().collect();
    let outcome = trial.record.outcome.word();
    html! {
        @if rows.is_empty() {
            tr {
                th scope="row" { (number) " " (translated(outcome)) }
                td {}
                td {
                    @if trial.derived.judgement.is_some() { (tr!("nothing moved")) }
                    @else { @for measured in trial.labels(None) { (parts::label(&measured)) } }
                }
                td colspan="7" { (tr!("no evidence of bytes moved")) }
                td.beside colspan="2" {}
            }
        }
        @for (direction, evidence) in rows {
            tr {
                th scope="row" { (number) @if outcome != "completed" { " (" (translated(outcome)) ")" } }
                td { (describe::direction(direction)) }
                td { (parts::label(&evidence.measured)) }
                (judged(evidence))
                td { (others(trial)) }
                (conditions(trial))
            }
        }
    }
}

fn judged(evidence: &DirectionEvidence) -> Markup {
    html! {
        td { (clean(&evidence.because)) }
        td { (or_dash(evidence.device_share.map(percent))) }
        td.whole {
            @for (name, bytes) in &evidence.layers {
                div { (clean(name)) ": " (Bytes(*bytes)) }
            }
        }
        td { (or_dash(evidence.flushes)) }
        td { (or_dash(evidence.volatile_cache.map(|volatile| if volatile { tr!("yes") } else { tr!("no") }))) }
        td { (or_dash(evidence.dirty_bytes_at_stop.map(Bytes))) }
    }
}

fn others(trial: &JudgedTrial<'_>) -> String {
    let foreign = trial
        .derived
        .judgement
        .as_ref()
        .and_then(|j| j.foreign.as_ref());
    let Some(foreign) = foreign else {
        return DASH.to_owned();
    };
    if foreign.read_bytes == 0 && foreign.write_bytes == 0 {
        return tr!("none").to_owned();
    }
    let (read, written) = (Bytes(foreign.read_bytes), Bytes(foreign.write_bytes));
    let who: Vec<String> = foreign
        .processes
        .iter()
        .map(|process| format!("{} [{}]", clean(&process.name), process.pid))
        .collect();
    tr!(
        "read {read}, wrote {written} {who}",
        read,
        written,
        who = who.join(", ")
    )
}

fn conditions(trial: &JudgedTrial<'_>) -> Markup {
    let evidence = trial.record.evidence.as_ref();
    html! {
        td.beside {
            @for queue in evidence.iter().flat_map(|e| &e.queues) {
                div {
                    (clean(&queue.name)) ": "
                    (clean(queue.scheduler.as_deref().unwrap_or(DASH)))
                    @if let Some(kib) = queue.read_ahead_kib { (tr!(", read-ahead {kib} KiB", kib)) }
                }
            }
        }
        td.beside { (or_dash(evidence.map(cpu_and_heat))) }
    }
}

fn cpu_and_heat(evidence: &Evidence) -> String {
    let mut words = Vec::new();
    let mut governors: Vec<&str> = Vec::new();
    for governor in evidence
        .before
        .cpus
        .iter()
        .filter_map(|c| c.governor.as_deref())
    {
        if !governors.contains(&governor) {
            governors.push(governor);
        }
    }
    words.extend(governors.iter().map(|governor| clean(governor)));
    let mhz = |snapshot: &Snapshot| fastest(&snapshot.cpus).map(|khz| khz / 1_000);
    if let (Some(before), Some(after)) = (mhz(&evidence.before), mhz(&evidence.after)) {
        words.push(if before == after {
            format!("{after} MHz")
        } else {
            tr!("{before} to {after} MHz", before, after)
        });
    }
    let hottest = evidence
        .after
        .thermal
        .iter()
        .max_by_key(|zone| zone.millicelsius);
    words.extend(
        hottest.map(|zone| format!("{} {}", clean(&zone.name), celsius(zone.millicelsius))),
    );
    if words.is_empty() {
        words.push(DASH.to_owned());
    }
    words.join(", ")
}

fn fastest(cpus: &[CpuState]) -> Option<u64> {
    cpus.iter().filter_map(|cpu| cpu.khz).max()
}

const DASH: &str = "\u{2013}";

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| DASH.to_owned(), |value| value.to_string())
}
