//! The files of H2testw and f3 in a folder: `1.h2w`, `2.h2w` and so on.

use super::{CHUNK, CHUNKS_PER_FLUSH};
use crate::observer::{Meter, ProgressReporter};
use crate::{ActError, Context};
use assay_engine::buffer::IoBuf;
use assay_engine::held::{self, shown};
use assay_model::act::capacity::{
    CapacityPart, Class, FILE_BYTES, Fill, SECTOR, SECTOR_BYTES, Short, classify, fill,
};
use assay_model::job::Direction;
use rustix::fs::{Advice, Mode, OFlags, fadvise, fdatasync, ftruncate};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

const ENDING: &str = ".h2w";
/// Missing files that are listed, at most; all are counted.
const MISSING_NAMED: usize = 16;

/// Returns the name of the file with that number.
pub(super) fn name(number: u32) -> String {
    format!("{number}{ENDING}")
}

/// Returns the offset of the file of that number within all written data.
pub(super) fn offset(number: u32) -> u64 {
    u64::from(number.saturating_sub(1)) * FILE_BYTES
}

/// Lists the files of a fill in a folder, by number.
///
/// # Errors
/// If the folder cannot be read, or an entry of such a name is not a file.
pub(super) fn list(folder: &Path, fill: &Fill) -> Result<BTreeMap<u32, PathBuf>, ActError> {
    let failed = |error| ActError::io("read", folder, &error);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Some(number) = entry.file_name().to_str().and_then(number_of) else {
            continue;
        };
        if number < fill.first_file || fill.last_file.is_some_and(|last| number > last) {
            continue;
        }
        let path = entry.path();
        if !entry.file_type().map_err(failed)?.is_file() {
            let text = format!(
                "{} is not a regular file: move it away, or choose files with --start and --end",
                shown(&path)
            );
            return Err(ActError::Refused(text));
        }
        files.insert(number, path);
    }
    Ok(files)
}

/// Checks that the range of a fill is not empty.
///
/// # Errors
/// If it contains no file, or no complete sector.
pub(super) fn check_range(fill: &Fill) -> Result<(), ActError> {
    let first = fill.first_file;
    if let Some(last) = fill.last_file.filter(|last| *last < first) {
        return Err(ActError::Refused(format!(
            "no file number lies from {first} to {last}: --end must not be below --start"
        )));
    }
    match fill.limit_bytes {
        Some(limit) if limit < SECTOR_BYTES => Err(ActError::Refused(format!(
            "a limit of {limit} bytes is less than a sector: --limit must be {SECTOR_BYTES} or more"
        ))),
        _ => Ok(()),
    }
}

/// Returns the total length of all files of a fill; `None` if its last file is not
/// determined.
pub(super) fn full_bytes(fill: &Fill) -> Option<u64> {
    let end = offset(fill.last_file?).saturating_add(FILE_BYTES);
    Some(end.saturating_sub(offset(fill.first_file)))
}

/// Returns the fill with its last file set by its limit.
pub(super) fn within_limit(fill: &Fill) -> Fill {
    let by_limit = fill.limit_bytes.map(|limit| {
        let files = (limit - limit % SECTOR_BYTES).div_ceil(FILE_BYTES).max(1);
        let more = u32::try_from(files - 1).unwrap_or(u32::MAX);
        fill.first_file.saturating_add(more)
    });
    let last = [fill.last_file, by_limit].into_iter().flatten().min();
    Fill {
        last_file: last,
        ..fill.clone()
    }
}

/// Refuses to overwrite a file whose first sector shows that neither f3, H2testw nor
/// assay wrote it. An empty file may be overwritten.
///
/// # Errors
/// If it is such a file, or cannot be read.
pub(super) fn is_ours(number: u32, path: &Path) -> Result<(), ActError> {
    let mut sector = [0; SECTOR];
    let mut file = held::open_to_read(path).map_err(|error| ActError::io("open", path, &error))?;
    let length = file
        .metadata()
        .map_err(|error| ActError::io("look at", path, &error))?;
    if length.len() == 0 {
        return Ok(());
    }
    let known = match file.read_exact(&mut sector) {
        Ok(()) => classify(&sector, offset(number)) != Class::Corrupted,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(ActError::io("read", path, &error)),
    };
    if known {
        return Ok(());
    }
    Err(ActError::Refused(format!(
        "{} was not written by f3, H2testw or assay: move it away, or choose files with --start and --end",
        shown(path)
    )))
}

/// Returns the number in a file name, or `None` for other names.
fn number_of(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(ENDING)?;
    let number = digits.parse().ok()?;
    // Rejects "+1" and "01".
    (number > 0 && name == self::name(number)).then_some(number)
}

/// Missing files between the first requested one and the last existing one.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Names of the first missing files.
    pub(super) named: Vec<String>,
    /// Number of missing files.
    pub(super) files: u64,
}

/// Looks for gaps in the numbers. If a file has a high number, the list of missing names
/// is limited.
pub(super) fn missing(files: &BTreeMap<u32, PathBuf>, fill: &Fill) -> Missing {
    let mut missing = Missing::default();
    let mut next = fill.first_file;
    for &number in files.keys() {
        let room = MISSING_NAMED - missing.named.len();
        missing.named.extend((next..number).take(room).map(name));
        missing.files += u64::from(number.saturating_sub(next));
        next = number.saturating_add(1);
    }
    missing
}

/// Returns files that are shorter than they were written, as far as that is known: all
/// but the last were full (in H2testw, f3 and assay), none ends within a sector, and an
/// only file is not empty.
pub(super) fn short(lengths: &[(u32, u64)]) -> Vec<Short> {
    let last = lengths.len().saturating_sub(1);
    let least = |at: usize, bytes: u64| {
        if at < last {
            FILE_BYTES
        } else if last == 0 && bytes == 0 {
            SECTOR_BYTES
        } else {
            bytes.next_multiple_of(SECTOR_BYTES)
        }
    };
    let all = lengths.iter().enumerate();
    all.map(|(at, &(number, bytes))| Short {
        name: name(number),
        bytes,
        least_bytes: least(at, bytes),
    })
    .filter(|file| file.bytes < file.least_bytes)
    .collect()
}

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
    Failed(ActError),
}

/// Writes files until there is no free space, or the requested number is reached.
/// `filled` contains the data written before an error or a stop.
pub(super) fn write(
    folder: &Path,
    wanted: &Fill,
    filled: &mut Filled,
    meter: &mut Meter,
    (progress, context): (&mut ProgressReporter, &mut Context<'_>),
) -> Result<(), ActError> {
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
            other => other.map_err(|error| ActError::io("create", &path, &error))?,
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
            End::Stopped => return Err(ActError::Stopped),
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
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_no_room(&error) => return Some(self.cut_to_sectors()),
                Err(error) => {
                    let (at, length) = (self.base + self.written, rest.len() as u64);
                    meter.failed(Some(Direction::Write), at, length, &error);
                    return Some(End::Failed(ActError::io("write", self.path, &error)));
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
            Err(errno) => End::Failed(ActError::io("shorten", self.path, &errno.into())),
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
            return Err(End::Failed(ActError::io("write back", self.path, &error)));
        }
        meter.flushed(began_ns);
        self.flushed = self.written;
        // Pages that stay cached appear in the evidence of the reading step.
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_f3_would_write_count() {
        for (name, number) in [
            ("1.h2w", Some(1)),
            ("120.h2w", Some(120)),
            ("0.h2w", None),
            ("01.h2w", None),
            ("+1.h2w", None),
            ("1.h2w.bak", None),
            (".h2w", None),
            ("1.H2W", None),
        ] {
            assert_eq!(number_of(name), number, "{name}");
        }
    }

    #[test]
    fn files_are_found_by_number_and_gaps_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["2.h2w", "10.h2w", "4.h2w", "notes.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let all = Fill::default();
        let files = list(folder.path(), &all).unwrap();
        assert_eq!(files.keys().copied().collect::<Vec<_>>(), [2, 4, 10]);
        let some = Fill {
            first_file: 2,
            last_file: Some(5),
            ..Fill::default()
        };
        let files = list(folder.path(), &some).unwrap();
        assert_eq!(files.keys().copied().collect::<Vec<_>>(), [2, 4]);
        let gaps = missing(&files, &some);
        assert_eq!((gaps.named, gaps.files), (vec!["3.h2w".to_owned()], 1));
        let gaps = missing(&files, &all);
        assert_eq!(gaps.named, ["1.h2w", "3.h2w"]);
        assert_eq!(gaps.files, 2);
    }

    #[test]
    fn a_file_far_off_does_not_have_all_before_it_named() {
        let far = BTreeMap::from([(4_000_000_000, PathBuf::new())]);
        let gaps = missing(&far, &Fill::default());
        assert_eq!(gaps.named.len(), MISSING_NAMED);
        assert_eq!(gaps.files, 3_999_999_999);
    }

    #[test]
    fn a_folder_in_place_of_a_file_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("3.h2w")).unwrap();
        let refused = list(folder.path(), &Fill::default()).unwrap_err();
        assert!(refused.to_string().contains("3.h2w is not a regular file"));
    }

    #[test]
    fn the_highest_number_has_a_length() {
        let fill = |first_file, last_file| Fill {
            first_file,
            last_file,
            ..Fill::default()
        };
        assert_eq!(full_bytes(&fill(1, None)), None);
        assert_eq!(full_bytes(&fill(2, Some(3))), Some(2 * FILE_BYTES));
        let highest = fill(u32::MAX, Some(u32::MAX));
        assert_eq!(full_bytes(&highest), Some(FILE_BYTES));
        assert_eq!(
            full_bytes(&fill(1, Some(u32::MAX))),
            Some(u64::from(u32::MAX) << 30)
        );
    }

    #[test]
    fn a_limit_comes_to_so_many_files() {
        let last = |limit, last_file| {
            let fill = Fill {
                first_file: 3,
                last_file,
                limit_bytes: limit,
                ..Fill::default()
            };
            within_limit(&fill).last_file
        };
        assert_eq!(last(None, None), None);
        assert_eq!(last(Some(1 << 20), None), Some(3));
        // A remainder of the limit below one sector is ignored.
        assert_eq!(last(Some(FILE_BYTES + 100), None), Some(3));
        assert_eq!(last(Some(FILE_BYTES + 512), None), Some(4));
        assert_eq!(last(Some(10 * FILE_BYTES), Some(5)), Some(5));
        assert_eq!(last(Some(u64::MAX), None), Some(u32::MAX));
    }

    #[test]
    fn files_follow_each_other() {
        assert_eq!((offset(1), offset(3)), (0, 2 << 30));
    }
}
