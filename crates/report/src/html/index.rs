//! The page that leads to the pages of many runs.

use super::page::{Page, Section};
use crate::digest::{Belief, Digest};
use crate::format::utc;
use crate::identity;
use crate::summary::Summary;
use crate::text::clean;
use crate::warnings;
use assay_lang::{counted, tr, translated};
use assay_model::run::Run;
use maud::{Markup, html};

/// One run in the list.
#[derive(Clone, Debug)]
pub struct Entry {
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

impl Entry {
    /// What the list says of a run whose page is `file`.
    #[must_use]
    pub fn of(run: &Run, file: String) -> Self {
        let summary = Summary::of(run);
        let digest = Digest::of(&summary, &warnings::collect(&summary));
        let header = &run.header;
        Self {
            file,
            id: clean(&header.id),
            started: utc(header.started_unix_ms),
            device: identity::name(&header.storage),
            path: clean(&header.storage.path.to_string_lossy()),
            status: translated(run.status.word()).to_owned(),
            trials: identity::trials(&summary),
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

/// The page, in the order of the entries.
pub fn page(entries: &[Entry]) -> Page {
    Page {
        title: tr!("Runs of assay").to_owned(),
        subtitle: html! { (counted!(entries.len(), "{n} run", "{n} runs")) },
        sections: vec![Section::new("runs", tr!("Runs"), Some(table(entries)))],
        data: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn table(entries: &[Entry]) -> Markup {
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
