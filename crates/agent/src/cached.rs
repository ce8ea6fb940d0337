//! Pages of files in the page cache.

use crate::trial::{change, is_synchronous};
use assay_engine::{held, page_cache};
use assay_model::evidence::{CacheSource, FileCache, FileChange, FileHoles};
use rustix::fs::{Mode, OFlags, SeekFrom, seek};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Returns the cached pages of all files together. `None` if a file cannot be opened, or is a
/// folder, whose files are unknown. A missing file counts as zero pages.
pub(crate) fn pages(files: &[impl AsRef<Path>]) -> Option<FileCache> {
    let whole = files.iter().map(|path| (path.as_ref(), 0, 0));
    sum_of(whole, |file, _, _| page_cache::look(file))
}

/// Returns the cached pages of a part of each file: offset and length, where length 0 extends to
/// the end. Needs a kernel with `cachestat(2)`.
pub(crate) fn pages_of_parts<'a>(
    parts: impl Iterator<Item = (&'a Path, u64, u64)> + Clone,
) -> Option<FileCache> {
    sum_of(parts, page_cache::look_at)
}

/// Returns `true` if all files have the attribute `S`; `None` if a file cannot be opened.
pub(crate) fn are_synchronous(files: &[impl AsRef<Path>]) -> Option<bool> {
    let mut all = Some(true).filter(|_| !files.is_empty());
    for path in files.iter().map(AsRef::as_ref) {
        if !path.is_file() {
            return Some(false);
        }
        let file = held::open(path, LOOKING, Mode::empty()).ok()?;
        all = all.filter(|_| is_synchronous(&file) == Some(true));
    }
    Some(all.is_some())
}

/// Regular files that are held open from the first to the last measurement: a file that is renamed
/// or replaced meanwhile is still the one that is measured.
#[derive(Debug, Default)]
pub(crate) struct HeldFiles(BTreeMap<PathBuf, (File, Metadata)>);

impl HeldFiles {
    /// Files held, at most; further files are accessed by their names.
    const MOST: usize = 64;

    pub(crate) fn hold<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
        let held = paths.filter(|path| path.is_file()).filter_map(|path| {
            let file = File::from(held::open(path, LOOKING, Mode::empty()).ok()?);
            let metadata = file.metadata().ok()?;
            Some((path.to_owned(), (file, metadata)))
        });
        Self(held.take(Self::MOST).collect())
    }

    /// Returns a path to the file that had this name when it was opened.
    pub(crate) fn path<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let Some((file, before)) = self.0.get(path) else {
            return Cow::Borrowed(path);
        };
        // A thread may have its own table of open files (visible since Linux 3.17).
        let links = ["thread-self", "self"]
            .map(|whose| PathBuf::from(format!("/proc/{whose}/fd/{}", file.as_raw_fd())));
        let is_it = |link: &PathBuf| {
            let there = link.metadata();
            there.is_ok_and(|there| (there.dev(), there.ino()) == (before.dev(), before.ino()))
        };
        let link = links.into_iter().find(is_it);
        link.map_or(Cow::Borrowed(path), Cow::Owned)
    }

    pub(crate) fn change(&self) -> Option<FileChange> {
        let mut held = self.0.values();
        held.find_map(|(file, before)| change(before, &file.metadata().ok()?))
    }
}

/// Returns the holes in parts of files, each with its offset and length, where length 0 extends to
/// the end.
pub(crate) fn holes<'a>(parts: impl Iterator<Item = (&'a Path, u64, u64)>) -> Option<FileHoles> {
    let mut sum = FileHoles::default();
    for (path, offset, length) in parts {
        let file = File::from(held::open(path, LOOKING, Mode::empty()).ok()?);
        let size = file.metadata().ok().filter(Metadata::is_file)?.len();
        let end = match length {
            0 => size,
            length => size.min(offset.saturating_add(length)),
        };
        sum.region_bytes += end.saturating_sub(offset);
        sum.hole_bytes += hole_bytes(&file, offset..end)?;
    }
    Some(sum)
}

/// Returns the bytes in holes of a part of a file, and changes the file's position. `None`
/// if the part has more than 1,000 holes, or the file system cannot find holes.
fn hole_bytes(file: &File, part: Range<u64>) -> Option<u64> {
    const PIECES: usize = 1000;
    let (mut at, mut sum) = (part.start, 0);
    for _ in 0..PIECES {
        let hole = match seek(file, SeekFrom::Hole(at)) {
            Ok(hole) if hole < part.end => hole,
            Ok(_) | Err(Errno::NXIO) => return Some(sum),
            Err(_) => return None,
        };
        at = match seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(part.end),
            Err(Errno::NXIO) => part.end,
            Err(_) => return None,
        };
        sum += at - hole;
    }
    None
}

/// Flags for reading. `NONBLOCK` prevents blocking if the file was replaced by a pipe.
const LOOKING: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

fn sum_of<'a>(
    files: impl Iterator<Item = (&'a Path, u64, u64)> + Clone,
    look: impl Fn(&File, u64, u64) -> Option<FileCache>,
) -> Option<FileCache> {
    let mut sum = FileCache {
        source: CacheSource::Cachestat,
        cached_bytes: 0,
        dirty_bytes: Some(0),
        writeback_bytes: Some(0),
    };
    if files.clone().any(|(path, ..)| path.is_dir()) {
        return None;
    }
    for (path, offset, length) in files.filter(|(path, ..)| may_be_cached(path)) {
        let file = match held::open(path, LOOKING, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => continue,
            Err(_) => return None,
        };
        let pages = look(&file, offset, length)?;
        let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        sum.cached_bytes += pages.cached_bytes;
        sum.dirty_bytes = both(sum.dirty_bytes, pages.dirty_bytes);
        sum.writeback_bytes = both(sum.writeback_bytes, pages.writeback_bytes);
        if pages.source == CacheSource::Mincore {
            sum.source = CacheSource::Mincore;
        }
    }
    Some(sum)
}

/// Returns true if a path may have pages in the page cache. Pipes and character devices have none.
fn may_be_cached(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(meta) => meta.is_file() || meta.file_type().is_block_device(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;

    #[test]
    fn pages_of_files_add_up_and_missing_files_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, missing] = ["one", "two", "missing"].map(|name| folder.path().join(name));
        fs::write(&one, vec![1; 1 << 20]).unwrap();
        fs::write(&two, vec![1; 2 << 20]).unwrap();
        let cached = |files: &[PathBuf]| pages(files).map(|pages| pages.cached_bytes);
        let Some(first) = cached(std::slice::from_ref(&one)) else {
            assay_testkit::skip("this kernel does not tell what is cached");
            return;
        };
        let second = cached(std::slice::from_ref(&two)).unwrap();
        assert!(first > 0 && second > 0);
        assert_eq!(cached(&[one, two, missing]), Some(first + second));
        assert_eq!(cached(&[folder.path().join("none")]), Some(0));
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(cached(&[pipe, PathBuf::from("/dev/null")]), Some(0));
    }

    #[test]
    fn what_is_cached_of_a_folder_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one"), vec![1; 1 << 20]).unwrap();
        assert_eq!(pages(&[folder.path()]), None);
    }
}
