//! The sheet of conditions: what a sweep set and what was read back, or what two sides
//! share and where they differ.

use super::look;
use crate::results::comparison::{Compared, ComparedSource};
use crate::results::describe;
use crate::results::summary::Summary;
use crate::words::identity;
use crate::words::text::Fact;
use crate::words::text::clean;
use assay_lang::{counted, key, tr};
use assay_model::condition::Condition;
use assay_model::run::Run;
use rust_xlsxwriter::{Worksheet, XlsxError};

/// Writes the conditions of a sweep.
///
/// # Errors
/// When they do not fit a sheet.
pub fn write_swept(sheet: &mut Worksheet, run: &Run) -> Result<(), XlsxError> {
    sheet.set_name(look::CONDITIONS)?;
    look::on_paper(sheet);
    let heads = [
        (key!("Condition"), 40),
        (key!("Trials"), 26),
        (key!("Set"), 40),
        (key!("Read back before its trials"), 60),
    ];
    look::heads(sheet, 0, &heads)?;
    for (row, condition) in (1..).zip(&run.header.plan.conditions) {
        let set = condition.settings.iter().map(ToString::to_string);
        sheet.write_string(row, 0, clean(&condition.name))?;
        sheet.write_string(row, 1, trials(run, condition))?;
        let set = clean(&set.collect::<Vec<_>>().join("; "));
        sheet.write_string_with_format(row, 2, set, &look::wrapped())?;
        sheet.write_string_with_format(row, 3, read_back(run, condition), &look::wrapped())?;
    }
    sheet.set_freeze_panes(1, 1)?;
    Ok(())
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

/// Everything that was read back under a condition, each once.
fn read_back(run: &Run, condition: &Condition) -> String {
    let own = run
        .trials
        .iter()
        .filter(|trial| trial.condition.as_ref() == Some(&condition.name));
    let mut words: Vec<String> = Vec::new();
    for setting in own.flat_map(|trial| &trial.in_force) {
        let value = setting
            .value
            .as_deref()
            .unwrap_or(tr!("cannot be read back"));
        let said = clean(&format!("{}: {value}", setting.knob));
        if !words.contains(&said) {
            words.push(said);
        }
    }
    words.join("; ")
}

/// Writes what is known of the sources of a comparison, side by side.
///
/// # Errors
/// When it does not fit a sheet.
pub fn write_sides(sheet: &mut Worksheet, compared: &Compared<'_>) -> Result<(), XlsxError> {
    sheet.set_name(look::CONDITIONS)?;
    look::on_paper(sheet);
    let a = compared.a_sources.iter().map(|source| ("A", source));
    let b = compared.b_sources.iter().map(|source| ("B", source));
    let sources: Vec<(&str, &ComparedSource<'_>)> = a.chain(b).collect();
    let names: Vec<String> = sources
        .iter()
        .map(|(side, source)| format!("{side}: {}", source.known_by()))
        .collect();
    let mut heads: Vec<(&str, u16)> = vec![("", 12), ("", 22), (key!("Differs"), 9)];
    heads.extend(names.iter().map(|name| (name.as_str(), 40)));
    look::heads(sheet, 0, &heads)?;
    let told: Vec<Vec<(&str, Fact)>> = sources.iter().map(|(_, source)| facts(source)).collect();
    for (row, (part, name)) in (1..).zip(rows(&told)) {
        let values = told.iter().map(|facts| {
            let found = facts
                .iter()
                .find(|(of, fact)| *of == part && fact.0 == name);
            found.map_or("", |(_, (_, value))| value.as_str())
        });
        let values: Vec<&str> = values.collect();
        sheet.write_string(row, 0, part)?;
        sheet.write_string_with_format(row, 1, name, &look::name())?;
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            sheet.write_string(row, 2, tr!("differs"))?;
        }
        for (column, value) in (3..).zip(values) {
            sheet.write_string_with_format(row, column, value, &look::wrapped())?;
        }
    }
    sheet.set_freeze_panes(1, 3)?;
    Ok(())
}

/// The facts that any source has, each once.
fn rows<'a>(told: &[Vec<(&'a str, Fact)>]) -> Vec<(&'a str, &'static str)> {
    let mut rows = Vec::new();
    for (part, (name, _)) in told.iter().flatten() {
        if !rows.contains(&(*part, *name)) {
            rows.push((*part, *name));
        }
    }
    rows
}

fn facts(source: &ComparedSource<'_>) -> Vec<(&'static str, Fact)> {
    let Some(run) = source.run else {
        let told = source.circumstances.iter().map(|line| clean(line));
        let told = told.collect::<Vec<_>>().join("; ");
        let source = clean(source.name);
        return vec![
            (tr!("Elsewhere"), (tr!("source"), source)),
            (tr!("Elsewhere"), (tr!("told"), told)),
        ];
    };
    let storage = &run.header.storage;
    let device = identity::device(storage).map_or_else(Vec::new, identity::device_facts);
    let parts = [
        (tr!("Run"), describe::run_facts(&Summary::of(run))),
        (tr!("Storage"), identity::path_facts(storage)),
        (tr!("Device"), device),
        (tr!("Machine"), identity::system_facts(run)),
    ];
    let facts = parts.into_iter().flat_map(|(part, facts)| {
        let facts = facts.into_iter();
        facts.map(move |fact| (part, fact))
    });
    facts.collect()
}
