//! Processes that have a block device open for writing.

use crate::attr;
use crate::device::DeviceNumber;
use crate::files::{BETWEEN_LOOKS, Files, LOOKS};
use crate::roots::Roots;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// `O_ACCMODE` and `O_PATH` of `fcntl.h`, the same on all architectures.
const ACCESS_MODE: u32 = 0o3;
const PATH_ONLY: u32 = 0o10_000_000;

/// A process that can write a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opener {
    pub(crate) device: DeviceNumber,
    pub(crate) pid: u32,
    /// Name of the process, if it can be read.
    pub(crate) name: Option<String>,
}

/// Returns the [`writers`] that persist for about half a second.
pub(crate) fn lasting_writers(roots: &Roots, files: &dyn Files, own_pids: &[u32]) -> Vec<Opener> {
    lasting(|| writers(roots, files, own_pids), BETWEEN_LOOKS)
}

/// Returns the entries found by each of [`LOOKS`] scans; stops early if none remain.
fn lasting(mut look: impl FnMut() -> Vec<Opener>, pause: Duration) -> Vec<Opener> {
    let mut found = look();
    for _ in 1..LOOKS {
        if found.is_empty() {
            break;
        }
        thread::sleep(pause);
        let now = look();
        found.retain(|opener| {
            let mut all = now.iter();
            all.any(|other| (other.pid, other.device) == (opener.pid, opener.device))
        });
    }
    found
}

/// Returns all processes except `own_pids` that have a block device open for writing, by device
/// number. Processes that only read it, such as udev, are left out.
///
/// Descriptors of other users' processes are visible to root only.
fn writers(roots: &Roots, files: &dyn Files, own_pids: &[u32]) -> Vec<Opener> {
    let names = attr::entries(&roots.proc).into_iter();
    let mut pids: Vec<u32> = names
        .filter_map(|name| attr::numbered(&name, ""))
        .filter(|pid| !own_pids.contains(pid))
        .collect();
    pids.sort_unstable();
    let mut found = Vec::new();
    for pid in pids {
        let folder = roots.proc.join(pid.to_string());
        for device in written_by(&folder, files) {
            found.push(Opener {
                device,
                pid,
                name: attr::text(&folder.join("comm")),
            });
        }
    }
    found
}

/// Returns the devices that a process may write, without duplicates.
fn written_by(folder: &Path, files: &dyn Files) -> Vec<DeviceNumber> {
    let mut devices = Vec::new();
    for descriptor in attr::entries(&folder.join("fd")) {
        let open = folder.join("fd").join(&descriptor);
        let Some(device) = files.block_device(&open) else {
            continue;
        };
        let for_writing = may_write(&folder.join("fdinfo").join(&descriptor));
        if for_writing && !devices.contains(&device) {
            devices.push(device);
        }
    }
    devices
}

/// Reads `flags:` of proc_pid_fdinfo(5), which is octal. A missing value counts as writing.
fn may_write(info: &Path) -> bool {
    let flags = attr::whole(info).ok().and_then(|text| {
        let octal = attr::value_after(&text, "flags:")?;
        u32::from_str_radix(octal, 8).ok()
    });
    flags.is_none_or(|flags| flags & ACCESS_MODE != 0 && flags & PATH_ONLY == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Machine, MadeUp};

    fn found(machine: &Machine, own: &[u32]) -> Vec<(String, u32)> {
        let files = MadeUp::default()
            .node("/dev/sdb", "8:16")
            .node("/srv/node", "8:16");
        let openers = writers(&machine.roots, &files, own);
        let seen = openers.into_iter();
        seen.map(|opener| (opener.device.to_string(), opener.pid))
            .collect()
    }

    #[test]
    fn writers_are_found_under_whatever_name_and_readers_are_not() {
        let machine = Machine::new();
        machine.descriptor(100, 3, "/dev/sdb", "0100002");
        machine.descriptor(200, 3, "/dev/sdb", "0100000"); // O_RDONLY
        machine.descriptor(300, 3, "/srv/node", "0100001");
        machine.descriptor(300, 4, "/srv/node", "0100001"); // A second time.
        machine.descriptor(400, 3, "/dev/sdb", "012000002"); // O_PATH
        machine.descriptor(500, 3, "/home/file", "0100002");
        machine.descriptor(600, 3, "socket:[17]", "02");
        let expected = [("8:16".to_owned(), 100), ("8:16".to_owned(), 300)];
        assert_eq!(found(&machine, &[]), expected);
        assert_eq!(found(&machine, &[100]), expected[1..]);
    }

    #[test]
    fn what_does_not_tell_its_flags_counts_as_writing() {
        let machine = Machine::new();
        machine.descriptor(100, 3, "/dev/sdb", "octal");
        assert_eq!(found(&machine, &[]).len(), 1);
        machine.remove("proc/100/fdinfo/3");
        assert_eq!(found(&machine, &[]).len(), 1);
    }

    #[test]
    fn a_passer_by_does_not_count() {
        let opener = |pid| Opener {
            device: "8:16".parse().unwrap(),
            pid,
            name: None,
        };
        let mut looks = vec![vec![opener(1), opener(2)]; LOOKS];
        looks[LOOKS - 1].remove(0);
        let mut next = looks.clone().into_iter();
        let found = lasting(|| next.next().unwrap(), Duration::ZERO);
        assert_eq!(found, [opener(2)]);
        // A third look would panic.
        let mut gone = vec![vec![opener(1)], Vec::new()].into_iter();
        assert_eq!(lasting(|| gone.next().unwrap(), Duration::ZERO), []);
    }
}
