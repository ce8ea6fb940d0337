//! `assay run FILE`: runs a job file of fio several times, with assay's summary and store.

use crate::checks::admission::can_be_stored;
use crate::config;
use crate::driver::records::{RepeatedLoad, entries, left_out};
use crate::driver::{Host, acts};
use crate::exit::Failure;
use crate::jobs::{machine, warn};
use crate::output::say;
use crate::stored::{KeepArgs, keep_apart};
use crate::targets::OnArgs;
use assay_dialects::fio;
use assay_model::load::Load;
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_target::Target;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay run jobs.fio
  assay run jobs.fio --trials 10 --name before-patch
";

const RUN_EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage,
4 data read differs from data written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every case.";

/// `assay run`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{RUN_EXIT_CODES}"))]
pub struct RunArgs {
    /// A job file of fio. A block device that it names is overwritten, unless it
    /// is in use.
    pub file: PathBuf,
    /// Number of trials [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Runs a job file on a target.
pub fn run(args: &RunArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    can_be_stored(&args.file)?;
    target.needs(Feature::Loads);
    let mut host = Host::start(target)?;
    let machine = machine(Some(&mut host))?;
    let invocation = fio::parse_job_file(&args.file, machine.as_ref()).map_err(Failure::usage)?;
    warn(&invocation.warnings, say);
    for remark in &invocation.notes {
        say(&format!("assay: {remark}"));
    }
    let load = acts::permit_devices(invocation.load);
    let entries = entries(&load);
    if entries.is_empty() {
        let why = "no job reads or writes: there is nothing to repeat";
        return Err(Failure::in_file(&args.file, why));
    }
    warn(&left_out(&load), say);
    let store_path = args.store.path()?;
    // Paths on another machine have no meaning here.
    if host.target().is_none() {
        let files = load.streams.iter().flat_map(|stream| &stream.files.paths);
        keep_apart(&store_path, files.cloned())?;
    }
    let inspection = place_of(&load, &mut host)?;
    let store = args.store.open(&store_path)?;
    let asked = RepeatedLoad {
        load,
        entries,
        replay: None,
        is_private: false,
        inspection,
        trials: config::trials(args.trials, config::TRIALS),
        json: args.json,
    };
    asked.carry_out(target, &mut host, store)
}

/// Inspects the first device of a load, or the folder of its first file.
fn place_of(load: &Load, host: &mut Host) -> Result<Inspection, Failure> {
    let files = load.streams.iter().flat_map(|stream| &stream.files.paths);
    let first = files.map(PathBuf::as_path).next().unwrap_or(Path::new("."));
    let named = first.ancestors().filter(|path| *path != Path::new(""));
    for path in named {
        match host.inspect(path) {
            Ok(inspection) if !matches!(inspection.kind, PathKind::File { .. }) => {
                return Ok(inspection);
            }
            Err(failure) if failure.is_lost() => return Err(failure),
            // A file, or a path that does not exist yet: inspect its parent.
            Ok(_) | Err(_) => {}
        }
    }
    host.inspect(Path::new("."))
}
