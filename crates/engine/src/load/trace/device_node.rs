//! Devices by their numbers.

use rustix::fs::{major, makedev, minor};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The block device of that number below `folder`, which is `/dev`.
pub(super) fn device_node(folder: &Path, major_number: u32, minor_number: u32) -> Option<PathBuf> {
    let wanted = makedev(major_number, minor_number);
    debug_assert!(major(wanted) == major_number && minor(wanted) == minor_number);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            // Of the entry itself: links lead to what is found anyhow.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.file_type().is_block_device() && metadata.rdev() == wanted {
                return Some(entry.path());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_number() {
        let mut nodes = std::fs::read_dir("/dev").unwrap().flatten();
        let Some((path, rdev)) = nodes.find_map(|entry| {
            let metadata = entry.metadata().ok()?;
            metadata
                .file_type()
                .is_block_device()
                .then(|| (entry.path(), metadata.rdev()))
        }) else {
            assay_testkit::skip("there is no block device in /dev");
            return;
        };
        let found = device_node(Path::new("/dev"), major(rdev), minor(rdev)).unwrap();
        assert_eq!(found.metadata().unwrap().rdev(), rdev, "{path:?}");
        assert_eq!(device_node(Path::new("/dev"), 4_000, 1), None);
    }
}
