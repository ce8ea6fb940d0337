//! Writing test files completely, and checking that a file has no holes.

use crate::EngineError;
use crate::buffer::{Filler, IoBuf};
use assay_model::load::WriteContent;
use assay_model::units::Bytes;
use rustix::fs::{Advice, SeekFrom, fadvise, fdatasync, seek};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const CHUNK_BYTES: u32 = 1 << 20;
const CHUNK: usize = CHUNK_BYTES as usize;
/// Distance in bytes at which data is written back, so that the progress does not count data that
/// is only in the page cache.
const WRITE_BACK_EVERY: u64 = 32 << 20;

/// Fills the first `size` bytes of a file or device with random data, so that no read can hit a
/// hole, an unwritten extent or a compressible block. On return the data is on the device and not
/// in the page cache.
///
/// Calls `progress` with the number of bytes written, every 32 MiB.
///
/// # Errors
/// [`EngineError::Stopped`] if `stop` was set, else the error of the failed system call.
pub fn write(
    file: &File,
    path: &Path,
    size: Bytes,
    seed: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Bytes),
) -> Result<(), EngineError> {
    write_part(file, path, 0..size.0, seed, stop, progress)
}

/// Fills a part of a file, given in bytes, as [`write()`] does. The rest of the file does not
/// change.
///
/// # Errors
/// As for [`write()`].
pub fn write_part(
    file: &File,
    path: &Path,
    part: Range<u64>,
    seed: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Bytes),
) -> Result<(), EngineError> {
    let mut buffer = IoBuf::to_write(CHUNK, 1)?;
    let mut filler = Filler::new(&WriteContent::default(), CHUNK_BYTES, seed);
    let size = part.end.saturating_sub(part.start);
    let mut done = 0;
    while done < size {
        if stop.load(Ordering::Relaxed) {
            return Err(EngineError::Stopped);
        }
        let left = usize::try_from(size - done).unwrap_or(CHUNK);
        let chunk = &mut buffer.block_mut()[..left.min(CHUNK)];
        filler.fill(chunk, part.start + done);
        file.write_all_at(chunk, part.start + done)
            .map_err(|error| EngineError::file("write", path, error))?;
        done += chunk.len() as u64;
        if done.is_multiple_of(WRITE_BACK_EVERY) && done < size {
            write_back(file, path)?;
            progress(Bytes(done));
        }
    }
    write_back(file, path)?;
    progress(Bytes(done));
    Ok(())
}

fn write_back(file: &File, path: &Path) -> Result<(), EngineError> {
    fdatasync(file).map_err(|errno| EngineError::file("write back", path, errno.into()))?;
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    Ok(())
}

/// Returns true if the kernel reports no hole in a file; `None` if the query fails. Extents that
/// were reserved but never written count as holes on file systems that report them (ext4, XFS and
/// btrfs do). File systems that do not track holes (FAT, many network file systems) report
/// everything as data: for these, `true` only means that no hole is known.
pub fn is_written(file: &File) -> Option<bool> {
    is_part_written(file, 0..file.metadata().ok()?.len())
}

/// Returns true if the kernel reports no hole in a part of a file, given in bytes. The call changes
/// the file's position.
pub fn is_part_written(file: &File, part: Range<u64>) -> Option<bool> {
    if part.is_empty() {
        return Some(true);
    }
    let first_hole = seek(file, SeekFrom::Hole(part.start)).ok()?;
    Some(first_hole >= part.end)
}
