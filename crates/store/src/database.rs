//! The file and the connection to it. Only a file that is assay's, or that does
//! not exist yet, is ever given to SQLite, because SQLite may change any file
//! it opens (it rolls back what a crash left).

use crate::error::StoreError;
use crate::schema;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Time limit for waiting on another process. Readers and writers hold the lock for one short
/// transaction, but flash may stall for seconds in its fsync.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// SQLite locks the file with POSIX record locks, and the kernel drops all of
/// those that a process has on a file as soon as it closes *any* descriptor
/// of that file (<https://sqlite.org/howtocorrupt.html>, 2.2). Whoever uses a
/// connection holds this to read; [`inspect`], which opens and closes the
/// file by itself, holds it to write.
static RECORD_LOCKS: RwLock<()> = RwLock::new(());

/// An open store file.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the open file.
    identity: (u64, u64),
}

impl Database {
    /// Opens for writing; creates the file and its folders.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        if inspect(&path)? == StoreFileKind::Nothing
            && let Some(folder) = path.parent()
        {
            create_folder(folder)?;
        }
        let create = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let database = Self::connect(path, create, BUSY_TIMEOUT)?;
        if database.with(|connection| connection.is_readonly("main"))? {
            return Err(StoreError::ReadOnly {
                path: database.path,
            });
        }
        Ok(database)
    }

    /// Opens a file that is a store already; creates nothing. A file that may
    /// not be written can still be read.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        Self::connect_existing(path, OpenFlags::SQLITE_OPEN_READ_WRITE, BUSY_TIMEOUT)
    }

    /// The same for an answer at once: changes nothing in the file, and waits for no writer.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        Self::connect_existing(path, OpenFlags::SQLITE_OPEN_READ_ONLY, Duration::ZERO)
    }

    fn connect_existing(
        path: &Path,
        access: OpenFlags,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        match inspect(&path)? {
            StoreFileKind::Nothing => Err(StoreError::Missing { path }),
            StoreFileKind::Store => Self::connect(path, access, patience),
        }
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
        let database = Self {
            connection,
            path,
            identity,
        };
        database.with(|connection| configure(connection, patience))?;
        database.with(schema::migrate)?;
        Ok(database)
    }

    /// Uses the connection.
    pub fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        work(&self.connection).map_err(|error| StoreError::from_sqlite(&self.path, error))
    }

    /// Uses the connection to write. What was written is stored only if the open file
    /// still is the one of that name: a file that was removed or replaced takes all that
    /// is written to it, and is gone when it is closed. SQLite looks at the inode alone,
    /// of the name that links led to when it was opened, and only before it writes.
    pub fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let came = self.with(work);
        match identity(&self.path) {
            Ok(identity) if identity == self.identity => came,
            _ => Err(StoreError::Replaced {
                path: self.path.clone(),
            }),
        }
    }

    /// Returns the absolute path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Device and inode of the file that a path leads to now.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// SQLite takes names like `:memory:` for something else than a file.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|source| StoreError::Access {
        action: "find the store",
        path: path.to_owned(),
        source,
    })
}

/// Kind of file found at a path.
#[derive(Debug, PartialEq, Eq)]
enum StoreFileKind {
    /// No file, or an empty one.
    Nothing,
    /// A store of a known format.
    Store,
}

/// Looks at the file without SQLite.
fn inspect(path: &Path) -> Result<StoreFileKind, StoreError> {
    let _held = RECORD_LOCKS.write().unwrap_or_else(PoisonError::into_inner);
    let access = |source| StoreError::Access {
        action: "read the store",
        path: path.to_owned(),
        source,
    };
    let length = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(StoreFileKind::Nothing),
        Err(error) => return Err(access(error)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(StoreError::NotAFile {
                path: path.to_owned(),
            });
        }
        Ok(metadata) => metadata.len(),
    };
    if length == 0 {
        return Ok(StoreFileKind::Nothing);
    }
    let mut header = [0; HEADER_BYTES];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
        Err(error) => return Err(access(error)),
        Ok(()) => {}
    }
    check_header(&header, path)?;
    Ok(StoreFileKind::Store)
}

/// Bytes of an SQLite file that tell what it is: magic, user version at 60,
/// application id at 68, both big-endian (<https://sqlite.org/fileformat.html>).
const HEADER_BYTES: usize = 72;
const MAGIC: &[u8] = b"SQLite format 3\0";

fn check_header(header: &[u8; HEADER_BYTES], path: &Path) -> Result<(), StoreError> {
    let path = path.to_owned();
    let [.., a, b, c, d, _, _, _, _, e, f, g, h] = *header;
    let (user_version, application_id) = (
        u32::from_be_bytes([a, b, c, d]),
        i32::from_be_bytes([e, f, g, h]),
    );
    if !header.starts_with(MAGIC) {
        return Err(StoreError::NotADatabase { path });
    }
    if application_id != schema::APPLICATION_ID {
        return Err(StoreError::Foreign { path });
    }
    if user_version > schema::NEWEST {
        return Err(StoreError::Newer {
            path,
            found: user_version,
            known: schema::NEWEST,
        });
    }
    Ok(())
}

/// Creates missing folders so that a power cut does not take them, and the
/// store in them, away again: a folder's entry is safe when its parent is
/// synced.
fn create_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folder(parent)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(StoreError::Access {
                action: "create the folder",
                path: folder.to_owned(),
                source: error,
            });
        }
        _ => {}
    }
    if let Some(parent) = folder.parent() {
        // Some file systems cannot sync a folder; they keep it or not.
        let _: io::Result<()> = File::open(parent).and_then(|parent| parent.sync_all());
    }
    Ok(())
}

/// A rollback journal, not a write-ahead log: the log keeps the newest trials
/// in a second file, which a copy of the first leaves behind, and it needs
/// shared memory, which network and FUSE file systems may lack. With the
/// journal, one file is the whole store as soon as a trial is saved.
///
/// In this mode a transaction is committed by deleting the journal. FULL does
/// not sync the folder afterwards, so a power cut could bring the journal back
/// and with it the state before the trial; EXTRA does
/// (<https://sqlite.org/pragma.html#pragma_synchronous>).
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
        let database = Database::open_or_create(&folder.path().join("runs.sqlite")).unwrap();
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
        let database = Database::open_or_create(&folder.path().join("runs.sqlite")).unwrap();
        let in_use = database.with(|_| Ok(RECORD_LOCKS.try_write().is_err()));
        assert!(in_use.unwrap());
    }

    #[test]
    fn names_that_sqlite_takes_for_memory_are_files() {
        let path = absolute(Path::new(":memory:")).unwrap();
        assert!(path.is_absolute() && path.ends_with(":memory:"));
        assert!(absolute(Path::new("")).is_err());
    }
}
