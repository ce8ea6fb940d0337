//! Files of a stream: their sizes and regions by fio's rules, computed without I/O, and then the
//! creation of directories, missing files and missing data.

use super::{
    FileKind, FilePart, FilePlan, InspectedFile, PlannedFile, SharedFiles, needs_only_names,
    problem,
};
use crate::held::shown;
use crate::load::Note;
use crate::{EngineError, held, layout};
use assay_model::job::PathUse;
use assay_model::load::blocks::Fallocate;
use assay_model::load::{Extent, Range, Stream};
use assay_model::rng::SplitMix64;
use assay_model::units::{Bytes, MIB};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fsync, statvfs};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::{fs, ops};

/// Largest size of a file (`loff_t`), used as an unlimited size.
const ENDLESS: u64 = i64::MAX.unsigned_abs();

/// Determines the sizes of the files that were `found`.
pub(super) fn settle(
    stream: &Stream,
    entropy: u64,
    found: &[InspectedFile],
) -> Result<FilePlan, EngineError> {
    let mut sizing = Sizing::new(stream, entropy, found)?;
    let mut files = Vec::with_capacity(found.len());
    for file in found {
        let span = sizing.span(file)?;
        files.push(PlannedFile {
            path: file.path.clone(),
            kind: file.kind,
            file_size: size_to_have(file, span),
            span,
        });
    }
    let total_bytes = sizing.total(&files)?;
    Ok(FilePlan {
        files,
        total_bytes,
        warnings: sizing.warnings,
    })
}

fn size_to_have(file: &InspectedFile, span: FilePart) -> u64 {
    let there = file.size.unwrap_or(0);
    if span.length == 0 {
        return there;
    }
    there.max(span.end())
}

/// Returns the smallest block of a stream over all directions. As in fio, this
/// includes directions that are not used.
pub(super) fn smallest_block(stream: &Stream) -> u64 {
    let sizes = stream.blocks.sizes.iter();
    let smallest = sizes.map(|(_, sizes)| sizes.min).min().unwrap_or(1);
    u64::from(smallest.max(1))
}

struct Sizing<'a> {
    stream: &'a Stream,
    block: u64,
    /// Requested total size in bytes; 0 if none.
    size: u64,
    files: u64,
    /// Number of files that still get one extra block, because `size` is not
    /// divisible.
    larger: u64,
    /// Number of files whose size is determined.
    settled: usize,
    /// Generator for random file sizes.
    rng: SplitMix64,
    warnings: Vec<String>,
}

impl<'a> Sizing<'a> {
    fn new(stream: &'a Stream, entropy: u64, found: &[InspectedFile]) -> Result<Self, EngineError> {
        let size = match stream.region.size {
            Some(Extent::Bytes(bytes)) => bytes,
            None if stream.length.fill_device => ENDLESS,
            Some(Extent::Percent(_)) | None => 0,
        };
        let files = found.len() as u64;
        let block = smallest_block(stream);
        let known: Option<u64> = found.iter().map(|file| file.size).sum();
        let replays = stream.trace.read.is_some();
        let can_be_known = size > 0 || wanted_size(stream).is_some() || replays;
        if known.unwrap_or(0) == 0 && !can_be_known {
            return Err(problem(
                stream,
                format!(
                    "the size of {} is not known: give size= in bytes, or filesize=",
                    shown(&found[0].path)
                ),
            ));
        }
        let seed = if stream.blocks.repeat {
            stream.blocks.seed.unwrap_or(0)
        } else {
            entropy
        };
        Ok(Self {
            stream,
            block,
            size,
            files,
            larger: (size % files.max(1)) / block,
            settled: 0,
            rng: SplitMix64::new(seed ^ u64::from(stream.number).rotate_left(32)),
            warnings: Vec::new(),
        })
    }

    /// Returns the region of one file.
    fn span(&mut self, file: &InspectedFile) -> Result<FilePart, EngineError> {
        let share = self.share();
        let there = file.size.or((self.size > 0).then_some(share));
        let offset = self.offset(file, there.unwrap_or(0));
        let beyond = |end: u64| {
            let path = shown(&file.path);
            problem(
                self.stream,
                format!("offset {offset} is beyond the end of {path} ({end} bytes): lower offset="),
            )
        };
        let by_number = self.stream.files.sizes.get(self.settled).copied();
        self.settled += 1;
        let wanted = match by_number {
            Some(size) => Some(Range {
                min: size,
                max: size,
            }),
            None => wanted_size(self.stream),
        };
        let length = match wanted {
            None if share > 0 => share,
            Some(range) if !there.is_some_and(|size| range.min <= size && size <= range.max) => {
                let size = draw(&mut self.rng, range, self.block);
                size.checked_sub(offset).ok_or_else(|| beyond(size))?
            }
            _ => {
                let size = there.unwrap_or(0);
                size.checked_sub(offset).ok_or_else(|| beyond(size))?
            }
        };
        let length = self.percent_of(offset, length);
        let length = match (file.kind, file.size) {
            (FileKind::BlockDevice, Some(size)) => {
                let left = size.checked_sub(offset).filter(|&left| left > 0);
                length.min(left.ok_or_else(|| beyond(size))?)
            }
            _ => length.min(ENDLESS - offset.min(ENDLESS)),
        };
        self.check_not_empty(file, length)?;
        Ok(FilePart { offset, length })
    }

    /// Returns this file's share of `size`. Shares are equal, but the first
    /// files get one extra block each if `size` is not divisible.
    fn share(&mut self) -> u64 {
        let even = self.size / self.files;
        if self.larger == 0 {
            return even;
        }
        self.larger -= 1;
        even + self.block
    }

    fn offset(&mut self, file: &InspectedFile, there: u64) -> u64 {
        let region = &self.stream.region;
        if self.stream.files.append && matches!(file.kind, FileKind::Regular | FileKind::Missing) {
            return there;
        }
        let clone = u64::from(self.stream.clone);
        let step = of_whole(region.offset_increment, there);
        let offset = of_whole(region.offset, there).saturating_add(step.saturating_mul(clone));
        let in_percent = is_share(region.offset) || is_share(region.offset_increment) && clone > 0;
        if !in_percent {
            return offset;
        }
        if file.kind == FileKind::Missing {
            self.warnings.push(format!(
                "{}: {} does not exist yet, so an offset in percent of it is 0; it will be another one in the next run",
                self.stream.name,
                shown(&file.path)
            ));
        }
        let align = match region.offset_align {
            0 => self.block,
            align => align,
        };
        offset.div_ceil(align).saturating_mul(align)
    }

    /// Applies a `size` in percent, which is a share of the whole file, limited
    /// to its end.
    fn percent_of(&self, offset: u64, length: u64) -> u64 {
        match self.stream.region.size {
            Some(share @ Extent::Percent(percent)) if percent < 100.0 => {
                let wanted = of_whole(share, offset.saturating_add(length)).min(length);
                wanted - wanted % self.block
            }
            _ => length,
        }
    }

    fn check_not_empty(&mut self, file: &InspectedFile, length: u64) -> Result<(), EngineError> {
        if length >= self.block || self.stream.trace.read.is_some() {
            return Ok(());
        }
        let path = shown(&file.path);
        if length == 0 && file.kind == FileKind::Missing {
            return Err(problem(
                self.stream,
                format!("{path} does not exist and its size is not known: give size="),
            ));
        }
        self.warnings.push(format!(
            "{}: {path} is left out: its region of {length} bytes is smaller than the smallest block ({} bytes)",
            self.stream.name, self.block
        ));
        Ok(())
    }

    /// Returns the number of bytes that one pass transfers.
    fn total(&self, files: &[PlannedFile]) -> Result<u64, EngineError> {
        let io_size = self.stream.length.io_size;
        let share_of_io = io_size.filter(|&size| is_share(size));
        let regions = files
            .iter()
            .map(|file| share_of_io.map_or(file.span.length, |io| of_whole(io, file.span.length)))
            .fold(0, u64::saturating_add);
        let total = match self.size {
            0 => regions,
            size => size.min(regions),
        };
        let replays = self.stream.trace.read.is_some();
        let largest = files.iter().map(|file| file.span.length).max();
        if total.min(largest.unwrap_or(0)) < self.block && !replays {
            let (largest, block) = (largest.unwrap_or(0).min(total), self.block);
            return Err(problem(
                self.stream,
                format!(
                    "not one block of {block} bytes fits into its region of {largest} bytes: raise size= or lower bs="
                ),
            ));
        }
        Ok(match io_size {
            Some(Extent::Bytes(bytes)) if bytes > 0 => bytes,
            _ => total,
        })
    }
}

/// Returns `filesize`, if given.
fn wanted_size(stream: &Stream) -> Option<Range> {
    stream.files.file_size.filter(|range| range.max > 0)
}

/// Draws a size from a range, in whole blocks.
fn draw(rng: &mut SplitMix64, range: Range, block: u64) -> u64 {
    if range.max <= range.min {
        return range.min;
    }
    let size = range.min + rng.below(range.max - range.min);
    size - size % block
}

const fn is_share(extent: Extent) -> bool {
    matches!(extent, Extent::Percent(_))
}

/// Returns the bytes of an extent; percentages are of `whole`. They are
/// converted to millionths, so that whole percentages are exact for every size.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is between 0 and 100 million, and the product is divided by as much"
)]
fn of_whole(extent: Extent, whole: u64) -> u64 {
    match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => {
            let millionths = (percent.clamp(0.0, 100.0) * 1e6).round() as u128;
            (u128::from(whole) * millionths / 100_000_000) as u64
        }
    }
}

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
    part: ops::Range<u64>,
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
            .filter(|file| file.kind == FileKind::BlockDevice)
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
            take_size(file, &opened, smallest_block(stream))?;
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
fn shortage<'a>(growth: impl Iterator<Item = (&'a Path, ops::Range<u64>)>) -> Option<Shortage> {
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
