//! Measurements of AndroBench and Mobibench, as phases of
//! `assay_model::work::androbench`.
//!
//! [`phases()`] makes them from an [`AndroBenchOptions`]: a generation, with the user's
//! changes.

mod mobibench;
mod profiles;
#[cfg(test)]
mod tests;

pub use mobibench::SyncMode;

use assay_model::units::Bytes;
use assay_model::work::androbench::{
    DatabasePhase, FilePhase, Journal, Phase, Schema, Statement, Synchronous,
};
use thiserror::Error;

assay_model::named! {
    /// Program or generation whose parameters are used.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Like {
        /// assay's own profile, for present storage.
        #[default]
        Modern = "modern",
        /// AndroBench 3.4 to 3.6.
        AndroBench3 = "3",
        /// AndroBench 4.0 and 4.1.
        AndroBench4 = "4",
        /// Mobibench 1.0.8.
        Mobibench = "mobibench",
    }
}

impl Like {
    /// Returns a description of the generation.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Modern => "assay's own profile",
            Self::AndroBench3 => "as AndroBench 3",
            Self::AndroBench4 => "as AndroBench 4",
            Self::Mobibench => "as Mobibench",
        }
    }
}

/// Requested parameters: `None` is the generation's own value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AndroBenchOptions {
    /// Program or generation whose parameters are used.
    pub like: Like,
    /// Steps to measure, where a name may end in `*`; empty: all.
    pub only: Vec<String>,
    /// Size of each test file.
    pub size: Option<Bytes>,
    /// Journal mode.
    pub journal: Option<Journal>,
    /// `SQLite`'s policy of flushes.
    pub synchronous: Option<Synchronous>,
    /// Number of transactions of each statement.
    pub transactions: Option<u64>,
    /// Statements to measure; empty: all.
    pub operations: Vec<Statement>,
    /// Tables in a transaction (Mobibench).
    pub tables: Option<u32>,
    /// Size of a record (Mobibench).
    pub record: Option<Bytes>,
    /// Access mode of files (Mobibench).
    pub sync_mode: Option<SyncMode>,
    /// Threads, each with its own file (Mobibench).
    pub threads: Option<u32>,
}

/// Reason why the requested measurement is impossible.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Problem(String);

/// Parameters of a database phase.
struct DatabaseProfile {
    schema: Schema,
    journal: Journal,
    transactions: u64,
    checkpoint: bool,
}

/// Returns the requested phases.
///
/// # Errors
/// When an option does not belong to the generation, or no step is left to measure.
pub fn phases(wanted: &AndroBenchOptions) -> Result<Vec<Phase>, Problem> {
    check_options(wanted)?;
    let (files, database) = match wanted.like {
        Like::Modern => profiles::modern(),
        Like::AndroBench3 => profiles::generation_3(),
        Like::AndroBench4 => profiles::generation_4(),
        Like::Mobibench => mobibench::profile(wanted),
    };
    let mut phases: Vec<Phase> = files
        .into_iter()
        .map(|phase| Phase::Files(described(sized(phase, wanted.size))))
        .collect();
    phases.push(Phase::Database(database_phase(wanted, &database)));
    chosen(phases, &wanted.only)
}

/// Refuses options of Mobibench in other generations, and values that leave nothing to
/// measure.
fn check_options(wanted: &AndroBenchOptions) -> Result<(), Problem> {
    let none = [
        ("--size", wanted.size == Some(Bytes(0))),
        ("--record", wanted.record == Some(Bytes(0))),
        ("--tables", wanted.tables == Some(0)),
        ("--threads", wanted.threads == Some(0)),
    ];
    if let Some((name, _)) = none.into_iter().find(|(_, none)| *none) {
        return Err(Problem(format!(
            "{name} 0 leaves nothing to measure: give 1 or more"
        )));
    }
    if wanted.like == Like::Mobibench {
        return Ok(());
    }
    let set = [
        ("--tables", wanted.tables.is_some()),
        ("--record", wanted.record.is_some()),
        ("--sync-mode", wanted.sync_mode.is_some()),
        ("--threads", wanted.threads.is_some()),
    ];
    match set.into_iter().find(|(_, set)| *set) {
        Some((name, _)) => Err(Problem(format!(
            "{name} is Mobibench's: add --like mobibench"
        ))),
        None => Ok(()),
    }
}

/// Sets the size of the files; a block is never larger than its file.
fn sized(phase: FilePhase, size: Option<Bytes>) -> FilePhase {
    let file_size = size.unwrap_or(phase.file_size);
    FilePhase {
        bs: phase.bs.min(file_size),
        file_size,
        ..phase
    }
}

fn database_phase(wanted: &AndroBenchOptions, profile: &DatabaseProfile) -> DatabasePhase {
    let mut statements: Vec<Statement> = Statement::ALL.to_vec();
    if !wanted.operations.is_empty() {
        statements.retain(|statement| wanted.operations.contains(statement));
    }
    DatabasePhase {
        schema: profile.schema,
        journal: wanted.journal.unwrap_or(profile.journal),
        synchronous: wanted.synchronous.unwrap_or_default(),
        transactions: wanted.transactions.unwrap_or(profile.transactions),
        statements,
        checkpoint: profile.checkpoint,
    }
}

/// Adds the description: `random write, 4 KiB, 8 threads on 8 files of 64 MiB, O_DIRECT,
/// O_DSYNC`.
fn described(phase: FilePhase) -> FilePhase {
    FilePhase {
        description: profiles::words(&phase),
        ..phase
    }
}

/// Selects the requested steps.
fn chosen(phases: Vec<Phase>, only: &[String]) -> Result<Vec<Phase>, Problem> {
    if only.is_empty() {
        return Ok(phases);
    }
    let matches = |wanted: &str, name: &str| match wanted.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == wanted,
    };
    let names: Vec<String> = phases
        .iter()
        .flat_map(Phase::jobs)
        .map(|job| job.name)
        .collect();
    let is_none = |wanted: &&String| !names.iter().any(|name| matches(wanted, name));
    if let Some(unknown) = only.iter().find(is_none) {
        let names = names.join(", ");
        return Err(Problem(format!(
            "--only {unknown}: there is no such step; there are {names}"
        )));
    }
    let is_wanted = |name: &str| only.iter().any(|wanted| matches(wanted, name));
    Ok(phases
        .into_iter()
        .filter_map(|phase| match phase {
            Phase::Files(phase) => is_wanted(&phase.name).then_some(Phase::Files(phase)),
            Phase::Database(mut phase) => {
                phase
                    .statements
                    .retain(|statement| is_wanted(statement.step()));
                (!phase.statements.is_empty()).then_some(Phase::Database(phase))
            }
        })
        .collect())
}
