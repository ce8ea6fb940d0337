//! Reasons why a block device or a regular file must not be written.

mod beneath;
mod files;

pub use crate::files::held_exclusively;
pub use files::{FileUse, KernelOwned};

use crate::attr;
use crate::device::Device;
use crate::files::{FileKind, Files, KernelFiles};
use crate::mounts::{self, MountEntry};
use crate::openers::{self, Opener};
use crate::roots::Roots;
use crate::stack::several;
use beneath::loops;
use std::io;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process;

/// Returns the reasons why the block device with this kernel name must not be written, one clause
/// each ("sda1 is mounted on /home"); empty if it may be written.
///
/// Checks the device, its partitions, and all devices made of them (device mapper, md, loop
/// devices, ...); for a partition also uses of its whole disk; and all devices below it with their
/// other users: a mounted device below a loop device, other loop devices on the same file, other
/// paths to the same disk. A process that keeps one of them open for writing is a use, except this
/// process and its parent (the host); other users' processes are visible to root only. Other data
/// that cannot be read counts as a reason. Mounts in other mount namespaces are not visible: use
/// [`held_exclusively`] too.
pub fn in_use(roots: &Roots, name: &str) -> Vec<String> {
    in_use_with(roots, &KernelFiles, name)
}

/// Returns the result of [`in_use`] for several devices, in their order; scans processes only once.
pub fn in_use_each(roots: &Roots, names: &[String]) -> Vec<Vec<String>> {
    let mut search = Search::new(roots, &KernelFiles);
    let names = names.iter();
    names.map(|name| search.uses_of(name)).collect()
}

fn in_use_with(roots: &Roots, files: &dyn Files, name: &str) -> Vec<String> {
    Search::new(roots, files).uses_of(name)
}

/// Reason for a use that shows only when the device is opened.
const HELD: &str = "is held by another program or mounted in another namespace";

/// Search for uses; results are collected in `reasons`.
struct Search<'a> {
    roots: &'a Roots,
    files: &'a dyn Files,
    mounts: Vec<MountEntry>,
    /// Swap files and devices, or the error of reading them, which counts against every device.
    swaps: Result<Vec<String>, String>,
    openers: Vec<Opener>,
    /// Devices already checked: several paths may lead to one holder.
    seen: Vec<String>,
    /// The requested device and the devices below it that were checked: each uses the next, which
    /// is not a use by others.
    path: Vec<String>,
    reasons: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(roots: &'a Roots, files: &'a dyn Files) -> Self {
        Self {
            roots,
            files,
            mounts: mounts::read(roots).unwrap_or_default(),
            swaps: swaps(roots).map_err(|error| error.to_string()),
            openers: openers::lasting_writers(roots, files, &[process::id(), parent_id()]),
            seen: Vec::new(),
            path: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// Returns all reasons against writing the device of that name.
    fn uses_of(&mut self, name: &str) -> Vec<String> {
        let Some(device) = Device::named(self.roots, name) else {
            return vec![format!("/sys shows no block device {name}")];
        };
        self.begin(name);
        self.whole(&device);
        std::mem::take(&mut self.reasons)
    }

    /// Collects the uses of a device that may be written anywhere.
    fn whole(&mut self, device: &Device) {
        self.read_only(device);
        self.with_partitions(device);
        if let Some(disk) = device.parent_disk(self.roots) {
            self.read_only(&disk);
            self.alone(&disk);
        }
        self.beneath(device);
    }

    /// Resets the state for a device, and adds the reasons that apply to every device.
    fn begin(&mut self, name: &str) {
        self.seen.clear();
        self.path.clear();
        self.reasons.clear();
        if self.mounts.is_empty() {
            self.reasons.push(format!(
                "whether {name} is mounted is not known: /proc/self/mountinfo cannot be read"
            ));
        }
        if let Err(error) = &self.swaps {
            self.reasons.push(format!(
                "whether {name} is swap space is not known: /proc/swaps cannot be read ({error})"
            ));
        }
    }

    fn with_partitions(&mut self, device: &Device) {
        self.alone(device);
        for partition in device.partitions() {
            if let Some(partition) = Device::named(self.roots, &partition) {
                self.alone(&partition);
            }
        }
    }

    /// Collects the uses of one device, and of the devices made of it.
    fn alone(&mut self, device: &Device) {
        if self.unless_seen(device) {
            self.held(device);
        }
    }

    /// Collects the uses of one device except by its holders. Returns `false` if it was already
    /// checked.
    fn unless_seen(&mut self, device: &Device) -> bool {
        if self.seen.contains(&device.name) {
            return false;
        }
        self.seen.push(device.name.clone());
        self.mounted(device);
        self.swap(device);
        self.spread(device);
        self.under_loop(device);
        self.open(device);
        true
    }

    fn read_only(&mut self, device: &Device) {
        if attr::flag(&device.dir.join("ro")) == Some(true) {
            self.reasons.push(format!("{} is read-only", device.name));
        }
    }

    fn mounted(&mut self, device: &Device) {
        let points: Vec<String> = self
            .mounts
            .iter()
            .filter(|entry| {
                entry.device == device.number
                    || (entry.device.is_anonymous()
                        && self.leads_to(Path::new(&entry.mount.source), device))
            })
            .map(|entry| entry.mount.point.display().to_string())
            .collect();
        if !points.is_empty() {
            let points = points.join(", ");
            self.reasons
                .push(format!("{} is mounted on {points}", device.name));
        }
    }

    fn swap(&mut self, device: &Device) {
        let mut swaps = self.swaps.iter().flatten();
        if swaps.any(|file| self.leads_to(Path::new(file), device)) {
            self.reasons
                .push(format!("{} is in use as swap space", device.name));
        }
    }

    /// Finds file systems on several devices: mountinfo names only one of them as the source.
    fn spread(&mut self, device: &Device) {
        for entry in &self.mounts {
            let mount = &entry.mount;
            let options = mount.super_options.iter();
            let mut xfs = options.filter_map(|option| {
                let (name, path) = option.split_once('=')?;
                let part = match name {
                    "logdev" => "the log",
                    "rtdev" => "the realtime device",
                    _ => return None,
                };
                self.leads_to(Path::new(path), device).then_some(part)
            });
            let part = match mount.fs_type.as_str() {
                "xfs" => xfs.next(),
                "f2fs" => Device::numbered(self.roots, entry.device).and_then(|first| {
                    let all = several::of_f2fs(self.roots, self.files, first);
                    let mut others = all.iter().skip(1);
                    others.any(|it| it.name == device.name).then_some("a part")
                }),
                _ => None,
            };
            self.reasons.extend(part.map(|part| {
                format!(
                    "{} is {part} of the {} file system mounted on {}",
                    device.name,
                    mount.fs_type,
                    mount.point.display()
                )
            }));
        }
        for (uuid, members) in several::file_systems(self.roots) {
            if members.contains(&device.name) {
                let name = &device.name;
                self.reasons.push(format!(
                    "{name} belongs to the mounted btrfs file system {uuid}"
                ));
            }
        }
    }

    fn held(&mut self, device: &Device) {
        for name in device.holders() {
            // This holder is another path to a disk below the requested device.
            if self.path.contains(&name) {
                continue;
            }
            let holder = Device::named(self.roots, &name);
            let use_ = match &holder {
                Some(holder) => holder_in_words(holder),
                None => format!("is used by {name}"),
            };
            self.reasons.push(format!("{} {use_}", device.name));
            if let Some(holder) = holder {
                self.with_partitions(&holder);
            }
        }
    }

    /// Finds loop devices on the device node; the kernel does not list them as holders.
    fn under_loop(&mut self, device: &Device) {
        for on_top in loops(self.roots) {
            let file = on_top.backing_file();
            let is_on = file.is_some_and(|file| self.leads_to(&file, device));
            if is_on && !self.path.contains(&on_top.name) {
                self.reasons
                    .push(format!("{} backs {}", device.name, on_top.name));
                self.with_partitions(&on_top);
            }
        }
    }

    fn open(&mut self, device: &Device) {
        let openers = self.openers.iter();
        let programs: Vec<String> = openers
            .filter(|opener| opener.device == device.number)
            .map(|opener| {
                let name = opener.name.as_deref().unwrap_or("a program");
                format!("{name} (pid {})", opener.pid)
            })
            .collect();
        if !programs.is_empty() {
            let programs = programs.join(", ");
            self.reasons
                .push(format!("{} is open in {programs}", device.name));
        }
    }

    /// `true` if a path is a node of the device. A node that is missing or not visible is matched
    /// by its name.
    fn leads_to(&self, path: &Path, device: &Device) -> bool {
        if !path.is_absolute() {
            return false;
        }
        match self.files.look(path) {
            Ok(found) => found.kind == FileKind::BlockDevice(device.number),
            Err(_) => path.strip_prefix("/dev").is_ok_and(|rest| {
                let name = rest.to_string_lossy();
                name.strip_suffix(" (deleted)").unwrap_or(&name) == device.name
            }),
        }
    }
}

/// Describes how a holder uses the device below it.
fn holder_in_words(holder: &Device) -> String {
    let name = &holder.name;
    let dm = |attribute: &str| attr::text(&holder.dir.join("dm").join(attribute));
    if let Some(volume) = dm("name") {
        let kind = match dm("uuid").as_deref().and_then(|uuid| uuid.split_once('-')) {
            Some(("LVM", _)) => "the LVM volume",
            Some(("CRYPT", _)) => "the encrypted volume",
            Some(("mpath", _)) => "the multipath device",
            _ => "the device-mapper volume",
        };
        format!("is part of {kind} {volume} ({name})")
    } else if let Some(level) = attr::text(&holder.dir.join("md/level")) {
        format!("is a member of the {level} array {name}")
    } else {
        format!("is used by {name}")
    }
}

/// Returns files and devices of `/proc/swaps`; a kernel without swap has no such file.
fn swaps(roots: &Roots) -> io::Result<Vec<String>> {
    let text = match attr::whole(&roots.proc.join("swaps")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    let lines = text.lines().skip(1);
    Ok(lines
        .filter_map(|line| line.split_whitespace().next())
        .map(mounts::unescaped)
        .collect())
}

#[cfg(test)]
mod tests;
