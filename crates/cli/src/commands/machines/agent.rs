//! `assay agent`: agents that stay on targets.

use crate::exit::{DONE, Failure};
use crate::output::{print, say};
use crate::targets::on::{OnArgs, target};
use assay_model::text::clean;
use assay_target::{AgentOrder, AgentState, AgentThere, WhenLost};
use clap::{Args, Subcommand};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Without an installed agent each command copies one and removes it again. An installed
agent is used as long as it is the same file (each command checks its SHA-256);
otherwise a command copies its own. It is installed in ~/.assay-agent, or
in /data/local/tmp/.assay-agent of a phone.
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

/// Carries it out, one target after the other.
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
                // The others are seen to all the same.
                if let Some(failure) = failed.replace(failure) {
                    say(&clean(&format!("assay: {failure}")));
                }
            }
        }
    }
    failed.map_or(Ok(DONE), Err)
}

/// A line for each agent; where there is none, that.
fn show(target: &str, order: AgentOrder, agents: &[AgentThere]) -> Result<(), Failure> {
    if agents.is_empty() {
        say(&clean(&match order {
            AgentOrder::Remove => format!("{target}: no agent had to be removed"),
            AgentOrder::Push | AgentOrder::List => format!("{target}: no agent is there"),
        }));
    }
    print(|out| {
        agents.iter().try_for_each(|agent| {
            let words = in_words(agent.state);
            writeln!(
                out,
                "{}",
                clean(&format!("{target} {}: {words}", agent.path))
            )
        })
    })
}

fn in_words(state: AgentState) -> &'static str {
    match state {
        AgentState::Pushed => "put there, stays",
        AgentState::Kept => "stays, is that of this program",
        AgentState::Other => "stays, is none of this program's: commands push their own",
        AgentState::Running => "is used now",
        AgentState::Left => "left by a cut link; assay agent remove takes it away",
        AgentState::Removed => "removed",
    }
}
