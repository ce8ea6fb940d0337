//! The experiment as a document.

use super::super::check;
use super::{Outcome, Table};
use assay_explain::fit_input::say_parameters;
use assay_flash::device::RequestPhase;
use assay_flash::experiment::{Parameter, PublishedFigure, SOURCE};
use assay_flash::policy::Policy;
use assay_model::units::three_digits;
use assay_report::document::{self, Block, Column, Document, Section, TableRow};

/// Makes the document: the result first, then the data behind it.
pub fn document(outcome: &Outcome) -> Document {
    let mut document = Document::new("The multi-block experiment".to_owned());
    let mut summary = Section::new("summary", "");
    summary.say(errors(outcome), None);
    summary.say(SOURCE, None);
    document.push(summary);
    let alternatives = &outcome.alternatives;
    let answers = [fate(alternatives), trade(alternatives)];
    answers
        .into_iter()
        .flatten()
        .for_each(|one| document.push(one));
    for table in &outcome.tables {
        document.push(figures(table));
    }
    document.push(parameters(&outcome.experiment.parameters));
    if let Some((base, others)) = outcome.tables.split_first() {
        for other in others {
            document.push(changes(base, other));
        }
    }
    if let Some(hidden) = hidden(alternatives) {
        document.push(hidden);
    }
    let title = "What can be broken, in every order of events";
    let mut broken = Section::new("broken", title);
    for checked in &outcome.checked {
        match checked {
            Ok(checked) => broken.blocks.push(Block::Details(check::section(checked))),
            Err(out_of_reach) => broken.say(out_of_reach.to_string(), None),
        }
    }
    document.push(broken);
    document
}

/// Makes a table whose first columns are text, and whose others are numbers.
fn table<'a>(
    words: &[&'a str],
    numbers: impl IntoIterator<Item = &'a str>,
    rows: impl Iterator<Item = (Vec<String>, Option<String>)>,
) -> document::Table {
    let words = words.iter().copied().map(Column::text);
    let row = |(cells, note): (Vec<String>, Option<String>)| TableRow {
        cells: cells.into_iter().map(document::Cell::from).collect(),
        note,
    };
    document::Table {
        columns: words
            .chain(numbers.into_iter().map(Column::number))
            .collect(),
        rows: rows.map(row).collect(),
    }
}

/// Columns that name a figure.
const NAMES: [&str; 3] = ["tool", "workload", "bs"];

fn figures(figures: &Table) -> Section {
    let rows = figures.cells.iter().map(|cell| {
        let mut row = names(cell);
        row.extend([
            cell.row.unit.to_owned(),
            cell.published.map_or_else(|| "-".to_owned(), rate),
            rate(cell.model),
            signed_percent(cell.error_percent()),
            signed_percent(cell.left_out_percent()),
        ]);
        (row, None)
    });
    let title = format!("Published and simulated figures: {}", figures.policy);
    let mut section = Section::new("figures", title);
    let numbers = ["published", "model", "error", "left out"];
    section.table(table(&["tool", "workload", "bs", "unit"], numbers, rows));
    section
}

fn names(cell: &PublishedFigure) -> Vec<String> {
    [cell.row.tool.name(), cell.row.workload, cell.row.block_size]
        .map(str::to_owned)
        .to_vec()
}

/// Formats a rate with as many digits as the published ones.
fn rate(rate: f64) -> String {
    if rate >= 1000.0 {
        format!("{rate:.0}")
    } else {
        format!("{rate:.1}")
    }
}

fn signed_percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1} %"))
}

fn errors(outcome: &Outcome) -> String {
    let (fit, left_out) = (&outcome.fit, &outcome.left_out);
    format!(
        "Error of the fit: {:.1} % on average, {:.1} % at most, with {} parameters for {} \
         figures. Of each figure predicted by a fit without it: {:.1} % on average, {:.1} % \
         at most. The model explains these figures; it does not predict others as well.",
        fit.mean,
        fit.worst,
        outcome.experiment.parameters.len(),
        fit.count,
        left_out.mean,
        left_out.worst,
    )
}

fn parameters(parameters: &[Parameter]) -> Section {
    let title = "Parameters, fitted to all published figures";
    let mut section = Section::new("parameters", title);
    say_parameters(parameters, &mut section);
    section.say(
        "Not fitted: 5.05 µs for a block that is read, as on the wire of SDR104; ramps of 16 KiB \
         (read) and 64 KiB (write); 150 ms until the timer ends a transfer; requests of 512 KiB.",
        None,
    );
    section
}

/// Makes the table of the time that a policy saved or cost, for each line.
fn changes(base: &Table, other: &Table) -> Section {
    let rows = base.cells.iter().zip(&other.cells).map(|(before, after)| {
        let mut row = names(after);
        row.extend([
            three_digits(before.io_us),
            three_digits(after.io_us),
            difference(after.io_us - before.io_us),
        ]);
        (row, Some(parts(before, after)))
    });
    let title = format!(
        "What {} saved or cost beside {}, µs of an I/O",
        other.policy, base.policy
    );
    let mut section = Section::new("changes", title);
    section.table(table(&NAMES, ["before", "after", "change"], rows));
    section.list(MEANINGS.map(str::to_owned).to_vec());
    section
}

const MEANINGS: [&str; 4] = [
    "break: the transfer that was left open before has to be ended first",
    "command, ramp: no command, and nothing fetched anew, for requests that follow",
    "program: waiting for the card to program; what is saved here in the window is done later",
    "left: programming that one more I/O leaves behind the timed window",
];

fn difference(us: f64) -> String {
    if us.abs() < 0.05 {
        return "0".to_owned();
    }
    format!(
        "{}{}",
        if us < 0.0 { "-" } else { "+" },
        three_digits(us.abs())
    )
}

/// Lists the phases that changed, the largest first, and the change of the time that is left over.
fn parts(before: &PublishedFigure, after: &PublishedFigure) -> String {
    let change = |phase| after.phase_us(phase) - before.phase_us(phase);
    let mut parts = RequestPhase::ALL
        .map(|phase| (phase.name(), change(phase)))
        .to_vec();
    parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    if after.row.tool.name() == "gnome-disks" {
        parts.push(("left", after.left_us() - before.left_us()));
    }
    let parts = parts.into_iter().filter(|(_, us)| us.abs() >= 0.05);
    let parts: Vec<String> = parts
        .map(|(name, us)| format!("{name} {}", difference(us)))
        .collect();
    parts.join(", ")
}

fn cell<'a>(
    tables: &'a [Table],
    policy: Policy,
    workload: &str,
    size: &str,
) -> Option<&'a PublishedFigure> {
    let table = tables.iter().find(|table| table.policy == policy)?;
    let mut cells = table.cells.iter();
    cells.find(|cell| cell.row.workload == workload && cell.row.block_size == size)
}

/// Makes the section on the regression of small random reads, which decided against the policy.
fn fate(tables: &[Table]) -> Option<Section> {
    let both = |size| {
        let before = cell(tables, Policy::Closed, "randread", size)?;
        let after = cell(tables, Policy::OPEN, "randread", size)?;
        let published = (after.published? / before.published? - 1.0) * 100.0;
        let model = (after.model / before.model - 1.0) * 100.0;
        Some((published, model, after.phase_us(RequestPhase::Break)))
    };
    let (small, small_model, cost) = both("8k")?;
    let (larger, larger_model, _) = both("16k")?;
    let mut section = Section::new("fate", "What decided its fate");
    section.say(
        format!(
            "Random reads of 8 KiB: {small:+.0} % (model {small_model:+.0} %); of 16 KiB: \
             {larger:+.0} % ({larger_model:+.0} %). Each finds the transfer of the one before \
             open and pays {cost:.0} µs to end it. A test of sequential rates alone does not \
             show it."
        ),
        None,
    );
    Some(section)
}

/// Makes the section on the busy time of the card that GNOME Disks does not measure.
fn hidden(tables: &[Table]) -> Option<Section> {
    let written = |policy| cell(tables, policy, "seq write", "10M");
    let (open, safe) = (written(Policy::OPEN)?, written(Policy::OPEN_SAFE)?);
    let random = cell(tables, Policy::OPEN, "randwrite", "1M")?;
    let title = "What the window of GNOME Disks does not see";
    let mut section = Section::new("hidden", title);
    section.say(
        format!(
            "In this fit, {:.0} ms of programming are left when the {:.0} ms of a written sample \
             end: fsync sends a card without a cache nothing, and the card programs while the \
             next page is read, which nobody times. With the flush ending the transfer the rate \
             would be {:.1} MB/s, not {:.1}. fio, whose next write waits for it, reports {:.1} {} \
             for 1 MiB, {:.1} before.",
            open.left_us() / 1000.0,
            open.io_us / 1000.0,
            safe.model,
            open.model,
            random.row.after,
            random.row.unit,
            random.row.before,
        ),
        None,
    );
    section.say(
        "The table alone cannot tell this from a card that really writes faster in long \
         transfers and stalls more in random ones (garbage collection); a read behind the last \
         write, timed, would.",
        None,
    );
    Some(section)
}

/// Makes the table of alternative policies.
fn trade(tables: &[Table]) -> Option<Section> {
    let (base, others) = tables.split_first()?;
    let policies: Vec<String> = others.iter().map(|one| one.policy.to_string()).collect();
    let rows = base.cells.iter().enumerate().map(|(line, before)| {
        let mut row = names(before);
        let after = others.iter().filter_map(|table| table.cells.get(line));
        row.extend(
            after.map(|after| signed_percent(Some((after.model / before.model - 1.0) * 100.0))),
        );
        (row, None)
    });
    let title = format!("The better trade: the model's rates beside {}", base.policy);
    let mut section = Section::new("trade", title);
    section.table(table(&NAMES, policies.iter().map(String::as_str), rows));
    section.say(
        "open-after-2 opens a transfer only when two requests have followed each other: random \
         I/O stays at the baseline, sequential reads keep most of the gain, and it breaks no \
         rule. What its writes do not gain is the programming that a flush has to wait for.",
        None,
    );
    Some(section)
}
