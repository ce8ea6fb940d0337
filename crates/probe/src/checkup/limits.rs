//! Limits of control groups: version 2 (Documentation/admin-guide/cgroup-v2.rst), and the memory
//! controller of version 1.

use crate::attr;
use crate::roots::Roots;
use assay_model::checkup::Limits;
use std::path::{Path, PathBuf};

/// Smallest value read as "no limit". Version 1 shows the largest number of whole pages if there is
/// no limit.
const NO_LIMIT: u64 = 1 << 62;

/// Returns the tightest limits of this process's group and its ancestors.
pub(super) fn limits(roots: &Roots) -> Limits {
    let mounted = roots.sys.join("fs/cgroup");
    let mut found = Limits::default();
    for (controllers, path) in own_groups(roots) {
        match controllers.as_str() {
            "" => unified(&mounted, &path, &mut found),
            "memory" => {
                let folders = upward(&mounted.join("memory"), &path);
                let limits = folders
                    .iter()
                    .filter_map(|folder| attr::number(&folder.join("memory.limit_in_bytes")));
                found.memory_bytes = tightest(limits.filter(|limit| *limit < NO_LIMIT));
            }
            _ => {}
        }
    }
    found
}

/// Returns the memory that this process's group and its ancestors may still allocate. Inactive
/// cached pages count as free, because the kernel reclaims them first.
pub(crate) fn memory_room(roots: &Roots) -> Option<u64> {
    let mounted = roots.sys.join("fs/cgroup");
    let rooms = own_groups(roots)
        .into_iter()
        .flat_map(|(controllers, path)| {
            let (folders, [limit, usage, cached]) = match controllers.as_str() {
                "" => (
                    upward(&mounted, &path),
                    ["memory.max", "memory.current", "inactive_file "],
                ),
                "memory" => (
                    upward(&mounted.join("memory"), &path),
                    [
                        "memory.limit_in_bytes",
                        "memory.usage_in_bytes",
                        "total_inactive_file ",
                    ],
                ),
                _ => return Vec::new(),
            };
            let room = |folder: &PathBuf| {
                let limit: u64 = attr::number(&folder.join(limit))?;
                let usage: u64 = attr::number(&folder.join(usage))?;
                let stat = attr::whole(&folder.join("memory.stat")).unwrap_or_default();
                let cached = attr::value_after(&stat, cached).and_then(|bytes| bytes.parse().ok());
                let used = usage.saturating_sub(cached.unwrap_or(0));
                (limit < NO_LIMIT).then(|| limit.saturating_sub(used))
            };
            folders.iter().filter_map(room).collect()
        });
    rooms.min()
}

/// Returns controllers and path of each group of this process: `0::/path` of version 2,
/// `4:memory:/path` of version 1.
fn own_groups(roots: &Roots) -> Vec<(String, String)> {
    let groups = attr::whole(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let split = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    groups.lines().filter_map(split).collect()
}

fn unified(mounted: &Path, path: &str, found: &mut Limits) {
    let folders = upward(mounted, path);
    let limits = folders
        .iter()
        .filter_map(|folder| attr::number(&folder.join("memory.max")));
    found.memory_bytes = tightest(limits);
    let cpus = folders.iter().filter_map(|folder| cpus(folder));
    found.cpus = cpus.reduce(f64::min);
    let io = folders
        .iter()
        .filter_map(|folder| attr::text(&folder.join("io.max")));
    found.io = io
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
}

fn tightest(limits: impl Iterator<Item = u64>) -> Option<u64> {
    limits.min()
}

/// Reads `cpu.max`: `max 100000`, or a share of the time such as `50000 100000`.
fn cpus(folder: &Path) -> Option<f64> {
    let text = attr::text(&folder.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

/// Returns the folder of a group and its ancestors. The path of a group outside the visible
/// hierarchy begins with `/..`.
fn upward(mounted: &Path, path: &str) -> Vec<PathBuf> {
    let inside = Path::new(path.trim_start_matches('/'));
    let escapes = path.contains("..");
    let inside = if escapes { Path::new("") } else { inside };
    let ancestors = inside.ancestors();
    ancestors.map(|part| mounted.join(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    #[test]
    fn the_tightest_limit_of_all_groups_counts() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "0::/a.slice/b.scope\n");
        let files = [
            ("a.slice/b.scope/memory.max", "max\n"),
            ("a.slice/memory.max", "1073741824\n"),
            ("a.slice/b.scope/cpu.max", "50000 100000\n"),
            ("a.slice/cpu.max", "max 100000\n"),
            (
                "a.slice/io.max",
                "8:0 rbps=1048576 wbps=max riops=max wiops=max\n",
            ),
        ];
        machine.files("sys/fs/cgroup", &files);
        let found = limits(&machine.roots);
        assert_eq!(found.memory_bytes, Some(1 << 30));
        assert_eq!(found.cpus, Some(0.5));
        assert_eq!(found.io.len(), 1);
    }

    #[test]
    fn version_1_shows_no_limit_as_a_huge_one() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n");
        let file = "sys/fs/cgroup/memory/x/memory.limit_in_bytes";
        machine.file(file, "9223372036854771712\n");
        assert_eq!(limits(&machine.roots).memory_bytes, None);
        machine.file(file, "536870912\n");
        assert_eq!(limits(&machine.roots).memory_bytes, Some(512 << 20));
    }

    #[test]
    fn the_narrowest_group_leaves_the_least_room() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "0::/a/b\n");
        let files = [
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "5\n"),
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "300\n"),
            ("a/memory.stat", "anon 5\ninactive_file 100\n"),
        ];
        machine.files("sys/fs/cgroup", &files);
        assert_eq!(memory_room(&machine.roots), Some(800));
    }

    #[test]
    fn version_1_leaves_room_in_other_words() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "7:memory:/x\n");
        let files = [
            ("x/memory.limit_in_bytes", "900\n"),
            ("x/memory.usage_in_bytes", "100\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.usage_in_bytes", "100\n"),
        ];
        machine.files("sys/fs/cgroup/memory", &files);
        assert_eq!(memory_room(&machine.roots), Some(800));
    }

    #[test]
    fn a_group_outside_of_what_is_seen_is_not_followed() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "0::/../../other\n");
        machine.file("sys/fs/cgroup/memory.max", "4096\n");
        assert_eq!(limits(&machine.roots).memory_bytes, Some(4096));
    }
}
