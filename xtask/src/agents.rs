//! `cargo xtask agents`: the static agents that assay puts onto boards.

use crate::run::{build_folder, cargo, output, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Machines, as `uname -m` calls them and assay asks for their agents, with the
/// platform that Rust builds for.
const MACHINES: [(&str, &str); 5] = [
    ("x86_64", "x86_64-unknown-linux-musl"),
    ("aarch64", "aarch64-unknown-linux-musl"),
    ("armv7l", "armv7-unknown-linux-musleabihf"),
    ("riscv64", "riscv64gc-unknown-linux-musl"),
    ("i686", "i686-unknown-linux-musl"),
];

/// Where they are put, within the build folder; assay looks there.
const FOLDER: &str = "agents";

/// Builds the agents for some machines, or for all, and says which cannot be
/// built here. An error when there is none at all, or not one that was named.
pub fn provide(named: &[&str]) -> Result<()> {
    let folder = build_folder()?.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let mut missing = Vec::new();
    for machine in named {
        if !MACHINES.iter().any(|(known, _)| known == machine) {
            bail!("no agent is made for {machine}; known are {}", all());
        }
    }
    let wanted = |machine: &str| named.is_empty() || named.contains(&machine);
    let mut built = 0;
    for (machine, target) in MACHINES.into_iter().filter(|(machine, _)| wanted(machine)) {
        match build(target) {
            Ok(agent) => {
                let place = folder.join(format!("assay-agent-{machine}"));
                fs::copy(agent, &place)?;
                println!("{machine}: {}", place.display());
                built += 1;
            }
            Err(error) => missing.push(format!("{machine}: {error:#}")),
        }
    }
    for line in &missing {
        println!("missing: {line}");
    }
    if built == 0 || !(named.is_empty() || missing.is_empty()) {
        bail!("not all agents could be built");
    }
    Ok(())
}

fn all() -> String {
    MACHINES.map(|(machine, _)| machine).join(", ")
}

/// The agent, built for a target; linked by Rust's own linker, so that no
/// cross compiler is needed.
pub fn build(target: &str) -> Result<PathBuf> {
    provide_target(target)?;
    let variable = target.to_uppercase().replace('-', "_");
    let mut build = cargo();
    build
        .args(["build", "--profile", "agent", "--package", "assay-agent"])
        .args(["--target", target])
        .env(format!("CARGO_TARGET_{variable}_LINKER"), "rust-lld");
    run(&mut build)?;
    Ok(build_folder()?.join(target).join("agent/assay-agent"))
}

/// Installs the standard library of a target where it is missing.
fn provide_target(target: &str) -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib").join(target);
    if library.is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .output()
        .context("cannot start rustup")?;
    if added.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&added.stderr);
    let error = said.lines().find(|line| line.starts_with("error"));
    bail!(
        "Rust's standard library for {target} is not installed, and rustup cannot get it: {}",
        error.unwrap_or(said.trim())
    )
}
