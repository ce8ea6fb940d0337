//! Evidence of every trial: its label, and the reasons for it.

use crate::document::{Block, Cell, Column, Keep, Section, Table, TableRow};
use crate::results::describe;
use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use crate::words::format::celsius;
use crate::words::labels::Labels;
use crate::words::style::Tone;
use crate::words::text::{clean, numbered};
use assay_judge::{DirectionEvidence, Measured};
use assay_lang::{counted, tr, translated};
use assay_model::evidence::{CpuState, Evidence, Snapshot};
use assay_model::job::Direction;
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use assay_model::work::StepDetail;
use std::collections::BTreeMap;

/// Returns the evidence, folded by job, of as many trials as fit a page.
pub(super) fn section(summary: &Summary<'_>) -> Section {
    let mut section = Section::new("evidence", tr!("Evidence"));
    let has_measured =
        |job: &&JobSummary<'_>| job.trials.iter().any(|trial| trial.measured().is_some());
    let jobs: Vec<&JobSummary<'_>> = summary.jobs.iter().filter(has_measured).collect();
    if jobs.is_empty() {
        return section;
    }
    section.say(
        tr!("What the kernel said just before and just after each trial, and the label that follows from it. \
             A dash means that the kernel does not tell."),
        Some(Tone::Soft),
    );
    let most = room(jobs.len());
    let jobs = jobs
        .into_iter()
        .map(|job| Block::Details(of_job(job, most)));
    section.blocks.extend(jobs);
    section
}

/// Returns the number of trials listed for each of `jobs` jobs: a page must stay small enough to be
/// opened.
fn room(jobs: usize) -> usize {
    /// Maximum number of rows on a page.
    const ROWS: usize = 600;
    (ROWS / jobs.max(1)).clamp(2, 40)
}

/// Selects the trials to list: those with the rarest labels first.
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

fn of_job(job: &JobSummary<'_>, most: usize) -> Section {
    let both = job.job.rw.reads() && job.job.rw.writes();
    let directions = [Direction::Read, Direction::Write].into_iter();
    let labels = directions.filter_map(|direction| {
        let labels = job.labels(Some(direction));
        let direction = describe::direction(direction);
        match both {
            _ if labels.is_empty() => None,
            true => Some(format!("{direction}: {labels}")),
            false => Some(labels.to_string()),
        }
    });
    let title: Vec<String> = std::iter::once(clean(&job.job.name))
        .chain(labels)
        .collect();
    let mut section = Section::new("job", title.join("; "));
    let listed = listed(job, most);
    let measured = job.trials.iter().filter(|trial| trial.measured().is_some());
    let left_out = measured.count() - listed.len();
    if left_out > 0 {
        section.say(counted!(
            left_out,
            "{n} more trial with labels such as these: assay report -o run.csv, or assay show --json, has them all.",
            "{n} more trials with labels such as these: assay report -o run.csv, or assay show --json, has them all."
        ), None);
    }
    section.table(table(listed.into_iter()));
    section
}

/// Returns every trial of a run: cells of matrices in the order of measurement, other jobs in
/// reading order.
pub(crate) fn of_all(summary: &Summary<'_>) -> Table {
    let mut jobs: Vec<&JobSummary<'_>> = summary.jobs.iter().collect();
    jobs.sort_by_key(|job| {
        let first = job.trials.first().filter(|_| job.is_cell());
        first.map(|trial| trial.record.position)
    });
    table(jobs.into_iter().flat_map(|job| &job.trials))
}

/// Returns a row for each direction, and one for a trial without I/O.
fn table<'t, 'a: 't>(trials: impl Iterator<Item = &'t JudgedTrial<'a>>) -> Table {
    Table {
        columns: vec![
            Column::text(tr!("Job")).keep(Keep::Workbook),
            Column::text(tr!("What it did")).keep(Keep::Workbook),
            Column::number(tr!("File, KiB")).keep(Keep::Workbook),
            Column::number(tr!("Record, KiB")).keep(Keep::Workbook),
            Column::text(tr!("Trial")),
            Column::text(tr!("Outcome")).keep(Keep::Workbook),
            Column::text(tr!("Of")),
            Column::text(tr!("Label")),
            Column::number(tr!("Device share")),
            Column::number(tr!("Bytes moved")).keep(Keep::Workbook),
            Column::text(tr!("Bytes by layer")),
            Column::number(tr!("Flushes")),
            Column::text(tr!("Volatile cache")),
            Column::number(tr!("Dirty at stop")),
            Column::text(tr!("Others on the device")),
            Column::text(tr!("Queue")).keep(Keep::Screen),
            Column::text(tr!("CPU and heat")).keep(Keep::Screen),
            Column::text(tr!("Condition")).keep(Keep::Workbook),
            Column::text(tr!("Because")),
        ],
        rows: trials.flat_map(rows).collect(),
    }
}

fn rows(trial: &JudgedTrial<'_>) -> Vec<TableRow> {
    let directions: Vec<_> = trial.directions().collect();
    if directions.is_empty() {
        let labels = trial.labels(None).into_iter().collect();
        return vec![row(trial, None, labels)];
    }
    let rows = directions.into_iter().map(|(direction, evidence)| {
        let label = std::iter::once(evidence.measured.clone()).collect();
        row(trial, Some((direction, evidence)), label)
    });
    rows.collect()
}

fn row(
    trial: &JudgedTrial<'_>,
    judged: Option<(Direction, &DirectionEvidence)>,
    labels: Labels,
) -> TableRow {
    let record = trial.record;
    let evidence = judged.map(|(_, evidence)| evidence);
    let iozone = match record.detail.as_deref() {
        Some(StepDetail::Iozone(cell)) => {
            [Cell::count(cell.file_kib), Cell::count(cell.record_kib)]
        }
        _ => [Cell::Empty, Cell::Empty],
    };
    let [file, size] = iozone;
    let outcome = translated(record.outcome.word());
    let number = match record.outcome {
        Outcome::Completed => numbered(record.trial).into(),
        _ => format!("{} ({outcome})", numbered(record.trial)).into(),
    };
    let because = evidence.map_or(tr!("no evidence of bytes moved").to_owned(), |evidence| {
        clean(&evidence.because)
    });
    let volatile = evidence.and_then(|evidence| evidence.volatile_cache);
    let dirty = evidence.and_then(|evidence| evidence.dirty_bytes_at_stop);
    TableRow::new(vec![
        clean(&record.job.name).into(),
        clean(&describe::job(&record.job)).into(),
        file,
        size,
        number,
        outcome.into(),
        judged.map_or(Cell::Empty, |(direction, _)| {
            describe::direction(direction).into()
        }),
        Cell::Labels(labels),
        evidence
            .and_then(|evidence| evidence.device_share)
            .map_or(Cell::Unknown, Cell::Ratio),
        evidence.map_or(Cell::Unknown, |evidence| Cell::Bytes(evidence.job_bytes)),
        evidence.map_or(Cell::Unknown, layers),
        evidence
            .and_then(|evidence| evidence.flushes)
            .map_or(Cell::Unknown, Cell::count),
        Cell::known(volatile.map(|volatile| if volatile { tr!("yes") } else { tr!("no") })),
        dirty.map_or(Cell::Unknown, Cell::Bytes),
        Cell::known(others(trial)),
        record.evidence.as_ref().map_or(Cell::Unknown, queues),
        Cell::known(record.evidence.as_ref().and_then(cpu_and_heat)),
        record
            .condition
            .as_deref()
            .map_or(Cell::Empty, |condition| clean(condition).into()),
        because.into(),
    ])
}

fn layers(evidence: &DirectionEvidence) -> Cell {
    let layers = evidence.layers.iter();
    let layers = layers.map(|(name, bytes)| format!("{}: {}", clean(name), Bytes(*bytes)));
    layers.collect::<Vec<_>>().join("; ").into()
}

fn queues(evidence: &Evidence) -> Cell {
    let queues = evidence.queues.iter().map(|queue| {
        let name = clean(&queue.name);
        let scheduler = clean(queue.scheduler.as_deref().unwrap_or("-"));
        let ahead = queue.read_ahead_kib;
        let ahead = ahead.map_or_else(String::new, |kib| tr!(", read-ahead {kib} KiB", kib));
        format!("{name}: {scheduler}{ahead}")
    });
    queues.collect::<Vec<_>>().join("; ").into()
}

/// Describes the I/O of other programs on the device; `None` if the kernel does not report it.
fn others(trial: &JudgedTrial<'_>) -> Option<String> {
    let foreign = trial.derived.judgement.as_ref()?.foreign.as_ref()?;
    if foreign.read_bytes == 0 && foreign.write_bytes == 0 {
        return Some(tr!("none").to_owned());
    }
    let (read, written) = (Bytes(foreign.read_bytes), Bytes(foreign.write_bytes));
    let who: Vec<String> = foreign
        .processes
        .iter()
        .map(|process| format!("{} [{}]", clean(&process.name), process.pid))
        .collect();
    Some(tr!(
        "read {read}, wrote {written} {who}",
        read,
        written,
        who = who.join(", ")
    ))
}

fn cpu_and_heat(evidence: &Evidence) -> Option<String> {
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
    (!words.is_empty()).then(|| words.join(", "))
}

fn fastest(cpus: &[CpuState]) -> Option<u64> {
    cpus.iter().filter_map(|cpu| cpu.khz).max()
}
