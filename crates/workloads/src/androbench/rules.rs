//! Checks that refuse a work before anything is written.

use crate::WorkError;
use assay_engine::held::shown;
use assay_model::units::Bytes;
use assay_model::work::androbench::{
    AndroBench, DatabasePhase, FilePhase, MAX_FILES, Phase, Schema,
};
use std::collections::HashSet;
use std::path::Path;

/// Tables of a database, at most.
const MAX_TABLES: u32 = 1_000;
/// Space for databases and for metadata of the file system, in bytes.
const SPARE: u64 = 16 << 20;

/// Refuses a work that cannot be carried out, before anything is written.
pub(super) fn check(work: &AndroBench) -> Result<(), WorkError> {
    if work.phases.is_empty() {
        return Err(refused("no step was given to measure"));
    }
    let mut names = HashSet::new();
    for phase in &work.phases {
        match phase {
            Phase::Files(phase) => check_files(phase)?,
            Phase::Database(phase) => check_database(phase)?,
        }
        for job in phase.jobs() {
            if !names.insert(job.name.clone()) {
                return Err(refused(&format!("{} is asked for twice", job.name)));
            }
        }
    }
    check_room(work.room(), &work.folder)
}

fn check_files(phase: &FilePhase) -> Result<(), WorkError> {
    let name = &phase.name;
    let problem = if !(1..=MAX_FILES).contains(&phase.files) {
        format!("there must be 1 to {MAX_FILES} files")
    } else if !(1..=phase.files).contains(&phase.threads) {
        format!(
            "{} threads need a file each, but there are only {} files",
            phase.threads, phase.files
        )
    } else if phase.bs.0 == 0 || phase.bs.0 > u64::from(u32::MAX) {
        "the block size must be between 1 byte and 4 GiB".to_owned()
    } else if phase.file_size.0 < phase.bs.0 {
        format!(
            "a block of {} does not fit into a file of {}",
            phase.bs, phase.file_size
        )
    } else if phase.direct && !phase.bs.0.is_multiple_of(512) {
        "direct I/O needs blocks that are multiples of 512 bytes".to_owned()
    } else if phase.rw.reads() && phase.rw.writes() {
        "it must either read or write".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(&format!("{name}: {problem}")))
}

fn check_database(phase: &DatabasePhase) -> Result<(), WorkError> {
    if cfg!(not(feature = "sqlite")) {
        return Err(without_sqlite());
    }
    let tables = match phase.schema {
        Schema::AndroBench => 1,
        Schema::Mobibench { tables } => tables,
    };
    if phase.transactions == 0 || phase.statements.is_empty() {
        return Err(refused("SQLite: there must be at least one transaction"));
    }
    if !(1..=MAX_TABLES).contains(&tables) {
        let problem = format!("SQLite: there must be 1 to {MAX_TABLES} tables");
        return Err(refused(&problem));
    }
    Ok(())
}

/// Returns the error of an agent without `SQLite`.
pub(super) fn without_sqlite() -> WorkError {
    refused(
        "this agent was built without SQLite: leave the database out (--only seq-read,seq-write,\
         rand-read,rand-write), or use an agent that was built with the feature sqlite",
    )
}

fn check_room(needed: Bytes, folder: &Path) -> Result<(), WorkError> {
    // Without an answer, a lack of space is reported when the file system is full.
    let Ok(there) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = there.f_bavail.saturating_mul(there.f_frsize);
    if needed.0.saturating_add(SPARE) <= free {
        return Ok(());
    }
    Err(refused(&format!(
        "the test files in {} would take {needed} and some more, but only {} are free: use a \
         smaller --size, or another folder",
        shown(folder),
        Bytes(free)
    )))
}

fn refused(problem: &str) -> WorkError {
    WorkError::Refused(problem.to_owned())
}
