//! Transactions on an `SQLite` database.

use crate::job::{CacheState, FileState, Flush, FlushCall, Job, Purpose, Rw};
use crate::latency::LatencyRecord;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Transactions on a new database. Each statement is a separate step, on the result of the previous
/// one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabasePhase {
    /// Tables and columns.
    pub schema: Schema,
    /// Journal mode.
    pub journal: Journal,
    /// Flush mode of `SQLite`.
    pub synchronous: Synchronous,
    /// Number of transactions of each statement.
    pub transactions: u64,
    /// Statements to measure, in order. Rows that an update or a delete needs and that no earlier
    /// insert has created are created outside the clock.
    pub statements: Vec<Statement>,
    /// `true` for a checkpoint after the last transaction (with a write-ahead log), when the clock
    /// has stopped and the evidence is taken.
    pub checkpoint: bool,
}

impl DatabasePhase {
    /// Page size of the databases, `SQLite`'s default.
    pub const PAGE: Bytes = Bytes(4096);

    /// Returns the job that describes a step. Its size is 0, since a database grows as needed.
    pub fn job(&self, statement: Statement) -> Job {
        let at_end = self.synchronous.commits_durably(self.journal);
        let first = self.statements.first() == Some(&statement);
        Job {
            file_state: match statement {
                Statement::Insert if first => FileState::Fresh,
                _ => FileState::Written,
            },
            cache_state: CacheState::AsIs,
            flush: Flush {
                every: None,
                at_end: at_end.then_some(FlushCall::Fsync),
            },
            purpose: Some(Purpose::Transactions),
            description: Some(format!(
                "SQLite {statement}, journal {}, synchronous {}",
                self.journal, self.synchronous
            )),
            ..Job::new(statement.step(), Rw::RandWrite, Self::PAGE, Bytes(0))
        }
    }
}

/// Tables and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schema {
    /// One table `testing` with an automatic key, 11 integers and 5 texts; each statement is a
    /// separate transaction. Rows are found by a column without an index, in random order.
    AndroBench,
    /// Tables with a key, a text of 100 characters and a date; a transaction is
    /// one statement for each table.
    Mobibench {
        /// Number of tables.
        tables: u32,
    },
}

crate::named! {
    /// Statement of a transaction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Statement {
        /// Adds a row.
        #[default]
        Insert = "insert",
        /// Changes a row.
        Update = "update",
        /// Removes a row.
        Delete = "delete",
    }
}

impl Statement {
    /// Returns the name of the statement's step.
    pub const fn step(self) -> &'static str {
        match self {
            Self::Insert => "sqlite-insert",
            Self::Update => "sqlite-update",
            Self::Delete => "sqlite-delete",
        }
    }
}

crate::named! {
    /// `PRAGMA journal_mode`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Journal {
        /// A rollback journal that each commit removes.
        #[default]
        Delete = "delete",
        /// A rollback journal that each commit truncates.
        Truncate = "truncate",
        /// A rollback journal whose header each commit overwrites.
        Persist = "persist",
        /// A write-ahead log.
        Wal = "wal",
        /// A rollback journal in memory: a crash damages the database.
        Memory = "memory",
        /// No journal: a crash damages the database.
        Off = "off",
    }
}

crate::named! {
    /// `PRAGMA synchronous`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Synchronous {
        /// `SQLite` never flushes.
        Off = "off",
        /// `SQLite` flushes at the most critical moments: with a write-ahead log only before and
        /// after a checkpoint.
        Normal = "normal",
        /// Each commit is flushed.
        #[default]
        Full = "full",
        /// Each commit is flushed, and also the folder of a removed journal.
        Extra = "extra",
    }
}

impl Synchronous {
    /// `true` if each commit ends with everything that it wrote flushed.
    ///
    /// With a write-ahead log, `NORMAL` flushes at checkpoints only
    /// (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
    pub const fn commits_durably(self, journal: Journal) -> bool {
        match self {
            Self::Off => false,
            Self::Normal => !matches!(journal, Journal::Wal),
            Self::Full | Self::Extra => true,
        }
    }
}

/// Results of the transactions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseStep {
    /// Statement of each transaction.
    pub statement: Statement,
    /// Number of transactions done.
    pub transactions: u64,
    /// Statements per transaction.
    pub statements_each: u32,
    /// Journal mode in force.
    pub journal: Journal,
    /// Synchronous level in force.
    pub synchronous: Synchronous,
    /// Latency of each transaction. AndroBench divides by its sum, which leaves out the time
    /// between transactions.
    pub latency: LatencyRecord,
    /// Time of a checkpoint after the last transaction, outside the clock; `None` if there was
    /// none.
    pub checkpoint_ns: Option<u64>,
    /// Version of `SQLite`.
    pub sqlite_version: String,
}

impl DatabaseStep {
    /// Most `fsync` calls of one commit: two for the journal, one each for its folder when it is
    /// created and removed, one for the database. (pager.c of `SQLite`: `syncJournal`,
    /// `sqlite3PagerCommitPhaseOne`.)
    const MOST_SYNCS_EACH: u64 = 5;

    /// Returns the fewest flushes that make each transaction durable separately; 0 if that is not
    /// requested.
    pub fn least_flushes(&self) -> u64 {
        match self.synchronous.commits_durably(self.journal) {
            true => self.transactions,
            false => 0,
        }
    }

    /// Returns the most `fsync` calls that `SQLite` made.
    pub fn most_syncs(&self) -> u64 {
        match self.synchronous {
            Synchronous::Off => 0,
            _ => self.transactions.saturating_mul(Self::MOST_SYNCS_EACH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_makes_commits_durable_from_full_on() {
        let durable = |synchronous: Synchronous| {
            let journals = Journal::ALL.iter();
            let durable = journals.filter(|&&journal| synchronous.commits_durably(journal));
            durable.count()
        };
        assert_eq!(Synchronous::ALL.map(durable), [0, 5, 6, 6]);
        assert!(!Synchronous::Normal.commits_durably(Journal::Wal));
    }

    #[test]
    fn a_step_that_need_not_be_durable_needs_no_flush() {
        let step = |synchronous| DatabaseStep {
            transactions: 10,
            journal: Journal::Wal,
            synchronous,
            ..DatabaseStep::default()
        };
        let flushes = |synchronous| {
            let step = step(synchronous);
            (step.least_flushes(), step.most_syncs())
        };
        assert_eq!(flushes(Synchronous::Off), (0, 0));
        assert_eq!(flushes(Synchronous::Normal), (0, 50));
        assert_eq!(flushes(Synchronous::Full), (10, 50));
    }
}
