//! Builds agents.

use super::{Agent, FOLDER, Toolchain};
use crate::run::{build_folder, run};
use anyhow::{Result, bail};
use std::fs;
use std::path::PathBuf;

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
pub(super) fn build(agents: &[Agent], toolchain: &Toolchain) -> Result<Vec<String>> {
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
pub(super) fn features(agent: Agent) -> &'static [&'static str] {
    match agent.sqlite {
        true => &["--features", "compact,sqlite"],
        false => &["--no-default-features", "--features", "compact"],
    }
}
