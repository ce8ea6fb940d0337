//! Inspects the file of a store without SQLite. SQLite only opens files that belong to assay or do
//! not exist yet, because it may change any file that it opens: it rolls back an interrupted
//! transaction.

use crate::error::StoreError;
use crate::location::Location;
use crate::schema;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Lock around record locks of the process. SQLite locks the file with POSIX record locks, and the
/// kernel drops all of a process's record locks on a file as soon as the process closes *any*
/// descriptor of that file (<https://sqlite.org/howtocorrupt.html>, 2.2). Users of a connection
/// hold this lock for reading; [`inspect`], which opens and closes the file itself, holds it for
/// writing.
pub static RECORD_LOCKS: RwLock<()> = RwLock::new(());

/// Returns device and inode of the file at a path.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Returns an absolute path: SQLite does not treat names like `:memory:` as files.
pub fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|source| StoreError::Access {
        action: "find the store",
        path: path.to_owned(),
        source,
    })
}

/// Kind of file found at a path.
#[derive(Debug, PartialEq, Eq)]
pub enum StoreFileKind {
    /// No file, or an empty one.
    Nothing,
    /// A store of a known format.
    Store,
}

/// Inspects the file without SQLite.
pub fn inspect(path: &Path) -> Result<StoreFileKind, StoreError> {
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

/// Length of the part of an SQLite file that identifies it: magic, user version at 60, application
/// id at 68, both big-endian (<https://sqlite.org/fileformat.html>).
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
        return Err(StoreError::Foreign {
            store: Location::File(path),
        });
    }
    if user_version > schema::NEWEST {
        return Err(StoreError::Newer {
            store: Location::File(path),
            found: user_version,
            known: schema::NEWEST,
        });
    }
    Ok(())
}

/// Creates missing folders, safe against a power cut: a folder's entry is durable once its parent
/// is synced.
pub fn create_folder(folder: &Path) -> Result<(), StoreError> {
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
        // Some file systems cannot sync a folder; durability is up to them then.
        let _: io::Result<()> = File::open(parent).and_then(|parent| parent.sync_all());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_sqlite_takes_for_memory_are_files() {
        let path = absolute(Path::new(":memory:")).unwrap();
        assert!(path.is_absolute() && path.ends_with(":memory:"));
        assert!(absolute(Path::new("")).is_err());
    }
}
