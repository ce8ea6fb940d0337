//! Root folders of the kernel's files.

use std::path::{Path, PathBuf};

/// The folders that everything is read from; tests put folders of files in
/// their place.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/`, for files of the distribution such as `/etc/os-release`.
    pub root: PathBuf,
    /// Device number (`st_dev`) and inode of the file behind the loop device of a node; `None` where
    /// the kernel is not asked.
    pub loop_file: fn(&Path) -> Option<(u64, u64)>,
}

impl Default for Roots {
    /// This machine.
    fn default() -> Self {
        Self::under(Path::new("/"))
    }
}

impl Roots {
    /// `proc`, `sys` and the rest beneath one folder.
    pub fn under(folder: &Path) -> Self {
        Self {
            proc: folder.join("proc"),
            sys: folder.join("sys"),
            root: folder.to_owned(),
            loop_file: |_| None,
        }
    }

    /// The `/sys/class/block` entry of a block device, whether or not it
    /// exists.
    pub(crate) fn block(&self, name: &str) -> PathBuf {
        self.sys.join("class/block").join(name)
    }
}
