//! Files and devices for benchmarks, removed afterwards.

use anyhow::Result;
use assay_engine::layout;
use assay_model::units::Bytes;
use assay_testkit::{LoopDevice, Scratch};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// File of random data in a private folder.
pub struct ScratchFile {
    path: PathBuf,
    _folder: Scratch,
}

impl ScratchFile {
    /// Makes a file of `size` bytes below `parent`.
    pub fn new(parent: &Path, size: Bytes) -> Result<Self> {
        let folder = Scratch::within(parent)?;
        let path = folder.join("data");
        let file = File::create_new(&path)?;
        layout::write(&file, &path, size, 1, &AtomicBool::new(false), &mut |_| {})?;
        Ok(Self {
            path,
            _folder: folder,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Loop device over a file in memory: the fastest block device without
/// hardware.
pub struct FastDevice {
    // Dropped before the file, to detach the device first.
    device: LoopDevice,
    _file: ScratchFile,
}

impl FastDevice {
    pub fn new(size: Bytes) -> Result<Self> {
        let file = ScratchFile::new(Path::new("/dev/shm"), size)?;
        Ok(Self {
            device: LoopDevice::over(file.path())?,
            _file: file,
        })
    }

    pub fn node(&self) -> &Path {
        self.device.node()
    }
}

/// Reads a file into the page cache.
pub fn warm(path: &Path, size: Bytes) -> Result<()> {
    let file = OpenOptions::new().read(true).open(path)?;
    assay_engine::page_cache::warm(&file, path, 0, size.0)?;
    Ok(())
}

/// Returns the folder for benchmark files, which is next to the build, on a
/// real disk.
pub fn folder() -> Result<PathBuf> {
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
