//! Tables of a run: results, ladders, steps of a scenario, tails, samples, conditions.

use crate::document::{Block, Cell, Column, Keep, Section, Table, TableRow};
use crate::results::describe;
use crate::results::extent::{self, curve, metric};
use crate::results::findings::scenario::{ActLine, lines, totals};
use crate::results::ladder::Ladder;
use crate::results::summary::{Figure, Group, JobSummary, Summary};
use crate::results::sweep::{Arm, Sweep, SweptMetric};
use crate::results::tails::{JobTail, Operation, of_run};
use crate::results::write_mode::WriteMode;
use crate::words::format::{self, percent, quantity};
use crate::words::labels::Labels;
use crate::words::text::{clean, numbered, shorten, width};
use assay_lang::{tr, translated};
use assay_model::metric::Unit;
use assay_model::units::{Bytes, Nanos};
use assay_model::work::extent::SampleKind;
use assay_model::work::memory::MemoryStepResult;

/// Longer names are shortened; assay's own are at most 20 with their
/// direction.
const LONGEST_NAME: usize = 24;
const LONGEST_TAIL: usize = 20;
/// Cells of the bar of a device share.
const BAR: usize = 10;
/// Points of a curve; a terminal has fewer columns.
const POINTS: usize = 400;

/// A table that ends with what each row measured.
fn measured<const N: usize>(columns: [Column; N], rows: Vec<TableRow>) -> Table {
    let last = Column::text(tr!("measured")).keep(Keep::IfRoom);
    Table {
        columns: columns.into_iter().chain([last]).collect(),
        rows,
    }
}

fn row(cells: Vec<String>, labels: Labels) -> TableRow {
    let cells = cells.into_iter().map(Cell::Text);
    TableRow::new(cells.chain([Cell::Labels(labels)]).collect())
}

fn without_figure(name: String, job: &JobSummary<'_>) -> TableRow {
    TableRow::new(vec![name.into(), no_figure(job).into()])
}

/// A line per figure.
pub(super) fn results(summary: &Summary<'_>) -> Section {
    // Samples have a table of their own, with another mean.
    let sampled: Vec<&str> = extent::jobs(summary)
        .iter()
        .map(|(_, job)| job.job.name.as_str())
        .collect();
    let is_row = |job: &&JobSummary<'_>| {
        !matches!(job.group, Group::WriteLadder | Group::ReadLadder)
            && !job.is_cuts()
            && !sampled.contains(&job.job.name.as_str())
    };
    let rows = summary.jobs.iter().filter(is_row).flat_map(result_rows);
    let mut section = Section::new("results", tr!("Results"));
    let columns = [
        Column::text(""),
        Column::number(tr!("median")),
        Column::number(tr!("low .. high")),
        Column::number(tr!("median p99")).keep(Keep::IfRoom),
        Column::number("n").keep(Keep::Spare),
    ];
    section.table(measured(columns, rows.collect()));
    section
}

fn result_rows(job: &JobSummary<'_>) -> Vec<TableRow> {
    let figures = job.headlines();
    let name = clean(&job.job.name);
    if figures.is_empty() {
        return vec![without_figure(shorten(&name, LONGEST_NAME), job)];
    }
    let several = figures.len() > 1;
    let rows = figures.into_iter().map(|figure| {
        let subject = match describe::metric(&figure.name) {
            subject if several => format!(" {subject}"),
            _ => String::new(),
        };
        let room = LONGEST_NAME.saturating_sub(width(&subject));
        let cells = vec![
            format!("{}{subject}", shorten(&name, room)),
            median(&figure),
            spread(&figure),
            describe::p99_of(job, &figure).unwrap_or_default(),
            figure.stats.n.to_string(),
        ];
        TableRow {
            note: describe::durable(job, &figure),
            ..row(cells, figure.labels)
        }
    });
    rows.collect()
}

fn median(figure: &Figure) -> String {
    quantity(figure.unit, figure.stats.median)
}

fn spread(figure: &Figure) -> String {
    let stats = &figure.stats;
    match stats.n {
        1 => tr!("1 trial").to_owned(),
        _ => format::spread(figure.unit, stats.median, stats.min, stats.max),
    }
}

/// Why a job has no figure.
fn no_figure(job: &JobSummary<'_>) -> String {
    if job.trials.is_empty() {
        return tr!("not run").to_owned();
    }
    let mut words: Vec<&str> = Vec::new();
    for trial in &job.trials {
        let word = trial.record.outcome.word();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let details = job
        .trials
        .iter()
        .filter_map(|trial| trial.record.detail.as_deref());
    // A stress of memory has no rate to be judged by.
    let stressed = details.filter_map(|detail| match &detail.memory()?.found {
        MemoryStepResult::Stress(found) => Some(found.moved_bytes),
        _ => None,
    });
    let moved: u64 = stressed.sum();
    match words.as_slice() {
        ["completed"] if moved > 0 => tr!("{bytes} written and read", bytes = Bytes(moved)),
        ["completed"] => tr!("completed without moving a byte").to_owned(),
        words => {
            let words: Vec<&str> = words.iter().map(|word| translated(word)).collect();
            words.join(tr!(", "))
        }
    }
}

/// One transfer in several ways, with what had reached the device and what that means.
pub(super) fn ladder(ladder: Ladder, summary: &Summary<'_>) -> Section {
    let Some(title) = ladder.title(summary) else {
        return Section::default();
    };
    let title = match summary.group(ladder.group()).count() {
        1 => tr!("{title}, and what it measures", title),
        _ => tr!("{title}, and what each one measures", title),
    };
    let mut section = Section::new("ladder", title);
    let columns = [
        Column::text(""),
        Column::number(tr!("median")),
        Column::number(tr!("low .. high")),
        Column::text(ladder.share_header()),
    ];
    let steps = summary.group(ladder.group());
    let rows = steps.map(|job| ladder_row(ladder, job)).collect();
    section.table(measured(columns, rows));
    section
}

fn ladder_row(ladder: Ladder, job: &JobSummary<'_>) -> TableRow {
    let mode = WriteMode::of(job.job);
    let labels = job.labels(Some(ladder.direction()));
    let shares = ladder.device_shares(job);
    let name = mode.name().to_owned();
    let Some(figure) = job.figure(ladder.metric()) else {
        return without_figure(name, job);
    };
    let cells = vec![name, median(&figure), spread(&figure), reached(shares)];
    TableRow {
        note: Some(ladder.meaning(mode, &labels, shares)),
        ..row(cells, labels)
    }
}

/// A bar and the share, or the range of shares.
fn reached(shares: Option<(f64, f64)>) -> String {
    let Some((low, high)) = shares else {
        return tr!("not known").to_owned();
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to BAR"
    )]
    let filled = (low.clamp(0.0, 1.0) * BAR as f64).floor() as usize;
    let bar = format!("{}{}", "█".repeat(filled), "·".repeat(BAR - filled));
    let (low, high) = (percent(low), percent(high));
    if low == high {
        format!("{bar} {low:>6}")
    } else {
        format!("{bar} {}-{high}", low.trim_end_matches(" %"))
    }
}

/// The steps of a scenario.
pub(super) fn scenario(summary: &Summary<'_>) -> Section {
    let mut section = Section::new("scenario", tr!("What was done, step by step"));
    let columns = [
        Column::text(""),
        Column::number(tr!("time")),
        Column::number(tr!("rate")),
        Column::number(tr!("slowest")),
        Column::number(tr!("gap")),
        Column::number(tr!("late")),
    ];
    let rows = lines(summary).into_iter().map(|step: ActLine| {
        let cells = vec![
            shorten(&step.name, LONGEST_NAME),
            step.time,
            step.rate,
            step.slowest,
            step.gap,
            step.missed,
        ];
        TableRow {
            note: step.found,
            ..row(cells, step.labels)
        }
    });
    section.table(measured(columns, rows.collect()));
    if !section.blocks.is_empty() {
        for (scenario, total) in totals(summary) {
            let (median, spread) = (median(&total), spread(&total));
            let said = tr!(
                "  all of {scenario}: {median} ({spread})",
                scenario,
                median,
                spread
            );
            section.say(said.trim(), None);
        }
    }
    section
}

/// How slow the slowest I/Os were: random I/O and flushes, over all trials.
pub(super) fn tails(summary: &Summary<'_>) -> Section {
    let tails = of_run(summary.run);
    let mut section = Section::new("tails", tr!("Tail latency"));
    let columns = [
        Column::text(""),
        Column::number(tr!("pooled")),
        Column::number(tr!("trial mean")),
        Column::number(tr!("worst trial")),
    ];
    let rows = summary.jobs.iter().flat_map(|job| tail_rows(job, &tails));
    section.table(measured(columns, rows.collect()));
    section
}

/// The farthest percentile of each operation that all trials know, else that they
/// know together; of one trial there is nothing more to say than among the results.
fn tail_rows(job: &JobSummary<'_>, tails: &[JobTail<'_>]) -> Vec<TableRow> {
    let of = |operation: Operation| {
        let own = tails
            .iter()
            .filter(|t| t.job == job.job.name && t.operation == operation);
        own.max_by_key(|t| (t.tail.each.is_some(), t.tail.percentile))
            .filter(|t| t.tail.trials > 1)
    };
    let operations: &[Operation] = match job.group {
        Group::RandomRead | Group::RandomWrite | Group::Mixed => {
            &[Operation::Read, Operation::Write]
        }
        Group::Fsync if of(Operation::DurableWrite).is_some() => &[Operation::DurableWrite],
        Group::Fsync => &[Operation::Flush],
        _ => &[],
    };
    let found = operations.iter().filter_map(|operation| of(*operation));
    found.map(|tail| tail_row(job, tail)).collect()
}

fn tail_row(job: &JobSummary<'_>, found: &JobTail<'_>) -> TableRow {
    let time = |ns: f64| quantity(Unit::Nanos, ns);
    let tail = &found.tail;
    let mut name = shorten(&clean(found.job), LONGEST_TAIL);
    if job.group == Group::Mixed {
        name = format!("{name} {}", describe::operation(found.operation.name()));
    }
    let metric = match found.operation {
        Operation::Read => "read_lat_p99",
        Operation::Write => "write_lat_p99",
        Operation::Flush => "flush_lat_p99",
        Operation::DurableWrite => "durable_write_lat_p99",
    };
    let [mean, worst] = tail.each.map_or_else(Default::default, |each| {
        [time(each.geometric_mean_ns), time(each.worst_ns as f64)]
    });
    let name = format!("{name} {}", tail.percentile);
    let cells = vec![name, time(tail.pooled_ns as f64), mean, worst];
    row(cells, job.labels_of(metric))
}

/// Samples over an extent: lowest, average and highest, and a curve for each trial.
pub(super) fn extent(summary: &Summary<'_>) -> Section {
    let jobs = extent::jobs(summary);
    let mut trials = jobs.iter().flat_map(|(_, job)| &job.trials);
    let Some(step) = trials.find_map(extent::of) else {
        return Section::default();
    };
    let extent = Bytes(step.extent_bytes);
    let mut section = Section::new("extent", tr!("Samples over {extent}", extent));
    let columns = [
        Column::text(""),
        Column::number(tr!("lowest")),
        Column::number(tr!("mean of samples")),
        Column::number(tr!("highest")),
    ];
    let rows = jobs.iter().filter_map(|(kind, job)| extent_row(*kind, job));
    section.table(measured(columns, rows.collect()));
    for (kind, job) in jobs.iter().filter(|(kind, _)| *kind != SampleKind::Access) {
        for trial in &job.trials {
            section
                .blocks
                .extend(extent::of(trial).map(|step| Block::Curve {
                    name: format!("{} {}", extent::name(*kind), numbered(trial.record.trial)),
                    values: curve(step, POINTS),
                    end: String::new(),
                }));
        }
    }
    section
}

/// The medians of the trials.
fn extent_row(kind: SampleKind, job: &JobSummary<'_>) -> Option<TableRow> {
    let figure = |statistic| job.figure(&format!("{}_{statistic}", metric(kind)));
    let [least, mean, most] = [figure("min")?, figure("mean")?, figure("max")?];
    let shown = [&least, &mean, &most].map(|f| quantity(f.unit, f.stats.median));
    let name = extent::name(kind).to_owned();
    let cells = [name].into_iter().chain(shown).collect();
    Some(row(cells, mean.labels))
}

/// A sustained job over time, with its stalls.
pub(super) fn over_time(job: &JobSummary<'_>) -> Section {
    let title = tr!("{job} over time", job = clean(&job.job.name));
    let mut section = Section::new("course", title);
    for trial in &job.trials {
        let Some(course) = trial.course() else {
            continue;
        };
        let elapsed = trial.measured().map_or(Nanos(0), |m| Nanos(m.elapsed_ns));
        section.blocks.push(Block::Curve {
            name: numbered(trial.record.trial),
            values: course.rates.values.iter().copied().map(Some).collect(),
            end: elapsed.to_string(),
        });
        section.say(describe::course(trial, course), None);
    }
    section
}

/// A table of conditions for each metric of a sweep.
pub(super) fn sweep(sweep: &Sweep<'_>) -> Vec<Section> {
    if sweep.metrics.is_empty() {
        let mut section = Section::new("conditions", "");
        let none = tr!("No trial under a condition was completed");
        section.say(none, None);
        return vec![section];
    }
    sweep.metrics.iter().map(swept).collect()
}

fn swept(metric: &SweptMetric<'_>) -> Section {
    let title = clean(&format!("{} {}", metric.job.name, metric.name));
    let mut section = Section::new("conditions", title);
    let columns = [
        Column::text(tr!("condition")),
        Column::number(tr!("geometric mean")),
        Column::number("n"),
        Column::number("CV"),
    ];
    let rows = metric.arms.iter().map(|arm| arm_row(arm, metric.unit));
    section.table(measured(columns, rows.collect()));
    section
}

fn arm_row(arm: &Arm<'_>, unit: Unit) -> TableRow {
    let name = clean(arm.condition);
    let Some(figure) = &arm.figure else {
        let why = arm.missing.clone().unwrap_or(tr!("not run").to_owned());
        return TableRow::new(vec![name.into(), why.into()]);
    };
    // Where a value is 0 there is no geometric mean.
    let centre = match figure.stats.geometric_mean {
        Some(mean) => quantity(unit, mean),
        None => tr!("mean {mean}", mean = quantity(unit, figure.stats.mean)),
    };
    let n = figure.stats.n.to_string();
    let cells = vec![
        name,
        centre,
        n,
        figure.stats.cv.map_or("-".to_owned(), percent),
    ];
    let missing = arm.missing.as_ref();
    TableRow {
        note: missing.map(|missing| tr!("besides {missing}", missing)),
        ..row(cells, arm.labels())
    }
}
