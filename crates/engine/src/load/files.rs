//! The files of a stream: from the names and sizes of a job file to open files.
//!
//! [`FilePlan::resolve`] inspects the paths and determines sizes by fio's rules,
//! [`FilePlan::lay_out`] creates missing files and data, and a [`FileTable`] holds the open files
//! of a running stream. Prepare the streams of a load one after the other, each with both steps: a
//! stream without a size uses the size of a file that an earlier stream created.

mod size;
mod table;

pub(crate) use table::{FileTable, LockBusy, Room};

use crate::engines::OpenFile;
use crate::held::shown;
use crate::load::Note;
use crate::sys::lock;
use crate::{EngineError, held, layout, page_cache};
use assay_model::job::{OpenSync, PathUse};
use assay_model::load::blocks::{Advice, FileLock};
use assay_model::load::report::FilePart;
use assay_model::load::{Ddir, Load, Stream};
use assay_model::units::Bytes;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat, fadvise, major, minor, seek};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, io};

/// The files of a stream with their final sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePlan {
    /// Files, ordered by number.
    pub(crate) files: Vec<PlannedFile>,
    /// Bytes that one pass moves, which fio calls the total I/O size of a loop. Nearly
    /// [`u64::MAX`] if the stream ends when the device is full.
    pub(crate) total_bytes: u64,
    /// Possibly unintended effects, reported when the files are laid out.
    warnings: Vec<String>,
}

/// A file of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    /// Kind of file found when the plan was made.
    pub(crate) kind: FileKind,
    /// Size that the file must have, or that the device has.
    pub(crate) file_size: u64,
    /// Region that the stream uses.
    pub(crate) span: FilePart,
}

impl PlannedFile {
    /// Returns true if it is, or will be, a regular file.
    fn is_regular(&self) -> bool {
        matches!(self.kind, FileKind::Regular | FileKind::Missing)
    }
}

/// Kind of file that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A regular file.
    Regular,
    /// No file exists yet; a regular file will be created.
    Missing,
    /// A block device.
    BlockDevice,
    /// A character device: a memory device such as `/dev/null`, or that of an engine which opens one.
    CharDevice,
    /// The path was not inspected: the engine needs only the name, or the caller has prepared the
    /// file.
    NameOnly,
}

impl FilePlan {
    /// Inspects the files of `stream` and determines their sizes. Creates and changes nothing.
    ///
    /// # Errors
    /// [`EngineError::Job`] with the problem and a remedy: writing is forbidden, the size is
    /// unknown, an offset is beyond the end, a path is not a file or block device.
    /// [`EngineError::File`] if a path cannot be inspected.
    pub(crate) fn resolve(stream: &Stream, load: &Load) -> Result<Self, EngineError> {
        if load.readonly && stream.blocks.rw.changes() {
            return Err(problem(
                stream,
                "it writes or trims, which --readonly forbids".to_owned(),
            ));
        }
        let found = at_files(stream)?;
        if let Some(device) = found
            .iter()
            .find(|file| file.kind == FileKind::BlockDevice && stream.blocks.rw.changes())
            && !load.destroy_data
        {
            return Err(problem(
                stream,
                format!(
                    "it would overwrite the device {}: if all data on it may be lost, say so with --destroy-data",
                    shown(&device.path)
                ),
            ));
        }
        let plan = size::settle(stream, load.entropy, &found)?;
        plan.check_creation(stream, load, &found)?;
        Ok(plan)
    }

    /// Returns the paths, by number.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Returns the regions of the files, by number.
    pub(crate) fn parts(&self) -> Vec<FilePart> {
        self.files.iter().map(|file| file.span).collect()
    }

    /// Returns the paths with the sizes of the files.
    pub(crate) fn sizes(&self) -> Vec<(PathBuf, Bytes)> {
        let sizes = self.files.iter();
        sizes
            .map(|file| (file.path.clone(), Bytes(file.file_size)))
            .collect()
    }

    /// Checks that missing files or data may be created.
    fn check_creation(
        &self,
        stream: &Stream,
        load: &Load,
        found: &[InspectedFile],
    ) -> Result<(), EngineError> {
        for (file, found) in self.files.iter().zip(found) {
            let missing = file.kind == FileKind::Missing;
            if missing && !stream.files.allow_create {
                let path = shown(&file.path);
                return Err(problem(
                    stream,
                    format!("{path} does not exist, and allow_file_create=0 forbids to make it"),
                ));
            }
            let too_short = file.kind == FileKind::Regular
                && found.size.is_some_and(|size| size < file.file_size);
            if load.readonly && (missing || too_short) {
                let path = shown(&file.path);
                let size = file.file_size;
                return Err(problem(
                    stream,
                    format!(
                        "{path} must be made {size} bytes long first, which --readonly forbids: lay it out without"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Returns true if nothing needs to be done about a path before it is opened: the engine uses no
/// file, makes it itself or works on directories (other engines without an open file expect one to
/// exist), or the file is already prepared.
const fn needs_only_names(stream: &Stream) -> bool {
    let paths = stream.engine.kind.properties().paths;
    stream.files.prepared
        || matches!(paths, PathUse::Unused | PathUse::NewFile)
        || paths.is_of_directories()
}

/// Creates the error of a stream with invalid settings.
fn problem(stream: &Stream, problem: String) -> EngineError {
    EngineError::Job {
        job: stream.name.clone(),
        problem,
    }
}

/// File found at a path.
#[derive(Clone, Debug)]
struct InspectedFile {
    path: PathBuf,
    kind: FileKind,
    /// Size of the file; `None` if it is unlimited.
    size: Option<u64>,
}

/// Major number and minor numbers of the memory devices that may be used as
/// files (Documentation/admin-guide/devices.txt of Linux): null, zero, full,
/// random, urandom. Other minor numbers give access to memory and I/O ports.
const MEMORY_DEVICES: (u32, [u32; 5]) = (1, [3, 5, 7, 8, 9]);

/// Returns every file of a stream, including those below `opendir`.
fn at_files(stream: &Stream) -> Result<Vec<InspectedFile>, EngineError> {
    let mut paths = stream.files.paths.clone();
    if let Some(folder) = &stream.files.opendir {
        below(folder, &mut paths)?;
        if paths.is_empty() {
            let folder = shown(folder);
            return Err(problem(
                stream,
                format!("there is no regular file below opendir={folder}"),
            ));
        }
    }
    if paths.is_empty() {
        return Err(problem(
            stream,
            "it has no files: give filename= or directory=".to_owned(),
        ));
    }
    paths.into_iter().map(|path| at(stream, path)).collect()
}

/// Adds the regular files below a folder, in the order of their names. Does not
/// follow links, as in fio.
fn below(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), EngineError> {
    let failed = |error| EngineError::file("read the directory", folder, error);
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed)?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            below(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn at(stream: &Stream, path: PathBuf) -> Result<InspectedFile, EngineError> {
    if needs_only_names(stream) {
        return Ok(InspectedFile {
            path,
            kind: FileKind::NameOnly,
            size: None,
        });
    }
    let (kind, size) = match held::stat(&path) {
        Ok(what) => kind_and_size(stream, &path, &what)?,
        Err(Errno::NOENT) => (FileKind::Missing, Some(0)),
        Err(errno) => return Err(EngineError::file("look at", &path, errno.into())),
    };
    Ok(InspectedFile { path, kind, size })
}

fn kind_and_size(
    stream: &Stream,
    path: &Path,
    what: &Stat,
) -> Result<(FileKind, Option<u64>), EngineError> {
    let kind = FileType::from_raw_mode(what.st_mode);
    let no_storage = |is: &str| {
        let path = shown(path);
        Err(problem(
            stream,
            format!("{path} is {is}: give a file or a block device"),
        ))
    };
    if kind.is_file() {
        Ok((FileKind::Regular, Some(what.st_size.cast_unsigned())))
    } else if kind.is_block_device() {
        Ok((FileKind::BlockDevice, Some(device_size(stream, path)?)))
    } else if kind.is_char_device() {
        let (wanted, usable) = MEMORY_DEVICES;
        let memory = major(what.st_rdev) == wanted && usable.contains(&minor(what.st_rdev));
        let paths = stream.engine.kind.properties().paths;
        if memory || takes_character_device(paths, stream.blocks.rw.changes()) {
            Ok((FileKind::CharDevice, None))
        } else {
            no_storage("a character device")
        }
    } else if kind.is_dir() {
        no_storage("a directory")
    } else if kind.is_fifo() {
        no_storage("a pipe")
    } else if kind.is_symlink() {
        no_storage("a symbolic link that another user can change, and is not followed")
    } else {
        no_storage("a socket")
    }
}

/// `true` if a stream may open a character device that leads to a block device. Admission does not
/// know that block device, which may be in use, so the stream must change nothing.
fn takes_character_device(paths: PathUse, changes: bool) -> bool {
    paths == PathUse::CharacterDevice && !changes
}

fn device_size(stream: &Stream, path: &Path) -> Result<u64, EngineError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let device = held::open(path, flags, Mode::empty())
        .map_err(|errno| EngineError::file("open", path, errno.into()))?;
    let size = seek(&device, SeekFrom::End(0))
        .map_err(|errno| EngineError::file("ask for the size of", path, errno.into()))?;
    if size == 0 {
        let path = shown(path);
        return Err(problem(
            stream,
            format!("the device {path} has no medium: its size is 0"),
        ));
    }
    Ok(size)
}

/// Opens a file. On the first open, also inspects it and passes warnings about misleading results
/// to `note`.
fn open(
    stream: &Stream,
    planned: &PlannedFile,
    number: u32,
    first: bool,
    note: &mut dyn FnMut(Note),
) -> Result<OpenFile, EngineError> {
    if !stream.engine.kind.properties().paths.opens() {
        let nowhere = Path::new("/dev/null");
        let file = File::open(nowhere).map_err(|e| EngineError::file("open", nowhere, e))?;
        return Ok(of(stream, planned, number, file));
    }
    let mode = Mode::from_raw_mode(0o644);
    let file = match held::open(&planned.path, flags(stream, planned), mode) {
        Ok(fd) => File::from(fd),
        Err(errno) => return Err(refusal(stream, planned, errno)),
    };
    refuse_another_kind(stream, planned, &file)?;
    if stream.files.prepared {
        return OpenFile::new(file, number, &planned.path, stream.blocks.rw.changes())
            .map_err(|error| EngineError::file("use", &planned.path, error));
    }
    if first {
        warn_of_holes(stream, planned, &file, note)?;
    }
    if stream.files.invalidate && !stream.files.pre_read {
        invalidate(stream, planned, &file, first, note);
    }
    advise(stream, planned, &file, note);
    Ok(of(stream, planned, number, file))
}

/// Refuses a file that changed its kind since it was inspected, for example into a link to a device
/// that was never checked.
fn refuse_another_kind(
    stream: &Stream,
    planned: &PlannedFile,
    file: &File,
) -> Result<(), EngineError> {
    let kind = file
        .metadata()
        .map_err(|e| EngineError::file("look at", &planned.path, e))?
        .file_type();
    if stream.files.prepared || kind.is_block_device() == (planned.kind == FileKind::BlockDevice) {
        return Ok(());
    }
    Err(problem(
        stream,
        format!(
            "{} has become something else since it was looked at: nothing was done to it",
            shown(&planned.path)
        ),
    ))
}

fn of(stream: &Stream, planned: &PlannedFile, number: u32, file: File) -> OpenFile {
    OpenFile {
        file,
        number,
        path: planned.path.clone(),
        size: planned.file_size,
        holder: None,
        is_device: planned.kind == FileKind::BlockDevice,
        writable: stream.blocks.rw.changes(),
        random: wants_random(stream),
    }
}

/// Returns the flags for opening, as in fio: a stream that writes opens for reading too, which
/// verification and memory maps need; trims alone are neither direct nor synchronous.
fn flags(stream: &Stream, planned: &PlannedFile) -> OFlags {
    let rw = &stream.blocks.rw;
    let mut flags = OFlags::CLOEXEC;
    flags |= if stream.blocks.rw.changes() {
        OFlags::RDWR
    } else {
        OFlags::RDONLY
    };
    if rw.read || rw.write {
        if stream.durability.direct {
            flags |= OFlags::DIRECT;
        }
        flags |= sync_flags(stream.durability.sync);
    }
    let makes = rw.write || stream.files.create_on_open;
    if makes && stream.files.allow_create && planned.is_regular() {
        flags |= OFlags::CREATE;
    }
    flags
}

/// Returns the flags of synchronous writing. `OFlags::DSYNC` of rustix 1.1.6 is `O_SYNC` on Linux,
/// which would also flush metadata.
pub const fn sync_flags(sync: OpenSync) -> OFlags {
    let flags = match sync {
        OpenSync::None => 0,
        OpenSync::Dsync => libc::O_DSYNC,
        OpenSync::Sync => libc::O_SYNC,
    };
    OFlags::from_bits_retain(flags.cast_unsigned())
}

fn refusal(stream: &Stream, planned: &PlannedFile, errno: Errno) -> EngineError {
    match errno {
        Errno::INVAL if stream.durability.direct => EngineError::NoDirect {
            path: planned.path.clone(),
        },
        Errno::MFILE | Errno::NFILE => problem(
            stream,
            format!(
                "too many open files at {}: set openfiles= or raise the limit (ulimit -n)",
                shown(&planned.path)
            ),
        ),
        _ => EngineError::file("open", &planned.path, errno.into()),
    }
}

/// Warns if the region has holes, because the file system answers reads of holes without the
/// device.
fn warn_of_holes(
    stream: &Stream,
    planned: &PlannedFile,
    file: &File,
    note: &mut dyn FnMut(Note),
) -> Result<(), EngineError> {
    if !stream.blocks.rw.read || !planned.is_regular() {
        return Ok(());
    }
    let region = planned.span.offset..planned.span.end();
    if layout::is_part_written(file, region) == Some(false) {
        note(Note::Warning(format!(
            "{}: reads of {} hit holes: the file system answers them without the device. Remove the file, and it is laid out anew",
            stream.name,
            shown(&planned.path)
        )));
    }
    // The check has moved the position, where sequential reads start.
    seek(file, SeekFrom::Start(0))
        .map(|_| ())
        .map_err(|errno| EngineError::file("rewind", &planned.path, errno.into()))
}

/// Empties the page cache of the file. Failures are reported as warnings.
fn invalidate(
    stream: &Stream,
    planned: &PlannedFile,
    file: &File,
    first: bool,
    note: &mut dyn FnMut(Note),
) {
    let done = match planned.kind {
        FileKind::BlockDevice => flush_device_cache(file).or_else(|errno| {
            // Without privileges, clean pages can still be evicted.
            page_cache::evict(file, &planned.path).map_err(|_| errno.to_string())
        }),
        FileKind::Regular | FileKind::Missing => {
            page_cache::evict(file, &planned.path).map_err(|error| error.to_string())
        }
        FileKind::CharDevice | FileKind::NameOnly => return,
    };
    let path = shown(&planned.path);
    let name = &stream.name;
    if let Err(why) = done {
        note(Note::Warning(format!(
            "{name}: the page cache of {path} could not be emptied: {why}. Reads may come from memory"
        )));
        return;
    }
    if !first || !stream.blocks.rw.read {
        return;
    }
    let left = page_cache::cached_pages(file).filter(|cache| cache.cached_bytes > 0);
    if let Some(left) = left {
        let left = Bytes(left.cached_bytes);
        note(Note::Warning(format!(
            "{name}: {left} of {path} stay in the page cache (somebody uses them, or the file system lives in memory). Reads of them come from there"
        )));
    }
}

/// Calls `BLKFLSBUF`, which writes a device's pages back and drops all of them.
fn flush_device_cache(device: &File) -> Result<(), Errno> {
    const BLKFLSBUF: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 97);
    // SAFETY: the number is that of <linux/fs.h>, `_IO(0x12, 97)`, and its argument is ignored.
    unsafe { rustix::ioctl::ioctl(device, rustix::ioctl::NoArg::<BLKFLSBUF>::new()) }
}

/// Returns true if the kernel should expect blocks in random order.
fn wants_random(stream: &Stream) -> bool {
    match stream.files.advice {
        Advice::ByPattern => stream.blocks.rw.random,
        Advice::Random => true,
        Advice::None | Advice::Sequential | Advice::NoReuse => false,
    }
}

/// Advises the kernel of the order in which the region will be used.
fn advise(stream: &Stream, planned: &PlannedFile, file: &File, note: &mut dyn FnMut(Note)) {
    use rustix::fs::Advice as Kernel;
    if !planned.is_regular() && planned.kind != FileKind::BlockDevice {
        return;
    }
    let advice = match stream.files.advice {
        Advice::None => return,
        _ if wants_random(stream) => Kernel::Random,
        Advice::ByPattern | Advice::Sequential | Advice::Random => Kernel::Sequential,
        Advice::NoReuse => Kernel::NoReuse,
    };
    let span = planned.span;
    if let Err(errno) = fadvise(file, span.offset, NonZeroU64::new(span.length), advice) {
        note(Note::Warning(format!(
            "{}: the kernel takes no advice on {}: {errno}",
            stream.name,
            shown(&planned.path)
        )));
    }
}

/// State of a load's files that its streams share; one for each load. Devices are kept open
/// until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct SharedFiles {
    locks: Mutex<HashMap<PathBuf, Arc<PathLock>>>,
    /// Devices by number, because a device can have several names.
    devices: Mutex<HashMap<u64, Arc<File>>>,
    reserved: Mutex<HashMap<PathBuf, Reserved>>,
}

/// A part of a file that has allocated blocks but no data yet.
#[derive(Clone, Debug)]
struct Reserved {
    part: Range<u64>,
    wave: u32,
}

impl SharedFiles {
    /// Opens a device exclusively. Fails if it is mounted, and prevents mounting it later. (fio
    /// only checks that the device is not mounted.)
    fn hold(&self, path: &Path) -> Result<(), EngineError> {
        let what = fs::metadata(path).map_err(|e| EngineError::file("look at", path, e))?;
        let mut devices = lock(&self.devices);
        if devices.contains_key(&what.rdev()) {
            return Ok(());
        }
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let device = held::open(path, flags, Mode::empty()).map_err(|errno| {
            let source = match errno {
                Errno::BUSY => io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "it is in use: mounted, swap, part of an array or held by a program",
                ),
                other => other.into(),
            };
            EngineError::file("hold the device", path, source)
        })?;
        devices.insert(what.rdev(), Arc::new(device.into()));
        Ok(())
    }

    /// Returns the exclusive handle of a device, if there is one. The kernel drops dirty pages
    /// for a trim only through that handle, because they could belong to another user of the
    /// device.
    fn holder(&self, path: &Path) -> Option<Arc<File>> {
        let device = fs::metadata(path).ok()?.rdev();
        lock(&self.devices).get(&device).cloned()
    }

    /// Records that a stream of `wave` will write this part of a file, which has no data yet.
    fn reserve(&self, path: &Path, part: Range<u64>, wave: u32) {
        let mut reserved = lock(&self.reserved);
        let entry = reserved.entry(path.to_owned()).or_insert(Reserved {
            part: part.clone(),
            wave,
        });
        entry.part = entry.part.start.min(part.start)..entry.part.end.max(part.end);
        entry.wave = entry.wave.max(wave);
    }

    /// Returns the offset from which a file has no data when a stream of `wave` starts. Parts
    /// that earlier waves reserved are written by then.
    fn unwritten_from(&self, path: &Path, wave: u32) -> Option<u64> {
        let reserved = lock(&self.reserved);
        let entry = reserved.get(path)?;
        (entry.wave >= wave).then_some(entry.part.start)
    }

    /// Records that a file has data up to `end`.
    fn written(&self, path: &Path, end: u64) {
        let mut reserved = lock(&self.reserved);
        if let Some(entry) = reserved.get_mut(path) {
            entry.part.start = entry.part.start.max(end);
            if entry.part.is_empty() {
                reserved.remove(path);
            }
        }
    }

    /// Returns the lock of a path, which all streams share.
    fn lock_of(&self, path: &Path) -> Arc<PathLock> {
        let mut locks = lock(&self.locks);
        Arc::clone(locks.entry(path.to_owned()).or_default())
    }
}

/// A lock on a file that can be held across calls, as by an I/O in flight. (A guard of the
/// standard library can neither outlive a borrow nor move to another thread.)
#[derive(Debug, Default)]
struct PathLock {
    holders: Mutex<Holders>,
}

#[derive(Debug, Default)]
struct Holders {
    readers: u32,
    writer: bool,
}

impl PathLock {
    /// Takes the lock if it is free.
    fn try_hold(self: &Arc<Self>, mode: FileLock, ddir: Ddir) -> Option<HeldLock> {
        let mut holders = lock(&self.holders);
        let shared = is_shared(mode, ddir);
        holders.take(shared).then(|| HeldLock {
            lock: Arc::clone(self),
            shared,
        })
    }
}

fn is_shared(mode: FileLock, ddir: Ddir) -> bool {
    mode == FileLock::ReadWrite && ddir == Ddir::Read
}

impl Holders {
    fn take(&mut self, shared: bool) -> bool {
        if self.writer || !shared && self.readers > 0 {
            return false;
        }
        if shared {
            self.readers += 1;
        } else {
            self.writer = true;
        }
        true
    }
}

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(crate) struct HeldLock {
    lock: Arc<PathLock>,
    shared: bool,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let mut holders = lock(&self.lock.holders);
        if self.shared {
            holders.readers -= 1;
        } else {
            holders.writer = false;
        }
    }
}

#[cfg(test)]
mod tests;
