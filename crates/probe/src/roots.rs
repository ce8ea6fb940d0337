//! Root folders of the kernel's files.

use std::path::{Path, PathBuf};

/// Folders from which all kernel files are read; tests replace them by folders of files.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/`, for files of the distribution such as `/etc/os-release`.
    pub root: PathBuf,
    /// Returns device number (`st_dev`) and inode of the file behind the loop device of a node;
    /// `None` if the kernel is not queried.
    pub loop_file: fn(&Path) -> Option<(u64, u64)>,
}

impl Default for Roots {
    /// Returns the folders of this machine.
    fn default() -> Self {
        Self::under(Path::new("/"))
    }
}

impl Roots {
    /// Returns `proc`, `sys` and the root below one folder.
    pub fn under(folder: &Path) -> Self {
        Self {
            proc: folder.join("proc"),
            sys: folder.join("sys"),
            root: folder.to_owned(),
            loop_file: |_| None,
        }
    }

    /// Returns the `/sys/class/block` entry of a block device, which may not exist.
    pub(crate) fn block(&self, name: &str) -> PathBuf {
        self.sys.join("class/block").join(name)
    }
}
