//! File system on a private device.

use crate::command::{Scratch, Unavailable, Undo, run, text};
use std::fs;
use std::path::{Path, PathBuf};

const IMAGE: &str = "disk.img";

/// File system on a private loop device, with a folder that holds the device's
/// file and other files of the test.
#[derive(Debug)]
pub struct Volume {
    // Fields are dropped in this order.
    mount: Mount,
    device: LoopDevice,
    scratch: Scratch,
}

impl Volume {
    /// Makes a file system, for example `ext4`, of `mib` MiB.
    ///
    /// # Errors
    /// Without root, `mkfs` or a kernel that knows the file system.
    pub fn new(kind: &str, mib: u64) -> Result<Self, Unavailable> {
        Self::with(kind, mib, &[], |_| Ok(()))
    }

    /// Makes a file system with options of `mount`, on a device that `prepare`
    /// has configured.
    ///
    /// # Errors
    /// As [`Self::new`], and when `prepare` fails.
    pub fn with(
        kind: &str,
        mib: u64,
        options: &[&str],
        prepare: impl FnOnce(&LoopDevice) -> Result<(), Unavailable>,
    ) -> Result<Self, Unavailable> {
        let scratch = Scratch::new()?;
        let device = LoopDevice::new(&scratch, IMAGE, mib)?;
        prepare(&device)?;
        make_file_system(kind, device.node())?;
        let mount = Mount::new(options, text(device.node()), &scratch.join("mnt"))?;
        Ok(Self {
            mount,
            device,
            scratch,
        })
    }

    /// Mount point.
    #[must_use]
    pub fn point(&self) -> &Path {
        self.mount.point()
    }

    /// Device that holds the file system.
    #[must_use]
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// Path of the file behind the device.
    #[must_use]
    pub fn image(&self) -> PathBuf {
        self.scratch.join(IMAGE)
    }

    /// Folder that holds the file, on another file system.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Unmounts and returns the device, still attached.
    ///
    /// # Errors
    /// When the file system is in use.
    pub fn unmount(self) -> Result<(LoopDevice, Scratch), Unavailable> {
        self.mount.unmount()?;
        Ok((self.device, self.scratch))
    }
}

/// Makes a new file system on a device.
///
/// # Errors
/// When `mkfs` fails or is not installed.
pub fn make_file_system(kind: &str, node: &Path) -> Result<(), Unavailable> {
    let tool = format!("mkfs.{kind}");
    let mut words = vec![tool.as_str()];
    words.extend_from_slice(match kind {
        "vfat" => &[],
        "btrfs" => &["-q", "-f"],
        "ntfs" => &["-q", "-F", "-f"],
        // Without these, the kernel keeps initializing the file system after
        // the mount.
        "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        _ => &["-q"],
    });
    words.push(text(node));
    run(&words).map(drop)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{needs, or_skip};
    use std::fs;

    #[test]
    fn a_volume_leaves_nothing_behind() {
        needs!(root, "mkfs.ext4");
        let volume = or_skip!(Volume::new("ext4", 16));
        let backing = format!("/sys/block/{}/loop/backing_file", volume.device().name());
        let image = volume.image();
        assert_eq!(fs::read_to_string(&backing).unwrap().trim(), text(&image));
        let point = volume.point().to_owned();
        assert!(mounts().contains(text(&point)));
        drop(volume);
        assert!(!mounts().contains(text(&point)));
        assert!(!image.exists());
        // Another test may use the device by now.
        let behind = fs::read_to_string(&backing).unwrap_or_default();
        assert_ne!(behind.trim(), text(&image));
    }

    fn mounts() -> String {
        fs::read_to_string("/proc/self/mountinfo").unwrap()
    }
}
