//! Loop devices.

use crate::command::{Unavailable, Undo, run, text};
use crate::scratch::Scratch;
use std::fs;
use std::path::{Path, PathBuf};

/// A loop device, detached when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    node: PathBuf,
    undo: Undo,
}

impl LoopDevice {
    /// Attaches a device to a new file in a scratch folder.
    ///
    /// # Errors
    /// As [`Self::over`].
    pub fn new(scratch: &Scratch, file: &str, mib: u64) -> Result<Self, Unavailable> {
        Self::over(&scratch.image(file, mib)?)
    }

    /// Attaches a device to a file or another device. The kernel gives it a volatile
    /// (write-back) cache.
    ///
    /// # Errors
    /// Without root, `losetup` or a free loop device.
    pub fn over(backing: &Path) -> Result<Self, Unavailable> {
        Self::with(&[], backing)
    }

    /// Attaches a device with options of `losetup`, such as `--direct-io=on`.
    ///
    /// # Errors
    /// As [`Self::over`], or when the option is not known.
    pub fn with(options: &[&str], backing: &Path) -> Result<Self, Unavailable> {
        let mut words = vec!["losetup", "--find", "--show"];
        words.extend_from_slice(options);
        words.push(text(backing));
        let node = run(&words)?;
        let device = Self {
            undo: Undo::by(&["losetup", "--detach", &node]),
            node: node.into(),
        };
        device.reset();
        Ok(device)
    }

    /// Path of its node in `/dev`.
    #[must_use]
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Kernel name, such as `loop3`.
    #[must_use]
    pub fn name(&self) -> &str {
        text(&self.node).trim_start_matches("/dev/")
    }

    /// Sets its cache to write-through: the kernel then takes writes as durable at once.
    ///
    /// # Errors
    /// When the kernel does not let the setting be changed.
    pub fn write_through(&self) -> Result<(), Unavailable> {
        let setting = self.write_cache();
        fs::write(&setting, "write through")
            .map_err(|error| Unavailable(format!("cannot set {setting}: {error}")))
    }

    /// Reserves a share of the memory for its dirty pages, in percent. Up to that share,
    /// the kernel does not write back early because other devices have many dirty pages.
    ///
    /// # Errors
    /// When the kernel does not let the setting be changed.
    pub fn reserve_dirty(&self, percent: u8) -> Result<(), Unavailable> {
        let setting = self.dirty_share();
        fs::write(&setting, percent.to_string())
            .map_err(|error| Unavailable(format!("cannot set {setting}: {error}")))
    }

    /// Restores the settings: they outlive the file, and the next file would inherit them.
    /// Failures are ignored: a kernel that refuses these settings refused them before.
    fn reset(&self) {
        let _ = fs::write(self.write_cache(), "write back");
        let _ = fs::write(self.dirty_share(), "0");
    }

    fn dirty_share(&self) -> String {
        format!("/sys/block/{}/bdi/min_ratio", self.name())
    }

    fn write_cache(&self) -> String {
        format!("/sys/block/{}/queue/write_cache", self.name())
    }

    /// Makes the kernel read the size of the backing file again; a size of 0 is allowed.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn resize(&self) -> Result<(), Unavailable> {
        run(&["losetup", "--set-capacity", text(&self.node)]).map(drop)
    }

    /// Adds a partition directly in the kernel: not every kernel reads partition tables.
    /// Its node is this one's with `p` and the number appended.
    ///
    /// # Errors
    /// Without `addpart`, or when the kernel refuses.
    pub fn partition(
        &self,
        number: u32,
        start_mib: u64,
        mib: u64,
    ) -> Result<(PathBuf, Undo), Unavailable> {
        const SECTORS_PER_MIB: u64 = 2048;
        let (disk, number) = (text(&self.node), number.to_string());
        let [start, length] = [start_mib, mib].map(|mib| (mib * SECTORS_PER_MIB).to_string());
        let undo = Undo::after(
            &["addpart", disk, &number, &start, &length],
            &["delpart", disk, &number],
        )?;
        Ok((PathBuf::from(format!("{disk}p{number}")), undo))
    }

    /// Detaches the device now.
    ///
    /// # Errors
    /// When `losetup` fails.
    pub fn detach(mut self) -> Result<(), Unavailable> {
        self.reset();
        self.undo.now()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // A detached device may already belong to another test.
        if self.undo.is_pending() {
            self.reset();
        }
    }
}
