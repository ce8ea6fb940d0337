//! `assay targets`: the boards that assay knows of.

use crate::exit::{DONE, Failure};
use crate::lab;
use crate::output::say;
use assay_model::text::clean;
use assay_target::labgrid::{Freed, release_stale};
use clap::Args;
use std::process::ExitCode;

/// `assay targets`.
#[derive(Args, Debug)]
pub struct TargetsArgs {
    /// Release the places of a labgrid that runs of this user on this machine still hold
    /// although they were killed.
    #[arg(long, required = true)]
    pub release_stale: bool,
}

/// Releases what dead processes hold.
pub fn run(_args: &TargetsArgs) -> Result<ExitCode, Failure> {
    let freed = release_stale(&lab::folder()?)?;
    for place in &freed {
        say(&clean(&in_words(place)));
    }
    if freed.is_empty() {
        say("no killed run holds a board");
    }
    Ok(DONE)
}

fn in_words(freed: &Freed) -> String {
    let Freed {
        place, coordinator, ..
    } = freed;
    match freed.released {
        true => format!("released labgrid:{place} at {coordinator}"),
        false => format!(
            "left labgrid:{place} at {coordinator} alone: it was released or changed since. If it \
             is still held for nobody: labgrid-client -p {place} release"
        ),
    }
}
