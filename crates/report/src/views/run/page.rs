//! Sections of a run for pages and workbooks only, with the evidence of every trial: its label, and
//! the reasons for it.

use crate::charts::Gallery;
use crate::charts::draw::Chart;
use crate::charts::latency::{SUBJECTS, plural, records, timed};
use crate::document::{Block, Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::results::describe;
use crate::results::matrix::Matrix;
use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use crate::views::{provenance, ranking};
use crate::words::labels::Labels;
use crate::words::{NameValue, Tone, celsius, clean, labels, numbered};
use assay_judge::{DirectionEvidence, Measured};
use assay_lang::{counted, tr, translated};
use assay_model::act::StepDetail;
use assay_model::evidence::{CpuState, Evidence, Snapshot};
use assay_model::figures::Unit;
use assay_model::job::Direction;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Bytes;
use assay_stats::histogram::Percentile;
use assay_stats::latency::{Distribution, pooled};
use std::collections::BTreeMap;

/// Percentiles in the table of latencies.
const PERCENTILES: [Percentile; 5] = [
    Percentile::P50,
    Percentile::P90,
    Percentile::P99,
    Percentile::P99_9,
    Percentile::P99_99,
];

/// Maximum number of charts of one kind on a page; the page's data contains all.
const DRAWN: usize = 60;
/// Maximum number of charts of a section that is not folded: those in a row.
const IN_A_ROW: usize = 3;

/// Returns charts with a description.
pub(in crate::views) fn drawn(
    id: &'static str,
    title: &str,
    words: &str,
    charts: &[Chart],
) -> Section {
    let mut section = Section::new(id, title);
    if charts.is_empty() {
        return section;
    }
    section.say(words, Some(Tone::Soft));
    let left_out = charts.len().saturating_sub(DRAWN);
    if left_out > 0 {
        let more = counted!(
            left_out,
            "{n} more chart is not drawn here: the data of this page has it.",
            "{n} more charts are not drawn here: the data of this page has them."
        );
        section.say(more, None);
    }
    section.charts(&charts[..charts.len() - left_out]);
    section.folded = charts.len() > IN_A_ROW;
    section
}

/// Draws every trial of every metric.
pub(super) fn trials(gallery: &Gallery) -> Section {
    drawn(
        "trials",
        tr!("Trials and intervals"),
        tr!(
            "Every completed trial is a mark; the bar is the 95 % interval of the geometric mean, its long tick \
             the median. An interval without an end mark extends beyond the axis. The results say what each \
             trial measured."
        ),
        &gallery.trials,
    )
}

/// Draws the rate over time of sequential and sustained jobs, and of every other trial with a
/// stall.
pub(super) fn course(gallery: &Gallery) -> Section {
    let mut section = drawn(
        "course",
        tr!("Rate over time"),
        tr!(
            "Reads and writes together, in intervals of the trial's series. The lane below the curve marks \
             every interval in which nothing completed. Dashed lines are steady levels, drawn where the \
             rate changed for good. A long curve is thinned out to the smallest and the largest rate of \
             each stretch, so that no dip is lost."
        ),
        &gallery.courses,
    );
    if gallery.courses_left_out > 0 && !section.blocks.is_empty() {
        section.say(counted!(
            gallery.courses_left_out,
            "{n} more trial of these jobs have no curve here; those that stood still longest have one.",
            "{n} more trials of these jobs have no curve here; those that stood still longest have one."
        ), None);
    }
    section
}

/// Draws the latency of each job: curves by percentile, distributions and a table.
pub(super) fn latency(summary: &Summary<'_>, gallery: &Gallery) -> Section {
    let mut section = drawn(
        "latency",
        tr!("Latency"),
        tr!(
            "Each line is a completed trial (of many, all together). Share of I/Os that finished within a given time; \
             the dot is the slowest one. Both axes stretch: every nine (90 %, 99 %, 99.9 %) is as wide as \
             the one before, and time is logarithmic. Reads are solid, writes dashed, flushes dotted."
        ),
        &gallery.latencies,
    );
    let mut folded = Section::new(
        "distributions",
        tr!("Distributions: how often each latency came"),
    );
    folded.charts(&gallery.distributions[..gallery.distributions.len().min(DRAWN)]);
    if !folded.blocks.is_empty() {
        section.blocks.push(Block::Details(folded));
    }
    let jobs = timed(summary);
    let rows: Vec<TableRow> = jobs.iter().flat_map(|job| latencies(job)).collect();
    if rows.is_empty() {
        return section;
    }
    section.heading(tr!("Percentiles of all completed trials together"));
    section.say(
        tr!("A percentile stands here only if at least ten I/Os lie beyond it. Bins are at most 1/128 off; the slowest is exact."),
        Some(Tone::Soft),
    );
    let numbers = [tr!("I/Os"), tr!("Mean")].map(str::to_owned).into_iter();
    let numbers = numbers.chain(PERCENTILES.map(|percentile| percentile.to_string()));
    let numbers = numbers
        .chain([tr!("Slowest").to_owned()])
        .map(Column::number);
    let texts = [tr!("Job"), tr!("Of")].map(Column::text).into_iter();
    section.table(Table {
        columns: texts.chain(numbers).collect(),
        rows,
    });
    section
}

fn latencies(job: &JobSummary<'_>) -> Vec<TableRow> {
    let timed = SUBJECTS.into_iter();
    let timed = timed.filter(|subject| !records(job, *subject).is_empty());
    timed.map(|subject| latency_row(job, subject)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn latency_row(job: &JobSummary<'_>, subject: Option<Direction>) -> TableRow {
    let pool = pooled(records(job, subject));
    let mut cells = vec![clean(&job.job.name).into(), plural(subject).into()];
    let latency = match Distribution::of(&pool) {
        Ok(latency) => latency,
        Err(damaged) => {
            cells.push(damaged.to_string().into());
            return TableRow::new(cells);
        }
    };
    let time =
        |ns: Option<f64>| ns.map_or(Cell::Unknown, |ns| Cell::quantity(ns, Unit::Nanos.name()));
    cells.push(Cell::count(latency.count()));
    cells.push(time(latency.mean_ns()));
    cells.extend(PERCENTILES.map(|percentile| {
        let stated = percentile == Percentile::P50 || percentile.estimable(latency.count());
        let found = latency.percentile_ns(percentile).filter(|_| stated);
        time(found.map(|ns| ns as f64))
    }));
    cells.push(time(latency.max_ns().map(|ns| ns as f64)));
    TableRow::new(cells)
}

/// Returns matrices of file and record sizes, each figure with its label.
pub(super) fn sizes(gallery: &Gallery) -> Section {
    let mut section = Section::new("matrices", tr!("File and record sizes"));
    let is_of_files = |matrix: &&Matrix| matrix.is_of_files();
    if !gallery.maps.iter().any(|matrix| is_of_files(&matrix)) {
        return section;
    }
    section.say(
        tr!("Down: size of the file. Across: size of a record. Under each figure stands what it measured; \
             the shaded ones measured the page cache. An empty cell was not measured. A surface can be turned: drag it, or \
             choose it with Tab and use the arrow keys; + and - zoom."),
        Some(Tone::Soft),
    );
    section.blocks.extend(ranking::maps(gallery));
    section
}

/// Describes device, path, run and machine.
pub(in crate::views) fn storage(summary: &Summary<'_>) -> Section {
    let run = summary.run;
    let storage = &run.header.storage;
    let mut section = Section::new("storage", tr!("Storage, run, machine"));
    let devices = storage
        .layers
        .iter()
        .filter(|layer| labels::is_device(layer));
    for layer in devices {
        let title = tr!("Device {name}", name = clean(&layer.name));
        headed(&mut section, &title, labels::device_facts(layer));
        let raw = layer.identity.raw.iter();
        let mut folded = Section::new("raw", tr!("As the kernel shows it"));
        folded.facts(raw.map(|(name, value)| (clean(name), clean(value))));
        if !folded.blocks.is_empty() {
            section.blocks.push(Block::Details(folded));
        }
    }
    headed(&mut section, tr!("Path"), labels::path_facts(storage));
    headed(&mut section, tr!("Run"), describe::run_facts(summary));
    headed(&mut section, tr!("Machine"), labels::system_facts(run));
    section
}

fn headed(section: &mut Section, title: &str, facts: Vec<NameValue>) {
    section.heading(title);
    section.facts(facts);
}

/// Lists trials without a result: skipped, failed, interrupted, never started. Each job, outcome
/// and reason has a row, so that none is omitted silently.
fn unfinished(summary: &Summary<'_>) -> Section {
    let mut section = Section::new("unfinished", tr!("Trials without a result"));
    let heads = [tr!("Job"), tr!("Trials"), tr!("Outcome"), tr!("Why")];
    section.table(Table {
        columns: heads.map(Column::text).into(),
        rows: summary.jobs.iter().flat_map(unfinished_rows).collect(),
    });
    section
}

fn unfinished_rows(job: &JobSummary<'_>) -> Vec<TableRow> {
    // Trials with the same outcome and reason share a row.
    let mut rows: Vec<[String; 4]> = Vec::new();
    let name = clean(&job.job.name);
    for record in job.trials.iter().map(|trial| trial.record) {
        let Some(why) = why(record) else { continue };
        let outcome = translated(record.outcome.word());
        let mut known = rows.iter_mut();
        match known.find(|known| known[2] == outcome && known[3] == why) {
            Some([_, trials, ..]) => trials.push_str(&format!(", {}", numbered(record.trial))),
            None => rows.push([
                name.clone(),
                numbered(record.trial),
                outcome.to_owned(),
                why,
            ]),
        }
    }
    let missing = job.planned.saturating_sub(job.trials.len());
    if missing > 0 {
        let trials = counted!(missing, "{n} trial", "{n} trials");
        let why = tr!("the run ended before").to_owned();
        rows.push([name, trials, tr!("not run").to_owned(), why]);
    }
    let rows = rows
        .into_iter()
        .map(|cells| TableRow::new(cells.map(Cell::Text).into()));
    rows.collect()
}

/// Returns the reason why a trial has no result; `None` if it has one.
fn why(record: &TrialRecord) -> Option<String> {
    match &record.outcome {
        Outcome::Completed => None,
        Outcome::Skipped { reasons } => Some(clean(&reasons.join("; "))),
        Outcome::Failed { error } => Some(clean(error)),
        Outcome::Interrupted => Some(tr!("stopped from outside").to_owned()),
    }
}

/// Adds sections on the evidence, the conditions and the method of a run.
pub(super) fn background(summary: &Summary<'_>, gallery: &Gallery, document: &mut Document) {
    document.push(section(summary).folded());
    document.push(super::section(summary, gallery.session.as_ref()).folded());
    document.push(storage(summary).folded());
    document.push(unfinished(summary));
    document.push(provenance::method(summary).folded());
}

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
            "{n} more trial with labels such as these: assay report -o run.csv, or assay report --json, has them all.",
            "{n} more trials with labels such as these: assay report -o run.csv, or assay report --json, has them all."
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
