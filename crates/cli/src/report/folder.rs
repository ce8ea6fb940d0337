//! A folder of pages: one for each stored run, and one that lists them.

use crate::args::StoreArgs;
use crate::exit::{DONE, Failure};
use crate::output::say;
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
    let runs = store.runs()?;
    if runs.is_empty() {
        return Err(Failure::usage("the store has no run to report"));
    }
    fs::create_dir_all(folder)
        .map_err(|error| Failure::usage(format!("cannot make {}: {error}", folder.display())))?;
    let mut entries = Vec::new();
    for summary in &runs {
        // One at a time: a run can be large.
        if let Stored::Run(run) = load_from(&store, &summary.id)? {
            let file = format!("{}.html", summary.id);
            write_file(&folder.join(&file), |out| html::write(&run, out))?;
            entries.push(Entry::of(&run, file));
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
    Ok(DONE)
}
