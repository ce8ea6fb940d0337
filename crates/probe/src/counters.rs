//! Counters and queue settings of block devices, and the counters that `free`, `vmstat` and `iostat`
//! show, read together.

use crate::attr;
use crate::device::{Device, SECTOR_BYTES, is_hidden};
use crate::roots::Roots;
use assay_model::act::watch::{DiskCounters, Memory, Paging, Processor};
use assay_model::evidence::{DeviceCounters, QueueSettings, WriteCache};
use assay_model::storage::Storage;

/// Reads the block layer's counters of a device, from `/sys/class/block/NAME/stat`
/// (Documentation/block/stat.rst); `None` when they cannot be read.
pub fn device_counters(roots: &Roots, name: &str) -> Option<DeviceCounters> {
    let text = attr::whole(&roots.block(name).join("stat")).ok()?;
    parse_stat(name, &text)
}

/// Reads all counters of a disk, except its dirty pages; `None` if they cannot be read.
pub fn disk_stat(roots: &Roots, name: &str) -> Option<DiskCounters> {
    let text = attr::whole(&roots.block(name).join("stat")).ok()?;
    let fields = numbers(&text)?;
    Some(DiskCounters {
        counters: parse_stat(name, &text)?,
        read_merges: *fields.get(1)?,
        write_merges: *fields.get(5)?,
        queue_ms: *fields.get(10)?,
        unwritten_bytes: None,
    })
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    let fields = text.split_whitespace();
    fields.map(|field| field.parse().ok()).collect()
}

/// Parses the 11 fields of all kernels, 15 with discards (4.18), or 17 with flushes (5.5).
fn parse_stat(name: &str, text: &str) -> Option<DeviceCounters> {
    let fields = numbers(text)?;
    let [
        read_ios,
        _read_merges,
        read_sectors,
        read_ms,
        write_ios,
        _write_merges,
        write_sectors,
        write_ms,
        in_flight,
        busy_ms,
        _queue_ms,
        newer @ ..,
    ] = fields.as_slice()
    else {
        return None;
    };
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    Some(DeviceCounters {
        name: name.to_owned(),
        read_ios: *read_ios,
        read_bytes: bytes(*read_sectors),
        read_ms: *read_ms,
        write_ios: *write_ios,
        write_bytes: bytes(*write_sectors),
        write_ms: *write_ms,
        in_flight: *in_flight,
        busy_ms: *busy_ms,
        discard_bytes: newer.get(2).copied().map(bytes),
        flush_ios: newer.get(4).copied(),
        flush_ms: newer.get(5).copied(),
    })
}

/// Reads the queue settings of every layer, in order. A partition has those of its disk, under its
/// own name; a layer that no longer exists has none.
pub fn queues(roots: &Roots, storage: &Storage) -> Vec<QueueSettings> {
    let layers = storage.layers.iter();
    layers
        .map(|layer| queue_settings(roots, &layer.name))
        .collect()
}

fn queue_settings(roots: &Roots, name: &str) -> QueueSettings {
    let unknown = QueueSettings {
        name: name.to_owned(),
        ..QueueSettings::default()
    };
    let Some(device) = Device::named(roots, name) else {
        return unknown;
    };
    let queue = device.disk_dir().join("queue");
    let (scheduler, schedulers) = attr::text(&queue.join("scheduler"))
        .map(|line| parse_schedulers(&line))
        .unwrap_or_default();
    QueueSettings {
        scheduler,
        schedulers,
        read_ahead_kib: attr::number(&queue.join("read_ahead_kb")),
        nr_requests: attr::number(&queue.join("nr_requests")),
        max_request_kib: attr::number(&queue.join("max_sectors_kb")),
        write_cache: match attr::text(&queue.join("write_cache")).as_deref() {
            Some("write back") => Some(WriteCache::Back),
            Some("write through") => Some(WriteCache::Through),
            _ => None,
        },
        fua: attr::flag(&queue.join("fua")),
        iostats: attr::flag(&queue.join("iostats")),
        ..unknown
    }
}

/// Returns the scheduler in force, which is in brackets, and all available ones. Devices without a
/// choice show `none` without brackets.
fn parse_schedulers(line: &str) -> (Option<String>, Vec<String>) {
    let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let offered: Vec<String> = line.split_whitespace().map(bare).collect();
    let only = (offered.len() == 1).then_some(line);
    let chosen = attr::bracketed(line).or(only);
    (chosen.map(str::to_owned), offered)
}

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
    use proptest::prelude::*;

    #[test]
    fn a_stat_of_kernel_3_10_has_no_discards_and_no_flushes() {
        let line = "  100 1 2000 10  50 2 4000 20  3 30 40\n";
        let counters = parse_stat("mmcblk0p2", line).unwrap();
        assert_eq!(counters.read_ios, 100);
        assert_eq!(counters.read_bytes, 2000 * 512);
        assert_eq!(counters.write_ios, 50);
        assert_eq!(counters.write_bytes, 4000 * 512);
        assert_eq!((counters.read_ms, counters.write_ms), (10, 20));
        assert_eq!((counters.in_flight, counters.busy_ms), (3, 30));
        assert_eq!(counters.discard_bytes, None);
        assert_eq!(counters.flush_ios, None);
    }

    #[test]
    fn merges_and_queue_time_are_those_of_their_fields() {
        let machine = Machine::new();
        machine.file("sys/class/block/sda/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
        let stat = disk_stat(&machine.roots, "sda").unwrap();
        let seen = (stat.read_merges, stat.write_merges, stat.queue_ms);
        assert_eq!(seen, (2, 6, 11));
        assert_eq!(stat.counters.busy_ms, 10);
        assert_eq!(disk_stat(&machine.roots, "sdb"), None);
    }

    #[test]
    fn newer_stats_add_discards_then_flushes() {
        let eleven = "1 1 1 1 1 1 1 1 1 1 1";
        let fifteen = parse_stat("x", &format!("{eleven} 5 0 8 2")).unwrap();
        assert_eq!(fifteen.discard_bytes, Some(8 * 512));
        assert_eq!(fifteen.flush_ios, None);
        let seventeen = parse_stat("x", &format!("{eleven} 5 0 8 2 7 9")).unwrap();
        assert_eq!(
            (seventeen.flush_ios, seventeen.flush_ms),
            (Some(7), Some(9))
        );
    }

    #[test]
    fn text_that_is_no_stat_gives_no_counters() {
        for text in ["", "1 2 3 4", "1 2 3 4 5 6 7 8 9 ten 11"] {
            assert_eq!(parse_stat("x", text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_stat_is_read_without_overflow(fields in proptest::collection::vec(any::<u64>(), 0..20)) {
            let text: Vec<String> = fields.iter().map(u64::to_string).collect();
            let counters = parse_stat("x", &text.join(" "));
            prop_assert_eq!(counters.is_some(), fields.len() >= 11);
        }
    }

    #[test]
    fn the_scheduler_in_force_is_the_one_in_brackets() {
        let parsed = parse_schedulers("none [mq-deadline] kyber");
        assert_eq!(parsed.0.as_deref(), Some("mq-deadline"));
        assert_eq!(parsed.1, ["none", "mq-deadline", "kyber"]);
        assert_eq!(parse_schedulers("none").0.as_deref(), Some("none"));
    }

    #[test]
    fn a_partition_shows_its_disks_queue_under_its_own_name() {
        let machine = Machine::new();
        machine.disk("platform/block/sda", "8:0", 100);
        machine.partition("platform/block/sda", "sda1", "8:1", 50);
        let queue = "sys/devices/platform/block/sda/queue";
        machine.file(&format!("{queue}/write_cache"), "write back\n");
        machine.file(&format!("{queue}/scheduler"), "[bfq] none\n");
        machine.file(&format!("{queue}/read_ahead_kb"), "128\n");
        let settings = queue_settings(&machine.roots, "sda1");
        assert_eq!(settings.name, "sda1");
        assert_eq!(settings.write_cache, Some(WriteCache::Back));
        assert_eq!(settings.scheduler.as_deref(), Some("bfq"));
        assert_eq!(settings.read_ahead_kib, Some(128));
        assert_eq!(settings.fua, None, "not shown is not false");
        assert_eq!(settings.iostats, None, "not shown is not false");
        machine.file(&format!("{queue}/iostats"), "0\n");
        assert_eq!(queue_settings(&machine.roots, "sda1").iostats, Some(false));
    }

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
