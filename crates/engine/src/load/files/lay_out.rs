//! Making the files of a stream: directories, missing files, missing parts.

use super::{FilePlan, PlannedFile, SharedFiles, needs_only_names, problem, size};
use crate::error::EngineError;
use crate::held::{self, shown};
use crate::layout;
use crate::load::Note;
use assay_model::job::EngineKind;
use assay_model::load::Stream;
use assay_model::load::files::Fallocate;
use assay_model::rng::SplitMix64;
use assay_model::units::{Bytes, MIB};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fsync, statvfs};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Mode of new directories before the user's umask, as with `mkdir(1)`.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);

/// Missing data of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lack {
    /// Index of the file in the plan.
    file: usize,
    /// Current length of the file; `None` if it does not exist.
    there: Option<u64>,
    /// Range to write or reserve.
    part: Range<u64>,
}

impl FilePlan {
    /// Makes what is missing: what the stream will read (or overwrite) is
    /// really written, with data that cannot be compressed; what it only
    /// writes is given blocks as `fallocate` says. Files that are there are
    /// extended and keep what they hold. Devices that it writes are held.
    ///
    /// With `fill_device` and reads, the plan has the size that was found
    /// afterwards.
    ///
    /// # Errors
    /// [`EngineError::Job`] when there is no room, [`EngineError::Stopped`]
    /// when `stop` was set (a file under way is taken back), otherwise the
    /// kernel's answer.
    pub(crate) fn lay_out(
        &mut self,
        stream: &Stream,
        shared: &SharedFiles,
        stop: &AtomicBool,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), EngineError> {
        for warning in &self.warnings {
            note(Note::Warning(warning.clone()));
        }
        self.hold_devices(stream, shared)?;
        let on_its_own = stream.files.create_on_open || needs_only_names(stream);
        let lacks = if on_its_own {
            Vec::new()
        } else {
            self.lacks(stream, shared)?
        };
        self.check_room(stream, &lacks, note)?;
        self.make_folders(stream)?;
        self.make_directories(stream)?;
        if lacks.is_empty() {
            return Ok(());
        }
        note(Note::Info(self.announcement(stream, &lacks)));
        for lack in &lacks {
            let file = &mut self.files[lack.file];
            if needs_content(stream) {
                write(file, stream, lack, stop)?;
                shared.written(&file.path, lack.part.end);
            } else {
                reserve(file, stream, note)?;
                shared.reserve(&file.path, lack.part.clone(), stream.wave);
            }
        }
        if stream.length.fill_device {
            self.total_bytes = self
                .files
                .iter()
                .map(|file| file.span.length)
                .fold(0, u64::saturating_add);
        }
        Ok(())
    }

    /// Regular files that it would make or make longer.
    #[cfg(feature = "loads")]
    pub(crate) fn to_lay_out(&self, stream: &Stream) -> Vec<PathBuf> {
        if needs_only_names(stream) {
            return Vec::new();
        }
        let files = self.files.iter().filter(|file| file.is_regular());
        let short = files.filter(|file| {
            fs::metadata(&file.path).map_or(true, |there| there.len() < file.file_size)
        });
        short.map(|file| file.path.clone()).collect()
    }

    /// Directories that the engine will look at or remove.
    fn make_directories(&self, stream: &Stream) -> Result<(), EngineError> {
        let kind = stream.engine.kind;
        if !matches!(kind, EngineKind::DirStat | EngineKind::DirDelete) {
            return Ok(());
        }
        self.files
            .iter()
            .try_for_each(|file| match held::make_folder(&file.path, DIRECTORY_MODE) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(EngineError::file("make", &file.path, errno.into())),
            })
    }

    fn hold_devices(&self, stream: &Stream, shared: &SharedFiles) -> Result<(), EngineError> {
        if !stream.blocks.rw.changes() {
            return Ok(());
        }
        self.files
            .iter()
            .filter(|file| file.kind == super::FileKind::BlockDevice)
            .try_for_each(|device| shared.hold(&device.path))
    }

    /// Looks again, because streams before this one may have made its files.
    fn lacks(&self, stream: &Stream, shared: &SharedFiles) -> Result<Vec<Lack>, EngineError> {
        let mut lacks = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            if !file.is_regular() || file.file_size == 0 {
                continue;
            }
            let there = match held::stat(&file.path) {
                Ok(what) => Some(what.st_size.cast_unsigned()),
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(EngineError::file("look at", &file.path, errno.into())),
            };
            let mut from = there.unwrap_or(0);
            if needs_content(stream)
                && let Some(unwritten) = shared.unwritten_from(&file.path, stream.wave)
            {
                from = from.min(unwritten);
            }
            if there.is_none() || from < file.file_size {
                lacks.push(Lack {
                    file: index,
                    there,
                    part: from..file.file_size,
                });
            }
        }
        Ok(lacks)
    }

    fn check_room(
        &self,
        stream: &Stream,
        lacks: &[Lack],
        note: &mut dyn FnMut(Note),
    ) -> Result<(), EngineError> {
        if stream.length.fill_device {
            return Ok(());
        }
        let growth = lacks
            .iter()
            .map(|lack| (self.files[lack.file].path.as_path(), lack.part.clone()));
        let Some(short) = shortage(growth) else {
            return Ok(());
        };
        let text = format!(
            "no room for its files at {}: {} bytes are needed, {} are free: lower size= or use another directory=",
            shown(&short.place),
            short.needed_bytes,
            short.free_bytes
        );
        if needs_content(stream) {
            return Err(problem(stream, text));
        }
        // It may end before it has written all.
        note(Note::Warning(format!("{}: {text}", stream.name)));
        Ok(())
    }

    /// fio makes missing folders too, for their owner alone.
    fn make_folders(&self, stream: &Stream) -> Result<(), EngineError> {
        let nowhere = matches!(stream.engine.kind, EngineKind::Null | EngineKind::Sim);
        if nowhere || stream.files.prepared {
            return Ok(());
        }
        for file in &self.files {
            let Some(folder) = file.path.parent().filter(|it| !it.as_os_str().is_empty()) else {
                continue;
            };
            if held::stat(folder).is_err() {
                let made = held::make_folders(folder, Mode::RWXU);
                made.map_err(|error| EngineError::file("make the directory", folder, error))?;
            }
        }
        Ok(())
    }

    /// The line that fio prints.
    fn announcement(&self, stream: &Stream, lacks: &[Lack]) -> String {
        let bytes = lacks
            .iter()
            .map(|lack| {
                let size = lack.part.end - lack.part.start;
                let free = || free(&self.files[lack.file].path);
                match stream.length.fill_device {
                    true => free().map_or(size, |free| size.min(free)),
                    false => size,
                }
            })
            .fold(0, u64::saturating_add);
        let (plural, total) = match lacks.len() {
            1 => ("", ""),
            _ => ("s", "total "),
        };
        format!(
            "{}: Laying out IO file{plural} ({} file{plural} / {total}{}MiB)",
            stream.name,
            lacks.len(),
            bytes / MIB
        )
    }
}

/// Returns true if the files of a stream must hold data before it starts. A write to a new file
/// makes its own data, except if it must be an overwrite or goes through a memory map, which cannot
/// extend a file.
fn needs_content(stream: &Stream) -> bool {
    let rw = &stream.blocks.rw;
    let overwrites = stream.files.overwrite && !stream.files.append;
    rw.read || rw.write && (overwrites || stream.engine.kind == EngineKind::Mmap)
}

fn open_to_make(file: &PlannedFile, stream: &Stream) -> Result<File, EngineError> {
    let mut flags = OFlags::WRONLY;
    flags.set(OFlags::CREATE, stream.files.allow_create);
    held::open(&file.path, flags, Mode::from_raw_mode(0o644))
        .map(File::from)
        .map_err(|errno| EngineError::file("open", &file.path, errno.into()))
}

/// Writes what a file lacks.
fn write(
    file: &mut PlannedFile,
    stream: &Stream,
    lack: &Lack,
    stop: &AtomicBool,
) -> Result<(), EngineError> {
    let opened = open_to_make(file, stream)?;
    let grows = lack.there.unwrap_or(0) < file.file_size;
    if grows && !stream.length.fill_device {
        // Blocks that lie together, where the file system can; what refuses
        // that is told by the writing.
        let _ = give_blocks(&opened, stream.files.fallocate, file.file_size);
    }
    let seed = SplitMix64::new(u64::from(stream.number) << 32 | lack.file as u64).next_u64();
    let part = lack.part.clone();
    match layout::write_part(&opened, &file.path, part, seed, stop, &mut |_| {}) {
        Ok(()) => {}
        Err(error) if stream.length.fill_device && is_full(&error) => {
            take_size(file, &opened, size::smallest_block(stream))?;
        }
        Err(error) => {
            take_back(&file.path, &opened, lack.there);
            return Err(error);
        }
    }
    if stream.files.create_fsync {
        fsync(&opened).map_err(|errno| EngineError::file("fsync", &file.path, errno.into()))?;
    }
    Ok(())
}

fn is_full(error: &EngineError) -> bool {
    [Errno::NOSPC, Errno::DQUOT]
        .iter()
        .any(|full| error.errno() == Some(full.raw_os_error()))
}

/// The device is full: what fitted is the size.
fn take_size(file: &mut PlannedFile, opened: &File, block: u64) -> Result<(), EngineError> {
    let what = opened
        .metadata()
        .map_err(|error| EngineError::file("look at", &file.path, error))?;
    file.file_size = what.len();
    let left = what.len().saturating_sub(file.span.offset);
    file.span.length = left - left % block;
    Ok(())
}

/// A file that was not finished is no use to anybody, and would look as if it
/// were one.
fn take_back(path: &Path, opened: &File, there: Option<u64>) {
    let _ = match there {
        None => held::remove_file(path),
        Some(length) => opened.set_len(length),
    };
}

/// Gives a file that will be written its blocks.
fn reserve(
    file: &PlannedFile,
    stream: &Stream,
    note: &mut dyn FnMut(Note),
) -> Result<(), EngineError> {
    let opened = open_to_make(file, stream)?;
    if stream.length.fill_device {
        return Ok(());
    }
    let mode = stream.files.fallocate;
    let Err(errno) = give_blocks(&opened, mode, file.file_size) else {
        return Ok(());
    };
    match (mode, errno) {
        // By their own meaning: where the file system knows it.
        (Fallocate::Native, Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        (Fallocate::Native | Fallocate::Posix, _) => {
            note(Note::Warning(format!(
                "{}: cannot allocate {} for {}: {errno}",
                stream.name,
                Bytes(file.file_size),
                shown(&file.path)
            )));
            Ok(())
        }
        _ => Err(EngineError::file("allocate", &file.path, errno.into())),
    }
}

fn give_blocks(file: &File, mode: Fallocate, size: u64) -> Result<(), Errno> {
    match mode {
        Fallocate::None => Ok(()),
        Fallocate::Native => fallocate(file, FallocateFlags::empty(), 0, size),
        Fallocate::Keep => fallocate(file, FallocateFlags::KEEP_SIZE, 0, size),
        Fallocate::Truncate => rustix::fs::ftruncate(file, size),
        Fallocate::Posix => posix_fallocate(file, size),
    }
}

fn posix_fallocate(file: &File, size: u64) -> Result<(), Errno> {
    let size = libc::off_t::try_from(size).map_err(|_| Errno::FBIG)?;
    // SAFETY: the descriptor is open for the duration of the call, and no
    // memory is passed.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size) } {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// A file system that is too small.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shortage {
    /// The folder, or the file that grows.
    place: PathBuf,
    needed_bytes: u64,
    free_bytes: u64,
}

/// The first file system without room for its part of `growth`: paths, and the
/// bytes from where to where each is to be written. What cannot be found out
/// does not count against it.
fn shortage<'a>(growth: impl Iterator<Item = (&'a Path, Range<u64>)>) -> Option<Shortage> {
    let mut by_file_system: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
    for (path, part) in growth {
        let allocated = fs::metadata(path).map_or(0, |what| what.blocks() * 512);
        let needed = part.end.saturating_sub(part.start.max(allocated));
        let place = nearest(path);
        let Ok(what) = fs::metadata(&place) else {
            continue;
        };
        let (_, sum) = by_file_system.entry(what.dev()).or_insert((place, 0));
        *sum = sum.saturating_add(needed);
    }
    by_file_system.into_values().find_map(|(place, needed)| {
        let free_bytes = free(&place)?;
        (needed > free_bytes).then_some(Shortage {
            place,
            needed_bytes: needed,
            free_bytes,
        })
    })
}

/// The path itself or the nearest folder above it that is there.
fn nearest(path: &Path) -> PathBuf {
    let existing = path.ancestors().find(|place| place.exists());
    match existing {
        Some(place) if !place.as_os_str().is_empty() => place.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Bytes that this user may still allocate; `None` where the file system does
/// not know (an unlimited tmpfs, some over a network).
fn free(path: &Path) -> Option<u64> {
    let what = statvfs(nearest(path)).ok()?;
    if what.f_blocks == 0 {
        return None;
    }
    let blocks = if geteuid().is_root() {
        what.f_bfree
    } else {
        what.f_bavail
    };
    blocks.checked_mul(what.f_frsize)
}
