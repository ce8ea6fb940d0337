//! `cargo xtask agent-size`: the agent goes onto boards, so it is small, needs
//! nothing there but a kernel, and is made of few crates.

use crate::agents::build;
use crate::run::{cargo, output};
use anyhow::{Context, Result, bail};
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs;
use std::path::Path;

/// A platform the agent is built for, and the most it may take there.
struct Platform {
    target: &'static str,
    limit_bytes: u64,
}

const PLATFORMS: [Platform; 2] = [
    Platform {
        target: "aarch64-unknown-linux-musl",
        limit_bytes: 2_420_000,
    },
    Platform {
        target: "x86_64-unknown-linux-musl",
        limit_bytes: 2_830_000,
    },
];

/// Crates that may be in the agent, besides derive macros, which leave nothing
/// there. Another one is a decision: what does it cost, what does it do that a
/// board needs? regex, clap and async runtimes stay out.
const CRATES: [&str; 46] = [
    "adler2",
    "approx",
    "assay-agent",
    "assay-engine",
    "assay-lang",
    "assay-link",
    "assay-model",
    "assay-probe",
    "assay-stats",
    "assay-workloads",
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

/// Builds the agent for every platform and checks it; an error names all that
/// is wrong.
pub fn run_checks() -> Result<()> {
    let mut problems = Vec::new();
    for platform in &PLATFORMS {
        problems.extend(strangers(platform.target)?);
        let agent = build(platform.target)?;
        problems.extend(too_large(platform, &agent)?);
        problems.extend(not_static(&agent)?);
    }
    problems.dedup();
    if problems.is_empty() {
        return Ok(());
    }
    bail!(
        "the agent is not as it should be:\n  {}",
        problems.join("\n  ")
    )
}

/// Crates in the agent that are not on the list.
fn strangers(target: &str) -> Result<Vec<String>> {
    let mut tree = cargo();
    tree.args(["tree", "--package", "assay-agent", "--target", target])
        .args(["--edges", "normal,no-proc-macro"])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}"]);
    Ok(unknown_crates(&output(&mut tree)?)
        .into_iter()
        .map(|name| format!("{name} is in its tree, but not in CRATES of xtask/src/agent_size.rs"))
        .collect())
}

/// Names that are not in [`CRATES`], once each; a line is `name v1.0.0 (path)`.
fn unknown_crates(tree: &str) -> Vec<&str> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let mut unknown: Vec<&str> = names
        .filter(|name| !name.is_empty() && !CRATES.contains(name))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    unknown
}

fn too_large(platform: &Platform, agent: &Path) -> Result<Option<String>> {
    let Platform {
        target,
        limit_bytes,
    } = platform;
    let size = fs::metadata(agent)
        .with_context(|| format!("cannot look at {}", agent.display()))?
        .len();
    println!("{target}: {size} bytes, at most {limit_bytes}");
    Ok((size > *limit_bytes)
        .then(|| format!("for {target} it has {size} bytes, more than {limit_bytes}")))
}

fn not_static(agent: &Path) -> Result<Option<String>> {
    let image = fs::read(agent)?;
    let wants = wants_interpreter(&image).with_context(|| agent.display().to_string())?;
    Ok(wants.then(|| format!("{} is not statically linked", agent.display())))
}

/// Whether a program has to be loaded by another one (`ld.so`), as every
/// program with shared libraries has.
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
        assert_eq!(unknown_crates(tree), ["clap"]);
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
        let platform = Platform {
            target: "t",
            limit_bytes: 3,
        };
        fs::write(&agent, "abc").unwrap();
        assert_eq!(too_large(&platform, &agent).unwrap(), None);
        fs::write(&agent, "abcd").unwrap();
        assert!(too_large(&platform, &agent).unwrap().is_some());
    }
}
