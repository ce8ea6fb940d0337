//! Temporary folder for a test.

use crate::command::Unavailable;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Temporary folder, removed with its content when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    folder: TempDir,
}

impl Scratch {
    /// Makes a folder in the system's folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<Self, Unavailable> {
        Self::within(&std::env::temp_dir())
    }

    /// Makes a folder in `parent`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn within(parent: &Path) -> Result<Self, Unavailable> {
        let failed = |error| {
            Unavailable(format!(
                "cannot make a folder in {}: {error}",
                parent.display()
            ))
        };
        let folder = TempDir::with_prefix_in("assay-test-", parent).map_err(failed)?;
        Ok(Self {
            // Without symbolic links, as the kernel reports paths.
            path: fs::canonicalize(folder.path()).map_err(failed)?,
            folder,
        })
    }

    /// Path of the folder, without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path and does not remove the folder: the caller removes it.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        // The path with links resolved is the same folder.
        let _ = self.folder.keep();
        self.path
    }

    /// Path of a name in the folder.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a sparse file of zeros to hold a device.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn image(&self, name: &str, mib: u64) -> Result<PathBuf, Unavailable> {
        let path = self.join(name);
        File::create_new(&path)
            .and_then(|file| file.set_len(mib << 20))
            .map_err(|error| Unavailable(format!("cannot make {}: {error}", path.display())))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratchfolder_goes_with_its_images() {
        let scratch = Scratch::new().unwrap();
        let image = scratch.image("disk", 3).unwrap();
        assert_eq!(fs::metadata(&image).unwrap().len(), 3 << 20);
        assert!(scratch.image("disk", 3).is_err(), "it is there already");
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
