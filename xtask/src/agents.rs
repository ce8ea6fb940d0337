//! `cargo xtask agents` builds the static agents that assay puts onto boards; `cargo xtask
//! agent-size` checks that they are small, need only a kernel on the board, and contain few crates.

use crate::prerequisites;
use crate::run::{build_folder, cargo, output, run};
use anyhow::{Context, Result, bail};
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let missing = build_agents(&agents, toolchain)?;
    println!("agents: {}", folder()?.display());
    for line in &missing {
        println!("missing: {line}");
    }
    if missing.len() == agents.len() || !(names.is_empty() || missing.is_empty()) {
        bail!("not all agents could be built");
    }
    Ok(())
}

/// Largest sizes of agents, in bytes. These agents are built on every change.
const LIMITS: [(&str, u64); 3] = [
    ("aarch64", 858_000),
    ("aarch64-sqlite", 2_330_000),
    ("x86_64", 1_002_000),
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
    let missing = build_agents(&agents, &Toolchain::provide()?)?;
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
        .map(|name| format!("{name} is in its tree, but not in CRATES of xtask/src/agents.rs"))
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

/// Zig, a C compiler with musl for all machines, and cargo-zigbuild, which makes cargo use it. The
/// limits of the agents hold for these versions.
const PACKAGES: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// Build tools in a folder of the build folder; the system stays unchanged. They are needed besides
/// Rust for static programs: the source of the standard library, which is rebuilt for them, and a C
/// compiler and linker for all machines.
pub struct Toolchain {
    folder: PathBuf,
    /// Commit to embed in programs; `None`: that of the variable `ASSAY_COMMIT`, if any.
    commit: Option<String>,
}

impl Toolchain {
    /// Installs missing tools.
    ///
    /// # Errors
    /// If a tool cannot be installed, with the reason.
    pub fn provide() -> Result<Self> {
        provide_source()?;
        let folder = build_folder()?.join("zig");
        let toolchain = Self {
            folder,
            commit: None,
        };
        if !toolchain.zigbuild().exists() {
            let why = "static programs are built with Zig and cargo-zigbuild, which pip cannot get";
            prerequisites::install_python(&toolchain.folder, &PACKAGES).context(why)?;
        }
        Ok(toolchain)
    }

    /// Sets the commit to embed in programs.
    pub fn at(self, commit: Option<String>) -> Self {
        Self { commit, ..self }
    }

    fn zigbuild(&self) -> PathBuf {
        self.folder.join("bin/cargo-zigbuild")
    }

    /// Folder of Zig, which contains the licence of its C library.
    pub fn zig(&self) -> PathBuf {
        self.folder.join("ziglang")
    }

    /// Returns a `cargo zigbuild` for a profile and a package; the caller adds the targets. It also
    /// builds the standard library, with the crate `panics`, because some machines have no prebuilt
    /// one. It removes this machine's paths, so that a build is the same everywhere. Both are
    /// unstable features of cargo; the compiler's version is fixed.
    pub fn build(&self, profile: &str, package: &str, panics: &str) -> Command {
        let mut command = Command::new(self.zigbuild());
        command
            .args(["zigbuild", "--profile", profile, "--package", package])
            .arg(format!("-Zbuild-std=std,{panics}"))
            .arg("-Ztrim-paths")
            .arg(format!("--config=profile.{profile}.trim-paths='all'"))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ZIGBUILD_ZIG_PATH", self.zig().join("zig"))
            .env("CARGO_ZIGBUILD_CACHE_DIR", self.folder.join("wrappers"))
            .env("ZIG_GLOBAL_CACHE_DIR", self.folder.join("cache"))
            .envs(self.commit.iter().map(|commit| ("ASSAY_COMMIT", commit)));
        command
    }
}

/// Installs the source of the standard library if it is missing.
fn provide_source() -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std");
    if source.is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["component", "add", "rust-src"])
        .output()
        .context("cannot start rustup, for the source of Rust's standard library")?;
    if added.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&added.stderr);
    let error = said.lines().find(|line| line.starts_with("error"));
    bail!(
        "rustup cannot get rust-src, the source of Rust's standard library: {}",
        error.unwrap_or(said.trim())
    )
}

/// Compiler flags that a cargo profile cannot set. They are the same for both flavours, so that
/// these share the standard library. Unwind tables are omitted, so an agent that panics ends by a
/// signal without a message, which would take space. The bindings of io-uring are those of 64-bit
/// machines; `engines::uring` checks that they are valid on others.
const FLAGS: [&str; 6] = [
    "-Cpanic=immediate-abort",
    "-Zunstable-options",
    "-Zlocation-detail=none",
    "-Cforce-unwind-tables=no",
    "-Clink-self-contained=no",
    "--cfg=io_uring_skip_arch_check",
];

/// Compiler flags for C code.
const C_FLAGS: &str = "-fno-unwind-tables -fno-asynchronous-unwind-tables";

/// Removes parts of `SQLite` that assay does not use, out of those that its crate enables. None
/// affects the content or the time of writes.
const SQLITE_FLAGS: [&str; 32] = [
    "-USQLITE_ENABLE_API_ARMOR",
    "-USQLITE_ENABLE_COLUMN_METADATA",
    "-USQLITE_ENABLE_DBSTAT_VTAB",
    "-USQLITE_ENABLE_FTS3",
    "-USQLITE_ENABLE_FTS3_PARENTHESIS",
    "-USQLITE_ENABLE_FTS5",
    "-USQLITE_ENABLE_RTREE",
    "-USQLITE_ENABLE_STAT4",
    "-USQLITE_SOUNDEX",
    "-DSQLITE_UNTESTABLE",
    "-DSQLITE_OMIT_AUTHORIZATION",
    "-DSQLITE_OMIT_AUTOVACUUM",
    "-DSQLITE_OMIT_COMPILEOPTION_DIAGS",
    "-DSQLITE_OMIT_COMPLETE",
    "-DSQLITE_OMIT_DATETIME_FUNCS",
    "-DSQLITE_OMIT_DECLTYPE",
    "-DSQLITE_OMIT_DEPRECATED",
    "-DSQLITE_OMIT_DESERIALIZE",
    "-DSQLITE_OMIT_FOREIGN_KEY",
    "-DSQLITE_OMIT_GET_TABLE",
    "-DSQLITE_OMIT_INCRBLOB",
    "-DSQLITE_OMIT_INTROSPECTION_PRAGMAS",
    "-DSQLITE_OMIT_JSON",
    "-DSQLITE_OMIT_LIKE_OPTIMIZATION",
    "-DSQLITE_OMIT_LOAD_EXTENSION",
    "-DSQLITE_OMIT_LOCALTIME",
    "-DSQLITE_OMIT_PROGRESS_CALLBACK",
    "-DSQLITE_OMIT_SHARED_CACHE",
    "-DSQLITE_OMIT_TCL_VARIABLE",
    "-DSQLITE_OMIT_TRACE",
    "-DSQLITE_OMIT_UTF16",
    "-DSQLITE_OMIT_XFER_OPT",
];

/// Returns the folder of all agents and makes it if necessary. An agent's file there has the
/// agent's name.
pub fn folder() -> Result<PathBuf> {
    let folder = build_folder()?.join(FOLDER);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Builds agents into their folder. Returns a line with the reason for each that cannot be built
/// here.
fn build_agents(agents: &[Agent], toolchain: &Toolchain) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for sqlite in [false, true] {
        let of_flavour = agents.iter().filter(|agent| agent.sqlite == sqlite);
        let flavour: Vec<Agent> = of_flavour.copied().collect();
        // One build for all machines, so that several are linked at once: the linker has a single
        // thread.
        if build_flavour(&flavour, toolchain).is_ok() {
            continue;
        }
        for agent in flavour {
            if let Err(error) = build_flavour(&[agent], toolchain) {
                missing.push(format!("{}: {error:#}", agent.name()));
            }
        }
    }
    Ok(missing)
}

/// Builds agents of one flavour.
fn build_flavour(agents: &[Agent], toolchain: &Toolchain) -> Result<()> {
    let Some(first) = agents.first() else {
        return Ok(());
    };
    let mut build = toolchain.build("agent", "assay-agent", "panic_abort");
    build
        .args(["-Zbuild-std-features=optimize_for_size"])
        .args(features(*first))
        .env("RUSTFLAGS", FLAGS.join(" "))
        .env("LIBSQLITE3_FLAGS", SQLITE_FLAGS.join(" "));
    for agent in agents {
        let flags = format!("CFLAGS_{}", agent.target.replace('-', "_"));
        build.args(["--target", agent.target]).env(flags, C_FLAGS);
    }
    run(&mut build)?;
    for agent in agents {
        let program = build_folder()?.join(agent.target).join("agent/assay-agent");
        let place = folder()?.join(agent.file());
        if let Err(error) = fs::copy(&program, &place) {
            bail!("cannot copy {}: {error}", program.display());
        }
    }
    Ok(())
}

/// Returns cargo's feature arguments for an agent.
fn features(agent: Agent) -> &'static [&'static str] {
    match agent.sqlite {
        true => &["--features", "compact,sqlite"],
        false => &["--no-default-features", "--features", "compact"],
    }
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
