//! Reasons why a regular file must not be written: the kernel uses it as a device or as memory.

use super::beneath::{inode_of, loops};
use super::{Search, swaps};
use crate::device::Device;
use crate::files::{ExistingFile, Files, KernelFiles};
use crate::roots::Roots;
use std::path::{Path, PathBuf};

/// Regular files that the kernel uses, at one moment: the files behind loop devices, and swap
/// files.
///
/// A file is identified by its file system and inode number under any name. Loop devices on files
/// that are not visible (another mount namespace, a removed name) are missed, and so are files that
/// a process serves as a device (a virtual machine, NBD).
pub struct KernelOwned<'a> {
    roots: &'a Roots,
    files: &'a dyn Files,
    entries: Vec<FileInUse>,
}

struct FileInUse {
    file: ExistingFile,
    user: User,
}

enum User {
    Swap,
    Loop(Device),
}

/// Ways in which the kernel uses a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// The file.
    pub file: PathBuf,
    /// Loop device on the file, `None` for swap space.
    pub device: Option<String>,
    /// Uses of the file, one clause each; empty for a loop device without users.
    pub reasons: Vec<String>,
}

impl<'a> KernelOwned<'a> {
    /// Scans all loop devices and swap files. Unreadable ones are missed.
    pub fn look(roots: &'a Roots) -> Self {
        Self::look_with(roots, &KernelFiles)
    }

    fn look_with(roots: &'a Roots, files: &'a dyn Files) -> Self {
        let swaps = swaps(roots).unwrap_or_default().into_iter();
        let swaps = swaps.filter_map(|path| files.look(Path::new(&path)).ok());
        let swaps = swaps.map(|file| FileInUse {
            file,
            user: User::Swap,
        });
        let loops = loops(roots).into_iter().filter_map(|device| {
            let file = files.look(&device.backing_file()?).ok()?;
            let user = User::Loop(device);
            Some(FileInUse { file, user })
        });
        Self {
            roots,
            files,
            entries: swaps.chain(loops).collect(),
        }
    }

    /// Returns the uses of the file at this path.
    pub fn uses_of(&self, path: &Path) -> Vec<FileUse> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let Ok(found) = self.files.look(path) else {
            return Vec::new();
        };
        self.uses(|file| inode_of(file) == inode_of(&found))
    }

    /// Returns the uses of files below this folder.
    pub fn uses_below(&self, folder: &Path) -> Vec<FileUse> {
        match self.files.look(folder) {
            Ok(folder) => self.uses(|file| file.path.starts_with(&folder.path)),
            Err(_) => Vec::new(),
        }
    }

    fn uses(&self, fits: impl Fn(&ExistingFile) -> bool) -> Vec<FileUse> {
        let entries = self.entries.iter().filter(|entry| fits(&entry.file));
        entries.map(|entry| self.use_of(entry)).collect()
    }

    fn use_of(&self, entry: &FileInUse) -> FileUse {
        let file = entry.file.path.clone();
        match &entry.user {
            User::Swap => FileUse {
                reasons: vec!["it is in use as swap space".to_owned()],
                device: None,
                file,
            },
            User::Loop(device) => FileUse {
                file,
                reasons: self.uses_of_loop(device),
                device: Some(device.name.clone()),
            },
        }
    }

    fn uses_of_loop(&self, device: &Device) -> Vec<String> {
        let name = &device.name;
        let mut search = Search::new(self.roots, self.files);
        search.begin(name);
        search.with_partitions(device);
        search.or_held(0, device);
        search.reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileKind;
    use crate::fixture::{Machine, MadeUp};

    const ROOT_ONLY: &str = "27 1 259:1 / / rw - ext4 /dev/root rw\n";

    /// loop7000 on /disk.img, which is also /other; /swap; /free.
    fn machine() -> (Machine, MadeUp) {
        let machine = Machine::new();
        machine.disk("virtual/block/loop7000", "7:7000", 1000);
        machine.file(
            "sys/devices/virtual/block/loop7000/loop/backing_file",
            "/disk.img\n",
        );
        machine.file(
            "proc/swaps",
            "Filename Type Size Used Priority\n/swap file 1 0 -2\n",
        );
        machine.mountinfo(ROOT_ONLY);
        let mut files = MadeUp::default();
        for path in ["/disk.img", "/swap", "/free"] {
            files = files.with(path, FileKind::Regular, "8:1");
        }
        (machine, files.hard_link("/disk.img", "/other"))
    }

    fn uses(machine: &Machine, files: &MadeUp, path: &str) -> Vec<FileUse> {
        KernelOwned::look_with(&machine.roots, files).uses_of(Path::new(path))
    }

    #[test]
    fn a_swap_file_is_in_use() {
        let (machine, files) = machine();
        let found = uses(&machine, &files, "/swap");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].reasons, ["it is in use as swap space"]);
        assert!(uses(&machine, &files, "/free").is_empty());
        assert!(uses(&machine, &files, "/missing").is_empty());
    }

    #[test]
    fn a_file_behind_a_mounted_loop_device_is_in_use_by_any_name() {
        let (machine, files) = machine();
        let idle = uses(&machine, &files, "/disk.img");
        assert_eq!(idle[0].device.as_deref(), Some("loop7000"));
        assert!(idle[0].reasons.is_empty(), "{:?}", idle[0].reasons);
        machine.mountinfo(&format!(
            "{ROOT_ONLY}28 27 7:7000 / /mnt rw - ext4 /dev/loop7000 rw\n"
        ));
        for name in ["/disk.img", "/other"] {
            let found = uses(&machine, &files, name);
            assert_eq!(found[0].reasons, ["loop7000 is mounted on /mnt"], "{name}");
        }
    }

    #[test]
    fn the_same_inode_number_on_another_file_system_is_another_file() {
        let (machine, files) = machine();
        let files = files.hard_link("/disk.img", "/elsewhere/x");
        let files = files.moved("/elsewhere/x", "8:2");
        assert!(uses(&machine, &files, "/elsewhere/x").is_empty());
    }

    #[test]
    fn files_below_a_folder_are_found() {
        let (machine, files) = machine();
        let files =
            files
                .with("/", FileKind::Directory, "8:1")
                .with("/home", FileKind::Directory, "8:1");
        let owned = KernelOwned::look_with(&machine.roots, &files);
        assert_eq!(owned.uses_below(Path::new("/")).len(), 2);
        assert!(owned.uses_below(Path::new("/home")).is_empty());
    }
}
