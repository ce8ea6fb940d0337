//! Folder of pages: one for each stored run and import, and an index.

use crate::exit::{DONE, Failure};
use crate::judging::ranking;
use crate::output::say;
use crate::stored::folder::OutputFolder;
use crate::stored::lookup::{StoreArgs, Stored, load_from};
use crate::ui::progress::Voice;
use assay_lang::{counted, tr};
use assay_report::html::{self, IndexEntry};
use assay_store::Store;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

/// Page that lists all others.
const INDEX: &str = "index.html";

/// Writes the folder; its pages replace existing ones, other files are left alone.
pub fn write(store: &StoreArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let store = store.open_existing()?;
    let runs = store.runs()?.into_iter().map(|run| run.id);
    let imports = store.imports()?.into_iter().map(|import| import.id);
    let ids: Vec<String> = runs.chain(imports).collect();
    if ids.is_empty() {
        return Err(Failure::usage("the store has no run to report"));
    }
    let output = OutputFolder::open(folder)?;
    let pages = pages(&store, &output, &ids)?;
    let mut entries = Vec::new();
    let mut damaged = 0;
    for page in pages {
        match page {
            Made::Page(entry) => entries.push(*entry),
            Made::Damaged(failure) => {
                say(&format!("assay: warning: {failure}; it has no page"));
                damaged += 1;
            }
        }
    }
    output.write(INDEX, |out| html::write_index(&entries, out))?;
    let pages = counted!(entries.len(), "{n} page", "{n} pages");
    say(&tr!(
        "wrote {pages} and {index}",
        pages,
        index = folder.join(INDEX).display()
    ));
    match damaged {
        0 => Ok(DONE),
        _ => Err(Failure::failed(format!(
            "{damaged} of {} could not be read and have no page",
            ids.len()
        ))),
    }
}

/// Result of writing the page of a run or an import.
enum Made {
    Page(Box<IndexEntry>),
    Damaged(Failure),
}

/// Writes all pages in parallel, in one thread per processor: a run can be large.
fn pages(store: &Store, folder: &OutputFolder, ids: &[String]) -> Result<Vec<Made>, Failure> {
    let next = AtomicUsize::new(0);
    let voice = Voice::new();
    let location = store.location();
    let work = || -> Result<Vec<(usize, Made)>, Failure> {
        // A store connection cannot be shared between threads.
        let store = Store::open_existing(location)?;
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(id) = ids.get(index) else {
                return Ok(made);
            };
            voice.show(index, ids.len(), id);
            made.push((
                index,
                match load_from(&store, id) {
                    Ok(stored) => {
                        Made::Page(Box::new(page(folder, &stored, format!("{id}.html"))?))
                    }
                    Err(failure) => Made::Damaged(failure),
                },
            ));
        }
    };
    let threads = available_parallelism().map_or(1, NonZero::get);
    let made: Result<Vec<_>, Failure> = scope(|scope| {
        let start = |_| Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (0..threads).map_while(start).collect();
        let alone = workers.is_empty().then(work);
        let ended = workers.into_iter().map(|worker| {
            let panicked = |_| Err(Failure::failed("a thread that writes pages panicked"));
            worker.join().unwrap_or_else(panicked)
        });
        ended.chain(alone).collect()
    });
    voice.clear();
    let mut made: Vec<(usize, Made)> = made?.into_iter().flatten().collect();
    made.sort_unstable_by_key(|(index, _)| *index);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}

/// Writes one page; returns its entry in the index.
fn page(folder: &OutputFolder, stored: &Stored, file: String) -> Result<IndexEntry, Failure> {
    match stored {
        Stored::Run(run) => {
            folder.write(&file, |out| html::write(run, out))?;
            Ok(IndexEntry::of(run, file))
        }
        Stored::Import(import) => {
            let verdicts = ranking::verdicts_of_import(import, None);
            folder.write(&file, |out| {
                html::write_import(import, verdicts.as_ref(), out)
            })?;
            Ok(IndexEntry::of_import(import, file))
        }
    }
}
