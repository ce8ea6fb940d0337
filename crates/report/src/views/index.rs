//! Index page of several runs.

use crate::document::{Block, Cell, Column, Document, Section, Table, TableRow};
use crate::results::key_figures::{Belief, KeyFigures};
use crate::results::summary::Summary;
use crate::results::{describe, warnings};
use crate::words::{Tone, clean, labels, utc};
use assay_lang::{counted, tr, translated};
use assay_model::figures::Import;
use assay_model::run::Run;

/// Run or import in the index.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// File name of its page, in the directory of the index.
    pub file: String,
    id: String,
    started: String,
    device: String,
    path: String,
    status: String,
    trials: String,
    lines: Vec<String>,
    belief: &'static str,
}

impl IndexEntry {
    /// Creates the list entry of a run whose page is `file`.
    pub fn of(run: &Run, file: String) -> Self {
        let summary = Summary::of(run);
        let digest = KeyFigures::of(&summary, &warnings::collect(&summary));
        let header = &run.header;
        Self {
            file,
            id: clean(&header.id),
            started: utc(header.started_unix_ms),
            device: labels::name(&header.storage),
            path: clean(&header.storage.path.to_string_lossy()),
            status: translated(run.status.word()).to_owned(),
            trials: describe::trials(&summary),
            lines: digest
                .lines
                .iter()
                .map(|line| format!("{}: {}", line.subject, line.text))
                .collect(),
            belief: match digest.belief {
                Belief::Yes => tr!("yes"),
                Belief::WithCare => tr!("with care"),
                Belief::InPart => tr!("in part"),
                Belief::No => tr!("no"),
            },
        }
    }
}

impl IndexEntry {
    /// Creates the list entry of an import whose page is `file`.
    pub fn of_import(import: &Import, file: String) -> Self {
        Self {
            file,
            id: clean(&import.id),
            started: utc(import.imported_unix_ms),
            device: clean(&import.results.tool),
            path: clean(&import.files.join(", ")),
            status: tr!("imported").to_owned(),
            trials: counted!(import.results.figures.len(), "{n} figure", "{n} figures"),
            lines: Vec::new(),
            belief: tr!("not known"),
        }
    }
}

/// Returns the list, in the order of the entries.
pub fn document(entries: &[IndexEntry]) -> Document {
    let mut document = Document::new(tr!("Runs of assay").to_owned());
    document.header.push(Block::Paragraph {
        text: counted!(entries.len(), "{n} page", "{n} pages"),
        tone: Some(Tone::Soft),
    });
    let heads = [
        tr!("Run"),
        tr!("Started"),
        tr!("Device"),
        tr!("Path"),
        tr!("Status"),
        tr!("Trials"),
        tr!("In short"),
        tr!("Believe it?"),
    ];
    let rows = entries.iter().map(|entry| {
        let link = Cell::Link {
            text: entry.id.clone(),
            target: entry.file.clone(),
        };
        let texts = [
            &entry.started,
            &entry.device,
            &entry.path,
            &entry.status,
            &entry.trials,
            &entry.lines.join("; "),
        ];
        let texts = texts.map(|text| Cell::Text(text.clone())).into_iter();
        let texts = texts.chain([entry.belief.into()]);
        TableRow::new(std::iter::once(link).chain(texts).collect())
    });
    let mut runs = Section::new("runs", tr!("Runs"));
    runs.table(Table {
        columns: heads.map(Column::text).into(),
        rows: rows.collect(),
    });
    document.push(runs);
    document
}
