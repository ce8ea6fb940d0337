//! A folder of pages: one for each stored run and import, and one that lists them.

use crate::args::StoreArgs;
use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::rank;
use crate::stored::{Stored, load_from, store_path, write_file};
use assay_lang::{counted, tr};
use assay_report::html::{self, Entry};
use assay_store::Store;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Writes the folder; pages that are there are replaced, other files are left alone.
pub fn write(store: &StoreArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let store = Store::open_existing(&store_path(store)?)?;
    let runs = store.runs()?.into_iter().map(|run| run.id);
    let imports = store.imports()?.into_iter().map(|import| import.id);
    let ids: Vec<String> = runs.chain(imports).collect();
    if ids.is_empty() {
        return Err(Failure::usage("the store has no run to report"));
    }
    fs::create_dir_all(folder)
        .map_err(|error| Failure::usage(format!("cannot make {}: {error}", folder.display())))?;
    let mut entries = Vec::new();
    let mut damaged = 0;
    for id in &ids {
        // One at a time: a run can be large.
        match load_from(&store, id) {
            Ok(stored) => entries.push(page(folder, &stored, format!("{id}.html"))?),
            Err(failure) => {
                say(&format!("assay: warning: {failure}; it has no page"));
                damaged += 1;
            }
        }
    }
    let index = folder.join("index.html");
    write_file(&index, |out| html::write_index(&entries, out))?;
    let pages = counted!(entries.len(), "{n} page", "{n} pages");
    say(&tr!(
        "wrote {pages} and {index}",
        pages,
        index = index.display()
    ));
    match damaged {
        0 => Ok(DONE),
        _ => Err(Failure::failed(format!(
            "{damaged} of {} could not be read and have no page",
            ids.len()
        ))),
    }
}

/// Writes one page; its line in the list.
fn page(folder: &Path, stored: &Stored, file: String) -> Result<Entry, Failure> {
    let path = folder.join(&file);
    match stored {
        Stored::Run(run) => {
            write_file(&path, |out| html::write(run, out))?;
            Ok(Entry::of(run, file))
        }
        Stored::Import(import) => {
            let verdicts = rank::verdicts_of_import(import, None);
            write_file(&path, |out| {
                html::write_import(import, verdicts.as_ref(), out)
            })?;
            Ok(Entry::of_import(import, file))
        }
    }
}
