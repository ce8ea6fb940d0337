//! Kernel information about main memory: caches, nodes, huge pages, free memory, and physical
//! locations of this process's pages.

use crate::checkup::{hypervisor, memory_room};
use crate::roots::Roots;
use crate::system::throttled;
use crate::{attr, snapshot};
use assay_model::act::memory::{Cache, Machine};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of an entry of `/proc/self/pagemap`.
const ENTRY: usize = 8;
/// Fields of a pagemap entry: the bit of a present page, and the mask of its frame number
/// (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// Describes the memory of this machine, for a process that may run on these CPUs.
pub fn machine(roots: &Roots, cpus: Vec<u32>) -> Machine {
    let counters = snapshot::memory(roots);
    let huge = roots.sys.join("kernel/mm/transparent_hugepage");
    Machine {
        caches: caches(roots, &cpus),
        nodes: nodes(roots),
        huge_pages: attr::text(&huge.join("enabled"))
            .and_then(|text| Some(attr::bracketed(&text)?.to_owned())),
        huge_page_bytes: attr::number(&huge.join("hpage_pmd_size")),
        total_bytes: counters.map(|counters| counters.total_bytes),
        available_bytes: counters.and_then(|counters| counters.available_bytes),
        group_bytes: memory_room(roots),
        throttled: throttled(roots),
        running: running(roots),
        hypervisor: hypervisor(roots),
        cpus,
    }
}

/// Returns the data and unified caches of the first CPU, with their number over all CPUs
/// (Documentation/ABI/testing/sysfs-devices-system-cpu).
fn caches(roots: &Roots, cpus: &[u32]) -> Vec<Cache> {
    let of_cpu = |cpu: u32| roots.sys.join(format!("devices/system/cpu/cpu{cpu}/cache"));
    let Some(&first) = cpus.first() else {
        return Vec::new();
    };
    let mut caches: Vec<Cache> = Vec::new();
    for name in attr::entries(&of_cpu(first)) {
        let Some(cache) = cache(&of_cpu(first).join(&name)) else {
            continue;
        };
        // A cache is identified by the CPUs that share it.
        let shares = |&cpu: &u32| attr::text(&of_cpu(cpu).join(&name).join("shared_cpu_list"));
        let different: BTreeSet<String> = cpus.iter().filter_map(shares).collect();
        let count = u32::try_from(different.len()).unwrap_or(u32::MAX).max(1);
        caches.push(Cache { count, ..cache });
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(folder: &Path) -> Option<Cache> {
    if attr::text(&folder.join("type"))? == "Instruction" {
        return None;
    }
    let size = attr::text(&folder.join("size"))?;
    let (number, unit) = match size.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (size.strip_suffix('M')?, 1 << 20),
    };
    Some(Cache {
        level: attr::number(&folder.join("level"))?,
        bytes: number.parse::<u64>().ok()?.checked_mul(unit)?,
        count: 1,
        line_bytes: attr::number(&folder.join("coherency_line_size")),
    })
}

fn nodes(roots: &Roots) -> Option<u32> {
    let nodes = attr::numbered_entries(&roots.sys.join("devices/system/node"), "node");
    u32::try_from(nodes.len()).ok().filter(|nodes| *nodes > 0)
}

/// Returns the processes that run or wait for a CPU (`/proc/loadavg`: `0.5 0.6 0.7 2/345 6789`).
fn running(roots: &Roots) -> Option<u32> {
    let text = attr::text(&roots.proc.join("loadavg"))?;
    let (running, _) = text.split_whitespace().nth(3)?.split_once('/')?;
    running.parse().ok()
}

/// Returns the bytes of this process between two addresses that are in huge pages
/// (`/proc/self/smaps`); `None` when the kernel does not report them.
pub fn huge_bytes(roots: &Roots, from: u64, to: u64) -> Option<u64> {
    let text = attr::whole(&roots.proc.join("self/smaps")).ok()?;
    let (mut bytes, mut within) = (None, false);
    for line in text.lines() {
        if let Some((start, end)) = range(line) {
            within = start < to && end > from;
        } else if let (true, Some(rest)) = (within, line.strip_prefix("AnonHugePages:")) {
            let kibibytes: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
            bytes = Some(bytes.unwrap_or(0) + 1024 * kibibytes);
        }
    }
    // The mapping may extend beyond the range.
    bytes.map(|bytes: u64| bytes.min(to.saturating_sub(from)))
}

/// Parses the addresses of a mapping: `7f00a000-7f00b000 rw-p ...`.
fn range(line: &str) -> Option<(u64, u64)> {
    let (range, _) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some((hex(start)?, hex(end)?))
}

/// Returns the physical address of an address of this process. The kernel shows it to root only;
/// other users read 0.
pub fn physical(roots: &Roots, address: u64) -> Option<u64> {
    let page = rustix::param::page_size() as u64;
    let map = File::open(roots.proc.join("self/pagemap")).ok()?;
    let mut entry = [0; ENTRY];
    map.read_exact_at(&mut entry, address / page * ENTRY as u64)
        .ok()?;
    let entry = u64::from_ne_bytes(entry);
    let frame = entry & FRAME;
    (entry & PRESENT != 0 && frame != 0).then(|| frame * page + address % page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine as Files;

    #[test]
    fn caches_are_counted_by_who_shares_them() {
        let files = Files::new();
        for cpu in 0..4 {
            let cache = |index: u32, level: u32, kind: &str, size: &str, shared: &str| {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
                files.file(&format!("{folder}/level"), &format!("{level}\n"));
                files.file(&format!("{folder}/type"), &format!("{kind}\n"));
                files.file(&format!("{folder}/size"), &format!("{size}\n"));
                files.file(&format!("{folder}/coherency_line_size"), "64\n");
                files.file(&format!("{folder}/shared_cpu_list"), &format!("{shared}\n"));
            };
            cache(0, 1, "Data", "32K", &cpu.to_string());
            cache(1, 1, "Instruction", "32K", &cpu.to_string());
            cache(2, 2, "Unified", "1M", if cpu < 2 { "0-1" } else { "2-3" });
        }
        let machine = machine(&files.roots, vec![0, 1, 2, 3]);
        let found: Vec<_> = machine
            .caches
            .iter()
            .map(|cache| (cache.level, cache.bytes, cache.count))
            .collect();
        assert_eq!(found, [(1, 32 << 10, 4), (2, 1 << 20, 2)]);
        assert_eq!(machine.last_level_bytes(), Some(2 << 20));
    }

    #[test]
    fn huge_pages_are_counted_in_the_mappings_asked_for() {
        let files = Files::new();
        files.file(
            "proc/self/smaps",
            "1000-2000 rw-p 00000000 00:00 0 \nSize: 4 kB\nAnonHugePages:      2 kB\n\
             200000-a00000 rw-p 00000000 00:00 0 \nAnonHugePages:   4096 kB\n",
        );
        assert_eq!(
            huge_bytes(&files.roots, 0x40_0000, 0xa0_0000),
            Some(4 << 20)
        );
        assert_eq!(huge_bytes(&files.roots, 0xb0_0000, 0xc0_0000), None);
    }

    #[test]
    fn a_kernel_that_tells_nothing_leaves_all_unknown() {
        let files = Files::new();
        let nothing = Machine::default();
        assert_eq!(machine(&files.roots, Vec::new()), nothing);
        assert_eq!(physical(&files.roots, 4096), None);
    }

    #[test]
    fn the_policy_of_huge_pages_is_the_word_in_brackets() {
        let bracketed = attr::bracketed;
        assert_eq!(bracketed("always [madvise] never"), Some("madvise"));
        assert_eq!(bracketed("always"), None);
    }
}
