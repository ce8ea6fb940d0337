//! Creation of the files of a stream: directories, missing files, missing data.

use super::{FilePlan, PlannedFile, SharedFiles, needs_only_names, problem, size};
use crate::error::EngineError;
use crate::held::{self, shown};
use crate::layout;
use crate::load::Note;
use assay_model::job::PathUse;
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
    /// Creates missing files and data. Ranges that the stream will read or overwrite are filled
    /// with incompressible data; ranges that it only writes get blocks as `fallocate` requests.
    /// Existing files are extended and keep their data. Devices that the stream writes are opened
    /// exclusively.
    ///
    /// With `fill_device` and reads, the plan is updated to the size at which the device was full.
    ///
    /// # Errors
    /// [`EngineError::Job`] if there is not enough space, [`EngineError::Stopped`] if `stop` was
    /// set (an unfinished file is removed or truncated to its former length), else the error of the
    /// failed call.
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

    /// Returns the regular files that this would create or extend.
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

    /// Creates the directories that the engine will inspect or remove.
    fn make_directories(&self, stream: &Stream) -> Result<(), EngineError> {
        if stream.engine.kind.properties().paths != PathUse::DirectoryName {
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

    /// Inspects the files again, because earlier streams may have created them.
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
        // The stream may end before it has written everything.
        note(Note::Warning(format!("{}: {text}", stream.name)));
        Ok(())
    }

    /// Creates missing folders with access for their owner only, as fio does.
    fn make_folders(&self, stream: &Stream) -> Result<(), EngineError> {
        let nowhere = stream.engine.kind.properties().paths == PathUse::Unused;
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

    /// Returns the line that fio prints.
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
    rw.read || rw.write && (overwrites || stream.engine.kind.maps_memory())
}

fn open_to_make(file: &PlannedFile, stream: &Stream) -> Result<File, EngineError> {
    let mut flags = OFlags::WRONLY;
    flags.set(OFlags::CREATE, stream.files.allow_create);
    held::open(&file.path, flags, Mode::from_raw_mode(0o644))
        .map(File::from)
        .map_err(|errno| EngineError::file("open", &file.path, errno.into()))
}

/// Writes the missing data of a file.
fn write(
    file: &mut PlannedFile,
    stream: &Stream,
    lack: &Lack,
    stop: &AtomicBool,
) -> Result<(), EngineError> {
    let opened = open_to_make(file, stream)?;
    let grows = lack.there.unwrap_or(0) < file.file_size;
    if grows && !stream.length.fill_device {
        // Allocates contiguous blocks, if the file system can. If it fails, the write reports the
        // reason.
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

/// Sets the size of a file to the part that fitted on the full device.
fn take_size(file: &mut PlannedFile, opened: &File, block: u64) -> Result<(), EngineError> {
    let what = opened
        .metadata()
        .map_err(|error| EngineError::file("look at", &file.path, error))?;
    file.file_size = what.len();
    let left = what.len().saturating_sub(file.span.offset);
    file.span.length = left - left % block;
    Ok(())
}

/// Removes an unfinished file, or truncates it to its former length, because it would look
/// complete.
fn take_back(path: &Path, opened: &File, there: Option<u64>) {
    let _ = match there {
        None => held::remove_file(path),
        Some(length) => opened.set_len(length),
    };
}

/// Allocates the blocks of a file that will be written.
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
        // These modes are optional: only if the file system supports them.
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
    /// The nearest existing folder, or the file that grows.
    place: PathBuf,
    needed_bytes: u64,
    free_bytes: u64,
}

/// Returns the first file system without space for its part of `growth`, which lists paths with the
/// byte range to write. A file system whose free space is unknown counts as large enough.
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

/// Returns the path itself or its nearest existing parent.
fn nearest(path: &Path) -> PathBuf {
    let existing = path.ancestors().find(|place| place.exists());
    match existing {
        Some(place) if !place.as_os_str().is_empty() => place.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Returns the bytes that this user may still allocate; `None` if the file system does not report
/// them (an unlimited tmpfs, some network file systems).
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
