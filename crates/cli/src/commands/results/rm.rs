//! `assay rm`: removes runs and imports from the store.

use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored;
use crate::stored::lookup::StoreArgs;
use assay_lang::tr;
use assay_model::text::clean;
use assay_store::StoredId;
use clap::Args;
use std::process::ExitCode;

/// `assay rm`.
#[derive(Args, Debug)]
#[command(after_help = "\
Removes without a question, and of several all or none. Later runs use the space in the
store again; its file does not shrink.

Examples:
  assay rm last
  assay rm 3f2a 9b1c

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.")]
pub struct RmArgs {
    /// Name, id, beginning of an id, or `last`; a run under way is refused.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay rm`.
pub fn run(args: &RmArgs) -> Result<ExitCode, Failure> {
    let mut store = args.store.open_to_change()?;
    let mut found: Vec<StoredId> = Vec::new();
    for word in &args.runs {
        let one = store.find(word)?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    let mut names = Vec::new();
    for one in &found {
        names.push(store.annotation(one.id())?.name);
    }
    store.remove(&found, stored::is_alive)?;
    for (one, name) in found.iter().zip(names) {
        let name = name.map_or_else(String::new, |name| format!(" ({})", clean(&name)));
        let id = clean(one.id());
        say(&match one {
            StoredId::Run(_) => tr!("removed run {id}{name}", id, name),
            StoredId::Import(_) => tr!("removed import {id}{name}", id, name),
        });
    }
    Ok(DONE)
}
