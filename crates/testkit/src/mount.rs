//! Mounts.

use crate::command::{Unavailable, Undo, text};
use std::fs;
use std::path::{Path, PathBuf};

/// Mounted file system, unmounted when dropped.
#[derive(Debug)]
pub struct Mount {
    point: PathBuf,
    undo: Undo,
}

impl Mount {
    /// Mounts `source` with options of `mount`, such as `-t overlay`, on the
    /// folder `point`, which is created if necessary.
    ///
    /// # Errors
    /// Without root, or when the kernel does not know the file system.
    pub fn new(options: &[&str], source: &str, point: &Path) -> Result<Self, Unavailable> {
        make(point)?;
        let mut words = vec!["mount"];
        words.extend_from_slice(options);
        words.extend_from_slice(&[source, text(point)]);
        Ok(Self {
            point: point.to_owned(),
            undo: Undo::after(&words, &["umount", text(point)])?,
        })
    }

    /// Mounts a file system in memory.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn tmpfs(mib: u64, point: &Path) -> Result<Self, Unavailable> {
        let size = format!("size={mib}m");
        Self::new(&["-t", "tmpfs", "-o", &size], "tmpfs", point)
    }

    /// Mounts an overlay over the folder `lower`; writes go to the folder `up`
    /// in `upper`. `options` come first, each followed by a comma.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn overlay(
        options: &str,
        lower: &Path,
        upper: &Path,
        point: &Path,
    ) -> Result<Self, Unavailable> {
        let [up, work] = ["up", "work"].map(|name| upper.join(name));
        for folder in [&up, &work] {
            make(folder)?;
        }
        let layers = format!(
            "{options}lowerdir={},upperdir={},workdir={}",
            text(lower),
            text(&up),
            text(&work)
        );
        Self::new(&["-t", "overlay", "-o", &layers], "overlay", point)
    }

    /// Mount point.
    #[must_use]
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Unmounts it now.
    ///
    /// # Errors
    /// When the file system is in use.
    pub fn unmount(mut self) -> Result<(), Unavailable> {
        self.undo.now()
    }
}

fn make(folder: &Path) -> Result<(), Unavailable> {
    fs::create_dir_all(folder)
        .map_err(|error| Unavailable(format!("cannot make {}: {error}", folder.display())))
}
