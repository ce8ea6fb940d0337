//! Downloads of a run or an import.

use crate::asked::Asked;
use crate::reply::{JSON, Problem, Reply};
use crate::stored::{Stored, found, load, tag};
use assay_lang::in_english;
use assay_report::{import, json as run_json, machine, xlsx as workbook};
use std::io::{self, Write};

/// Answers with the whole run or import, as `assay show --json` prints it.
pub fn json(asked: &Asked<'_>) -> Result<Reply, Problem> {
    file(asked, "json", JSON, |stored, out| {
        in_english(|| match stored {
            Stored::Run(run) => run_json::write(run, out),
            Stored::Import(of) => import::write_json(of, out),
        })
    })
}

/// Answers with CSV: a row for each trial and metric.
pub fn csv(asked: &Asked<'_>) -> Result<Reply, Problem> {
    file(asked, "csv", "text/csv; charset=utf-8", |stored, out| {
        in_english(|| match stored {
            Stored::Run(run) => machine::write_csv(run, out),
            Stored::Import(of) => import::write_csv(of, out),
        })
    })
}

/// Answers with an Excel workbook.
pub fn xlsx(asked: &Asked<'_>) -> Result<Reply, Problem> {
    const KIND: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    file(asked, "xlsx", KIND, |stored, out| match stored {
        Stored::Run(run) => asked.served.program.workbook(run, out),
        Stored::Import(of) => workbook::write_import(of, None, out),
    })
}

fn file(
    asked: &Asked<'_>,
    ending: &str,
    kind: &'static str,
    write: impl Fn(&Stored, &mut dyn Write) -> io::Result<()>,
) -> Result<Reply, Problem> {
    let found = found(asked)?;
    let tag = tag(asked, &found, ending)?;
    let mut bytes = Vec::new();
    let written = write(&load(asked, &found)?, &mut bytes);
    written.map_err(|error| Problem::Wrong(error.to_string()))?;
    let mut reply = Reply::new(kind, bytes).tagged(tag);
    reply.file = Some(format!("assay-{}.{ending}", found.id.id()));
    Ok(reply)
}
