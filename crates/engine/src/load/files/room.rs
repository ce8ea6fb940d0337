//! Check that the file systems have room for the files to be laid out.

use rustix::fs::statvfs;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file system that is too small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shortage {
    /// The folder, or the file that grows.
    pub(super) place: PathBuf,
    pub(super) needed_bytes: u64,
    pub(super) free_bytes: u64,
}

/// The first file system without room for its part of `growth`: paths, and the
/// bytes from where to where each is to be written. What cannot be found out
/// does not count against it.
pub(super) fn shortage<'a>(
    growth: impl Iterator<Item = (&'a Path, std::ops::Range<u64>)>,
) -> Option<Shortage> {
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
pub(super) fn free(path: &Path) -> Option<u64> {
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
