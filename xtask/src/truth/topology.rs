//! Storage to measure; each topology is made when its first cell runs.

use assay_testkit::{LoopDevice, Mount, Scratch, Unavailable, Volume, make_file_system, run, text};
use rustix::fs::{Advice, fadvise, major, makedev, minor};
use std::any::Any;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Smallest size on which each file system here can be made, in MiB.
const MIB: u64 = 320;

/// Storage that jobs measure, and the source of its truth.
pub struct Storage {
    /// File of the jobs, or the device itself.
    pub file: PathBuf,
    /// Path of the same file on the file system that holds its blocks.
    pub real: PathBuf,
    /// Kernel name of the device that carries the requests; `None` for memory.
    pub disk: Option<String>,
    /// Node of the device that holds the file system.
    pub node: Option<PathBuf>,
    /// Set if the storage is memory, so that no request reaches a device.
    pub is_memory: bool,
    /// Set if FIEMAP reports the sectors of a file.
    pub has_extents: bool,
    /// Set if a program stands between the page cache of the file and the device.
    pub has_program: bool,
    /// Set if another file shares the blocks of the file before each job.
    pub is_shared: bool,
    /// Set for a stack in the guest, which has no other devices than the lowest ones of the
    /// stack.
    pub is_stack: bool,
    /// Set if a layer generates or keeps data without a counter, so that `unknown` is right.
    pub is_opaque: bool,
    _undo: Undo,
}

/// Guards that remove the storage, in this order.
type Undo = Vec<Box<dyn Any + Send + Sync>>;

pub type Made = Result<Storage, Unavailable>;

/// One kind of storage.
pub struct Topology {
    pub name: &'static str,
    pub make: fn() -> Made,
}

const fn topology(name: &'static str, make: fn() -> Made) -> Topology {
    Topology { name, make }
}

pub const TOPOLOGIES: [Topology; 34] = [
    topology("ext4", || volume("ext4", &[], true)),
    topology("ext4 write-through", || volume("ext4", &[], false)),
    topology("ext4 nobarrier", || {
        volume("ext4", &["-o", "barrier=0"], true)
    }),
    topology("ext4 -o sync", || volume("ext4", &["-o", "sync"], true)),
    topology("ext4 data=writeback", || {
        volume("ext4", &["-o", "data=writeback"], true)
    }),
    topology("ext4 data=journal", || {
        volume("ext4", &["-o", "data=journal"], true)
    }),
    topology("ext4 nobarrier by default", || by_default("nobarrier")),
    topology("ext4 data=journal by default", || {
        by_default("journal_data")
    }),
    topology("ext4 with 1 KiB blocks", || {
        made(&["mkfs.ext4", "-q", "-b", "1024"])
    }),
    topology("ext4 on direct loop", || {
        let scratch = Scratch::new()?;
        let device = LoopDevice::with(&["--direct-io=on"], &scratch.image("disk", MIB)?)?;
        on_device("ext4", device, scratch)
    }),
    topology("ext4 on 4 KiB sectors", || {
        let scratch = Scratch::new()?;
        let device = LoopDevice::with(&["--sector-size=4096"], &scratch.image("disk", MIB)?)?;
        on_device("ext4", device, scratch)
    }),
    topology("ext4 on partition", || {
        let (disk, node, mut undo) = partition()?;
        make_file_system("ext4", &node)?;
        let scratch = Scratch::new()?;
        let mount = Mount::new(&[], text(&node), &scratch.join("mnt"))?;
        let storage = files(mount.point(), &disk, node);
        undo.insert(0, Box::new(scratch));
        undo.insert(0, Box::new(mount));
        Ok(storage.undone_by(undo))
    }),
    topology("ext4 on loop on ext4", || {
        let below = Volume::new("ext4", MIB * 2)?;
        let image = below.point().join("disk");
        File::create(&image)
            .and_then(|file| file.set_len(MIB << 20))
            .map_err(|error| Unavailable(error.to_string()))?;
        let device = LoopDevice::over(&image)?;
        let mut storage = on_device("ext4", device, Scratch::new()?)?;
        storage._undo.push(Box::new(below));
        Ok(storage)
    }),
    topology("ext4 read-ahead 0", || read_ahead("0")),
    topology("ext4 read-ahead 4 MiB", || read_ahead("4096")),
    topology("ext2", || volume("ext2", &[], true)),
    topology("xfs", || volume("xfs", &[], true)),
    topology("btrfs", || {
        let mut storage = volume("btrfs", &[], true)?;
        // Addresses of btrfs are not those of its device.
        storage.has_extents = false;
        Ok(storage)
    }),
    topology("xfs -o wsync", || volume("xfs", &["-o", "wsync"], true)),
    topology("xfs, shared blocks", || {
        let mut storage = volume("xfs", &[], true)?;
        (storage.has_extents, storage.is_shared) = (false, true);
        Ok(storage)
    }),
    topology("btrfs, shared blocks", || {
        let mut storage = volume("btrfs", &[], true)?;
        (storage.has_extents, storage.is_shared) = (false, true);
        Ok(storage)
    }),
    topology("bind mount", || {
        let below = Volume::new("ext4", MIB)?;
        let scratch = Scratch::new()?;
        let mount = Mount::new(&["--bind"], text(below.point()), &scratch.join("mnt"))?;
        let mut storage = on_volume(below);
        storage.file = mount.point().join("f");
        storage._undo.insert(0, Box::new(scratch));
        storage._undo.insert(0, Box::new(mount));
        Ok(storage)
    }),
    topology("overlay on ext4", || overlay("", &[])),
    topology("overlay, volatile", || overlay("volatile,", &[])),
    topology("overlay on ext4 nobarrier", || {
        overlay("", &["-o", "barrier=0"])
    }),
    topology("ntfs-3g", || {
        let scratch = Scratch::new()?;
        let device = LoopDevice::new(&scratch, "disk", MIB)?;
        run(&["mkfs.ntfs", "-q", "-f", "-F", text(device.node())])?;
        let mut storage = mounted(&["-t", "ntfs-3g"], device, scratch)?;
        (storage.has_extents, storage.has_program) = (false, true);
        Ok(storage)
    }),
    topology("loop device", || raw(true)),
    topology("loop device write-through", || raw(false)),
    topology("partition", || {
        let (disk, node, undo) = partition()?;
        Ok(device_itself(&disk, node).undone_by(undo))
    }),
    topology("tmpfs", || {
        let scratch = Scratch::new()?;
        let mount = Mount::tmpfs(MIB, &scratch.join("mnt"))?;
        let storage = memory(mount.point().join("f"));
        Ok(storage.undone_by(vec![Box::new(mount), Box::new(scratch)]))
    }),
    topology("ext4 on loop on tmpfs", || {
        let scratch = Scratch::new()?;
        let below = Mount::tmpfs(MIB * 2, &scratch.join("below"))?;
        let image = scratch.image("below/disk", MIB)?;
        let device = LoopDevice::over(&image)?;
        let mut storage = on_device("ext4", device, Scratch::new()?)?;
        storage.is_memory = true;
        storage._undo.push(Box::new(below));
        storage._undo.push(Box::new(scratch));
        Ok(storage)
    }),
    topology("ext4 on loop on deleted tmpfs file", || {
        let scratch = Scratch::new()?;
        let below = Mount::tmpfs(MIB * 2, &scratch.join("below"))?;
        let image = scratch.image("below/disk", MIB)?;
        on_nameless(&image, vec![Box::new(below), Box::new(scratch)])
    }),
    topology("ext4 on loop on memfd", || {
        let file = rustix::fs::memfd_create("disk", rustix::fs::MemfdFlags::empty())
            .and_then(|file| rustix::fs::ftruncate(&file, MIB << 20).map(|()| file))
            .map_err(|error| Unavailable(error.to_string()))?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        on_nameless(Path::new(&path), vec![Box::new(file)])
    }),
    topology("ext4 on zram", || {
        let node = run(&["zramctl", "--find", "--size", "320M"])?;
        let undo = assay_testkit::Undo::by(&["zramctl", "--reset", &node]);
        make_file_system("ext4", Path::new(&node))?;
        let scratch = Scratch::new()?;
        let mount = Mount::new(&[], &node, &scratch.join("mnt"))?;
        let storage = memory(mount.point().join("f"));
        Ok(storage.undone_by(vec![Box::new(mount), Box::new(undo), Box::new(scratch)]))
    }),
];

impl Storage {
    /// Returns a stack in the guest: a device, or a file on `/mnt`.
    pub fn of_stack(device: Option<&str>, is_opaque: bool, undo: assay_testkit::Undo) -> Self {
        Self {
            node: device.map(PathBuf::from),
            is_memory: false,
            is_stack: true,
            is_opaque,
            _undo: vec![Box::new(undo)],
            ..memory(PathBuf::from(device.unwrap_or("/mnt/f")))
        }
    }

    /// Sets the guards, in the order in which they are dropped.
    fn undone_by(mut self, undo: Undo) -> Self {
        self._undo = undo;
        self
    }

    /// Returns true if the jobs write to a device without a file system.
    pub fn is_device(&self) -> bool {
        self.node.as_ref() == Some(&self.file)
    }

    /// Returns the numbers, in traces, of the disk and of its partition in use.
    pub fn devices(&self) -> Vec<u64> {
        let disk = self.disk.iter().map(|disk| Path::new("/dev").join(disk));
        let mut numbers: Vec<u64> = disk
            .chain(self.node.clone())
            .filter_map(|node| fs::metadata(node).ok())
            .map(|node| in_traces(node.rdev()))
            .collect();
        numbers.dedup();
        numbers
    }

    /// Returns the number, in traces, of the file system that holds the file.
    pub fn file_system(&self) -> Option<u64> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let folder = self.real.parent()?;
        let (_, number) = mounts
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let point = Path::new(*words.get(4)?);
                folder
                    .starts_with(point)
                    .then_some((point.as_os_str().len(), *words.get(2)?))
            })
            .max()?;
        let (major, minor) = number.split_once(':')?;
        Some(in_traces(makedev(major.parse().ok()?, minor.parse().ok()?)))
    }

    /// Returns the inode of the file in traces; for a device, its number.
    pub fn inode(&self) -> Option<u64> {
        let file = fs::metadata(&self.real).ok()?;
        Some(if self.is_device() {
            in_traces(file.rdev())
        } else {
            file.ino()
        })
    }

    /// Returns the sectors of the disk that hold the file, from FIEMAP; `None` if it does not
    /// report them.
    pub fn extents(&self) -> Option<Vec<(u64, u64)>> {
        let start = self.partition_start();
        if self.is_device() {
            let sectors = fs::read_to_string(self.attribute("size")?).ok()?;
            return Some(vec![(start, sectors.trim().parse().ok()?)]);
        }
        if !self.has_extents {
            return None;
        }
        let said = run(&["filefrag", "-b512", "-v", text(&self.real)]).ok()?;
        let extents: Vec<(u64, u64)> = said
            .lines()
            .filter_map(|line| {
                let columns: Vec<&str> = line.split(':').map(str::trim).collect();
                columns.first()?.parse::<u64>().ok()?;
                let (first, last) = columns.get(2)?.split_once("..")?;
                let (first, last): (u64, u64) = (first.parse().ok()?, last.trim().parse().ok()?);
                Some((start + first, last + 1 - first))
            })
            .collect();
        (!extents.is_empty()).then_some(extents)
    }

    fn partition_start(&self) -> u64 {
        self.attribute("start")
            .and_then(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
            .unwrap_or(0)
    }

    fn attribute(&self, name: &str) -> Option<PathBuf> {
        let node = self.node.as_ref()?.file_name()?;
        Some(Path::new("/sys/class/block").join(node).join(name))
    }

    /// Returns true if the device reports a volatile write cache, so that it may lose completed
    /// writes.
    pub fn is_volatile(&self) -> bool {
        let disk = self.disk.as_deref().unwrap_or_default();
        fs::read_to_string(format!("/sys/block/{disk}/queue/write_cache"))
            .is_ok_and(|cache| cache.trim() == "write back")
    }

    /// Writes back dirty pages of the file and its device, then drops its cached pages.
    pub fn drop_cache(&self) -> std::io::Result<()> {
        if self.is_stack {
            rustix::fs::sync();
            return fs::write("/proc/sys/vm/drop_caches", "3");
        }
        let below = self
            .node
            .as_ref()
            .filter(|_| self.has_program || self.is_device());
        for path in [Some(&self.file), Some(&self.real), below]
            .into_iter()
            .flatten()
        {
            if let Ok(file) = File::open(path) {
                file.sync_all()?;
                fadvise(&file, 0, None, Advice::DontNeed)?;
            }
        }
        Ok(())
    }
}

/// Encodes a device number as the kernel does, with 12 and 20 bits.
fn in_traces(device: u64) -> u64 {
    u64::from(major(device)) << 20 | u64::from(minor(device))
}

fn volume(kind: &str, options: &[&str], is_volatile: bool) -> Made {
    let volume = Volume::with(kind, MIB, options, |device| {
        if is_volatile {
            Ok(())
        } else {
            device.write_through()
        }
    })?;
    Ok(on_volume(volume))
}

/// Makes a file system with a command, to which the node of its device is appended.
fn made(words: &[&str]) -> Made {
    let scratch = Scratch::new()?;
    let device = LoopDevice::new(&scratch, "disk", MIB)?;
    run(&[words, &[text(device.node())]].concat())?;
    mounted(&[], device, scratch)
}

/// Makes an ext4 with a mount option in its superblock.
fn by_default(option: &str) -> Made {
    let lazy = "lazy_itable_init=0,lazy_journal_init=0";
    let script = format!("mkfs.ext4 -q -E {lazy} \"$0\" && tune2fs -o {option} \"$0\"");
    made(&["sh", "-c", &script])
}

fn overlay(options: &str, of_upper: &[&str]) -> Made {
    let below = Volume::with("ext4", MIB, of_upper, |_| Ok(()))?;
    let scratch = Scratch::new()?;
    let lower = below.point().join("lower");
    fs::create_dir(&lower).map_err(|error| Unavailable(error.to_string()))?;
    let mount = Mount::overlay(options, &lower, below.point(), &scratch.join("mnt"))?;
    let real = below.point().join("up/f");
    let mut storage = on_volume(below);
    (storage.file, storage.real) = (mount.point().join("f"), real);
    storage._undo.insert(0, Box::new(scratch));
    storage._undo.insert(0, Box::new(mount));
    Ok(storage)
}

/// Makes storage on a loop device over a deleted file in memory.
fn on_nameless(image: &Path, below: Undo) -> Made {
    let device = LoopDevice::over(image)?;
    if !image.starts_with("/proc") {
        fs::remove_file(image).map_err(|error| Unavailable(error.to_string()))?;
    }
    let mut storage = on_device("ext4", device, Scratch::new()?)?;
    storage.is_memory = true;
    storage._undo.extend(below);
    Ok(storage)
}

fn on_volume(volume: Volume) -> Storage {
    let device = volume.device();
    let storage = files(volume.point(), device.name(), device.node().to_owned());
    storage.undone_by(vec![Box::new(volume)])
}

fn on_device(kind: &str, device: LoopDevice, scratch: Scratch) -> Made {
    make_file_system(kind, device.node())?;
    mounted(&[], device, scratch)
}

/// Mounts the file system of a device with these options.
fn mounted(options: &[&str], device: LoopDevice, scratch: Scratch) -> Made {
    let mount = Mount::new(options, text(device.node()), &scratch.join("mnt"))?;
    let storage = files(mount.point(), device.name(), device.node().to_owned());
    Ok(storage.undone_by(vec![Box::new(mount), Box::new(device), Box::new(scratch)]))
}

fn read_ahead(kib: &str) -> Made {
    let volume = Volume::new("ext4", MIB)?;
    let setting = format!("/sys/block/{}/queue/read_ahead_kb", volume.device().name());
    let before = fs::read_to_string(&setting).map_err(|error| Unavailable(error.to_string()))?;
    let script = |value: &str| format!("echo {value} > {setting}");
    let undo = assay_testkit::Undo::after(
        &["sh", "-c", &script(kib)],
        &["sh", "-c", &script(before.trim())],
    )?;
    let mut storage = on_volume(volume);
    storage._undo.insert(0, Box::new(undo));
    Ok(storage)
}

fn partition() -> Result<(String, PathBuf, Undo), Unavailable> {
    let scratch = Scratch::new()?;
    let device = LoopDevice::new(&scratch, "disk", MIB + 16)?;
    let (node, undo) = device.partition(1, 8, MIB)?;
    let disk = device.name().to_owned();
    Ok((
        disk,
        node,
        vec![Box::new(undo), Box::new(device), Box::new(scratch)],
    ))
}

fn raw(is_volatile: bool) -> Made {
    let scratch = Scratch::new()?;
    let device = LoopDevice::new(&scratch, "disk", MIB)?;
    if !is_volatile {
        device.write_through()?;
    }
    let storage = device_itself(device.name(), device.node().to_owned());
    Ok(storage.undone_by(vec![Box::new(device), Box::new(scratch)]))
}

fn files(point: &Path, disk: &str, node: PathBuf) -> Storage {
    Storage {
        disk: Some(disk.to_owned()),
        node: Some(node),
        is_memory: false,
        has_extents: true,
        ..memory(point.join("f"))
    }
}

fn device_itself(disk: &str, node: PathBuf) -> Storage {
    Storage {
        disk: Some(disk.to_owned()),
        node: Some(node.clone()),
        is_memory: false,
        ..memory(node)
    }
}

fn memory(file: PathBuf) -> Storage {
    Storage {
        real: file.clone(),
        file,
        disk: None,
        node: None,
        is_memory: true,
        has_extents: false,
        has_program: false,
        is_shared: false,
        is_stack: false,
        is_opaque: false,
        _undo: Vec::new(),
    }
}
