//! `assay doctor`: what would spoil a measurement here, and what to do.

use crate::driver::host::Host;
use crate::exit::{DONE, Failure, MISSED};
use crate::output::print;
use crate::stored::formats::DocumentArgs;
use crate::targets::on::OnArgs;
use assay_model::checkup::Severity;
use assay_report::checkup::findings;
use assay_report::{json, views};
use assay_target::Target;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
It looks on for a second; nothing is written or changed. Findings spoil figures
(they would be of something else, or cannot be had), disturb them (they vary, or
are not the device's best), or are a note, to be said with the figures.

Exit codes: 0 done, whatever was found, 3 with --strict when something spoils or
disturbs, 1 failed, 2 the command cannot be carried out as given, 5 target lost.";

/// `assay doctor`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct DoctorArgs {
    /// A directory, a file or a block device that is to be measured; without it the
    /// machine alone is looked at.
    pub path: Option<PathBuf>,
    /// End with 3 when something spoils or disturbs.
    #[arg(long)]
    pub strict: bool,
    /// Print the findings as JSON on standard output (docs/devices.md).
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Looks and tells.
pub fn run(args: &DoctorArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut host = Host::start(target)?;
    let checkup = host.checkup(args.path.as_deref())?;
    let findings = findings(&checkup);
    if args.json {
        let value = json::doctor(&checkup, &findings, host.target());
        print(|out| writeln!(out, "{value:#}"))?;
    } else {
        let document = views::checkup::document(&checkup, &findings, host.target());
        args.output.show(&document)?;
    }
    let matters = |severity: Severity| severity >= Severity::Disturbs;
    let ill = findings.iter().any(|finding| matters(finding.severity()));
    Ok(match args.strict && ill {
        true => ExitCode::from(MISSED),
        false => DONE,
    })
}
