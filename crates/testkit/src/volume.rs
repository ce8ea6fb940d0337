//! File system on a private device.

use crate::command::{Unavailable, run, text};
use crate::loop_device::LoopDevice;
use crate::mount::Mount;
use crate::scratch::Scratch;
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
