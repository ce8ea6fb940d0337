//! `assay share`: figures of a device for others, without what identifies a person or a machine.

use crate::exit::{DONE, Failure};
use crate::output::{print, say};
use crate::stored::lookup::{StoreArgs, Stored, load};
use crate::stored::{OutputFolder, series};
use assay_lang::tr;
use assay_model::text::clean;
use assay_report::population::SharedRun;
use assay_report::results::facts;
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `assay share`.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes one JSON file for each run: model of the device, mode of its bus, kernel version, and each
figure of the device with its label, number of trials and the hash of its job. Serial numbers and
ids are replaced by keyed hashes (HMAC-SHA-256); the key, share.key in the data folder, stays here.
No host names, paths, users, commands, names, tags or notes. Nothing is sent anywhere: give the
folder to others, such as by git. docs/population.md describes the file.

Examples:
  assay share last --dry-run
  assay share last --to devices
  assay show last --population devices

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub struct ShareArgs {
    /// Name or id of a run, the beginning of its id, or `last`.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Print exactly what the files would hold, and share nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Folder for the files; the file of a run that is there already is replaced.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay share`.
pub fn run(args: &ShareArgs) -> Result<ExitCode, Failure> {
    let secret = series::secret()?;
    let all: Result<Vec<SharedRun>, Failure> = args
        .runs
        .iter()
        .map(|word| match load(&args.store, word)? {
            Stored::Run(run) => SharedRun::of(&facts::of(&run), &secret)
                .map_err(|why| Failure::usage(format!("{word} cannot be shared: {why}"))),
            Stored::Import(import) => Err(Failure::usage(format!(
                "{} is an import: only runs of assay can be shared",
                import.id
            ))),
        })
        .collect();
    match &args.to {
        Some(folder) if !args.dry_run => write_all(&all?, folder)?,
        _ => {
            let all = all?;
            print(|out| all.iter().try_for_each(|run| write(run, out)))?;
            say(tr!("Dry run: nothing was shared; this would be."));
        }
    }
    Ok(DONE)
}

fn write_all(all: &[SharedRun], folder: &Path) -> Result<(), Failure> {
    let output = OutputFolder::open(folder)?;
    for run in all {
        let file = run.file_name();
        output.write(&file, |out| write(run, out))?;
        say(&tr!(
            "wrote {path}",
            path = clean(&folder.join(file).display().to_string())
        ));
    }
    Ok(())
}

fn write(run: &SharedRun, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, run)?;
    writeln!(out)
}
