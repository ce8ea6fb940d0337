//! `assay targets`: the machines that assay can measure on, and where each is known from.

use crate::checks::input;
use crate::driver::reach::{self, Reached, describe};
use crate::exit::{DONE, Failure, LOST};
use crate::output::{print, print_json, say};
use crate::targets::{On, OnArgs};
use crate::{config, targets};
use assay_model::text::clean;
use assay_target::labgrid::{Freed, release_stale};
use assay_target::{adb, ssh};
use clap::Args;
use serde_json::{Value, json};
use std::env;
use std::ffi::OsStr;
use std::path::Path;
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
        true => known_targets(),
        false => (named(&args.on)?, Vec::new()),
    };
    for problem in &problems {
        say(&clean(&format!("assay: warning: {problem}")));
    }
    let reached = match args.check {
        true => reach::reach(&known.iter().map(|known| &known.on).collect::<Vec<_>>()),
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
        Some(reached) => format!("{target}: {}", reach::reached_in_words(reached)),
    })
}

fn document(known: &[KnownTarget], reached: &[Option<Reached>]) -> Value {
    let rows = known.iter().zip(reached).map(|(known, reached)| {
        let mut value = json!({
            "target": known.on.to_string(),
            "name": known.name,
            "from": known.from,
        });
        describe(&mut value, reached.as_ref());
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

/// Target, and the source that knows it.
pub struct KnownTarget {
    /// Address, as `--on` takes it.
    pub on: On,
    /// Name of the target in the settings, which `--on` takes as well.
    pub name: Option<String>,
    /// Source of the target, and its description there.
    pub from: String,
}

/// Returns the targets of the settings, of `~/.ssh/config`, of adb and of the labgrid in the
/// environment, and a sentence for each source that cannot be queried.
fn known_targets() -> (Vec<KnownTarget>, Vec<String>) {
    let mut found = targets_in_files();
    let mut problems = Vec::new();
    if on_search_path("adb") {
        match adb::devices() {
            Ok(devices) => found.extend(devices.into_iter().map(|(device, state)| KnownTarget {
                on: On::Adb(device),
                name: None,
                from: format!("adb, {}", clean(&state)),
            })),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if env::var_os("LG_COORDINATOR").is_some_and(|name| !name.is_empty()) {
        match targets_of_lab() {
            Ok(places) => found.extend(places),
            Err(why) => problems.push(why),
        }
    }
    (found, problems)
}

/// Returns the targets that files name: those of the settings and of `~/.ssh/config`.
pub fn targets_in_files() -> Vec<KnownTarget> {
    let mut found = targets_of_settings();
    found.extend(targets_of_ssh());
    found
}

fn targets_of_settings() -> Vec<KnownTarget> {
    let named = config::values().targets.iter();
    let named = named.map(|(name, on)| {
        let found = config::current().find(&format!("targets.{name}"));
        let from = found.map_or("settings", |(_, layer)| layer.kind);
        KnownTarget {
            on: on.clone(),
            name: Some(name.clone()),
            from: format!("{name}, {from}"),
        }
    });
    named.collect()
}

fn targets_of_ssh() -> Vec<KnownTarget> {
    let home = env::var_os("HOME").unwrap_or_default();
    let config = input::small_text(&Path::new(&home).join(".ssh/config")).unwrap_or_default();
    let hosts = ssh::configured(&config).into_iter();
    hosts
        .map(|address| KnownTarget {
            on: On::Ssh(address),
            name: None,
            from: "~/.ssh/config".to_owned(),
        })
        .collect()
}

fn targets_of_lab() -> Result<Vec<KnownTarget>, String> {
    let lab = targets::open_lab().map_err(|failure| failure.to_string())?;
    let places = lab.places().map_err(|error| error.to_string())?;
    let places = places.into_iter().filter_map(|place| {
        let wanted = format!("labgrid:{}", place.name).parse().ok()?;
        let tags: Vec<String> = place
            .tags
            .iter()
            .map(|(name, value)| clean(&format!("{name}={value}")))
            .collect();
        let held = match place.acquired.is_empty() {
            true => "free".to_owned(),
            false => format!("held by {}", clean(&place.acquired)),
        };
        let from = std::iter::once("labgrid".to_owned())
            .chain(std::iter::once(held))
            .chain(tags);
        Some(KnownTarget {
            on: On::Labgrid(wanted),
            name: None,
            from: from.collect::<Vec<_>>().join(", "),
        })
    });
    Ok(places.collect())
}

fn on_search_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(OsStr::new(program)).is_file())
}
