//! The page that leads to the pages of many runs.

use super::page::{Page, Section};
use crate::results::describe;
use crate::results::key_figures::{Belief, KeyFigures};
use crate::results::summary::Summary;
use crate::results::warnings;
use crate::words::format::utc;
use crate::words::identity;
use crate::words::text::clean;
use assay_lang::{counted, tr, translated};
use assay_model::figures::Import;
use assay_model::run::Run;
use maud::{Markup, html};

/// One run or import in the list.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// The file of its page, beside the list.
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
    #[must_use]
    pub fn of(run: &Run, file: String) -> Self {
        let summary = Summary::of(run);
        let digest = KeyFigures::of(&summary, &warnings::collect(&summary));
        let header = &run.header;
        Self {
            file,
            id: clean(&header.id),
            started: utc(header.started_unix_ms),
            device: identity::name(&header.storage),
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
    #[must_use]
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

/// The page, in the order of the entries.
pub fn page(entries: &[IndexEntry]) -> Page {
    Page {
        title: tr!("Runs of assay").to_owned(),
        subtitle: html! { (counted!(entries.len(), "{n} page", "{n} pages")) },
        sections: vec![Section::new("runs", tr!("Runs"), Some(table(entries)))],
        data: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn table(entries: &[IndexEntry]) -> Markup {
    html! {
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        @for name in [tr!("Run"), tr!("Started"), tr!("Device"), tr!("Path"), tr!("Status"), tr!("Trials"), tr!("In short"), tr!("Believe it?")] {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody {
                    @for entry in entries {
                        tr {
                            th scope="row" { a href=(entry.file) { (entry.id) } }
                            td data-name=(tr!("Started")) { (entry.started) }
                            td data-name=(tr!("Device")) { (entry.device) }
                            td data-name=(tr!("Path")) { (entry.path) }
                            td data-name=(tr!("Status")) { (entry.status) }
                            td data-name=(tr!("Trials")) { (entry.trials) }
                            td { @for line in &entry.lines { div { (line) } } }
                            td data-name=(tr!("Believe it?")) { (entry.belief) }
                        }
                    }
                }
            }
        }
    }
}
