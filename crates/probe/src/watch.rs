//! The counters that `free`, `vmstat` and `iostat` show, read together.

use crate::attr;
use crate::counters::disk_stat;
use crate::devices::{Device, is_hidden};
use crate::roots::Roots;
use assay_model::act::watch::{DiskCounters, Memory, Paging, Processor};

/// Reads the memory of the system; lines are in units of 1024 bytes (proc_meminfo(5)). `None` if a
/// line is missing that all kernels have.
pub fn memory(roots: &Roots) -> Option<Memory> {
    let text = attr::whole(&roots.proc.join("meminfo")).ok()?;
    let bytes = |key| attr::kibibytes_after(&text, key);
    Some(Memory {
        total_bytes: bytes("MemTotal:")?,
        free_bytes: bytes("MemFree:")?,
        available_bytes: bytes("MemAvailable:"),
        buffers_bytes: bytes("Buffers:")?,
        cached_bytes: bytes("Cached:")?,
        slab_reclaimable_bytes: bytes("SReclaimable:")?,
        shared_bytes: bytes("Shmem:"),
        swap_used_bytes: bytes("SwapTotal:")?.checked_sub(bytes("SwapFree:")?)?,
        dirty_bytes: bytes("Dirty:")?,
        writeback_bytes: bytes("Writeback:")?,
    })
}

/// Reads the paging counters since boot. `pgpgin` and `pgpgout` count in units of 1024 bytes,
/// `pswpin` and `pswpout` in pages (`mm/vmstat.c`; a kernel without swap has none).
pub fn paging(roots: &Roots) -> Option<Paging> {
    let text = attr::whole(&roots.proc.join("vmstat")).ok()?;
    let number = |key| -> Option<u64> { attr::value_after(&text, key)?.parse().ok() };
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    let pages = |key| number(key).unwrap_or(0).checked_mul(page);
    Some(Paging {
        in_bytes: number("pgpgin ")?.checked_mul(1024)?,
        out_bytes: number("pgpgout ")?.checked_mul(1024)?,
        swap_in_bytes: pages("pswpin ")?,
        swap_out_bytes: pages("pswpout ")?,
    })
}

/// Reads times and counts since boot (proc_stat(5)). Kernels before 2.6.33 have no column for
/// guests.
pub fn processor(roots: &Roots) -> Option<Processor> {
    let text = attr::whole(&roots.proc.join("stat")).ok()?;
    let times: Vec<u64> = attr::value_after(&text, "cpu ")?
        .split_whitespace()
        .map(|time| time.parse().ok())
        .collect::<Option<_>>()?;
    let time = |index: usize| times.get(index).copied();
    let number = |key| -> Option<u64> {
        let line = attr::value_after(&text, key)?;
        line.split_whitespace().next()?.parse().ok()
    };
    let guests = |index| time(index).unwrap_or(0);
    Some(Processor {
        user: time(0)?,
        nice: time(1)?,
        system: time(2)?,
        idle: time(3)?,
        iowait: time(4)?,
        irq: time(5)?,
        softirq: time(6)?,
        steal: time(7)?,
        guest: guests(8).checked_add(guests(9))?,
        interrupts: number("intr ")?,
        context_switches: number("ctxt ")?,
        running: number("procs_running ")?,
        blocked: number("procs_blocked ")?,
    })
}

/// Returns the longest time, in nanoseconds, that a dirty page waits until the kernel begins to
/// write it: the age at which it is due, plus the kernel's wake-up interval
/// (Documentation/admin-guide/sysctl/vm.rst). `None` if periodic writeback is switched off.
pub fn dirty_page_age_ns(roots: &Roots) -> Option<u64> {
    let folder = roots.proc.join("sys/vm");
    let centiseconds = |name: &str| -> Option<u64> {
        attr::number(&folder.join(name)).filter(|centiseconds| *centiseconds > 0)
    };
    let age = centiseconds("dirty_expire_centisecs")?;
    let look = centiseconds("dirty_writeback_centisecs")?;
    age.checked_add(look)?.checked_mul(10_000_000)
}

/// Returns the block devices of the machine by their kernel names. Devices of size 0, such as a
/// loop device without a file, and hidden paths are left out.
pub fn devices(roots: &Roots) -> Vec<String> {
    let names = attr::entries(&roots.sys.join("class/block")).into_iter();
    let size = |name: &String| attr::number::<u64>(&roots.block(name).join("size"));
    names
        .filter(|name| size(name).is_some_and(|size| size > 0) && !is_hidden(&roots.block(name)))
        .collect()
}

/// Returns the block devices that are whole disks, not partitions.
pub fn disks(roots: &Roots) -> Vec<String> {
    let is_part = |name: &String| roots.block(name).join("partition").exists();
    let names = devices(roots).into_iter();
    names.filter(|name| !is_part(name)).collect()
}

/// `true` if a block device of that kernel name exists.
pub fn is_device(roots: &Roots, name: &str) -> bool {
    Device::named(roots, name).is_some()
}

/// Reads the counters of one device; `None` when they cannot be read.
pub fn disk(roots: &Roots, name: &str) -> Option<DiskCounters> {
    Some(DiskCounters {
        unwritten_bytes: unwritten(roots, name),
        ..disk_stat(roots, name)?
    })
}

/// Returns the dirty pages of one disk and those being written (`mm/backing-dev.c`). Requires
/// debugfs and permission to read it. File systems on several devices count theirs elsewhere, and a
/// partition has no counter.
fn unwritten(roots: &Roots, name: &str) -> Option<u64> {
    let number = attr::text(&roots.block(name).join("dev"))?;
    let file = roots.sys.join("kernel/debug/bdi").join(number);
    let text = attr::whole(&file.join("stats")).ok()?;
    let dirty = attr::kibibytes_after(&text, "BdiReclaimable:")?;
    dirty.checked_add(attr::kibibytes_after(&text, "BdiWriteback:")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    const MEMINFO: &str = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\n\
        Buffers: 7 kB\nCached: 200 kB\nSwapCached: 9 kB\nSwapTotal: 50 kB\nSwapFree: 30 kB\n\
        Dirty: 3 kB\nWriteback: 2 kB\nShmem: 5 kB\nSReclaimable: 11 kB\n";

    #[test]
    fn meminfo_is_read_in_bytes() {
        let machine = Machine::new();
        machine.file("proc/meminfo", MEMINFO);
        let seen = memory(&machine.roots).unwrap();
        assert_eq!(seen.swap_used_bytes, 20 * 1024);
        assert_eq!(seen.unwritten_bytes(), 5 * 1024);
        assert_eq!(seen.slab_reclaimable_bytes, 11 * 1024);
        machine.file("proc/meminfo", &MEMINFO.replace("MemAvailable", "Other"));
        assert_eq!(memory(&machine.roots).unwrap().available_bytes, None);
        machine.file("proc/meminfo", &MEMINFO.replace("Dirty:", "Other:"));
        assert_eq!(memory(&machine.roots), None, "absent is not zero");
    }

    #[test]
    fn paging_counts_kibibytes_and_pages() {
        let machine = Machine::new();
        assert_eq!(paging(&machine.roots), None);
        machine.file(
            "proc/vmstat",
            "nr_dirty 5\npgpgin 10\npgpgout 20\npswpin 1\npswpout 2\npgpgouter 7\n",
        );
        let page = u64::try_from(rustix::param::page_size()).unwrap();
        let seen = paging(&machine.roots).unwrap();
        assert_eq!((seen.in_bytes, seen.out_bytes), (10_240, 20_480));
        assert_eq!((seen.swap_in_bytes, seen.swap_out_bytes), (page, 2 * page));
    }

    #[test]
    fn processor_times_are_those_of_all_processors() {
        let machine = Machine::new();
        machine.file(
            "proc/stat",
            "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 9 9 9 9 9 9 9 9 9 9\nintr 77 1 2 3\nctxt 88\nbtime 1\n\
             processes 5\nprocs_running 2\nprocs_blocked 1\n",
        );
        let seen = processor(&machine.roots).unwrap();
        assert_eq!((seen.user, seen.iowait, seen.steal), (1, 5, 8));
        assert_eq!((seen.guest, seen.interrupts), (19, 77));
        assert_eq!(
            (seen.context_switches, seen.running, seen.blocked),
            (88, 2, 1)
        );
    }

    #[test]
    fn a_page_is_written_when_it_is_old_and_somebody_looks() {
        let machine = Machine::new();
        machine.file("proc/sys/vm/dirty_expire_centisecs", "3000\n");
        assert_eq!(dirty_page_age_ns(&machine.roots), None);
        machine.file("proc/sys/vm/dirty_writeback_centisecs", "500\n");
        assert_eq!(dirty_page_age_ns(&machine.roots), Some(35_000_000_000));
        machine.file("proc/sys/vm/dirty_writeback_centisecs", "0\n");
        assert_eq!(dirty_page_age_ns(&machine.roots), None, "switched off");
    }

    #[test]
    fn disks_are_whole_and_have_a_size() {
        let machine = Machine::new();
        machine.disk("platform/block/sda", "8:0", 100);
        machine.partition("platform/block/sda", "sda1", "8:1", 50);
        machine.disk("virtual/block/loop0", "7:0", 0);
        assert_eq!(disks(&machine.roots), ["sda"]);
        assert!(is_device(&machine.roots, "sda1") && !is_device(&machine.roots, "sdb"));
        assert_eq!(disk(&machine.roots, "sda").unwrap().unwritten_bytes, None);
        machine.file(
            "sys/kernel/debug/bdi/8:0/stats",
            "BdiWriteback:       4 kB\nBdiReclaimable:     16 kB\nBdiDirtyThresh:  9 kB\n",
        );
        let seen = disk(&machine.roots, "sda").unwrap();
        assert_eq!(seen.unwritten_bytes, Some(20 * 1024));
        assert_eq!((seen.read_merges, seen.queue_ms), (1, 1));
    }
}
