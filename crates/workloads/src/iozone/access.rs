//! Access to a test file in the way of a test.

use super::TestFile;
use crate::ActError;
use crate::remove_if_there;
use assay_engine::buffer::{IoBuf, fill_random};
use assay_engine::held::shown;
use assay_engine::stdio::{Mode as StreamMode, Stream};
use assay_engine::{EngineError, MappedFile, held};
use assay_model::act::iozone::{Iozone, IozoneRow, MapSync, Test};
use assay_model::job::OpenSync;
use assay_model::rng::SplitMix64;
use rustix::fs::{FlockOperation, Mode, OFlags, SeekFrom, fcntl_lock, fsync, seek};
use rustix::io::{Errno, IoSlice, IoSliceMut, pread, preadv, pwrite, pwritev, read, write};
use std::fs::File;
use std::path::Path;

/// System calls that transfer a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Sequentially: `read(2)`, `write(2)`.
    Next,
    /// With a preceding `lseek(2)`.
    Seek,
    /// At an offset: `pread(2)`, `pwrite(2)`.
    At,
    /// At an offset, with vectors: `preadv(2)`, `pwritev(2)`.
    Vector,
}

impl Method {
    /// Returns the method of a test; `sequential` applies to mixed reads and writes.
    pub(super) const fn of(test: Test, sequential: bool) -> Self {
        match test {
            Test::RandomRead
            | Test::RandomWrite
            | Test::BackwardRead
            | Test::RecordRewrite
            | Test::StrideRead => Self::Seek,
            Test::Mixed if !sequential => Self::Seek,
            Test::Pwrite | Test::Repwrite | Test::Pread | Test::Repread => Self::At,
            Test::Pwritev | Test::Repwritev | Test::Preadv | Test::Repreadv => Self::Vector,
            _ => Self::Next,
        }
    }
}

/// Returns true if a test uses C streams, which have no open flags.
pub(super) const fn is_buffered_twice(test: Test) -> bool {
    matches!(
        test,
        Test::Fwrite | Test::Frewrite | Test::Fread | Test::Freread
    )
}

/// Opened file, mapping or stream.
enum AccessFile {
    File(File),
    /// The file is kept for its flush.
    Mapped(File, MappedFile, MapSync),
    Stream(Stream),
}

/// An open test file.
pub(super) struct Access<'a> {
    way: AccessFile,
    path: &'a Path,
    method: Method,
    writes: bool,
    record: u64,
}

/// Parameters for opening a test file.
#[derive(Clone, Copy)]
pub(super) struct AccessRequest<'a> {
    pub(super) work: &'a Iozone,
    pub(super) row: IozoneRow,
    pub(super) test: Test,
    pub(super) writes: bool,
    pub(super) file: &'a TestFile,
}

impl<'a> Access<'a> {
    /// Opens a file, creates it if the test does, and locks it.
    pub(super) fn open(wanted: AccessRequest<'a>) -> Result<Self, ActError> {
        let path = wanted.file.path.as_path();
        let way = if is_buffered_twice(wanted.test) {
            AccessFile::Stream(wanted.stream()?)
        } else {
            wanted.file_or_map()?
        };
        Ok(Self {
            way,
            path,
            method: Method::of(wanted.test, wanted.work.mix.sequential),
            writes: wanted.writes,
            record: wanted.row.record_kib << 10,
        })
    }

    /// Carries out iozone's steps before its clock starts: a flush, and, before sequential reads by
    /// one child, one record and a return to the start.
    pub(super) fn warm_up(&self, read_one: bool, buffers: &mut Buffers) -> Result<(), ActError> {
        let (AccessFile::File(file) | AccessFile::Mapped(file, ..)) = &self.way else {
            return Ok(());
        };
        fsync(file).map_err(|errno| self.failed("flush", 0, errno))?;
        if read_one && !self.writes && self.method == Method::Next {
            read(file, &mut *buffers.read_place(0))
                .map_err(|errno| self.failed("read", 0, errno))?;
            seek(file, SeekFrom::Start(0)).map_err(|errno| self.failed("seek in", 0, errno))?;
        }
        Ok(())
    }

    /// Transfers the record at `offset` as the `index`-th I/O.
    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    pub(super) fn transfer(
        &mut self,
        index: u64,
        offset: u64,
        buffers: &mut Buffers,
    ) -> Result<(), ActError> {
        let moved = if self.writes {
            self.write(offset, buffers.to_write(index))
        } else {
            self.read(offset, buffers.read_place(index))
        };
        moved
            .map_err(|errno| self.failed(if self.writes { "write" } else { "read" }, offset, errno))
    }

    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let method = self.method;
        match &mut self.way {
            AccessFile::File(file) => {
                if method == Method::Seek {
                    seek(&*file, SeekFrom::Start(offset))?;
                }
                let mut done = 0;
                while done < bytes.len() {
                    let (rest, at) = (&bytes[done..], offset + done as u64);
                    done += match method {
                        Method::Next | Method::Seek => write(&*file, rest)?,
                        Method::At => pwrite(&*file, rest, at)?,
                        Method::Vector => pwritev(&*file, &[IoSlice::new(rest)], at)?,
                    };
                }
                Ok(())
            }
            AccessFile::Mapped(_, map, sync) => {
                let at = usize::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
                map.write_at(at, bytes)?;
                match sync {
                    MapSync::None => Ok(()),
                    MapSync::Async => map.sync(at, bytes.len(), false),
                    MapSync::Sync => map.sync(at, bytes.len(), true),
                }
            }
            AccessFile::Stream(stream) => stream.write(bytes),
        }
    }

    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let method = self.method;
        match &mut self.way {
            AccessFile::File(file) => {
                if method == Method::Seek {
                    seek(&*file, SeekFrom::Start(offset))?;
                }
                let mut done = 0;
                while done < bytes.len() {
                    let (rest, at) = (&mut bytes[done..], offset + done as u64);
                    let moved = match method {
                        Method::Next | Method::Seek => read(&*file, rest)?,
                        Method::At => pread(&*file, rest, at)?,
                        Method::Vector => preadv(&*file, &mut [IoSliceMut::new(rest)], at)?,
                    };
                    if moved == 0 {
                        return Err(Errno::NODATA);
                    }
                    done += moved;
                }
                Ok(())
            }
            AccessFile::Mapped(_, map, _) => {
                let at = usize::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
                map.read_at(at, bytes)
            }
            AccessFile::Stream(stream) => match stream.read(bytes)? {
                all if all == bytes.len() => Ok(()),
                _ => Err(Errno::NODATA),
            },
        }
    }

    /// Flushes the file.
    pub(super) fn flush(&mut self) -> Result<(), ActError> {
        let writes = self.writes;
        let flushed = match &mut self.way {
            AccessFile::File(file) => fsync(&*file),
            AccessFile::Mapped(file, map, _) if writes => {
                let length = file.metadata().map_or(0, |meta| meta.len());
                let length = usize::try_from(length).unwrap_or(0);
                map.sync(0, length.min(map.length()), true)
            }
            AccessFile::Mapped(..) => Ok(()),
            AccessFile::Stream(stream) if writes => stream.flush().and_then(|()| stream.sync()),
            AccessFile::Stream(_) => Ok(()),
        };
        flushed.map_err(|errno| self.failed("flush", 0, errno))
    }

    /// Closes the file; C streams write their buffered data.
    pub(super) fn close(self) -> Result<(), ActError> {
        match self.way {
            AccessFile::Stream(stream) => stream.close().map_err(|errno| {
                ActError::call(format!("cannot close {}", shown(self.path)), errno)
            }),
            AccessFile::File(_) | AccessFile::Mapped(..) => Ok(()),
        }
    }

    /// Returns the offset of a record, which must not exceed the largest file offset.
    #[inline]
    pub(super) const fn offset(&self, record: u64) -> u64 {
        record * self.record
    }

    #[cold]
    fn failed(&self, doing: &str, offset: u64, errno: Errno) -> ActError {
        let path = shown(self.path);
        if errno == Errno::NODATA {
            return ActError::failed(format!("{path} ends before byte {}", offset + self.record));
        }
        ActError::call(format!("cannot {doing} {path} at byte {offset}"), errno)
    }
}

impl AccessRequest<'_> {
    fn stream(&self) -> Result<Stream, ActError> {
        let path = &self.file.path;
        let mode = match self.writes {
            false => StreamMode::Read,
            true if path.exists() => StreamMode::Update,
            true => StreamMode::Create,
        };
        let buffer = usize::try_from(self.row.record_kib << 10).unwrap_or(usize::MAX);
        Stream::open(path, mode, buffer).map_err(|error| ActError::io("open", path, &error))
    }

    fn flags(&self) -> OFlags {
        let work = self.work;
        let mut flags = OFlags::CLOEXEC;
        flags |= if self.writes {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        flags.set(OFlags::DIRECT, work.direct);
        flags.set(OFlags::RSYNC | OFlags::SYNC, work.rsync);
        match work.sync {
            OpenSync::None => {}
            OpenSync::Dsync => flags |= OFlags::DSYNC,
            OpenSync::Sync => flags |= OFlags::SYNC,
        }
        flags
    }

    fn open_file(&self, flags: OFlags) -> Result<File, ActError> {
        let path = &self.file.path;
        let mode = Mode::from_raw_mode(0o640);
        let opened = held::open(path, flags, mode).map(File::from);
        opened.map_err(|errno| {
            let hint = if errno == Errno::INVAL && self.work.direct {
                " (this file system may not know O_DIRECT: leave out -I)"
            } else {
                ""
            };
            ActError::call(format!("cannot open {}{hint}", shown(path)), errno)
        })
    }

    fn file_or_map(&self) -> Result<AccessFile, ActError> {
        let mut flags = self.flags();
        if self.test.creates() && !self.file.device {
            remove_if_there(&self.file.path)?;
            flags |= OFlags::CREATE | OFlags::EXCL;
        } else if self.writes && !self.file.device {
            flags |= OFlags::CREATE;
        }
        let file = self.open_file(flags)?;
        if self.work.lock {
            self.lock(&file)?;
        }
        let Some(sync) = self.work.mapped else {
            return Ok(AccessFile::File(file));
        };
        let bytes = self.row.file_kib << 10;
        let failed_to_map = |error| ActError::io("map", &self.file.path, &error);
        if self.writes && !self.file.device && file.metadata().map_or(0, |meta| meta.len()) < bytes
        {
            file.set_len(bytes).map_err(failed_to_map)?;
        }
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let map = MappedFile::new(&file, length, self.writes).map_err(failed_to_map)?;
        Ok(AccessFile::Mapped(file, map, sync))
    }

    /// Locks the file; closing it releases the lock.
    fn lock(&self, file: &File) -> Result<(), ActError> {
        let how = if self.writes {
            FlockOperation::LockExclusive
        } else {
            FlockOperation::LockShared
        };
        let doing = || format!("cannot lock {}", shown(&self.file.path));
        fcntl_lock(file, how).map_err(|errno| ActError::call(doing(), errno))
    }
}

/// Begin of each record, so that a file of an earlier test can be distinguished from one
/// with other data.
pub(super) const MARK: [u8; 16] = *b"assay iozone  1\n";
/// Size of iozone's buffer area with many buffers (`-m`).
const MANY: usize = 16 << 20;

/// Checks that all buffers fit into half of the machine's memory: the remainder is for
/// the page cache, which the tests measure.
///
/// # Errors
/// If they do not fit.
pub(super) fn admit(work: &Iozone) -> Result<(), ActError> {
    let info = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, reason = "32 bits on some machines")]
    let memory = u64::from(info.totalram).saturating_mul(u64::from(info.mem_unit));
    fits(work, memory)
}

fn fits(work: &Iozone, memory: u64) -> Result<(), ActError> {
    let largest = work.rows.iter().map(|row| row.record_kib).max();
    let record = largest.unwrap_or(0).saturating_mul(1024);
    let area = if work.many_buffers {
        record.max(MANY as u64)
    } else {
        record
    };
    // C streams use another third of a record.
    let of_child = area.saturating_mul(2).saturating_add(record);
    let children = work.children.iter().max().map_or(1, |&most| most);
    let needed = of_child.saturating_mul(u64::from(children));
    if needed <= memory / 2 {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(ActError::Refused(format!(
        "records of {} KiB with {children} at a time need buffers of {} MiB, more than half of this machine's memory ({} MiB): give a smaller -r or -q, or fewer children",
        record >> 10,
        mib(needed),
        mib(memory)
    )))
}

/// Buffers of a child.
pub(super) struct Buffers {
    write: IoBuf,
    read: IoBuf,
    /// Bytes of a record.
    record: usize,
    /// Records that fit into the area.
    windows: usize,
    area: usize,
    verify: Option<u8>,
    diagnose: bool,
    many: bool,
}

impl Buffers {
    pub(super) fn new(work: &Iozone, largest_kib: u64, seed: u64) -> Result<Self, EngineError> {
        let largest = bytes(largest_kib);
        let area = if work.many_buffers {
            largest.max(MANY)
        } else {
            largest
        };
        let mut write = IoBuf::of(area as u64)?;
        if work.verify.is_none() {
            fill_random(write.block_mut(), &mut SplitMix64::new(seed));
        }
        Ok(Self {
            write,
            read: IoBuf::of(area as u64)?,
            record: 0,
            windows: 1,
            area,
            verify: work.verify,
            diagnose: work.diagnose,
            many: work.many_buffers,
        })
    }

    /// Prepares the buffers for records of this size.
    pub(super) fn prepare(&mut self, record_kib: u64) {
        let record = bytes(record_kib).min(self.area);
        if record == self.record {
            return;
        }
        self.record = record;
        self.windows = if self.many { self.area / record } else { 1 };
        for window in 0..self.windows {
            let start = window * record;
            let block = &mut self.write.block_mut()[start..start + record];
            if let Some(pattern) = self.verify {
                fill_pattern(block, pattern, self.diagnose);
            }
            let mark = MARK.len().min(block.len());
            block[..mark].copy_from_slice(&MARK[..mark]);
        }
    }

    #[inline]
    fn start(&self, index: u64) -> usize {
        if self.windows == 1 {
            return 0;
        }
        let windows = self.windows as u64;
        usize::try_from(index % windows).unwrap_or(0) * self.record
    }

    /// Returns the record to write in the `index`-th I/O.
    #[inline]
    pub(super) fn to_write(&self, index: u64) -> &[u8] {
        let start = self.start(index);
        &self.write.block()[start..start + self.record]
    }

    /// Returns the buffer for the record of the `index`-th I/O.
    #[inline]
    pub(super) fn read_place(&mut self, index: u64) -> &mut [u8] {
        let start = self.start(index);
        let record = self.record;
        &mut self.read.block_mut()[start..start + record]
    }

    /// Compares the data of the `index`-th read with the data written; returns a
    /// description of a difference.
    pub(super) fn check(&self, index: u64, offset: u64, path: &Path) -> Option<String> {
        let start = self.start(index);
        let read = &self.read.block()[start..start + self.record];
        let written = &self.write.block()[start..start + self.record];
        let mut pairs = read.iter().zip(written);
        let at = pairs.position(|(read, written)| read != written)?;
        Some(format!(
            "{} differs from what was written, first at byte {}: {:#04x} was read instead of {:#04x} (without a write by the same -V or -+d before, it always does)",
            shown(path),
            offset + at as u64,
            read[at],
            written[at]
        ))
    }
}

/// Fills a block with one byte, or with `diagnose` with a different byte at each
/// position, so that shifted data is detected as well.
fn fill_pattern(block: &mut [u8], pattern: u8, diagnose: bool) {
    if !diagnose {
        block.fill(pattern);
        return;
    }
    for (at, byte) in block.iter_mut().enumerate() {
        *byte = pattern ^ u8::try_from(at % 251).unwrap_or(0);
    }
}

fn bytes(kib: u64) -> usize {
    usize::try_from(kib << 10).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::iozone::IozoneRow;

    #[test]
    fn buffers_leave_half_of_the_memory() {
        let mut work = Iozone {
            rows: vec![IozoneRow {
                file_kib: 1 << 52,
                record_kib: 16 << 10,
            }],
            ..Iozone::default()
        };
        assert!(fits(&work, 96 << 20).is_ok());
        work.children = vec![1, 2];
        let error = fits(&work, 96 << 20).unwrap_err().to_string();
        assert!(
            error.contains("2 at a time need buffers of 96 MiB"),
            "{error}"
        );
        work.rows[0].record_kib = 1 << 52;
        assert!(fits(&work, u64::MAX).is_err());
        assert!(admit(&work).is_err());
    }
}
