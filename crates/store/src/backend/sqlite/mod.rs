//! A store in an SQLite file.

mod ask;
mod file;
mod migrate;
mod statements;

use super::{Access, Backend, Dialect, Scope, Statements, Value};
use crate::backend::Question;
use crate::error::StoreError;
use crate::location::Location;
use file::{RECORD_LOCKS, StoreFileKind, absolute, create_folder, identity, inspect};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use statements::Open;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

/// Time limit for waiting on another process. Readers and writers hold the lock for one short
/// transaction, but an fsync on flash may stall for seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// An open store file.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    location: Location,
    path: PathBuf,
    /// Device and inode of the open file.
    identity: (u64, u64),
}

impl Sqlite {
    /// Opens a file. [`Access::Create`] creates the file and its folders.
    pub fn open(path: &Path, access: Access) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let (mut flags, mut patience) = (OpenFlags::SQLITE_OPEN_READ_WRITE, BUSY_TIMEOUT);
        let found = inspect(&path)?;
        match access {
            Access::Create => {
                flags |= OpenFlags::SQLITE_OPEN_CREATE;
                if found == StoreFileKind::Nothing
                    && let Some(folder) = path.parent()
                {
                    create_folder(folder)?;
                }
            }
            _ if found == StoreFileKind::Nothing => return Err(StoreError::Missing { path }),
            Access::Existing => {}
            Access::Read => {
                flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
                patience = Duration::ZERO;
            }
        }
        let opened = Self::connect(path, flags, patience)?;
        if access == Access::Create && opened.with(|open| open.is_readonly("main"))? {
            return Err(StoreError::ReadOnly {
                store: opened.location,
            });
        }
        Ok(opened)
    }

    fn connect(path: PathBuf, access: OpenFlags, patience: Duration) -> Result<Self, StoreError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)
            .map_err(|error| StoreError::from_sqlite(&path, error))?;
        let identity = identity(&path).map_err(|source| StoreError::Access {
            action: "read the store",
            path: path.clone(),
            source,
        })?;
        let opened = Self {
            connection,
            location: Location::File(path.clone()),
            path,
            identity,
        };
        opened.with(|connection| configure(connection, patience))?;
        opened.with(migrate::migrate)?;
        Ok(opened)
    }

    /// Fails if the path now leads to another file.
    fn expect_same_file(&self) -> Result<(), StoreError> {
        match identity(&self.path) {
            Ok(identity) if identity == self.identity => Ok(()),
            _ => Err(StoreError::Replaced {
                path: self.path.clone(),
            }),
        }
    }

    /// Runs `work` with the connection.
    fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        work(&self.connection).map_err(|error| StoreError::from_sqlite(&self.path, error))
    }

    /// Runs statements in a transaction, which ends before this returns.
    fn transact(
        &self,
        behavior: TransactionBehavior,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::from_sqlite(&self.path, error);
        // Unchecked: no transaction is open between two calls.
        let transaction = Transaction::new_unchecked(&self.connection, behavior).map_err(failed)?;
        work(&mut Open::new(&transaction, &self.path, &self.location))?;
        transaction.commit().map_err(failed)
    }
}

impl Backend for Sqlite {
    fn location(&self) -> &Location {
        &self.location
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    /// Fails if the path leads to another file than the open one, also after a write. A removed or
    /// replaced file still accepts writes, uses the journal of the new file, and is gone when it is
    /// closed. SQLite itself compares only the inode, only of the resolved path, and only before a
    /// write.
    fn work(
        &self,
        mode: Scope,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        self.expect_same_file()?;
        match mode {
            Scope::Read => work(&mut Open::new(&self.connection, &self.path, &self.location)),
            Scope::Snapshot => self.transact(TransactionBehavior::Deferred, work),
            Scope::Write => {
                // The transaction locks out all other writers until its end.
                let came = self.transact(TransactionBehavior::Immediate, work);
                self.expect_same_file()?;
                came
            }
        }
    }

    fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.expect_same_file()?;
        ask::ask(&self.path, question, row)
    }
}

/// Configures the connection. The store uses a rollback journal, not a write-ahead log: a log keeps
/// the newest trials in a second file, which a copy of the first omits, and it needs shared memory,
/// which network and FUSE file systems may lack. With the journal, one file is the whole store as
/// soon as a trial is saved.
///
/// In this mode, deleting the journal commits a transaction. FULL does not sync the folder
/// afterwards, so that a power cut could restore the journal and with it the state before the
/// trial; EXTRA does (<https://sqlite.org/pragma.html#pragma_synchronous>).
fn configure(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(patience)?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "foreign_keys", true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_survives_a_power_cut() {
        let folder = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&folder.path().join("runs.sqlite"), Access::Create).unwrap();
        let pragma = |name| -> rusqlite::types::Value {
            database
                .with(|connection| connection.pragma_query_value(None, name, |row| row.get(0)))
                .unwrap()
        };
        const EXTRA: i64 = 3;
        assert_eq!(pragma("synchronous"), EXTRA.into());
        assert_eq!(pragma("journal_mode"), "delete".to_owned().into());
        assert_eq!(pragma("foreign_keys"), 1.into());
    }

    #[test]
    fn nobody_else_opens_and_closes_the_file_while_a_connection_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&folder.path().join("runs.sqlite"), Access::Create).unwrap();
        let mut in_use = false;
        let mut look = |_: &mut dyn Statements| {
            in_use = RECORD_LOCKS.try_write().is_err();
            Ok(())
        };
        database.work(Scope::Read, &mut look).unwrap();
        assert!(in_use);
    }
}
