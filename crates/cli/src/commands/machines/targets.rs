//! `assay lab targets`: the machines that assay can measure on, and where each is known from.
//! `assay lab agent`: agents that stay on targets.

use crate::checks::input;
use crate::driver::{Reached, describe_reached, reach, reached_in_words};
use crate::exit::{DONE, Failure, LOST};
use crate::output::{print, print_json, say};
use crate::targets::{On, OnArgs, target};
use crate::{config, targets};
use assay_model::text::clean;
use assay_model::wire::Greeting;
use assay_target::labgrid::{Freed, release_stale};
use assay_target::{AgentOrder, AgentState, AgentThere, WhenLost, adb, ssh};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

const TARGETS_HELP: &str = "\
Listed are the names in config files (docs/config.md), the hosts of ~/.ssh/config
(without patterns), the devices of adb, and the places of the labgrid that
LG_COORDINATOR names.

Examples:
  assay lab targets
  assay lab targets --on @boards.txt --check    a file with targets of one's own

Exit codes: 0 done, 1 failed, 2 wrong usage,
5 with --check when a target is not reached.";

/// Version of the JSON format; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// `assay lab targets`.
#[derive(Args, Debug)]
#[command(after_help = TARGETS_HELP)]
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
pub fn list_targets(args: &TargetsArgs) -> Result<ExitCode, Failure> {
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

const AGENT_HELP: &str = "\
Without an installed agent each command copies one and removes it again. An installed
agent is used if it is the same file (each command checks its SHA-256), or speaks a
protocol of this program and has the features that the command needs; otherwise a
command copies its own. It is installed in ~/.assay-agent, or in
/data/local/tmp/.assay-agent of a phone; a package assay-agent is found as well.
";

const AGENT_EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 5 target lost.";

/// `assay lab agent`.
#[derive(Args, Debug)]
#[command(after_help = format!("{AGENT_HELP}\n{AGENT_EXIT_CODES}"))]
pub struct AgentArgs {
    /// Command to run.
    #[command(subcommand)]
    pub order: AgentCommand,
}

/// Available commands.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Install the agent on targets, so that later commands need not copy it.
    #[command(after_help = format!("Examples:\n  assay lab agent push --on @boards.txt\n\n{AGENT_EXIT_CODES}"))]
    Push(OnArgs),
    /// List the agents on targets: installed, in use by a command, or left by a lost link.
    #[command(after_help = format!("Examples:\n  assay lab agent list --on ssh://root@board\n\n{AGENT_EXIT_CODES}"))]
    List(OnArgs),
    /// Remove the installed agent and what lost links left.
    #[command(after_help = format!("Examples:\n  assay lab agent remove --on adb:\n\n{AGENT_EXIT_CODES}"))]
    Remove(OnArgs),
}

/// Carries out the subcommand on one target after the other.
pub fn run_agent_command(args: &AgentArgs) -> Result<ExitCode, Failure> {
    let (on, order) = match &args.order {
        AgentCommand::Push(on) => (on, AgentOrder::Push),
        AgentCommand::List(on) => (on, AgentOrder::List),
        AgentCommand::Remove(on) => (on, AgentOrder::Remove),
    };
    let targets = on.targets()?;
    if targets.is_empty() {
        return Err(Failure::usage(
            "on which machine? Name it: --on ssh://user@host or adb:SERIAL",
        ));
    }
    let mut failed = None;
    for on in &targets {
        match target(on, WhenLost::Stop).and_then(|mut there| Ok(there.agents(order)?)) {
            Ok(agents) => show_agents(&on.to_string(), order, &agents)?,
            Err(failure) => {
                // Continue with the other targets.
                if let Some(failure) = failed.replace(failure) {
                    say(&clean(&format!("assay: {failure}")));
                }
            }
        }
    }
    failed.map_or(Ok(DONE), Err)
}

/// Prints a line for each agent, or one for a target without agents.
fn show_agents(target: &str, order: AgentOrder, agents: &[AgentThere]) -> Result<(), Failure> {
    if agents.is_empty() {
        say(&clean(&match order {
            AgentOrder::Remove => format!("{target}: no agent had to be removed"),
            AgentOrder::Push | AgentOrder::List => format!("{target}: no agent is there"),
        }));
    }
    print(|out| {
        agents.iter().try_for_each(|agent| {
            let words = agent_in_words(agent);
            writeln!(
                out,
                "{}",
                clean(&format!("{target} {}: {words}", agent.path))
            )
        })
    })
}

/// Describes the state of an agent, and the build and protocol that it reports.
fn agent_in_words(agent: &AgentThere) -> String {
    let said = agent.greeting.as_ref();
    let state = match (agent.state, said) {
        (AgentState::Pushed, _) => "put there, stays",
        (AgentState::Kept, _) => "stays, is that of this program",
        (AgentState::Other, None) => "stays, is from before protocol 1: commands push their own",
        (AgentState::Other, Some(said)) => match said.common(&Greeting::of_host()) {
            Some(_) => "stays, is used by commands that need no other feature",
            None => "stays, has no protocol of this program: commands push their own",
        },
        (AgentState::Foreign, _) => {
            "stays, but other users can replace it: commands push their own"
        }
        (AgentState::Running, _) => "is used now",
        (AgentState::Left, _) => "left by a cut link; assay lab agent remove takes it away",
        (AgentState::Removed, _) => "removed",
    };
    match said {
        Some(said) => format!("{state} ({said})"),
        None => state.to_owned(),
    }
}
