//! `assay model compare`, the multi-block experiment, and `assay model check`: what a transfer
//! policy can break, and how.

use super::{CheckArgs, CompareArgs};
use crate::exit::{DONE, Failure, MISSED};
use assay_explain::fit_input::say_parameters;
use assay_flash::FlashError;
use assay_flash::check::{Checked, Hole, Rule, check};
use assay_flash::device::RequestPhase;
use assay_flash::experiment::{Experiment, Parameter, PublishedFigure, SOURCE, mean_and_worst};
use assay_flash::policy::Policy;
use assay_model::units::three_digits;
use assay_report::document::{self, Block, Column, Document, Section, TableRow};
use assay_report::words::Tone;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// The policies of the published table.
const PUBLISHED: [Policy; 2] = [Policy::Closed, Policy::OPEN];
/// Alternative policies.
const ALTERNATIVES: [Policy; 4] = [
    Policy::Closed,
    Policy::OPEN,
    Policy::OPEN_SAFE,
    Policy::OPEN_AFTER_TWO,
];

/// Fits the model to the published table, and shows the results.
pub fn compare_policies(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let outcome = Outcome::of(&policies(args))?;
    args.output
        .present(|| outcome_value(&outcome), || experiment_document(&outcome))?;
    Ok(DONE)
}

/// Returns the given policies without repetitions, in their order.
fn policies(args: &CompareArgs) -> Vec<Policy> {
    let mut policies: Vec<Policy> = Vec::new();
    for policy in &args.policies {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    match policies.as_slice() {
        [] => PUBLISHED.to_vec(),
        _ => policies,
    }
}

/// Data to show.
struct Outcome {
    experiment: Experiment,
    /// Table of each requested policy.
    tables: Vec<Table>,
    /// Tables of the alternative policies.
    alternatives: Vec<Table>,
    /// Rules that each policy can break.
    checked: Vec<Result<Checked, FlashError>>,
    fit: Errors,
    left_out: Errors,
}

/// Figures under one policy.
struct Table {
    policy: Policy,
    cells: Vec<PublishedFigure>,
}

/// Absolute errors, in percent.
struct Errors {
    count: usize,
    mean: f64,
    worst: f64,
}

impl Errors {
    fn of(errors: &[f64]) -> Self {
        let (mean, worst) = mean_and_worst(errors);
        Self {
            count: errors.len(),
            mean,
            worst,
        }
    }
}

impl Outcome {
    fn of(policies: &[Policy]) -> Result<Self, Failure> {
        let experiment = Experiment::of_table();
        let experiment = experiment.map_err(Failure::failed)?;
        // Errors are those of the fit to the published table, even if other policies are shown.
        let published = tables(&experiment, &PUBLISHED)?;
        let of_all = |of: fn(&PublishedFigure) -> Option<f64>| {
            let cells = published.iter().flat_map(|table| &table.cells);
            Errors::of(&cells.filter_map(of).collect::<Vec<_>>())
        };
        Ok(Self {
            tables: tables(&experiment, policies)?,
            alternatives: tables(&experiment, &ALTERNATIVES)?,
            checked: policies.iter().map(|policy| check(*policy)).collect(),
            fit: of_all(PublishedFigure::error_percent),
            left_out: of_all(PublishedFigure::left_out_percent),
            experiment,
        })
    }
}

fn tables(experiment: &Experiment, policies: &[Policy]) -> Result<Vec<Table>, Failure> {
    let table = |policy: &Policy| {
        let cells = experiment.cells(*policy);
        let cells = cells.map_err(Failure::usage)?;
        Ok(Table {
            policy: *policy,
            cells,
        })
    };
    policies.iter().map(table).collect()
}

/// Returns the whole outcome as JSON.
fn outcome_value(outcome: &Outcome) -> Value {
    json!({
        "schema": 1,
        "source": SOURCE,
        "cells": cells(&outcome.tables),
        "errors_pct": {
            "fit": errors(&outcome.fit),
            "left_out": errors(&outcome.left_out),
        },
        "parameters": outcome.experiment.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "changes": changes(&outcome.tables),
        "rules": outcome.checked.iter().flatten().map(checked_value).collect::<Vec<_>>(),
        "alternatives": cells(&outcome.alternatives),
    })
}

fn errors(errors: &Errors) -> Value {
    json!({ "figures": errors.count, "mean_abs": errors.mean, "max_abs": errors.worst })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "unit": parameter.unit,
        "value": parameter.value,
        "std_error": parameter.error,
    })
}

fn cells(tables: &[Table]) -> Vec<Value> {
    let cells = tables.iter().flat_map(|table| &table.cells);
    cells.map(cell).collect()
}

fn cell(cell: &PublishedFigure) -> Value {
    json!({
        "tool": cell.row.tool.name(),
        "workload": cell.row.workload,
        "block_size": cell.row.block_size,
        "unit": cell.row.unit,
        "policy": cell.policy.to_string(),
        "published": cell.published,
        "model": cell.model,
        "error_pct": cell.error_percent(),
        "left_out_model": cell.left_out,
        "left_out_error_pct": cell.left_out_percent(),
        "io_us": cell.io_us,
        "phases_us": phases(|phase| cell.phase_us(phase)),
        "left_us": cell.left_us(),
    })
}

fn phases(of: impl Fn(RequestPhase) -> f64) -> Value {
    let phases = RequestPhase::ALL.map(|phase| (phase.name().to_owned(), of(phase).into()));
    Value::Object(Map::from_iter(phases))
}

/// Returns the time that each further policy saved or cost, in microseconds per I/O.
fn changes(tables: &[Table]) -> Vec<Value> {
    let Some((base, others)) = tables.split_first() else {
        return Vec::new();
    };
    let pairs = others
        .iter()
        .flat_map(|other| base.cells.iter().zip(&other.cells));
    let change = |(before, after): (&PublishedFigure, &PublishedFigure)| {
        json!({
            "tool": after.row.tool.name(),
            "workload": after.row.workload,
            "block_size": after.row.block_size,
            "policy": after.policy.to_string(),
            "baseline": before.policy.to_string(),
            "io_us": after.io_us - before.io_us,
            "phases_us": phases(|phase| after.phase_us(phase) - before.phase_us(phase)),
            "left_us": after.left_us() - before.left_us(),
        })
    };
    pairs.map(change).collect()
}

/// Makes the document: the result first, then the data behind it.
fn experiment_document(outcome: &Outcome) -> Document {
    let mut document = Document::new("The multi-block experiment".to_owned());
    let mut summary = Section::new("summary", "");
    summary.say(errors_in_words(outcome), None);
    summary.say(SOURCE, None);
    document.push(summary);
    let alternatives = &outcome.alternatives;
    let answers = [fate(alternatives), trade(alternatives)];
    answers
        .into_iter()
        .flatten()
        .for_each(|one| document.push(one));
    for table in &outcome.tables {
        document.push(figures_section(table));
    }
    document.push(parameters_section(&outcome.experiment.parameters));
    if let Some((base, others)) = outcome.tables.split_first() {
        for other in others {
            document.push(changes_section(base, other));
        }
    }
    if let Some(hidden) = hidden(alternatives) {
        document.push(hidden);
    }
    let title = "What can be broken, in every order of events";
    let mut broken = Section::new("broken", title);
    for checked in &outcome.checked {
        match checked {
            Ok(checked) => broken.blocks.push(Block::Details(checked_section(checked))),
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
const NAME_COLUMNS: [&str; 3] = ["tool", "workload", "bs"];

fn figures_section(figures: &Table) -> Section {
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

fn errors_in_words(outcome: &Outcome) -> String {
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

fn parameters_section(parameters: &[Parameter]) -> Section {
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
fn changes_section(base: &Table, other: &Table) -> Section {
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
    section.table(table(&NAME_COLUMNS, ["before", "after", "change"], rows));
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

fn find_figure<'a>(
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
        let before = find_figure(tables, Policy::Closed, "randread", size)?;
        let after = find_figure(tables, Policy::OPEN, "randread", size)?;
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
    let written = |policy| find_figure(tables, policy, "seq write", "10M");
    let (open, safe) = (written(Policy::OPEN)?, written(Policy::OPEN_SAFE)?);
    let random = find_figure(tables, Policy::OPEN, "randwrite", "1M")?;
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
    section.table(table(
        &NAME_COLUMNS,
        policies.iter().map(String::as_str),
        rows,
    ));
    section.say(
        "open-after-2 opens a transfer only when two requests have followed each other: random \
         I/O stays at the baseline, sequential reads keep most of the gain, and it breaks no \
         rule. What its writes do not gain is the programming that a flush has to wait for.",
        None,
    );
    Some(section)
}

const USUALLY_CHECKED: [Policy; 5] = [
    Policy::Closed,
    Policy::SetCount,
    Policy::OPEN,
    Policy::OPEN_SAFE,
    Policy::OPEN_AFTER_TWO,
];

/// Searches for rules that the policies can break, and shows the results.
pub fn check_policies(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let policies: &[Policy] = match args.policies.as_slice() {
        [] => &USUALLY_CHECKED,
        given => given,
    };
    if policies.contains(&Policy::Queued) {
        return Err(Failure::usage(
            "queued transfers end by themselves: there is nothing to check",
        ));
    }
    let checked: Result<Vec<Checked>, _> = policies.iter().map(|policy| check(*policy)).collect();
    let checked = checked.map_err(Failure::usage)?;
    let policies = || checked.iter().map(checked_value).collect::<Vec<_>>();
    args.output.present(
        || json!({ "schema": 1, "policies": policies() }),
        || checked_document(&checked),
    )?;
    let sound = checked
        .iter()
        .all(|checked| checked.complete && checked.holes.is_empty());
    Ok(if sound { DONE } else { ExitCode::from(MISSED) })
}

/// Returns the result for one policy as JSON: rules, states, and steps that break a rule.
fn checked_value(checked: &Checked) -> Value {
    let rules = Rule::ALL.map(|rule| {
        json!({
            "rule": rule.name(),
            "meaning": rule.sentence(),
            "holds": checked.holds(rule),
            "trace": checked.hole(rule).map(trace),
        })
    });
    json!({
        "policy": checked.policy.to_string(),
        "states": checked.states,
        "open_states": checked.open_states,
        "complete": checked.complete,
        "rules": rules,
    })
}

fn trace(hole: &Hole) -> Vec<Value> {
    let steps = hole.steps.iter();
    steps
        .map(|step| json!({ "event": step.event.to_string(), "sent": step.did }))
        .collect()
}

/// Makes the document: the result for each policy, then its rules.
fn checked_document(checked: &[Checked]) -> Document {
    let mut document = Document::new("What each policy can break".to_owned());
    let mut summary = Section::new("summary", "");
    let answer = |checked: &Checked| {
        let (said, tone) = match (checked.holes.len(), checked.complete) {
            (0, true) => ("all rules hold".to_owned(), Tone::Good),
            (0, false) => ("open: not all states were searched".to_owned(), Tone::Care),
            (broken, _) => (
                format!("{broken} of {} rules can be broken", Rule::ALL.len()),
                Tone::Bad,
            ),
        };
        (checked.policy.to_string(), said, Some(tone))
    };
    summary.toned_facts(checked.iter().map(answer).collect());
    document.push(summary);
    checked
        .iter()
        .for_each(|one| document.push(checked_section(one)));
    document
}

/// Makes the section on a policy: its rules, each with the steps that break it.
fn checked_section(checked: &Checked) -> Section {
    let all = if checked.complete { "all" } else { "the first" };
    let title = format!(
        "{} ({all} {} states, {} with an open transfer)",
        checked.policy, checked.states, checked.open_states
    );
    let mut section = Section::new("policy", title);
    for rule in Rule::ALL {
        let hole = checked.hole(rule);
        let (word, tone) = match (hole, checked.complete) {
            (Some(_), _) => ("BROKEN", Some(Tone::Bad)),
            (None, true) => ("holds", None),
            (None, false) => ("open", Some(Tone::Care)),
        };
        section.toned_facts(vec![(
            format!("{word:<6}"),
            rule.sentence().to_owned(),
            tone,
        )]);
        let steps = hole.iter().flat_map(|hole| &hole.steps);
        let steps = steps.map(|step| match step.did.as_slice() {
            [] => step.event.to_string(),
            did => format!("{}: {}", step.event, did.join(", ")),
        });
        section.list(steps.collect());
    }
    section
}
