//! `cargo xtask agents`: builds the static agents that assay puts onto boards.

pub mod build;
pub mod size;
pub mod toolchain;

use anyhow::{Result, bail};
use std::env::consts::ARCH;
use toolchain::Toolchain;

/// Machines by their `uname -m`, which is also the name in assay's request for an agent, with
/// their Rust targets.
pub const MACHINES: [(&str, &str); 5] = [
    ("x86_64", "x86_64-unknown-linux-musl"),
    ("aarch64", "aarch64-unknown-linux-musl"),
    ("armv7l", "armv7-unknown-linux-musleabihf"),
    ("riscv64", "riscv64gc-unknown-linux-musl"),
    ("i686", "i686-unknown-linux-musl"),
];

/// Machine of the emulated board.
const BOARD: &str = "aarch64";

/// Folder of the agents in the build folder; assay searches it.
const FOLDER: &str = "agents";

/// Name suffix of an agent with `SQLite`.
const SQLITE: &str = "-sqlite";

/// Agent for one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Agent {
    machine: &'static str,
    /// Rust target.
    target: &'static str,
    /// Set for the larger flavour, which has databases.
    sqlite: bool,
}

impl Agent {
    /// Returns the agent's name, which is also part of its file name.
    fn name(self) -> String {
        let flavour = if self.sqlite { SQLITE } else { "" };
        format!("{}{flavour}", self.machine)
    }

    fn file(self) -> String {
        format!("assay-agent-{}", self.name())
    }

    /// Returns all agents: both flavours for each machine.
    fn all() -> impl Iterator<Item = Self> {
        MACHINES.into_iter().flat_map(|(machine, target)| {
            [false, true].map(|sqlite| Self {
                machine,
                target,
                sqlite,
            })
        })
    }

    fn named(name: &str) -> Result<Self> {
        if let Some(agent) = Self::all().find(|agent| agent.name() == name) {
            return Ok(agent);
        }
        bail!("there is no agent {name}; there are {}", names().join(", "))
    }
}

/// Names of all agents.
pub fn names() -> Vec<String> {
    Agent::all().map(Agent::name).collect()
}

/// Returns names of the agents that tests run: those of this machine and of the emulated board,
/// or all.
pub fn of_tests(full: bool) -> Vec<String> {
    let run = |agent: &Agent| full || [ARCH, BOARD].contains(&agent.machine);
    Agent::all().filter(run).map(Agent::name).collect()
}

/// Builds the named agents, or all, with tools that it installs; see [`build()`].
pub fn provide(names: &[impl AsRef<str>]) -> Result<()> {
    build(names, &Toolchain::provide()?)
}

/// Builds the named agents, or all, and lists those that cannot be built here. Returns an error
/// if none was built, or if a named one is missing.
pub fn build(names: &[impl AsRef<str>], toolchain: &Toolchain) -> Result<()> {
    let named = names.iter().map(|name| Agent::named(name.as_ref()));
    let mut agents = named.collect::<Result<Vec<_>>>()?;
    if agents.is_empty() {
        agents = Agent::all().collect();
    }
    let missing = build::build(&agents, toolchain)?;
    println!("agents: {}", build::folder()?.display());
    for line in &missing {
        println!("missing: {line}");
    }
    if missing.len() == agents.len() || !(names.is_empty() || missing.is_empty()) {
        bail!("not all agents could be built");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_an_agent_with_and_one_without_databases() {
        let small = Agent::named("armv7l").unwrap();
        assert_eq!(small.file(), "assay-agent-armv7l");
        let large = Agent::named("armv7l-sqlite").unwrap();
        assert_eq!(large.file(), "assay-agent-armv7l-sqlite");
        assert_eq!(large.target, small.target);
        let error = Agent::named("s390x").unwrap_err().to_string();
        assert!(error.contains("riscv64, riscv64-sqlite"), "{error}");
        let usual = of_tests(false);
        assert!(usual.contains(&"aarch64-sqlite".to_owned()), "{usual:?}");
        assert!(usual.len() <= 4 && of_tests(true).len() == 10);
    }
}
