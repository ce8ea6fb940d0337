//! Filling a folder with files.

use super::CHUNKS_PER_FLUSH;
use super::check::CHUNK;
use super::files::{name, offset};
use crate::meter::Meter;
use crate::progress::ProgressReporter;
use crate::{Context, WorkError};
use assay_engine::buffer::IoBuf;
use assay_engine::held;
use assay_model::job::Direction;
use assay_model::work::capacity::content::fill;
use assay_model::work::capacity::{CapacityPart, FILE_BYTES, Fill, SECTOR, SECTOR_BYTES};
use rustix::fs::{Advice, Mode, OFlags, fadvise, fdatasync, ftruncate};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Data written by a fill.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) parts: Vec<CapacityPart>,
    pub(super) files: Vec<PathBuf>,
}

impl Filled {
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// Reason why a file ended.
#[derive(Debug)]
enum End {
    /// It has its full length.
    Full,
    /// The file system has no free space.
    NoRoom,
    Stopped,
    Failed(WorkError),
}

/// Writes files until there is no free space, or the requested number is reached.
/// `filled` contains the data written before an error or a stop.
pub(super) fn write(
    folder: &Path,
    wanted: &Fill,
    filled: &mut Filled,
    meter: &mut Meter,
    (progress, context): (&mut ProgressReporter, &mut Context<'_>),
) -> Result<(), WorkError> {
    let limit = wanted.limit_bytes.unwrap_or(u64::MAX);
    let mut buffer = IoBuf::zeroed(CHUNK);
    for number in wanted.first_file..=wanted.last_file.unwrap_or(u32::MAX) {
        let done = filled.bytes();
        let length = FILE_BYTES.min(limit - done);
        if length < SECTOR_BYTES {
            break;
        }
        let path = folder.join(name(number));
        let began_ns = meter.now_ns();
        let file = match create(&path) {
            Err(error) if is_no_room(&error) => break,
            other => other.map_err(|error| WorkError::io("create", &path, &error))?,
        };
        let mut growing = Growing {
            file,
            path: &path,
            base: offset(number),
            written: 0,
            flushed: 0,
        };
        let end = growing.grow(length, &mut buffer, meter, (progress, context, done));
        let bytes = growing.written;
        drop(growing);
        if bytes == 0 {
            let _ = held::remove_file(&path);
        } else {
            filled.parts.push(CapacityPart {
                name: name(number),
                offset: offset(number),
                bytes,
                elapsed_ns: meter.now_ns().saturating_sub(began_ns),
                found: None,
            });
            filled.files.push(path);
        }
        match end {
            End::Full => {}
            End::NoRoom => break,
            End::Stopped => return Err(WorkError::Stopped),
            End::Failed(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates a file that only its user can access, as f3 does.
fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = held::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(file))
}

fn is_no_room(error: &io::Error) -> bool {
    // FAT returns ENOSPC if its root folder is full, NFS and quotas return EDQUOT.
    let errno = error.raw_os_error();
    [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT]
        .iter()
        .any(|known| errno == Some(known.raw_os_error()))
}

/// A file that is being written.
struct Growing<'a> {
    file: File,
    path: &'a Path,
    base: u64,
    written: u64,
    flushed: u64,
}

impl Growing<'_> {
    fn grow(
        &mut self,
        length: u64,
        buffer: &mut IoBuf,
        meter: &mut Meter,
        (progress, context, before): (&mut ProgressReporter, &mut Context<'_>, u64),
    ) -> End {
        let (mut unflushed, mut most) = (0, CHUNK);
        let end = loop {
            let left = length - self.written;
            if left < SECTOR_BYTES {
                break End::Full;
            }
            if context.stopped() {
                break End::Stopped;
            }
            let chunk = usize::try_from(left).map_or(most, |left| left.min(most));
            let chunk = &mut buffer.block_mut()[..chunk];
            match self.append(chunk, meter) {
                None => {}
                // A shorter write may still succeed, especially after a flush, when the
                // file system knows the actual need of the data written so far.
                Some(End::NoRoom) if most > SECTOR => {
                    most /= 2;
                    unflushed = CHUNKS_PER_FLUSH - 1;
                }
                Some(end) => break end,
            }
            unflushed += 1;
            if unflushed == CHUNKS_PER_FLUSH {
                unflushed = 0;
                if let Err(end) = self.flush(meter) {
                    break end;
                }
            }
            progress.report(context, before + self.written);
        };
        let end = self.flush(meter).err().unwrap_or(end);
        let there = meter.is_there(context, before + self.flushed);
        there.map_or_else(End::Failed, |()| end)
    }

    /// Writes the next bytes; returns the reason if the file ends here.
    fn append(&mut self, bytes: &mut [u8], meter: &mut Meter) -> Option<End> {
        // The previous call may have ended within a sector.
        let whole = bytes.len() - bytes.len() % SECTOR;
        let bytes = &mut bytes[..whole];
        fill(bytes, self.base + self.written);
        let mut rest = &*bytes;
        while !rest.is_empty() {
            let began_ns = meter.now_ns();
            match self.file.write_at(rest, self.written) {
                Ok(0) => return Some(self.cut_to_sectors()),
                Ok(wrote) => {
                    meter.moved(Direction::Write, wrote as u64, began_ns);
                    self.written += wrote as u64;
                    rest = &rest[wrote..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_no_room(&error) => return Some(self.cut_to_sectors()),
                Err(error) => {
                    let (at, length) = (self.base + self.written, rest.len() as u64);
                    meter.failed(Some(Direction::Write), at, length, &error);
                    return Some(End::Failed(WorkError::io("write", self.path, &error)));
                }
            }
        }
        None
    }

    /// Truncates the file to whole sectors.
    fn cut_to_sectors(&mut self) -> End {
        self.written -= self.written % SECTOR_BYTES;
        self.cut()
    }

    fn cut(&self) -> End {
        match ftruncate(&self.file, self.written) {
            Ok(()) => End::NoRoom,
            Err(errno) => End::Failed(WorkError::io("shorten", self.path, &errno.into())),
        }
    }

    /// Writes the file back, and drops it from the page cache.
    fn flush(&mut self, meter: &mut Meter) -> Result<(), End> {
        let began_ns = meter.now_ns();
        if let Err(errno) = fdatasync(&self.file) {
            let error = errno.into();
            if is_no_room(&error) {
                // Space that the file system had promised (delayed allocation) is not
                // available.
                self.written = self.flushed;
                return Err(self.cut());
            }
            meter.failed(None, self.base + self.flushed, 0, &error);
            return Err(End::Failed(WorkError::io("write back", self.path, &error)));
        }
        meter.flushed(began_ns);
        self.flushed = self.written;
        // Pages that stay cached appear in the evidence of the reading step.
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        Ok(())
    }
}
