//! The page cache of one file: looking at it, emptying it, filling it.

use crate::error::EngineError;
use crate::sys;
use assay_model::evidence::{CacheSource, FileCache};
use rustix::fs::{Advice, fadvise, fdatasync};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much of a file is in the page cache and how much of that is not yet on
/// the device. `cachestat(2)` where there is one (Linux 6.5), else
/// `mincore(2)`, which does not tell dirty pages. `None` when neither works.
#[must_use]
pub fn look(file: &File) -> Option<FileCache> {
    let page = rustix::param::page_size() as u64;
    if let Ok(stat) = sys::cachestat(file) {
        return Some(FileCache {
            source: CacheSource::Cachestat,
            cached_bytes: stat.cached * page,
            dirty_bytes: Some(stat.dirty * page),
            writeback_bytes: Some(stat.writeback * page),
        });
    }
    let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let pages = sys::resident_pages(file, length, rustix::param::page_size()).ok()?;
    Some(FileCache {
        source: CacheSource::Mincore,
        cached_bytes: pages * page,
        dirty_bytes: None,
        writeback_bytes: None,
    })
}

/// Writes a file's dirty pages back and asks the kernel to evict all its
/// pages. Pages that others use stay; [`look`] tells.
///
/// # Errors
/// When the file cannot be written back.
pub fn evict(file: &File, path: &Path) -> Result<(), EngineError> {
    fdatasync(file).map_err(|errno| EngineError::file("write back", path, errno.into()))?;
    // Advice may be ignored; what became of it is seen in the evidence.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    Ok(())
}

/// Reads a region once, so that it is cached as far as memory allows.
///
/// # Errors
/// When it cannot be read.
pub fn warm(file: &File, path: &Path, offset: u64, length: u64) -> Result<(), EngineError> {
    let mut buffer = vec![0; 1 << 20];
    let end = offset + length;
    let mut at = offset;
    while at < end {
        let want = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let got = file
            .read_at(&mut buffer[..want], at)
            .map_err(|error| EngineError::file("read", path, error))?;
        if got == 0 {
            break;
        }
        at += got as u64;
    }
    Ok(())
}
