//! A run or an import as a file.

use crate::asked::Asked;
use crate::reply::{JSON, Problem, Reply};
use crate::stored::{Stored, load, named};
use assay_lang::in_english;
use assay_report::{csv as run_csv, import, json as run_json, xlsx as workbook};
use std::io::{self, Write};

/// All of it, as `assay show --json` has it.
pub fn json(asked: &Asked<'_>) -> Result<Reply, Problem> {
    file(asked, "json", JSON, |stored, out| match stored {
        Stored::Run(run) => run_json::write(run, out),
        Stored::Import(of) => import::write_json(of, out),
    })
}

/// A row for each trial and metric.
pub fn csv(asked: &Asked<'_>) -> Result<Reply, Problem> {
    file(
        asked,
        "csv",
        "text/csv; charset=utf-8",
        |stored, out| match stored {
            Stored::Run(run) => run_csv::write(run, out),
            Stored::Import(of) => import::write_csv(of, out),
        },
    )
}

/// A workbook.
pub fn xlsx(asked: &Asked<'_>) -> Result<Reply, Problem> {
    const KIND: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let (id, tag) = named(asked, "xlsx")?;
    let mut bytes = Vec::new();
    let written = match load(asked, &id)? {
        Stored::Run(run) => asked.served.program.workbook(&run, &mut bytes),
        Stored::Import(of) => workbook::write_import(&of, None, &mut bytes),
    };
    let name = format!("assay-{}.xlsx", id.id());
    finished(written, bytes, KIND, name).map(|reply| reply.tagged(tag))
}

fn file(
    asked: &Asked<'_>,
    ending: &str,
    kind: &'static str,
    write: impl Fn(&Stored, &mut dyn Write) -> io::Result<()>,
) -> Result<Reply, Problem> {
    let (id, tag) = named(asked, ending)?;
    let stored = load(asked, &id)?;
    let mut bytes = Vec::new();
    let written = in_english(|| write(&stored, &mut bytes));
    let name = format!("assay-{}.{ending}", id.id());
    finished(written, bytes, kind, name).map(|reply| reply.tagged(tag))
}

fn finished(
    written: io::Result<()>,
    bytes: Vec<u8>,
    kind: &'static str,
    name: String,
) -> Result<Reply, Problem> {
    written.map_err(|error| Problem::Wrong(error.to_string()))?;
    let mut reply = Reply::new(kind, bytes);
    reply.file = Some(name);
    Ok(reply)
}
