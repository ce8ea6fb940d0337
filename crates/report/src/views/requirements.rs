//! A run against requirements: a line each, then the verdict.

use crate::document::{Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::machine::gate::{Case, Status, Suite};
use crate::words::{Tone, clean, enumerate, value};
use assay_lang::{counted, in_english, key, tr, translated};
use assay_model::run::Run;
use assay_stats::verdict::judge::Qualification;
use serde_json::{Map, Value, json};

/// Result for one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementRow {
    /// The requirement, as the user wrote it.
    pub requirement: String,
    /// Figure, both bounds and their unit; `None` if the run has none.
    pub figure: Option<(f64, (f64, f64), String)>,
    /// Finding where there is no figure, or the reason why it decides nothing.
    pub why: Option<String>,
    /// The decision.
    pub decision: Qualification,
}

impl RequirementRow {
    /// Returns the decision in one word: `pass`, `fail` or `open`.
    pub const fn word(&self) -> &'static str {
        match self.decision {
            Qualification::Pass => key!("pass"),
            Qualification::Fail => key!("fail"),
            Qualification::Inconclusive => key!("open"),
        }
    }

    fn in_words(&self) -> [String; 2] {
        match &self.figure {
            Some((centre, (low, high), unit)) => [
                value(unit, *centre),
                format!("{} .. {}", value(unit, *low), value(unit, *high)),
            ],
            None => [String::new(), String::new()],
        }
    }
}

/// Returns the number of requirements with this decision.
fn count(rows: &[RequirementRow], decision: Qualification) -> usize {
    rows.iter().filter(|row| row.decision == decision).count()
}

/// Returns the verdict on all requirements: the failed ones by name.
pub fn verdict(rows: &[RequirementRow]) -> String {
    let failed = rows
        .iter()
        .filter(|row| row.decision == Qualification::Fail);
    let failed: Vec<String> = failed.map(|row| clean(&row.requirement)).collect();
    let open = count(rows, Qualification::Inconclusive);
    let all = counted!(rows.len(), "{n} requirement", "{n} requirements");
    match (failed.len(), open) {
        (0, 0) => tr!("Pass: {all} met", all),
        (0, open) => tr!("Open: {open} of {all}, and none fails", open, all),
        (number, open) => tr!(
            "Fail: {number} of {all} ({failed}); {open} open",
            number,
            all,
            failed = enumerate(&failed),
            open
        ),
    }
}

/// Returns the table of requirements, with the verdict as the last line.
pub fn document(name: &str, rows: &[RequirementRow]) -> Document {
    let mut document = Document::new(tr!("Requirements of {name}", name = clean(name)));
    let mut section = Section::new("requirements", "");
    section.table(Table {
        columns: vec![
            Column::text(tr!("requirement")),
            Column::number(tr!("measured")),
            Column::number(tr!("bounds")).keep(Keep::IfRoom),
            Column::text(tr!("result")),
        ],
        rows: rows.iter().map(table_row).collect(),
    });
    let fails = count(rows, Qualification::Fail) > 0;
    let tone = if fails { Tone::Bad } else { Tone::Strong };
    section.say(verdict(rows), Some(tone));
    document.push(section);
    document
}

fn table_row(row: &RequirementRow) -> TableRow {
    let [measured, bounds] = row.in_words();
    let cells = [
        clean(&row.requirement),
        measured,
        bounds,
        translated(row.word()).to_owned(),
    ];
    TableRow {
        note: row.why.as_deref().map(clean),
        ..TableRow::new(cells.map(Cell::Text).into())
    }
}

/// Returns the requirements as JSON.
pub fn value_of(id: &str, rows: &[RequirementRow]) -> Value {
    in_english(|| {
        let rows_of = rows.iter().map(|row| {
            let figure = row.figure.as_ref();
            json!({
                "requirement": row.requirement,
                "value": figure.map(|(centre, ..)| centre),
                "low": figure.map(|(_, (low, _), _)| low),
                "high": figure.map(|(_, (_, high), _)| high),
                "unit": figure.map(|(.., unit)| unit),
                "result": row.word(),
                "why": row.why,
            })
        });
        json!({
            "schema": 1,
            "source": id,
            "verdict": verdict(rows),
            "requirements": rows_of.collect::<Vec<_>>(),
        })
    })
}

/// Returns a case for each requirement. An open one is a skipped case.
pub fn suite(run: Option<&Run>, name: &str, rows: &[RequirementRow]) -> Suite {
    in_english(|| {
        let cases = rows.iter().map(|row| Case {
            job: clean(&row.requirement),
            condition: String::new(),
            metric: String::new(),
            status: match row.decision {
                Qualification::Pass => Status::Pass,
                Qualification::Fail => Status::Fail,
                Qualification::Inconclusive => Status::Skip,
            },
            word: row.word(),
            reason: {
                let [measured, bounds] = row.in_words();
                let why = row.why.as_deref().map(clean).unwrap_or_default();
                let parts = [row.word().to_owned(), measured, bounds, why];
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                parts.collect::<Vec<_>>().join(", ")
            },
            measurement: None,
            measured: None,
            detail: Map::new(),
        });
        Suite {
            name: format!("assay require {}", clean(name)),
            cases: cases.collect(),
            ..Suite::about(run, name)
        }
    })
}
