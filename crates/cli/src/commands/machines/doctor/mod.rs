//! `assay doctor`: conditions that would spoil a measurement here, and their remedies.

mod itself;

use crate::driver::Host;
use crate::exit::{DONE, Failure, MISSED};
use crate::stored::formats::DocumentArgs;
use crate::targets::OnArgs;
use assay_model::checkup::Severity;
use assay_report::checkup::findings;
use assay_report::{json, views};
use assay_target::Target;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Observes the machine for a second; nothing is written or changed. A finding spoils
figures (they would measure something else, or nothing), disturbs them (they vary, or
are below the device's best), or is a note to be published with them.
docs/devices.md describes the JSON.

Examples:
  assay doctor /mnt/sd
  assay doctor --strict --on ssh://root@board

Exit codes: 0 done, whatever was found, 3 with --strict when something spoils or
disturbs, 1 failed, or with --self settings, store or agent cannot be used, 2 wrong usage,
5 target lost.";

/// `assay doctor`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct DoctorArgs {
    /// Directory, file or block device to be measured; without it only the machine is checked.
    pub path: Option<PathBuf>,
    /// Exit with 3 if something spoils or disturbs a measurement.
    #[arg(long)]
    pub strict: bool,
    /// Check assay itself on this machine: its build, agents, store and config files, and which of
    /// its features would not work.
    #[arg(long = "self", conflicts_with_all = ["path", "strict", "on"])]
    pub itself: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Checks the target and shows the findings.
pub fn run(args: &DoctorArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if args.itself {
        return itself::run(&args.output, target);
    }
    let mut host = Host::start(target)?;
    let checkup = host.checkup(args.path.as_deref())?;
    let findings = findings(&checkup);
    args.output.present(
        || json::doctor(Some(&checkup), &findings, host.target()),
        || views::devices::doctor(&checkup, &findings, host.target()),
    )?;
    let matters = |severity: Severity| severity >= Severity::Disturbs;
    let ill = findings.iter().any(|finding| matters(finding.severity()));
    Ok(match args.strict && ill {
        true => ExitCode::from(MISSED),
        false => DONE,
    })
}
