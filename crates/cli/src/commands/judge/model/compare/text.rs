//! The experiment for people.

use super::super::check;
use super::{Outcome, Table};
use crate::ui::paragraph;
use assay_explain::table;
use assay_flash::device::RequestPhase;
use assay_flash::experiment::{Parameter, PublishedFigure, SOURCE};
use assay_flash::policy::Policy;
use assay_model::units::three_digits;
use std::io::{self, Write};

/// Writes all of it.
pub fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "The multi-block experiment")?;
    paragraph(SOURCE, 2, out)?;
    for table in &outcome.tables {
        figures(table, out)?;
    }
    errors(outcome, out)?;
    parameters(&outcome.experiment.parameters, out)?;
    if let Some((base, others)) = outcome.tables.split_first() {
        for other in others {
            changes(base, other, out)?;
        }
    }
    fate(&outcome.alternatives, out)?;
    hidden(&outcome.alternatives, out)?;
    writeln!(out, "\nWhat can be broken, in every order of events")?;
    for checked in &outcome.checked {
        match checked {
            Ok(checked) => check::write(checked, out)?,
            Err(out_of_reach) => paragraph(&out_of_reach.to_string(), 0, out)?,
        }
    }
    trade(&outcome.alternatives, out)
}

fn figures(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", table.policy)?;
    let head = [
        "tool",
        "workload",
        "bs",
        "unit",
        "published",
        "model",
        "error",
        "left out",
    ];
    let rows = table.cells.iter().map(|cell| {
        let mut row = names(cell);
        row.extend([
            cell.row.unit.to_owned(),
            cell.published.map_or_else(|| "-".to_owned(), rate),
            rate(cell.model),
            signed_percent(cell.error_percent()),
            signed_percent(cell.left_out_percent()),
        ]);
        row
    });
    table::write(&head, &rows.collect::<Vec<_>>(), 4, out)
}

fn names(cell: &PublishedFigure) -> Vec<String> {
    [cell.row.tool.name(), cell.row.workload, cell.row.block_size]
        .map(str::to_owned)
        .to_vec()
}

/// As many digits as were published.
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

fn errors(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let (fit, left_out) = (&outcome.fit, &outcome.left_out);
    writeln!(out)?;
    paragraph(
        &format!(
            "Error of the fit: {:.1} % on average, {:.1} % at most, with {} parameters for {} \
             figures. Of each figure predicted by a fit without it: {:.1} % on average, {:.1} % \
             at most. The model explains these figures; it does not predict others as well.",
            fit.mean,
            fit.worst,
            outcome.experiment.parameters.len(),
            fit.count,
            left_out.mean,
            left_out.worst,
        ),
        0,
        out,
    )
}

fn parameters(parameters: &[Parameter], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nParameters, fitted to all published figures")?;
    table::write_parameters(parameters, crate::output::style().width, out)?;
    paragraph(
        "Not fitted: 5.05 µs for a block that is read, as on the wire of SDR104; ramps of 16 KiB \
         (read) and 64 KiB (write); 150 ms until the timer ends a transfer; requests of 512 KiB.",
        2,
        out,
    )
}

/// Writes the time that a policy saved or cost, for each line.
fn changes(base: &Table, other: &Table, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\nWhat {} saved or cost beside {}, µs of an I/O",
        other.policy, base.policy
    )?;
    let pairs = base.cells.iter().zip(&other.cells);
    let rows = pairs.clone().map(|(before, after)| {
        let mut row = names(after);
        row.extend([
            three_digits(before.io_us),
            three_digits(after.io_us),
            difference(after.io_us - before.io_us),
        ]);
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["tool", "workload", "bs", "before", "after", "change"];
    let notes: Vec<String> = pairs.map(|(before, after)| parts(before, after)).collect();
    table::write_noted(&head, &rows, &notes, (3, crate::output::style().width), out)?;
    for sentence in MEANINGS {
        paragraph(sentence, 2, out)?;
    }
    Ok(())
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

/// Phases that changed, the largest first, and what was left behind.
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

/// The regression that decided.
fn fate(tables: &[Table], out: &mut dyn Write) -> io::Result<()> {
    let both = |size| {
        let before = cell(tables, Policy::Closed, "randread", size)?;
        let after = cell(tables, Policy::OPEN, "randread", size)?;
        let published = (after.published? / before.published? - 1.0) * 100.0;
        let model = (after.model / before.model - 1.0) * 100.0;
        Some((published, model, after.phase_us(RequestPhase::Break)))
    };
    let (Some((small, small_model, cost)), Some((larger, larger_model, _))) =
        (both("8k"), both("16k"))
    else {
        return Ok(());
    };
    writeln!(out, "\nWhat decided its fate")?;
    paragraph(
        &format!(
            "Random reads of 8 KiB: {small:+.0} % (model {small_model:+.0} %); of 16 KiB: \
             {larger:+.0} % ({larger_model:+.0} %). Each finds the transfer of the one before \
             open and pays {cost:.0} µs to end it. A test of sequential rates alone does not \
             show it."
        ),
        2,
        out,
    )
}

/// The busy time that nobody timed.
fn hidden(tables: &[Table], out: &mut dyn Write) -> io::Result<()> {
    let written = |policy| cell(tables, policy, "seq write", "10M");
    let random = cell(tables, Policy::OPEN, "randwrite", "1M");
    let (Some(open), Some(safe), Some(random)) =
        (written(Policy::OPEN), written(Policy::OPEN_SAFE), random)
    else {
        return Ok(());
    };
    writeln!(out, "\nWhat the window of GNOME Disks does not see")?;
    paragraph(
        &format!(
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
        2,
        out,
    )?;
    paragraph(
        "The table alone cannot tell this from a card that really writes faster in long \
         transfers and stalls more in random ones (garbage collection); a read behind the last \
         write, timed, would.",
        2,
        out,
    )
}

/// Writes the table of alternative policies.
fn trade(tables: &[Table], out: &mut dyn Write) -> io::Result<()> {
    let Some((base, others)) = tables.split_first() else {
        return Ok(());
    };
    writeln!(
        out,
        "\nThe better trade: the model's rates beside {}",
        base.policy
    )?;
    let names_of: Vec<String> = others
        .iter()
        .map(|table| table.policy.to_string())
        .collect();
    let mut head = vec!["tool", "workload", "bs"];
    head.extend(names_of.iter().map(String::as_str));
    let rows = base.cells.iter().enumerate().map(|(line, before)| {
        let mut row = names(before);
        let after = others.iter().filter_map(|table| table.cells.get(line));
        row.extend(
            after.map(|after| signed_percent(Some((after.model / before.model - 1.0) * 100.0))),
        );
        row
    });
    table::write(&head, &rows.collect::<Vec<_>>(), 3, out)?;
    paragraph(
        "open-after-2 opens a transfer only when two requests have followed each other: random \
         I/O stays at the baseline, sequential reads keep most of the gain, and it breaks no \
         rule. What its writes do not gain is the programming that a flush has to wait for.",
        2,
        out,
    )
}
