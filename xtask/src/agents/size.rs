//! `cargo xtask agent-size`: checks that the agents are small, need only a kernel on the board, and
//! contain few crates.

use super::Agent;
use super::build::{build, features, folder};
use super::toolchain::Toolchain;
use crate::run::{cargo, output};
use anyhow::{Context, Result, bail};
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs;
use std::path::Path;

/// Largest sizes of agents, in bytes. These agents are built on every change.
const LIMITS: [(&str, u64); 3] = [
    ("aarch64", 850_000),
    ("aarch64-sqlite", 2_330_000),
    ("x86_64", 992_000),
];

/// Crates that the agent may contain, besides derive macros, which add no code. Adding one is a
/// decision: weigh its size against its use on a board. regex, clap and async runtimes stay out.
const CRATES: [&str; 47] = [
    "adler2",
    "approx",
    "assay-agent",
    "assay-engine",
    "assay-judge",
    "assay-lang",
    "assay-link",
    "assay-model",
    "assay-probe",
    "assay-stats",
    "assay-trace",
    "bitflags",
    "block-buffer",
    "cfg-if",
    "cpufeatures",
    "crc",
    "crc-catalog",
    "crc32c",
    "crypto-common",
    "digest",
    "errno",
    "hybrid-array",
    "io-uring",
    "itoa",
    "keccak",
    "libc",
    "libm",
    "linux-raw-sys",
    "md-5",
    "memchr",
    "miniz_oxide",
    "num-traits",
    "rustix",
    "serde",
    "serde_core",
    "serde_json",
    "sha1",
    "sha2",
    "sha3",
    "signal-hook",
    "signal-hook-registry",
    "sponge-cursor",
    "statrs",
    "thiserror",
    "twox-hash",
    "typenum",
    "zmij",
];

/// Additional crates of the larger agent.
const OF_SQLITE: [&str; 9] = [
    "assay-workloads",
    "fallible-iterator",
    "fallible-streaming-iterator",
    "foldhash",
    "hashbrown",
    "hashlink",
    "libsqlite3-sys",
    "rusqlite",
    "smallvec",
];

/// Builds the agents and checks them. The error names all problems.
pub fn run_checks() -> Result<()> {
    let agents = LIMITS.map(|(name, _)| Agent::named(name));
    let agents = agents.into_iter().collect::<Result<Vec<_>>>()?;
    let missing = build(&agents, &Toolchain::provide()?)?;
    if !missing.is_empty() {
        bail!("agents cannot be built:\n  {}", missing.join("\n  "));
    }
    let mut problems = Vec::new();
    for (agent, (name, limit_bytes)) in agents.into_iter().zip(LIMITS) {
        problems.extend(strangers(agent)?);
        let program = folder()?.join(agent.file());
        problems.extend(too_large(name, limit_bytes, &program)?);
        problems.extend(not_static(&program)?);
    }
    problems.dedup();
    if problems.is_empty() {
        return Ok(());
    }
    bail!(
        "the agents are not as they should be:\n  {}",
        problems.join("\n  ")
    )
}

/// Returns crates of an agent that are not on the list.
fn strangers(agent: Agent) -> Result<Vec<String>> {
    let mut tree = cargo();
    tree.args(["tree", "--package", "assay-agent", "--target", agent.target])
        .args(features(agent))
        .args(["--edges", "normal,no-proc-macro"])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}"]);
    let known = |name: &str| CRATES.contains(&name) || agent.sqlite && OF_SQLITE.contains(&name);
    Ok(unknown_crates(&output(&mut tree)?, known)
        .into_iter()
        .map(|name| format!("{name} is in its tree, but not in CRATES of xtask/src/agents/size.rs"))
        .collect())
}

/// Returns unlisted crates, once each. A line of the tree is `name v1.0.0 (path)`.
fn unknown_crates(tree: &str, known: impl Fn(&str) -> bool) -> Vec<&str> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let mut unknown: Vec<&str> = names
        .filter(|name| !name.is_empty() && !known(name))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    unknown
}

fn too_large(name: &str, limit_bytes: u64, agent: &Path) -> Result<Option<String>> {
    let size = fs::metadata(agent)
        .with_context(|| format!("cannot look at {}", agent.display()))?
        .len();
    println!("{name}: {size} bytes, at most {limit_bytes}");
    Ok((size > limit_bytes).then(|| format!("{name} has {size} bytes, more than {limit_bytes}")))
}

fn not_static(agent: &Path) -> Result<Option<String>> {
    let image = fs::read(agent)?;
    let wants = wants_interpreter(&image).with_context(|| agent.display().to_string())?;
    Ok(wants.then(|| format!("{} is not statically linked", agent.display())))
}

/// Returns true if a program needs an interpreter (`ld.so`), as every program with shared libraries
/// does.
fn wants_interpreter(image: &[u8]) -> Result<bool> {
    let header = FileHeader64::<Endianness>::parse(image)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, image)?;
    Ok(segments.iter().any(|s| s.p_type(endian) == PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_is_not_on_the_list_is_named_once() {
        let tree =
            "assay-agent v0.1.0 (/src/crates/agent)\nclap v4.5.0\nlibc v0.2.1\nclap v4.5.0\n";
        assert_eq!(
            unknown_crates(tree, |name| CRATES.contains(&name)),
            ["clap"]
        );
    }

    #[test]
    fn a_program_with_shared_libraries_wants_an_interpreter() {
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        let shared = !cfg!(target_feature = "crt-static");
        assert_eq!(wants_interpreter(&this).unwrap(), shared);
        assert!(wants_interpreter(b"#!/bin/sh").is_err());
    }

    #[test]
    fn the_limit_is_the_last_size_that_passes() {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("agent");
        fs::write(&agent, "abc").unwrap();
        assert_eq!(too_large("a", 3, &agent).unwrap(), None);
        fs::write(&agent, "abcd").unwrap();
        assert!(too_large("a", 3, &agent).unwrap().is_some());
    }
}
