//! Opening one file with the options of its stream.

use super::{FileKind, PlannedFile, problem};
use crate::error::EngineError;
use crate::held::shown;
use crate::io::OpenFile;
use crate::load::Note;
use crate::{held, layout, page_cache};
use assay_model::job::OpenSync;
use assay_model::load::Stream;
use assay_model::load::files::Advice;
use assay_model::units::Bytes;
use rustix::fs::{Mode, OFlags, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens a file. On the first open, also inspects it and passes warnings about misleading results
/// to `note`.
pub(super) fn open(
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
    let left = page_cache::look(file).filter(|cache| cache.cached_bytes > 0);
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
