//! `assay import FILE...`: imports results of other tools.

use crate::driver::runs::{run_id, unix_ms};
use crate::exit::{DONE, Failure};
use crate::output::{print, style};
use crate::stored::KeepArgs;
use crate::stored::lookup::{file_in_words, only_once, read_file};
use crate::ui::one_of;
use assay_dialects::import::{Format, together};
use assay_lang::tr;
use assay_model::figures::Import;
use assay_report::import::write_json;
use assay_report::{terminal, views};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER: &str = "\
Examples:
  assay import before.json                  fio's JSON
  assay import --condition bfq bfq-*.json   three files, three trials
  fio job.fio | assay import -              its normal output
  assay import --condition A iozone.txt     its tables, -R blocks, throughput
  assay import androbench.csv               condition,metric,unit,n,mean,stdev

Facts that the files do not contain are unknown: above all, whether the device or the
page cache was measured.

Exit codes: 0 done, 1 failed, 2 a file cannot be read or
understood; nothing is stored then.";

/// `assay import`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct ImportArgs {
    /// Files written by fio, iozone, dd or vmstat, or tables (CSV); - is standard input. The
    /// same metric in several files gives several trials.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format of the files, if it is not detected.
    #[arg(long, value_name = "FORMAT", value_parser = one_of(&Format::ALL, Format::name))]
    pub format: Option<Format>,
    /// Condition of all figures, such as bfq or 'unit A'.
    #[arg(long, value_name = "NAME")]
    pub condition: Option<String>,
    /// Print the import as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
}

/// Imports all files, or none of them if one fails.
pub fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let location = args.store.store.location()?;
    let import = take(args)?;
    let mut store = args.store.open(&location)?;
    store.save_import(&import)?;
    if args.json {
        print(|out| write_json(&import, out))?;
        return Ok(DONE);
    }
    let id = &import.id;
    let closing = [tr!("Stored as import {id}: assay show {id}", id)];
    print(|out| terminal::write(&views::import::document(&import), style(), &closing, out))?;
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
        files: args.files.iter().map(|file| file_in_words(file)).collect(),
        results,
        annotation: args.store.annotation.annotation(),
    })
}
