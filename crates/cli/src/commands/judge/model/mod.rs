//! `assay model`: ceilings of buses, and models of storage devices.

pub mod args;
mod check;
mod compare;
pub mod fit;
pub mod limits;
pub mod simulate;

pub use args::ModelArgs;

use crate::exit::Failure;
use args::ModelCommand;
use std::process::ExitCode;

/// Runs the subcommand.
pub fn run(args: &ModelArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        ModelCommand::Limits(args) => limits::run(args),
        ModelCommand::Compare(args) => compare::run(args),
        ModelCommand::Check(args) => check::run(args),
        ModelCommand::Fit(args) => fit::run(args),
        ModelCommand::Simulate(args) => simulate::run(args),
    }
}
