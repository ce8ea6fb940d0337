//! A machine made of files, for tests.

use crate::device::{Device, DeviceNumber};
use crate::files::{ExistingFile, FileKind, Files, Room, Stamp};
use crate::roots::Roots;
use assay_model::units::Bytes;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// `/proc` and `/sys` in a temporary folder.
pub(crate) struct Machine {
    pub(crate) roots: Roots,
    folder: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        for dir in ["proc", "sys/class/block", "sys/dev/block"] {
            fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        Self { roots, folder }
    }

    pub(crate) fn file(&self, path: &str, content: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Several files of one folder.
    pub(crate) fn files(&self, folder: &str, files: &[(&str, &str)]) {
        for (name, content) in files {
            self.file(&format!("{folder}/{name}"), content);
        }
    }

    /// A link whose target is given from the machine's root.
    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.folder.path().join(target), path).unwrap();
    }

    /// A disk at `sys/devices/PATH`; the last component is its name.
    pub(crate) fn disk(&self, path: &str, number: &str, sectors: u64) {
        let name = path.rsplit('/').next().unwrap();
        let dir = format!("sys/devices/{path}");
        self.file(&format!("{dir}/dev"), &format!("{number}\n"));
        self.file(&format!("{dir}/size"), &format!("{sectors}\n"));
        self.file(&format!("{dir}/ro"), "0\n");
        self.file(&format!("{dir}/stat"), &"1 ".repeat(17));
        self.link(&format!("sys/class/block/{name}"), &dir);
        self.link(&format!("sys/dev/block/{number}"), &dir);
        self.link(&format!("{dir}/subsystem"), "sys/class/block");
    }

    pub(crate) fn partition(&self, disk: &str, name: &str, number: &str, sectors: u64) {
        self.disk(&format!("{disk}/{name}"), number, sectors);
        self.file(&format!("sys/devices/{disk}/{name}/partition"), "1\n");
    }

    /// Puts `upper` on `lower`, as device mapper and md do.
    pub(crate) fn hold(&self, upper: &str, lower: &str) {
        for (path, target) in [
            (format!("sys/class/block/{upper}/slaves/{lower}"), lower),
            (format!("sys/class/block/{lower}/holders/{upper}"), upper),
        ] {
            self.link(&path, &format!("sys/class/block/{target}"));
        }
    }

    pub(crate) fn mountinfo(&self, lines: &str) {
        self.file("proc/self/mountinfo", lines);
    }

    /// Adds an open file of a process, with its target and its `flags`.
    pub(crate) fn descriptor(&self, pid: u32, number: u32, target: &str, flags: &str) {
        let process = format!("proc/{pid}");
        self.files(
            &process,
            &[
                ("comm", "qemu\n"),
                (
                    &format!("fdinfo/{number}"),
                    &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9\n"),
                ),
            ],
        );
        let folder = self.folder.path().join(process).join("fd");
        fs::create_dir_all(&folder).unwrap();
        symlink(target, folder.join(number.to_string())).unwrap();
    }

    /// The file system of the machine is gone.
    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }
}

/// Files that need not exist.
#[derive(Default)]
pub(crate) struct MadeUp(HashMap<PathBuf, ExistingFile>);

impl MadeUp {
    pub(crate) fn with(mut self, path: &str, kind: FileKind, device: &str) -> Self {
        let found = ExistingFile {
            path: PathBuf::from(path),
            kind,
            device: device.parse().unwrap(),
            inode: u64::try_from(self.0.len()).unwrap(),
            mount_id: None,
            stamp: Stamp::default(),
        };
        self.0.insert(found.path.clone(), found);
        self
    }

    pub(crate) fn node(self, path: &str, number: &str) -> Self {
        let number: DeviceNumber = number.parse().unwrap();
        self.with(path, FileKind::BlockDevice(number), "0:6")
    }

    /// Another name of a file.
    pub(crate) fn hard_link(mut self, path: &str, other: &str) -> Self {
        let mut found = self.0[Path::new(path)].clone();
        found.path = PathBuf::from(other);
        self.0.insert(found.path.clone(), found);
        self
    }

    /// The file is on another file system.
    pub(crate) fn moved(mut self, path: &str, device: &str) -> Self {
        self.0.get_mut(Path::new(path)).unwrap().device = device.parse().unwrap();
        self
    }

    /// Room that the file takes, and when its attributes changed.
    pub(crate) fn taking(mut self, path: &str, sectors: u64, changed: i64) -> Self {
        let stamp = &mut self.0.get_mut(Path::new(path)).unwrap().stamp;
        (stamp.sectors, stamp.changed) = (sectors, (changed, 0));
        self
    }

    pub(crate) fn stamp(mut self, path: &str, length: u64) -> Self {
        self.0.get_mut(Path::new(path)).unwrap().stamp.length = length;
        self
    }
}

impl Files for MadeUp {
    fn stat(&self, path: &Path) -> io::Result<ExistingFile> {
        let found = self.0.get(path).cloned();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn block_device(&self, descriptor: &Path) -> Option<DeviceNumber> {
        match self.stat(&fs::read_link(descriptor).ok()?).ok()?.kind {
            FileKind::BlockDevice(device) => Some(device),
            _ => None,
        }
    }

    fn room(&self, _: &Path) -> Option<Room> {
        Some(Room {
            total: Bytes::mib(100),
            available: Bytes::mib(40),
        })
    }

    fn is_held(&self, _: &Device) -> bool {
        false
    }
}
