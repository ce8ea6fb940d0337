//! `readv(2)` and `writev(2)`: adjacent blocks of a file are gathered and moved
//! by one call.

use crate::EngineError;
use crate::engines::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus, moved};
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine};
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::{
    Errno, ReadWriteFlags, pread, preadv, preadv2, pwrite, pwritev, pwritev2, read, retry_on_intr,
    write,
};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, RawFd};

/// Largest number of blocks in one call (`UIO_MAXIOV` of the kernel).
const MAX_BLOCKS: usize = 1024;

/// Block that would continue the gathered ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    ddir: Ddir,
    file: u32,
    offset: u64,
}

/// The engine. It moves the gathered blocks on `commit`, and when a block
/// arrives that does not follow the last one.
#[derive(Debug)]
pub(crate) struct Vsync {
    depth: usize,
    gathered: VecDeque<IoUnit>,
    next: Option<Next>,
    /// Descriptor of the gathered blocks' file.
    fd: RawFd,
    /// Vector for the call, kept here to be allocated once.
    vector: Vec<libc::iovec>,
    done: Vec<Completion>,
    /// Number of blocks moved (or failed) since the last `commit`.
    handed_over: usize,
}

impl Vsync {
    pub(crate) fn new(engine: &Engine) -> Self {
        let depth = (engine.iodepth as usize).clamp(1, MAX_BLOCKS);
        Self {
            depth,
            gathered: VecDeque::with_capacity(depth),
            next: None,
            fd: -1,
            vector: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            handed_over: 0,
        }
    }

    /// Moves the gathered blocks. If a call fails or moves only a part, its
    /// result applies to the first block that was not moved, and the remaining
    /// blocks get another call.
    fn issue(&mut self) {
        self.next = None;
        self.handed_over += self.gathered.len();
        while !self.gathered.is_empty() {
            match self.transfer() {
                Ok(bytes) if bytes > 0 => self.split(bytes),
                Ok(_) => self.complete_first(Ok(0)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.complete_first(Err(error.raw_os_error().unwrap_or(libc::EIO)));
                }
            }
        }
    }

    /// Makes one call for all gathered blocks.
    fn transfer(&mut self) -> io::Result<usize> {
        self.vector.clear();
        let mut start = None;
        for unit in &mut self.gathered {
            let ddir = unit.ddir;
            let (offset, bytes) = unit.remainder();
            start.get_or_insert((ddir, offset));
            self.vector.push(libc::iovec {
                iov_base: bytes.as_mut_ptr().cast(),
                iov_len: bytes.len(),
            });
        }
        let Some((ddir, offset)) = start else {
            return Ok(0);
        };
        let offset =
            i64::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        let count = libc::c_int::try_from(self.vector.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: moves the position of an open file; no memory is passed. The
        // file is open: a file is closed only when no I/O to it is in flight.
        if unsafe { libc::lseek64(self.fd, offset, libc::SEEK_SET) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let vector = self.vector.as_ptr();
        // SAFETY: `vector` names `count` pieces of memory, each of a buffer
        // owned by a unit in `self.gathered` that is not accessed otherwise
        // during the call.
        let moved = unsafe {
            if ddir == Ddir::Write {
                libc::writev(self.fd, vector, count)
            } else {
                libc::readv(self.fd, vector, count)
            }
        };
        usize::try_from(moved).map_err(|_| io::Error::last_os_error())
    }

    /// Distributes `bytes` over the gathered blocks.
    fn split(&mut self, mut bytes: usize) {
        while bytes > 0
            && let Some(first) = self.gathered.front()
        {
            let part = first.left().min(u32::try_from(bytes).unwrap_or(u32::MAX));
            bytes -= part as usize;
            self.complete_first(Ok(part));
        }
    }

    fn complete_first(&mut self, result: Result<u32, i32>) {
        if let Some(unit) = self.gathered.pop_front() {
            self.done.push(Completion { unit, result });
        }
    }
}

impl IoEngine for Vsync {
    #[inline]
    fn is_asynchronous(&self) -> bool {
        true
    }

    fn closes(&mut self, _file: &OpenFile) {
        self.next = None;
    }

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        if self.gathered.len() + self.done.len() >= self.depth {
            return QueueStatus::Busy(unit);
        }
        let mut next = Next {
            ddir: unit.ddir,
            file: unit.file,
            offset: unit.offset + u64::from(unit.moved),
        };
        if self.next != Some(next) {
            self.issue();
        }
        if unit.ddir == Ddir::Trim {
            return super::queue(file, unit);
        }
        next.offset += u64::from(unit.left());
        self.next = Some(next);
        self.fd = file.file.as_raw_fd();
        self.gathered.push_back(unit);
        QueueStatus::Queued
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        self.issue();
        Ok(std::mem::take(&mut self.handed_over))
    }

    fn reap(
        &mut self,
        min: u32,
        _max: u32,
        _timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        if self.done.len() < min as usize {
            self.issue();
        }
        done.append(&mut self.done);
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Psync;

impl IoEngine for Psync {
    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return super::transfer(file, unit);
        }
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        moved(if writes {
            retry_on_intr(|| pwrite(&file.file, &*bytes, offset))
        } else {
            retry_on_intr(|| pread(&file.file, &mut *bytes, offset))
        })
    }
}

/// The engine, with one block per call. Both versions share one type: the branch between them
/// costs little in comparison with the call, and the worker loop is not compiled for each.
#[derive(Debug)]
pub(crate) struct Pvsync {
    /// Flags of the second version; `None` for the first.
    flags: Option<ReadWriteFlags>,
}

impl Pvsync {
    /// Creates an engine that uses `preadv(2)` and `pwritev(2)`.
    pub(crate) const fn first() -> Self {
        Self { flags: None }
    }

    /// Creates an engine that uses `preadv2(2)` and `pwritev2(2)`.
    pub(crate) fn second(engine: &Engine) -> Self {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::HIPRI, engine.hipri);
        flags.set(ReadWriteFlags::NOWAIT, engine.nowait);
        Self { flags: Some(flags) }
    }

    fn read(&self, file: &File, bytes: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let bytes = &mut [IoSliceMut::new(bytes)];
        match self.flags {
            None => preadv(file, bytes, offset),
            Some(flags) => preadv2(file, bytes, offset, flags),
        }
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        let bytes = &[IoSlice::new(bytes)];
        match self.flags {
            None => pwritev(file, bytes, offset),
            Some(flags) => pwritev2(file, bytes, offset, flags),
        }
    }
}

impl IoEngine for Pvsync {
    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return super::transfer(file, unit);
        }
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        moved(if writes {
            retry_on_intr(|| self.write(&file.file, bytes, offset))
        } else {
            retry_on_intr(|| self.read(&file.file, bytes, offset))
        })
    }
}

/// Checks that `preadv2(2)` exists (Linux 4.6).
pub(crate) fn probe() -> Result<(), EngineError> {
    let mut nothing = [0; 1];
    open("/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| {
            let mut to = [IoSliceMut::new(&mut nothing)];
            preadv2(file, &mut to, 0, ReadWriteFlags::empty())
        })
        .map(drop)
        .map_err(|errno| EngineError::unavailable(EngineKind::Pvsync2, errno.into()))
}

#[derive(Debug, Default)]
pub(crate) struct Sync {
    /// Kernel's position in each file, by file number, so that a seek is made only if needed;
    /// `None` if unknown.
    positions: Vec<Option<u64>>,
}

impl Sync {
    fn at_position(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<usize, Errno> {
        let ddir = unit.ddir;
        let (offset, bytes) = unit.remainder();
        let position = &mut self.positions[file.number as usize];
        if position.take() != Some(offset) {
            seek(&file.file, SeekFrom::Start(offset))?;
        }
        let moved = if ddir == Ddir::Read {
            retry_on_intr(|| read(&file.file, &mut *bytes))
        } else {
            retry_on_intr(|| write(&file.file, &*bytes))
        }?;
        *position = Some(offset + moved as u64);
        Ok(moved)
    }
}

impl IoEngine for Sync {
    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        let number = file.number as usize;
        if self.positions.len() <= number {
            self.positions.resize(number + 1, None);
        }
        self.positions[number] = None;
        Ok(())
    }

    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return super::transfer(file, unit);
        }
        moved(self.at_position(file, unit))
    }
}
