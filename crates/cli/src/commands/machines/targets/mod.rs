//! `assay targets`: the machines that assay can measure on.

pub mod known;

use crate::driver::{Reached, describe_reached, reach, reached_in_words};
use crate::exit::{DONE, Failure, LOST};
use crate::output::{print, print_json, say};
use crate::targets;
use crate::targets::OnArgs;
use assay_model::text::clean;
use assay_target::labgrid::{Freed, release_stale};
use clap::Args;
use known::{KnownTarget, all};
use serde_json::{Value, json};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Listed are the names in config files (docs/config.md), the hosts of ~/.ssh/config
(without patterns), the devices of adb, and the places of the labgrid that
LG_COORDINATOR names.

Examples:
  assay targets
  assay targets --on @boards.txt --check    a file with targets of one's own

Exit codes: 0 done, 1 failed, 2 wrong usage,
5 with --check when a target is not reached.";

/// Version of the JSON format; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// `assay targets`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct TargetsArgs {
    /// Start an agent on each of them and report the machine. Places of a labgrid are not
    /// checked, because they would have to be acquired.
    #[arg(long)]
    pub check: bool,
    /// Print the targets as JSON on standard output (docs/boards.md).
    #[arg(long)]
    pub json: bool,
    /// Release labgrid places that killed runs of this user on this machine still hold.
    #[arg(long, conflicts_with_all = ["check", "json", "on"])]
    pub release_stale: bool,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Lists targets, or releases places that dead processes hold.
pub fn run(args: &TargetsArgs) -> Result<ExitCode, Failure> {
    if args.release_stale {
        return free();
    }
    let (known, problems) = match args.on.on.is_empty() {
        true => all(),
        false => (named(&args.on)?, Vec::new()),
    };
    for problem in &problems {
        say(&clean(&format!("assay: warning: {problem}")));
    }
    let reached = match args.check {
        true => reach(&known.iter().map(|known| &known.on).collect::<Vec<_>>()),
        false => known.iter().map(|_| None).collect(),
    };
    if args.json {
        print_json(&document(&known, &reached))?;
    } else if known.is_empty() {
        say("no target is known; any machine that ssh reaches can be one (--on ssh://user@host)");
    } else {
        print(|out| {
            let rows = known.iter().zip(&reached);
            rows.into_iter()
                .try_for_each(|(known, reached)| writeln!(out, "{}", line(known, reached)))
        })?;
    }
    let lost = reached.iter().flatten().any(Result::is_err);
    Ok(if lost { ExitCode::from(LOST) } else { DONE })
}

fn named(on: &OnArgs) -> Result<Vec<KnownTarget>, Failure> {
    let targets = on.targets()?.into_iter();
    let known = targets.map(|on| KnownTarget {
        on,
        name: None,
        from: "--on".to_owned(),
    });
    Ok(known.collect())
}

/// Formats a line such as `ssh://board (~/.ssh/config): aarch64, Linux 6.1.0, root`.
fn line(known: &KnownTarget, reached: &Option<Reached>) -> String {
    let target = format!("{} ({})", known.on, known.from);
    clean(&match reached {
        None => target,
        Some(reached) => format!("{target}: {}", reached_in_words(reached)),
    })
}

fn document(known: &[KnownTarget], reached: &[Option<Reached>]) -> Value {
    let rows = known.iter().zip(reached).map(|(known, reached)| {
        let mut value = json!({
            "target": known.on.to_string(),
            "name": known.name,
            "from": known.from,
        });
        describe_reached(&mut value, reached.as_ref());
        value
    });
    json!({"schema": SCHEMA, "targets": rows.collect::<Vec<_>>()})
}

fn free() -> Result<ExitCode, Failure> {
    let (freed, ended) = release_stale(&targets::lab_journals()?);
    for place in &freed {
        say(&clean(&freed_in_words(place)));
    }
    if freed.is_empty() && ended.is_ok() {
        say("no killed run holds a board");
    }
    ended?;
    Ok(DONE)
}

fn freed_in_words(freed: &Freed) -> String {
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
