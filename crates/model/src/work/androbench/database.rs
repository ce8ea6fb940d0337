//! Transactions on a database of `SQLite`.

use crate::job::{CacheState, FileState, Flush, FlushCall, Job, Purpose, Rw};
use crate::latency::LatencyRecord;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Transactions on a new database. Each statement is a step of its own, on
/// what the one before has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabasePhase {
    /// Tables and columns.
    pub schema: Schema,
    /// Journal mode.
    pub journal: Journal,
    /// When `SQLite` flushes.
    pub synchronous: Synchronous,
    /// Transactions of each statement.
    pub transactions: u64,
    /// Statements to measure, in order. What an update or a delete needs and no
    /// insert before has made is made outside the clock.
    pub statements: Vec<Statement>,
    /// With a write-ahead log: a checkpoint after the last transaction, when the
    /// clock has stopped and the evidence is taken.
    pub checkpoint: bool,
}

impl DatabasePhase {
    /// Page size of its databases, `SQLite`'s default.
    pub const PAGE: Bytes = Bytes(4096);

    /// The job that describes a step. Its size is 0: a database grows as it
    /// needs.
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
    /// One table `testing` with an automatic key, 11 integers and 5 texts; each
    /// statement is a transaction of its own. Rows are found by a column
    /// without an index, in random order.
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
    /// Name of its step.
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
        /// One that each commit cuts to nothing.
        Truncate = "truncate",
        /// One whose head each commit overwrites.
        Persist = "persist",
        /// A write-ahead log.
        Wal = "wal",
        /// A rollback journal in memory: a crash damages the database.
        Memory = "memory",
        /// None: a crash damages the database.
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
        /// At the most critical moments: with a write-ahead log only before and
        /// after a checkpoint.
        Normal = "normal",
        /// Each commit is flushed.
        #[default]
        Full = "full",
        /// The folder of a removed journal too.
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

/// Transactions of one kind, as they were done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseStep {
    /// Statement of each transaction.
    pub statement: Statement,
    /// Number of transactions done.
    pub transactions: u64,
    /// Statements in each.
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
    /// `fsync` calls of one commit at most: twice for the journal, once for its
    /// folder when it is new and when it was removed, once for the database.
    /// (pager.c of `SQLite`: `syncJournal`, `sqlite3PagerCommitPhaseOne`.)
    const MOST_SYNCS_EACH: u64 = 5;

    /// Flushes that the transactions need at least to be durable each on its
    /// own; 0 where that is not asked for.
    pub fn least_flushes(&self) -> u64 {
        match self.synchronous.commits_durably(self.journal) {
            true => self.transactions,
            false => 0,
        }
    }

    /// `fsync` calls that `SQLite` made at most.
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
