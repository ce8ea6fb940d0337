//! `assay model`: what a bus can carry, and why storage is as fast as it is.

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

/// Runs what was asked for.
pub fn run(args: &ModelArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        ModelCommand::Limits(args) => limits::run(args),
        ModelCommand::Compare(args) => compare::run(args),
        ModelCommand::Check(args) => check::run(args),
        ModelCommand::Fit(args) => fit::run(args),
        ModelCommand::Simulate(args) => simulate::run(args),
    }
}
