//! `assay agent`: agents that stay on targets.

use crate::exit::{DONE, Failure};
use crate::output::{print, say};
use crate::targets::{OnArgs, target};
use assay_model::text::clean;
use assay_model::wire::Greeting;
use assay_target::{AgentOrder, AgentState, AgentThere, WhenLost};
use clap::{Args, Subcommand};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Without an installed agent each command copies one and removes it again. An installed
agent is used if it is the same file (each command checks its SHA-256), or speaks a
protocol of this program and has the features that the command needs; otherwise a
command copies its own. It is installed in ~/.assay-agent, or in
/data/local/tmp/.assay-agent of a phone; a package assay-agent is found as well.
";

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 5 target lost.";

/// `assay agent`.
#[derive(Args, Debug)]
#[command(after_help = format!("{AFTER_HELP}\n{EXIT_CODES}"))]
pub struct AgentArgs {
    /// Command to run.
    #[command(subcommand)]
    pub order: AgentCommand,
}

/// Available commands.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Install the agent on targets, so that later commands need not copy it.
    #[command(after_help = format!("Examples:\n  assay agent push --on @boards.txt\n\n{EXIT_CODES}"))]
    Push(OnArgs),
    /// List the agents on targets: installed, in use by a command, or left by a lost link.
    #[command(after_help = format!("Examples:\n  assay agent list --on ssh://root@board\n\n{EXIT_CODES}"))]
    List(OnArgs),
    /// Remove the installed agent and what lost links left.
    #[command(after_help = format!("Examples:\n  assay agent remove --on adb:\n\n{EXIT_CODES}"))]
    Remove(OnArgs),
}

/// Carries out the subcommand on one target after the other.
pub fn run(args: &AgentArgs) -> Result<ExitCode, Failure> {
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
            Ok(agents) => show(&on.to_string(), order, &agents)?,
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
fn show(target: &str, order: AgentOrder, agents: &[AgentThere]) -> Result<(), Failure> {
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
        (AgentState::Left, _) => "left by a cut link; assay agent remove takes it away",
        (AgentState::Removed, _) => "removed",
    };
    match said {
        Some(said) => format!("{state} ({said})"),
        None => state.to_owned(),
    }
}
