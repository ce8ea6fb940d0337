//! Paths in a command's arguments: the files that it probably writes.

use crate::cached;
use assay_model::evidence::OwnIo;
use assay_probe::processes::descendants;
use assay_probe::roots::Roots;
use assay_probe::snapshot::own_io;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes that end a path in an argument such as `of=/mnt/file` or in a script of `sh -c`.
const ENDS: &[u8] = b" \t\n\"'`=;|&<>(),";
/// Resolution of modification times: the clock that file systems use ticks this rarely.
const TICK: Duration = Duration::from_millis(20);
/// Largest page size of any kernel, in bytes.
const PAGE_BYTES: u64 = 64 << 10;

/// Returns the paths in the arguments that exist, or whose folder exists, in their order.
pub(super) fn paths(command: &[OsString]) -> Vec<PathBuf> {
    let words = command.iter().skip(1);
    let parts = words.flat_map(|word| word.as_bytes().split(|byte| ENDS.contains(byte)));
    let paths = parts.map(|part| Path::new(OsStr::from_bytes(part)));
    let named = |path: &&Path| {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        path.exists() || folder.is_some_and(Path::is_dir)
    };
    paths.filter(named).map(Path::to_owned).collect()
}

/// Files named by a command, for comparison with the kernel's I/O accounting of it.
pub(super) struct NamedFiles {
    began: SystemTime,
    io_before: Option<OwnIo>,
    /// Sizes of files that existed before, in bytes.
    sizes_before: BTreeMap<PathBuf, u64>,
}

impl NamedFiles {
    /// Records the state before the command starts. Processes that the command leaves
    /// running become children of this process, so they can be found.
    pub(super) fn before(roots: &Roots, command: &[OsString]) -> Self {
        // If this fails, such processes are not found.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Self {
            began: SystemTime::now() - TICK,
            io_before: own_io(roots),
            sizes_before: paths(command)
                .into_iter()
                .filter_map(|path| Some((path.clone(), size(&path)?)))
                .collect(),
        }
    }

    /// Returns the bytes of an ended command that are not on the device yet. `None` if the
    /// named files cannot account for all of its dirty pages, or it left a process running.
    ///
    /// The kernel adds a child's dirtied bytes to its parent's account when the child is
    /// reaped.
    pub(super) fn unwritten(&self, roots: &Roots, command: &[OsString]) -> Option<u64> {
        let (before, now) = (self.io_before?, own_io(roots)?);
        let dirtied = now.write_bytes.checked_sub(before.write_bytes)?;
        let changed = |path: &PathBuf| {
            let data = path.metadata().ok().filter(std::fs::Metadata::is_file);
            data.and_then(|data| data.modified().ok()) >= Some(self.began)
        };
        let mut files: Vec<PathBuf> = paths(command).into_iter().filter(changed).collect();
        files.sort_unstable();
        files.dedup();
        let pages = cached::pages(&files)?;
        let held: u64 = files.iter().map(|file| self.most_dirtied(file)).sum();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let left_running = !descendants(roots, u32::try_from(own).ok()?).is_empty();
        (!left_running && dirtied <= pages.cached_bytes.min(held))
            .then(|| Some(pages.dirty_bytes? + pages.writeback_bytes?))?
    }

    /// Returns the bytes of a file that a command can have dirtied, at most: the appended
    /// bytes with the pages at both ends; the whole file if it is new or has not grown.
    fn most_dirtied(&self, file: &Path) -> u64 {
        let now = size(file).unwrap_or(0);
        let appended = self
            .sizes_before
            .get(file)
            .map(|before| now.saturating_sub(*before));
        let bytes = appended.filter(|appended| *appended > 0).unwrap_or(now);
        bytes.saturating_add(2 * PAGE_BYTES)
    }
}

fn size(path: &Path) -> Option<u64> {
    let data = path.metadata().ok().filter(std::fs::Metadata::is_file);
    data.map(|data| data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_line_that_is_appended_does_not_stand_for_a_long_file() {
        let folder = tempfile::tempdir().unwrap();
        let [long, new] = ["long", "new"].map(|name| folder.path().join(name));
        fs::write(&long, vec![0; 4 << 20]).unwrap();
        let command = [Path::new("tool"), &long, &new].map(OsString::from);
        let files = NamedFiles::before(&Roots::default(), &command);
        fs::write(&new, vec![0; 1 << 20]).unwrap();
        assert_eq!(files.most_dirtied(&new), (1 << 20) + 2 * PAGE_BYTES);
        assert_eq!(files.most_dirtied(&long), (4 << 20) + 2 * PAGE_BYTES);
        let mut appended = fs::OpenOptions::new().append(true).open(&long).unwrap();
        std::io::Write::write_all(&mut appended, b"a line\n").unwrap();
        assert_eq!(files.most_dirtied(&long), 7 + 2 * PAGE_BYTES);
    }

    #[test]
    fn paths_stand_in_words_and_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there");
        fs::write(&there, "x").unwrap();
        let new = folder.path().join("new");
        let of = |script: String| {
            let command = ["/bin/sh", "-c", &script].map(OsString::from);
            paths(&command)
        };
        let dd = format!("dd if='{}' of={};sync", there.display(), new.display());
        assert_eq!(of(dd), [there, new]);
        assert_eq!(
            of("dd if=/nowhere/at/all of=x bs=1M".to_owned()),
            [""; 0].map(PathBuf::from)
        );
    }
}
