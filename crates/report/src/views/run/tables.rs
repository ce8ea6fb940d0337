//! Tables of a run: results, ladders, steps of a scenario, tails, samples, conditions.

use crate::charts::course;
use crate::charts::draw::Chart;
use crate::document::{Block, Cell, Column, Detail, Keep, Section, Table, TableRow};
use crate::results::derived::{JobTail, Operation, tails_of_run};
use crate::results::describe;
use crate::results::findings::load_curve::{self, OfferedRate};
use crate::results::findings::{ActLine, lines, totals};
use crate::results::population::{Placed, Standings};
use crate::results::summary::{Figure, Group, JobSummary, Ladder, Summary, WriteMode};
use crate::results::sweep::{Arm, Sweep, SweptMetric};
use crate::words::labels::Labels;
use crate::words::{Tone, clean, numbered, quantity, shorten, width};
use assay_lang::{counted, tr, translated};
use assay_model::act::SampleKind;
use assay_model::act::memory::MemoryStepResult;
use assay_model::figures::Unit;
use assay_model::units::{Bytes, Nanos};
use assay_stats::derive::subject_in_words;
use assay_stats::summary::FEWEST_UNITS;

/// Maximum length of a name if space is limited; assay's own names have at most 20 characters with
/// their direction.
const LONGEST_NAME: usize = 24;
const LONGEST_TAIL: usize = 20;
/// Maximum number of points of a curve; a terminal has fewer columns.
const POINTS: usize = 400;

/// Returns a table whose last column is the label of each row.
fn measured<const N: usize>(columns: [Column; N], rows: Vec<TableRow>) -> Table {
    let last = Column::text(tr!("measured")).keep(Keep::IfRoom);
    Table {
        columns: columns.into_iter().chain([last]).collect(),
        rows,
    }
}

fn row<C: Into<Cell>>(cells: Vec<C>, labels: Labels) -> TableRow {
    let cells = cells.into_iter().map(C::into);
    TableRow::new(cells.chain([Cell::Labels(labels)]).collect())
}

fn without_figure(name: String, job: &JobSummary<'_>) -> TableRow {
    TableRow::new(vec![name.into(), no_figure(job).into()])
}

/// Returns a row per figure; in full, below the titles of their groups and without jobs that have
/// none.
pub(super) fn results(summary: &Summary<'_>, detail: Detail) -> Section {
    // Samples have a separate table, with another mean.
    let sampled: Vec<&str> = course::sampled_jobs(summary)
        .iter()
        .map(|(_, job)| job.job.name.as_str())
        .collect();
    let is_row = |job: &&JobSummary<'_>| {
        !matches!(job.group, Group::WriteLadder | Group::ReadLadder)
            && !job.is_cuts()
            && !job.offers_rate()
            && !sampled.contains(&job.job.name.as_str())
    };
    let jobs = summary.jobs.iter().filter(is_row);
    let rows: Vec<TableRow> = match detail {
        Detail::Brief => jobs.flat_map(|job| result_rows(job, detail)).collect(),
        Detail::Full => {
            let jobs = jobs.filter(|job| !job.is_cell() && !job.headlines().is_empty());
            grouped(&jobs.collect::<Vec<_>>())
        }
    };
    let mut section = Section::new("results", tr!("Results"));
    let columns = [
        Column::text(tr!("job")),
        Column::text(tr!("what it did")).keep(Keep::Screen),
        Column::number(tr!("median")),
        Column::number(tr!("low .. high")),
        Column::number("CV").keep(Keep::Page),
        Column::number(tr!("median p99")).keep(Keep::IfRoom),
        Column::number("n").keep(Keep::Spare),
    ];
    section.table(measured(columns, rows));
    section
}

fn grouped(jobs: &[&JobSummary<'_>]) -> Vec<TableRow> {
    let groups = Group::ALL.into_iter().flat_map(|group| {
        let own = jobs.iter().filter(move |job| job.group == group);
        let mut rows = own
            .flat_map(|job| result_rows(job, Detail::Full))
            .peekable();
        let heading = rows.peek().map(|_| TableRow::heading(group.title()));
        heading.into_iter().chain(rows).collect::<Vec<_>>()
    });
    groups.collect()
}

fn result_rows(job: &JobSummary<'_>, detail: Detail) -> Vec<TableRow> {
    let figures = job.headlines();
    let name = clean(&job.job.name);
    let shortened = |room| match detail {
        Detail::Brief => shorten(&name, room),
        Detail::Full => name.clone(),
    };
    if figures.is_empty() {
        return vec![without_figure(shortened(LONGEST_NAME), job)];
    }
    let several = figures.len() > 1;
    let rows = figures.into_iter().map(|figure| {
        let subject = match describe::metric(&figure.name) {
            subject if several || detail == Detail::Full => format!(" {subject}"),
            _ => String::new(),
        };
        let room = LONGEST_NAME.saturating_sub(width(&subject));
        let cells = vec![
            format!("{}{subject}", shortened(room)).into(),
            describe::job(job.job).into(),
            median(&figure),
            ends(&figure),
            figure.stats.cv.map_or(Cell::Unknown, Cell::Ratio),
            p99(job, &figure),
            Cell::Count(figure.stats.n),
        ];
        TableRow {
            note: describe::durable(job, &figure),
            ..row(cells, figure.labels)
        }
    });
    rows.collect()
}

fn median(figure: &Figure) -> Cell {
    let median = figure.stats.median;
    match figure.unit {
        Unit::Ratio => Cell::Ratio(median),
        Unit::Count => quantity(Unit::Count, median).into(),
        unit => Cell::quantity(median, unit.name()),
    }
}

/// Returns the lowest and the highest trial.
fn ends(figure: &Figure) -> Cell {
    let stats = &figure.stats;
    match stats.n {
        1 => tr!("1 trial").into(),
        _ => Cell::Spread {
            unit: figure.unit,
            median: stats.median,
            low: stats.min,
            high: stats.max,
        },
    }
}

fn p99(job: &JobSummary<'_>, figure: &Figure) -> Cell {
    let Some((p99, label)) = describe::p99_of(job, figure) else {
        return Cell::Empty;
    };
    match label {
        None => median(&p99),
        Some(label) => format!("{} ({label})", median(&p99).text()).into(),
    }
}

/// Explains why a job has no figure.
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
    // A memory stress test has no rate to judge.
    let stressed = details.filter_map(|detail| match &detail.memory()?.found {
        MemoryStepResult::Stress(found) => Some(found.moved_bytes),
        _ => None,
    });
    let moved: u64 = stressed.sum();
    match words.as_slice() {
        ["completed"] if moved > 0 => tr!("{bytes} written and read", bytes = Bytes(moved)),
        ["completed"] => tr!("nothing could be read or written").to_owned(),
        words => {
            let words: Vec<&str> = words.iter().map(|word| translated(word)).collect();
            words.join(tr!(", "))
        }
    }
}

/// Compares the ways to do one transfer: the share that had reached the device, and its meaning.
pub(super) fn ladder(ladder: Ladder, summary: &Summary<'_>, detail: Detail) -> Section {
    let Some(title) = ladder.title(summary) else {
        return Section::default();
    };
    let title = match summary.group(ladder.group()).count() {
        1 => tr!("{title}, and what it measures", title),
        _ => tr!("{title}, and what each one measures", title),
    };
    let id = match ladder {
        Ladder::Write => "ladder",
        Ladder::Read => "read-ladder",
    };
    let mut section = Section::new(id, title);
    if detail == Detail::Full {
        section.say(ladder.introduction(), Some(Tone::Soft));
    }
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
    let cells = vec![
        name.into(),
        median(&figure),
        ends(&figure),
        match shares {
            Some((low, high)) => Cell::Shares(low, high),
            None => tr!("not known").into(),
        },
    ];
    TableRow {
        note: Some(ladder.meaning(mode, &labels, shares)),
        ..row(cells, labels)
    }
}

/// Returns the steps of a scenario.
pub(super) fn scenario(summary: &Summary<'_>, detail: Detail) -> Section {
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
            match detail {
                Detail::Brief => shorten(&step.name, LONGEST_NAME),
                Detail::Full => step.name,
            },
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
            let (median, spread) = (median(&total).text(), ends(&total).text());
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

/// Returns the latencies at each offered rate, one table for each kind of I/O, and the charts of them.
pub(super) fn load_curves(summary: &Summary<'_>, charts: &[Chart]) -> Section {
    let mut section = Section::new("load-curve", tr!("Latency under load"));
    for curve in load_curve::load_curves(summary) {
        let columns = [
            Column::number(tr!("offered")),
            Column::number(tr!("served")),
            Column::number("p50"),
            Column::number("p99"),
            Column::number("p99.9"),
            Column::number(tr!("worst p99")),
        ];
        let row = |rate: &OfferedRate| {
            let iops = |value| Cell::quantity(value, Unit::Iops.name());
            let time = |ns: Option<f64>| {
                ns.map_or(Cell::Unknown, |ns| Cell::quantity(ns, Unit::Nanos.name()))
            };
            let cells = vec![
                iops(rate.offered as f64),
                iops(rate.served),
                time(rate.p50),
                time(rate.p99),
                time(rate.p99_9),
                time(rate.worst_p99),
            ];
            let note = tr!("does not keep up: more I/Os are due than are served");
            TableRow {
                note: (!rate.keeps_up).then(|| note.to_owned()),
                ..row(cells, rate.labels.clone())
            }
        };
        section.say(
            tr!(
                "{io} that arrive at random times; latency counts from when each was due",
                io = curve.io
            ),
            Some(Tone::Soft),
        );
        section.table(measured(columns, curve.rates.iter().map(row).collect()));
    }
    section.charts(charts);
    section
}

/// Returns tail latencies of random I/O and flushes, over all trials.
pub(super) fn tails(summary: &Summary<'_>) -> Section {
    let tails = tails_of_run(summary.run);
    let mut section = Section::new("tails", tr!("Tail latency"));
    let columns = [
        Column::text(""),
        Column::number(tr!("pooled")),
        Column::number(tr!("trial mean")),
        Column::number(tr!("worst trial")),
    ];
    let jobs = summary.jobs.iter().filter(|job| !job.offers_rate());
    let rows = jobs.flat_map(|job| tail_rows(job, &tails));
    section.table(measured(columns, rows.collect()));
    section
}

/// Returns the highest percentile of each operation that every trial supports, or else the one that
/// all trials together support. With one trial, the results already contain it.
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
    let time = |ns: f64| Cell::quantity(ns, Unit::Nanos.name());
    let tail = &found.tail;
    let mut name = shorten(&clean(found.job), LONGEST_TAIL);
    if job.group == Group::Mixed {
        name = format!("{name} {}", subject_in_words(found.operation.name()));
    }
    let [mean, worst] = tail.each.map_or([Cell::Empty, Cell::Empty], |each| {
        [time(each.geometric_mean_ns), time(each.worst_ns as f64)]
    });
    let name = format!("{name} {}", tail.percentile);
    let cells = vec![name.into(), time(tail.pooled_ns as f64), mean, worst];
    row(
        cells,
        job.labels_of(&format!("{}_lat_p99", found.operation)),
    )
}

/// Returns samples over an extent: lowest, average and highest, and a curve for each trial.
pub(super) fn extent(summary: &Summary<'_>, charts: &[Chart]) -> Section {
    let jobs = course::sampled_jobs(summary);
    let mut trials = jobs.iter().flat_map(|(_, job)| &job.trials);
    let Some(step) = trials.find_map(course::samples_of) else {
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
    if !charts.is_empty() {
        section.say(
            tr!("Each sample where it was taken, from the begin of the device or file to its end. The average \
                 counts all samples alike, as GNOME Disks does; the rate of the trial divides all bytes by all time."),
            Some(Tone::Soft),
        );
        section.charts(charts);
        return section;
    }
    for (kind, job) in jobs.iter().filter(|(kind, _)| *kind != SampleKind::Access) {
        for trial in &job.trials {
            section
                .blocks
                .extend(course::samples_of(trial).map(|step| Block::Curve {
                    name: format!(
                        "{} {}",
                        course::sample_name(*kind),
                        numbered(trial.record.trial)
                    ),
                    values: course::mean_rates(step, POINTS),
                    end: String::new(),
                }));
        }
    }
    section
}

/// Returns the medians of the trials.
fn extent_row(kind: SampleKind, job: &JobSummary<'_>) -> Option<TableRow> {
    let figure = |statistic| job.figure(&format!("{}_{statistic}", course::sample_metric(kind)));
    let [least, mean, most] = [figure("min")?, figure("mean")?, figure("max")?];
    let shown = [&least, &mean, &most].map(median);
    let name = Cell::from(course::sample_name(kind));
    let cells: Vec<Cell> = [name].into_iter().chain(shown).collect();
    Some(row(cells, mean.labels))
}

/// Shows a sustained job over time, with its stalls.
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

/// Returns a table of conditions for each metric of a sweep.
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
    // There is no geometric mean if a value is 0.
    let centre = match figure.stats.geometric_mean {
        Some(mean) => Cell::quantity(mean, unit.name()),
        None => tr!("mean {mean}", mean = quantity(unit, figure.stats.mean)).into(),
    };
    let cells = vec![
        name.into(),
        centre,
        Cell::Count(figure.stats.n),
        figure.stats.cv.map_or(Cell::Unknown, Cell::Ratio),
    ];
    let missing = arm.missing.as_ref();
    TableRow {
        note: missing.map(|missing| tr!("besides {missing}", missing)),
        ..row(cells, arm.labels())
    }
}

/// Returns the rank of a run's figures among those of other units of its kind: a row for each
/// deciding figure that enough other units have.
pub fn population(standings: &Standings) -> Section {
    let mut section = Section::new("population", tr!("Among other units of its kind"));
    let kind = match standings.bus.as_str() {
        "" => clean(&standings.model),
        bus => format!("{} ({})", clean(&standings.model), clean(bus)),
    };
    let decisive = standings.figures.iter().filter(|placed| placed.primary);
    let rows: Vec<TableRow> = decisive.map(population_row).collect();
    let units = counted!(standings.units, "{n} other unit", "{n} other units");
    if rows.is_empty() {
        let fewest = FEWEST_UNITS;
        let said = tr!(
            "{kind}: no job of this run was measured on {fewest} other units or more (the population \
             has {units} of this model and bus)",
            kind,
            fewest,
            units
        );
        section.say(said, Some(Tone::Soft));
        return section;
    }
    section.say(
        tr!(
            "{kind}, {units}. P0 is the worst unit, P100 the best, in brackets the 90 % band; each \
             unit counts once, by the median of its runs.",
            kind,
            units
        ),
        Some(Tone::Soft),
    );
    if let Some(runs) = standings.newest_runs {
        let runs = counted!(runs, "{n} run", "{n} runs");
        let said = tr!(
            "Of the store, the newest runs on these units count: {runs}.",
            runs
        );
        section.say(said, Some(Tone::Soft));
    }
    section.table(Table {
        columns: vec![
            Column::text(tr!("job")),
            Column::text(tr!("metric")).keep(Keep::IfRoom),
            Column::number(tr!("this unit")),
            Column::number(tr!("median of units")),
            Column::number(tr!("P5 to P95 of units")).keep(Keep::IfRoom),
            Column::text(tr!("standing")),
            Column::text(tr!("measured")).keep(Keep::IfRoom),
        ],
        rows,
    });
    section
}

fn population_row(placed: &Placed) -> TableRow {
    let shown = |value: f64| quantity(placed.unit, value);
    let quantile = |name: &str| placed.quantiles.get(name).map(|value| shown(*value));
    let spread = quantile("p5").zip(quantile("p95"));
    let spread = spread.map(|(low, high)| tr!("{low} to {high}", low, high));
    let cells = vec![
        Cell::Text(clean(&placed.job)),
        Cell::Text(describe::metric(&placed.metric)),
        Cell::Text(shown(placed.value)),
        Cell::known(quantile("p50")),
        Cell::known(spread),
        Cell::Text(standing(placed)),
        Cell::Text(translated(&placed.label).to_owned()),
    ];
    TableRow::new(cells)
}

/// Formats a rank: `P38 (21 to 55), of 44 units`.
fn standing(placed: &Placed) -> String {
    let [low, high] = placed.band;
    let of = counted!(placed.units, "{n} unit", "{n} units");
    tr!(
        "P{percentile} ({low} to {high}), of {of}",
        percentile = format!("{:.0}", placed.percentile),
        low = format!("{low:.0}"),
        high = format!("{high:.0}"),
        of
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::facts;
    use crate::results::population::Others;
    use crate::results::population::tests::others;
    use crate::testing::fixture;

    #[test]
    fn a_standing_has_its_band_and_its_units() {
        let facts = facts::of(&fixture::run());
        let standings = Others::of(&facts, None, others(&facts, 20)).place(&facts);
        let section = population(&standings);
        let table = section.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let row = table.unwrap().rows.first().unwrap();
        let standing = row.cells.get(5).unwrap().text();
        assert_eq!(standing, "P50 (30 to 70), of 20 units");
    }

    #[test]
    fn nothing_is_said_of_four_units() {
        let facts = facts::of(&fixture::run());
        let standings = Others::of(&facts, None, others(&facts, 4)).place(&facts);
        let section = population(&standings);
        assert_eq!(section.blocks.len(), 1);
        assert!(
            matches!(&section.blocks[..], [Block::Paragraph { text, .. }] if text.contains("4 other units"))
        );
    }
}
