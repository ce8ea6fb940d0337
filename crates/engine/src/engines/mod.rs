//! The trait that every I/O engine implements, the types that it exchanges with the worker, and
//! the engines: the small ones here, the others in one file each.

mod aio;
mod mmap;
mod uring;

pub use mmap::MappedFile;

use crate::buffer::IoBuf;
use crate::extra::Loads;
use crate::{EngineError, held};
use aio::{Libaio, Posixaio, probe_libaio};
use assay_model::job::{EngineKind, FlushCall};
use assay_model::load::{Ddir, Engine, IoPriority};
use mmap::Mmap;
use rustix::fs::{
    AtFlags, FallocateFlags, Mode, OFlags, SeekFrom, fallocate, fdatasync, fsync, ftruncate, open,
    seek,
};
use rustix::io::{
    Errno, ReadWriteFlags, pread, preadv, preadv2, pwrite, pwritev, pwritev2, read, retry_on_intr,
    write,
};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Seek};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uring::Uring;

/// An open file for I/O.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Handle opened as the job requires; `/dev/null` for engines that do not
    /// use an open file.
    pub(crate) file: File,
    /// Index among the files of the worker, from 0.
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    /// Size in bytes at the time of opening.
    pub(crate) size: u64,
    /// Exclusive handle of a block device, used to trim it.
    pub(crate) holder: Option<Arc<File>>,
    /// True for a block device, which has its own system call to trim.
    pub(crate) is_device: bool,
    pub(crate) writable: bool,
    /// True if offsets are random, so read-ahead would be wasted.
    pub(crate) random: bool,
}

impl OpenFile {
    /// Reads the properties of a file that was just opened.
    pub(crate) fn new(
        mut file: File,
        number: u32,
        path: &Path,
        writable: bool,
    ) -> io::Result<Self> {
        let what = file.metadata()?;
        // A directory opens for reading, and then fails every read.
        if what.is_dir() {
            return Err(Errno::ISDIR.into());
        }
        let is_device = what.file_type().is_block_device();
        let size = if is_device {
            let end = file.seek(io::SeekFrom::End(0))?;
            file.rewind()?;
            end
        } else {
            what.len()
        };
        Ok(Self {
            file,
            number,
            path: path.to_owned(),
            size,
            holder: None,
            is_device,
            writable,
            random: false,
        })
    }
}

/// One I/O. It owns its buffer until its [`Completion`] is taken back, so the
/// kernel never accesses freed memory.
#[derive(Debug)]
pub(crate) struct IoUnit {
    pub(crate) ddir: Ddir,
    /// [`OpenFile::number`].
    pub(crate) file: u32,
    /// Offset of the block in the file.
    pub(crate) offset: u64,
    /// Length of the block; its buffer may be longer.
    pub(crate) length: u32,
    /// Bytes already moved by earlier attempts, which were short.
    pub(crate) moved: u32,
    pub(crate) buf: IoBuf,
    /// Time of submission to the engine, on the worker's clock.
    pub(crate) submitted_ns: u64,
    /// Priority of this I/O, if the engine can pass it on.
    pub(crate) priority: IoPriority,
    /// Mark of the worker, which the engine ignores.
    pub(crate) tag: u32,
}

impl IoUnit {
    /// Returns the remainder to transfer: its offset in the file and its memory.
    #[inline]
    pub(crate) fn remainder(&mut self) -> (u64, &mut [u8]) {
        (
            self.offset + u64::from(self.moved),
            &mut self.buf.block_mut()[self.moved as usize..self.length as usize],
        )
    }

    /// Returns the number of bytes left to move.
    #[inline]
    pub(crate) const fn left(&self) -> u32 {
        self.length - self.moved
    }
}

/// A finished I/O.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) unit: IoUnit,
    /// Bytes moved by this attempt, or the kernel's error number.
    pub(crate) result: Result<u32, i32>,
}

/// Status of an I/O that was queued.
#[derive(Debug)]
pub(crate) enum QueueStatus {
    /// The I/O is already done (synchronous engines).
    Completed(Completion),
    /// [`IoEngine::reap`] will return the I/O.
    Queued,
    /// The queue is full, and the unit is returned; call `reap` first.
    Busy(IoUnit),
}

/// An interface through which I/O is submitted to the kernel.
pub(crate) trait IoEngine {
    /// Returns true if `queue` returns before the I/O is done.
    #[inline]
    fn is_asynchronous(&self) -> bool {
        false
    }

    /// Prepares the engine for I/O to a file that was just opened.
    fn opened(&mut self, _file: &OpenFile) -> Result<(), EngineError> {
        Ok(())
    }

    /// Releases the engine's state for a file that will be closed; no I/O to it
    /// is in flight.
    fn closes(&mut self, _file: &OpenFile) {}

    /// Takes an I/O to `file`, which is the file that the unit names.
    #[inline]
    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        let result = self.transfer(file, &mut unit);
        QueueStatus::Completed(Completion { unit, result })
    }

    /// Performs an I/O and returns its result, as in [`Completion`]. A
    /// synchronous engine implements this method, any other implements
    /// [`queue`](Self::queue).
    fn transfer(&mut self, _file: &OpenFile, _unit: &mut IoUnit) -> Result<u32, i32> {
        Err(Errno::NOSYS.raw_os_error())
    }

    /// Flushes a file and waits until that is done.
    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        flush_open(file, call)
    }

    /// Submits the queued I/Os in order, as many as the kernel accepts now.
    /// Returns the number submitted since the last call; always 0 for a
    /// synchronous engine, which queues nothing.
    fn commit(&mut self) -> Result<usize, EngineError> {
        Ok(0)
    }

    /// Waits until at least `min` I/Os are done, or `timeout_ns` has passed,
    /// and appends at most `max` of the finished ones to `done`. With a `min`
    /// of 0 it does not wait; a `min` above the number in flight waits for all
    /// of them. An engine whose I/Os finish in groups may return more than
    /// `max`.
    fn reap(
        &mut self,
        _min: u32,
        _max: u32,
        _timeout_ns: Option<u64>,
        _done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Flushes a file with a system call.
pub(crate) fn flush_open(file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
    match call {
        FlushCall::Fsync => fsync(&file.file),
        FlushCall::Fdatasync => fdatasync(&file.file),
    }
}

/// Converts the result of a system call to that of a [`Completion`].
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the kernel moves at most as much as asked, and blocks are below 4 GiB"
)]
pub(crate) fn moved(answer: Result<usize, Errno>) -> Result<u32, i32> {
    match answer {
        Ok(bytes) => Ok(bytes as u32),
        Err(errno) => Err(errno.raw_os_error()),
    }
}

/// Checks that the kernel supports an engine.
///
/// # Errors
/// [`EngineError::Unavailable`] with the kernel's error.
pub fn usable(engine: EngineKind) -> Result<(), EngineError> {
    match engine {
        EngineKind::Libaio => probe_libaio(),
        EngineKind::IoUring => uring::probe(),
        EngineKind::Pvsync2 => probe_pvsync2(),
        EngineKind::Sim => Err(no_simulation()),
        // Every kernel has these calls.
        EngineKind::Psync
        | EngineKind::Sync
        | EngineKind::Pvsync
        | EngineKind::Vsync
        | EngineKind::Mmap
        | EngineKind::Posixaio
        | EngineKind::Null
        | EngineKind::FileCreate
        | EngineKind::FileStat
        | EngineKind::FileDelete
        | EngineKind::DirCreate
        | EngineKind::DirStat
        | EngineKind::DirDelete
        | EngineKind::Ftruncate
        | EngineKind::Falloc => Ok(()),
    }
}

fn no_simulation() -> EngineError {
    let why = "simulated devices are a part of assay on its own machine only";
    EngineError::unavailable(EngineKind::Sim, io::Error::other(why))
}

/// Operation on an engine of any kind. It is a generic function, compiled once per engine, so that
/// the calls in its loop cost nothing.
pub(crate) trait WithEngine {
    /// Result of the operation.
    type Output;

    /// Runs the operation.
    fn run<E: IoEngine>(self, engine: E) -> Self::Output;
}

/// Creates the engine that `engine` describes and runs `visitor` with it, on the calling thread
/// only (the kernel binds a ring to the thread that uses it).
pub(crate) fn with_engine<V: WithEngine>(
    engine: &Engine,
    visitor: V,
) -> Result<V::Output, EngineError> {
    Ok(match engine.kind {
        // Never boxed: an indirect call around its system call would add a costly return (see
        // `Psync`).
        EngineKind::Psync => visitor.run(Psync),
        EngineKind::Libaio => with_own_loop(visitor, Libaio::new(engine)?),
        EngineKind::IoUring => with_own_loop(visitor, Uring::new(engine)?),
        EngineKind::Null => with_own_loop(visitor, Null),
        EngineKind::Vsync => visitor.run(Boxed::new(Vsync::new(engine))),
        EngineKind::Posixaio => visitor.run(Boxed::new(Posixaio::new(engine))),
        EngineKind::Sync => visitor.run(Boxed::new(Sync::default())),
        EngineKind::Pvsync => visitor.run(Boxed::new(Pvsync::first())),
        EngineKind::Pvsync2 => visitor.run(Boxed::new(Pvsync::second(engine))),
        EngineKind::Mmap => visitor.run(Boxed::new(Mmap::new())),
        EngineKind::FileCreate => with_file_call(visitor, FileCall::create())?,
        EngineKind::FileStat | EngineKind::DirStat => with_file_call(visitor, FileCall::stat())?,
        EngineKind::FileDelete => with_file_call(visitor, FileCall::delete())?,
        EngineKind::DirCreate => with_file_call(visitor, FileCall::make_directory())?,
        EngineKind::DirDelete => with_file_call(visitor, FileCall::remove_directory())?,
        EngineKind::Ftruncate => with_file_call(visitor, FileCall::ftruncate())?,
        EngineKind::Falloc => with_file_call(visitor, FileCall::falloc())?,
        // Streams on simulated devices are created elsewhere.
        EngineKind::Sim => return Err(no_simulation()),
    })
}

/// Runs the visitor with an engine of calls on files, which only loads use.
fn with_file_call<V: WithEngine>(visitor: V, call: FileCall) -> Result<V::Output, EngineError> {
    match Loads::here() {
        Some(_) => Ok(visitor.run(Boxed::new(call))),
        None => Err(no_simulation()),
    }
}

/// Runs the visitor with a separately compiled loop.
#[cfg(not(feature = "compact"))]
fn with_own_loop<V: WithEngine>(visitor: V, engine: impl IoEngine) -> V::Output {
    visitor.run(engine)
}

/// Runs the visitor with the loop that all engines but psync share.
#[cfg(feature = "compact")]
fn with_own_loop<V: WithEngine>(visitor: V, engine: impl IoEngine + 'static) -> V::Output {
    visitor.run(Boxed::new(engine))
}

/// An engine whose type is chosen at run time. The indirect call costs little in comparison with
/// the I/O. Each engine that is not boxed adds a separately compiled worker loop of about 100 KiB
/// to the program.
struct Boxed {
    engine: Box<dyn IoEngine>,
    asynchronous: bool,
}

impl Boxed {
    fn new<E: IoEngine + 'static>(engine: E) -> Self {
        Self {
            asynchronous: engine.is_asynchronous(),
            engine: Box::new(engine),
        }
    }
}

impl IoEngine for Boxed {
    #[inline]
    fn is_asynchronous(&self) -> bool {
        self.asynchronous
    }

    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        self.engine.opened(file)
    }

    fn closes(&mut self, file: &OpenFile) {
        self.engine.closes(file);
    }

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        self.engine.queue(file, unit)
    }

    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        self.engine.transfer(file, unit)
    }

    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        self.engine.flush(file, call)
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        self.engine.commit()
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        self.engine.reap(min, max, timeout_ns, done)
    }
}

/// Mode of created files: accessible to their owner only, as in fio.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Mode of created directories: accessible to their owner only.
const DIRECTORY_MODE: Mode = Mode::RWXU;

/// An engine that makes one call per I/O. These engines move no data: a call is for the file as a
/// whole or for the range of the block, and counts as done with its full length.
///
/// The engines share this type, so that the worker loop is not compiled for each of them: an
/// indirect call costs little in comparison with the system call.
#[derive(Debug)]
struct FileCall {
    call: fn(&OpenFile, &IoUnit) -> Result<(), Errno>,
    /// True if the call is made on the open file. Otherwise it takes the path, and the file need
    /// not be open.
    on_open_file: bool,
}

impl FileCall {
    /// Calls `open(2)` with `O_CREAT`, then `close(2)`, for all directions.
    pub(crate) fn create() -> Self {
        Self::on_path(|file, _| {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
            held::open(&file.path, flags, MODE).map(drop)
        })
    }

    /// Calls `stat(2)` for all directions.
    pub(crate) fn stat() -> Self {
        Self::on_path(|file, _| held::stat(&file.path).map(drop))
    }

    /// Calls `unlink(2)` for all directions.
    pub(crate) fn delete() -> Self {
        Self::on_path(|file, _| held::unlink(&file.path, AtFlags::empty()))
    }

    /// Calls `mkdir(2)` for all directions.
    pub(crate) fn make_directory() -> Self {
        Self::on_path(|file, _| held::make_folder(&file.path, DIRECTORY_MODE))
    }

    /// Calls `rmdir(2)` for all directions.
    pub(crate) fn remove_directory() -> Self {
        Self::on_path(|file, _| held::unlink(&file.path, AtFlags::REMOVEDIR))
    }

    /// Each write truncates or extends the file to the offset of the block; the block's length
    /// is ignored. Reads and trims fail with `EINVAL`.
    pub(crate) fn ftruncate() -> Self {
        Self::on_open_file(|file, unit| match unit.ddir {
            Ddir::Write => ftruncate(&file.file, unit.offset),
            Ddir::Read | Ddir::Trim => Err(Errno::INVAL),
        })
    }

    /// Each write reserves its block, each read does the same without changing the size of the
    /// file, each trim frees the space. The file must be open for writing, even for reads.
    pub(crate) fn falloc() -> Self {
        Self::on_open_file(|file, unit| {
            let mode = match unit.ddir {
                Ddir::Read => FallocateFlags::KEEP_SIZE,
                Ddir::Write => FallocateFlags::empty(),
                Ddir::Trim => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            };
            fallocate(&file.file, mode, unit.offset, u64::from(unit.length))
        })
    }

    const fn on_path(call: fn(&OpenFile, &IoUnit) -> Result<(), Errno>) -> Self {
        Self {
            call,
            on_open_file: false,
        }
    }

    const fn on_open_file(call: fn(&OpenFile, &IoUnit) -> Result<(), Errno>) -> Self {
        Self {
            call,
            on_open_file: true,
        }
    }
}

impl IoEngine for FileCall {
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        retry_on_intr(|| (self.call)(file, unit))
            .map(|()| unit.left())
            .map_err(Errno::raw_os_error)
    }

    /// Flushes an open file; does nothing if the file is not open.
    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        if self.on_open_file {
            flush_open(file, call)
        } else {
            Ok(())
        }
    }
}

/// The null engine: every I/O completes immediately, so that only assay's own cost remains.
#[derive(Debug, Default)]
struct Null;

impl IoEngine for Null {
    #[inline]
    fn transfer(&mut self, _file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        Ok(unit.left())
    }

    fn flush(&mut self, _file: &OpenFile, _call: FlushCall) -> Result<(), Errno> {
        Ok(())
    }
}

/// Largest number of blocks in one call (`UIO_MAXIOV` of the kernel).
const MAX_BLOCKS: usize = 1024;

/// Block that would continue the gathered ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NextBlock {
    ddir: Ddir,
    file: u32,
    offset: u64,
}

/// The engine `vsync`: `readv(2)` and `writev(2)`, with adjacent blocks of a file gathered and moved
/// by one call. It moves the gathered blocks on `commit`, and when a block
/// arrives that does not follow the last one.
#[derive(Debug)]
struct Vsync {
    depth: usize,
    gathered: VecDeque<IoUnit>,
    next: Option<NextBlock>,
    /// Descriptor of the gathered blocks' file.
    fd: RawFd,
    /// Vector for the call, kept here to be allocated once.
    vector: Vec<libc::iovec>,
    done: Vec<Completion>,
    /// Number of blocks moved (or failed) since the last `commit`.
    handed_over: usize,
}

impl Vsync {
    fn new(engine: &Engine) -> Self {
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
        let mut next = NextBlock {
            ddir: unit.ddir,
            file: unit.file,
            offset: unit.offset + u64::from(unit.moved),
        };
        if self.next != Some(next) {
            self.issue();
        }
        if unit.ddir == Ddir::Trim {
            return queue(file, unit);
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
struct Psync;

impl IoEngine for Psync {
    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return transfer(file, unit);
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

/// The engine `pvsync`, with one block per call. Both versions share one type: the branch between
/// them costs little in comparison with the call, and the worker loop is not compiled for each.
#[derive(Debug)]
struct Pvsync {
    /// Flags of the second version; `None` for the first.
    flags: Option<ReadWriteFlags>,
}

impl Pvsync {
    /// Creates an engine that uses `preadv(2)` and `pwritev(2)`.
    const fn first() -> Self {
        Self { flags: None }
    }

    /// Creates an engine that uses `preadv2(2)` and `pwritev2(2)`.
    fn second(engine: &Engine) -> Self {
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
            return transfer(file, unit);
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
fn probe_pvsync2() -> Result<(), EngineError> {
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
struct Sync {
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
            return transfer(file, unit);
        }
        moved(self.at_position(file, unit))
    }
}

/// `BLKDISCARD` of `<linux/fs.h>`: `_IO(0x12, 119)`.
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

/// Trims the block of `unit`, for an engine that queues all other I/Os.
#[cold]
fn queue(file: &OpenFile, unit: IoUnit) -> QueueStatus {
    let result = transfer(file, &unit);
    QueueStatus::Completed(Completion { unit, result })
}

/// Trims the block of `unit`.
#[cold]
fn transfer(file: &OpenFile, unit: &IoUnit) -> Result<u32, i32> {
    let length = unit.left();
    let from = unit.offset + u64::from(unit.moved);
    trim(file, from, u64::from(length))
        .map(|()| length)
        .map_err(Errno::raw_os_error)
}

/// Discards a part of a device or file: a device discards its sectors, a file gets a
/// hole and keeps its size.
///
/// # Errors
/// If the device or the file system does not support it, or fails.
pub fn discard_range(file: &File, is_device: bool, offset: u64, length: u64) -> io::Result<()> {
    Ok(give_back(file, is_device, offset, length)?)
}

fn give_back(file: &File, is_device: bool, offset: u64, length: u64) -> Result<(), Errno> {
    if is_device {
        return retry_on_intr(|| discard(file, offset, length));
    }
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    retry_on_intr(|| fallocate(file, mode, offset, length))
}

/// Discards a part of an open file, as [`discard_range`] does. No engine trims in the background
/// (nor does fio): the call returns when the trim is done.
fn trim(file: &OpenFile, offset: u64, length: u64) -> Result<(), Errno> {
    let held = file.holder.as_deref().filter(|_| file.is_device);
    give_back(held.unwrap_or(&file.file), file.is_device, offset, length)
}

fn discard(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: the call reads two 64-bit numbers, its range, and nothing else.
    unsafe { ioctl(file, Setter::<BLKDISCARD, _>::new([offset, length])) }
}

#[cfg(test)]
mod tests;
