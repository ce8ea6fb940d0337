//! `assay report`: a run, two of them against each other, or all of them, as files.

mod folder;

use crate::args::ReportArgs;
use crate::exit::Failure;
use crate::stored::lookup;
use std::process::ExitCode;

/// `assay report`.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    match &args.all {
        Some(folder) => folder::write(&args.store, folder),
        None => lookup::report(args),
    }
}
