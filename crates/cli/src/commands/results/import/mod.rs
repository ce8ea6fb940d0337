//! `assay import FILE...`: results that were made elsewhere.

pub mod args;

use crate::driver::runs::{run_id, unix_ms};
use crate::exit::{DONE, Failure};
use crate::output::{print, style};
use crate::stored::files::{name, only_once, read_file};
use args::ImportArgs;
use assay_dialects::import::together;
use assay_lang::tr;
use assay_model::figures::Import;
use assay_report::import::write_json;
use assay_report::terminal::write_import;
use std::process::ExitCode;

/// Takes files in: all of them or none.
pub fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let store_path = args.store.path()?;
    let import = take(args)?;
    let mut store = args.store.open(&store_path)?;
    store.save_import(&import)?;
    if args.json {
        print(|out| write_json(&import, out))?;
        return Ok(DONE);
    }
    let id = &import.id;
    let closing = [tr!("Stored as import {id}: assay show {id}", id)];
    print(|out| write_import(&import, style(), &closing, out))?;
    Ok(DONE)
}

fn take(args: &ImportArgs) -> Result<Import, Failure> {
    only_once(&args.files)?;
    let mut taken = Vec::new();
    for file in &args.files {
        taken.push(read_file(file, args.format)?);
    }
    let results = together(taken, args.condition.as_deref())
        .map_err(|error| Failure::usage(format!("the files together: {error}")))?;
    Ok(Import {
        id: run_id(),
        imported_unix_ms: unix_ms(),
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
        files: args.files.iter().map(|file| name(file)).collect(),
        results,
        annotation: args.store.annotation.annotation(),
    })
}
