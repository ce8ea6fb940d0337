//! Building one agent.

use super::Agent;
use super::toolchain::Toolchain;
use crate::run::{build_folder, run};
use anyhow::Result;
use std::path::PathBuf;

/// What a profile of cargo cannot say. No tables for unwinding: an agent that panics
/// ends. No places in messages of panics. io-uring's bindings are those of machines
/// of 64 bits; `engines::uring` checks that they hold on others.
const FLAGS: [&str; 4] = [
    "-Zlocation-detail=none",
    "-Cforce-unwind-tables=no",
    "-Clink-self-contained=no",
    "--cfg=io_uring_skip_arch_check",
];

/// What an agent that panics would say is left out of the larger one, which has no room
/// for that; a signal ends it.
const WITHOUT_WORDS: [&str; 2] = ["-Cpanic=immediate-abort", "-Zunstable-options"];

/// The same for what is written in C.
const C_FLAGS: &str = "-fno-unwind-tables -fno-asynchronous-unwind-tables";

/// Parts of `SQLite` that no statement of assay's asks for, out of those that its crate
/// turns on. None of them changes what is written, or when.
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

/// Builds an agent; where it is then.
pub(super) fn build(agent: Agent, toolchain: &Toolchain) -> Result<PathBuf> {
    let mut build = toolchain.cargo();
    build
        // The standard library is built with the agent, for size and for machines
        // that no built one can be had for. That is no stable part of cargo yet; the
        // version that is built with is fixed.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Zbuild-std=std,panic_abort"])
        .args(["-Zbuild-std-features=optimize_for_size"])
        .args(["--profile", "agent", "--package", "assay-agent"])
        .args(features(agent))
        .args(["--target", agent.target])
        .env("RUSTFLAGS", flags(agent))
        .env(
            format!("CFLAGS_{}", agent.target.replace('-', "_")),
            C_FLAGS,
        )
        .env("LIBSQLITE3_FLAGS", SQLITE_FLAGS.join(" "));
    run(&mut build)?;
    let program = build_folder()?.join(agent.target).join("agent/assay-agent");
    Ok(program)
}

fn flags(agent: Agent) -> String {
    let more: &[&str] = match agent.sqlite {
        true => &WITHOUT_WORDS,
        false => &[],
    };
    [&FLAGS[..], more].concat().join(" ")
}

/// What cargo is told of the features that an agent is built with.
pub(super) fn features(agent: Agent) -> &'static [&'static str] {
    match agent.sqlite {
        true => &["--features", "compact,sqlite"],
        false => &["--no-default-features", "--features", "compact"],
    }
}
