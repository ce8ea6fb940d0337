//! Files and devices for benchmarks, removed afterwards.

use anyhow::{Context, Result, bail};
use assay_engine::layout;
use assay_model::units::Bytes;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A file of random data in a folder of its own.
pub struct ScratchFile {
    _folder: TempDir,
    path: PathBuf,
}

impl ScratchFile {
    /// Writes `size` bytes below `parent`.
    pub fn new(parent: &Path, size: Bytes) -> Result<Self> {
        let folder = TempDir::with_prefix_in("assay-bench-", parent)?;
        let path = folder.path().join("data");
        let file = File::create_new(&path)?;
        layout::write(&file, &path, size, 1, &AtomicBool::new(false), &mut |_| {})?;
        Ok(Self {
            _folder: folder,
            path,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A loop device with direct I/O over a file in memory: as fast as a device
/// gets without being one.
pub struct FastDevice {
    node: PathBuf,
    _file: ScratchFile,
}

impl FastDevice {
    pub fn new(size: Bytes) -> Result<Self> {
        let file = ScratchFile::new(Path::new("/dev/shm"), size)?;
        let out = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file.path())
            .output()
            .context("cannot start losetup")?;
        if !out.status.success() {
            bail!("losetup: {}", String::from_utf8_lossy(&out.stderr).trim());
        }
        let node = PathBuf::from(String::from_utf8(out.stdout)?.trim());
        Ok(Self { node, _file: file })
    }

    pub fn node(&self) -> &Path {
        &self.node
    }
}

impl Drop for FastDevice {
    fn drop(&mut self) {
        let detached = Command::new("losetup").arg("-d").arg(&self.node).status();
        if !detached.is_ok_and(|status| status.success()) {
            eprintln!("warning: {} is still attached", self.node.display());
        }
    }
}

/// Reads a file into the page cache.
pub fn warm(path: &Path, size: Bytes) -> Result<()> {
    let file = OpenOptions::new().read(true).open(path)?;
    assay_engine::page_cache::warm(&file, path, 0, size.0)?;
    Ok(())
}

/// The folder for benchmark files: next to the build, on a real disk.
pub fn folder() -> Result<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
