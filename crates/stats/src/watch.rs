//! The columns of `free`, `vmstat` and `iostat -x`, from raw counters.
//!
//! Formulas: free(1) and vmstat(8) of procps 4, iostat(1) of sysstat,
//! Documentation/admin-guide/iostats.rst. A counter that decreased belongs to a device that was
//! replaced meanwhile: it gives no figure.

use assay_model::act::watch::{DiskCounters, Memory, WatchSample};
use assay_model::units::as_f64;

/// Figures of `free`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// Total memory.
    pub total: u64,
    /// `MemTotal - MemAvailable`; `None` for a kernel before 3.14.
    pub used: Option<u64>,
    /// `MemFree`.
    pub free: u64,
    /// `Shmem`.
    pub shared: Option<u64>,
    /// `Buffers + Cached + SReclaimable`.
    pub buff_cache: u64,
    /// `MemAvailable`.
    pub available: Option<u64>,
}

/// Figures of `vmstat` between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VmStat {
    /// Runnable processes at the end.
    pub r: u64,
    /// Processes that waited for I/O at the end.
    pub b: u64,
    /// Swap in use at the end, bytes.
    pub swpd: u64,
    /// Free memory at the end, bytes.
    pub free: u64,
    /// Buffers at the end, bytes.
    pub buff: u64,
    /// `Cached + SReclaimable` at the end, bytes.
    pub cache: u64,
    /// Swapped in, bytes per second.
    pub si: f64,
    /// Swapped out, bytes per second.
    pub so: f64,
    /// Read from devices, bytes per second.
    pub bi: f64,
    /// Written to devices, bytes per second.
    pub bo: f64,
    /// Interrupts per second.
    pub interrupts: f64,
    /// Context switches per second.
    pub cs: f64,
    /// Shares of the processors' time.
    pub cpu: CpuShares,
}

/// Shares of the time of all processors, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// User mode at any priority, without guests.
    pub us: f64,
    /// Kernel, interrupts and soft interrupts.
    pub sy: f64,
    /// Idle.
    pub id: f64,
    /// Idle with I/O in flight.
    pub wa: f64,
    /// Taken by the hypervisor.
    pub st: f64,
    /// Running guests.
    pub gu: f64,
}

/// Figures of `iostat -x` for a device between two samples. A latency or size without any request
/// is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoStat {
    /// Reads.
    pub read: Requests,
    /// Writes.
    pub write: Requests,
    /// Bytes discarded per second (Linux 4.18).
    pub discarded: Option<f64>,
    /// Flushes per second (Linux 5.5).
    pub flushes: Option<f64>,
    /// Mean time of a flush, ms.
    pub flush_await_ms: Option<f64>,
    /// Mean number of requests in flight.
    pub aqu_sz: f64,
    /// Share of the time with a request in flight, 0 to 1.
    pub util: f64,
}

/// Requests of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// Completed per second (`r/s`, `w/s`).
    pub per_second: f64,
    /// Bytes per second (`rkB/s`, `wkB/s`).
    pub bytes: f64,
    /// Merged per second (`rrqm/s`, `wrqm/s`).
    pub merges: f64,
    /// Mean time of a request, ms (`r_await`, `w_await`).
    pub await_ms: Option<f64>,
    /// Mean size of a request, bytes (`rareq-sz`, `wareq-sz`).
    pub size: Option<f64>,
}

/// Computes the figures of `free`.
pub fn free(memory: &Memory) -> Free {
    let cache = memory.buffers_bytes.saturating_add(memory.cached_bytes);
    Free {
        total: memory.total_bytes,
        used: memory
            .available_bytes
            .and_then(|available| memory.total_bytes.checked_sub(available)),
        free: memory.free_bytes,
        shared: memory.shared_bytes,
        buff_cache: cache.saturating_add(memory.slab_reclaimable_bytes),
        available: memory.available_bytes,
    }
}

/// Seconds between two samples; `None` when no time has passed.
pub fn seconds(before: &WatchSample, after: &WatchSample) -> Option<f64> {
    let nanos = after.at_ns.checked_sub(before.at_ns)?;
    (nanos > 0).then(|| as_f64(nanos) / 1e9)
}

/// Computes the figures of `vmstat` for the time between two samples.
pub fn vmstat(before: &WatchSample, after: &WatchSample) -> Option<VmStat> {
    let seconds = seconds(before, after)?;
    let rate = |before: u64, after: u64| Some(as_f64(after.checked_sub(before)?) / seconds);
    let (memory, cpu) = (after.memory?, after.processor?);
    let (paged, paging) = (before.paging?, after.paging?);
    let was = before.processor?;
    Some(VmStat {
        r: cpu.running,
        b: cpu.blocked,
        swpd: memory.swap_used_bytes,
        free: memory.free_bytes,
        buff: memory.buffers_bytes,
        cache: memory
            .cached_bytes
            .saturating_add(memory.slab_reclaimable_bytes),
        si: rate(paged.swap_in_bytes, paging.swap_in_bytes)?,
        so: rate(paged.swap_out_bytes, paging.swap_out_bytes)?,
        bi: rate(paged.in_bytes, paging.in_bytes)?,
        bo: rate(paged.out_bytes, paging.out_bytes)?,
        interrupts: rate(was.interrupts, cpu.interrupts)?,
        cs: rate(was.context_switches, cpu.context_switches)?,
        cpu: cpu_shares(before, after)?,
    })
}

/// Returns the shares of the processors' time. Idle time can decrease for a moment (`get_idle_time`
/// of the kernel extrapolates): this counts as 0, as in `vmstat`.
fn cpu_shares(before: &WatchSample, after: &WatchSample) -> Option<CpuShares> {
    let (was, is) = (before.processor?, after.processor?);
    let since = |was: u64, is: u64| as_f64(is.saturating_sub(was));
    let guest = since(was.guest, is.guest);
    let user = since(was.user, is.user) + since(was.nice, is.nice);
    let system =
        since(was.system, is.system) + since(was.irq, is.irq) + since(was.softirq, is.softirq);
    let idle = since(was.idle, is.idle);
    let waiting = since(was.iowait, is.iowait);
    let stolen = since(was.steal, is.steal);
    let all = user + system + idle + waiting + stolen;
    (all > 0.0).then(|| CpuShares {
        us: (user - guest).max(0.0) / all,
        sy: system / all,
        id: idle / all,
        wa: waiting / all,
        st: stolen / all,
        gu: guest / all,
    })
}

/// Computes the figures of `iostat -x` for a device over `seconds` seconds.
pub fn iostat(before: &DiskCounters, after: &DiskCounters, seconds: f64) -> Option<IoStat> {
    let since = |was: u64, is: u64| Some(as_f64(is.checked_sub(was)?));
    let known = |was: Option<u64>, is: Option<u64>| since(was?, is?);
    let (was, is) = (&before.counters, &after.counters);
    let requests = |ios: f64, bytes: f64, ms: f64, merges: f64| Requests {
        per_second: ios / seconds,
        bytes: bytes / seconds,
        merges: merges / seconds,
        await_ms: (ios > 0.0).then(|| ms / ios),
        size: (ios > 0.0).then(|| bytes / ios),
    };
    let flushes = known(was.flush_ios, is.flush_ios);
    let flush_ms = known(was.flush_ms, is.flush_ms);
    Some(IoStat {
        read: requests(
            since(was.read_ios, is.read_ios)?,
            since(was.read_bytes, is.read_bytes)?,
            since(was.read_ms, is.read_ms)?,
            since(before.read_merges, after.read_merges)?,
        ),
        write: requests(
            since(was.write_ios, is.write_ios)?,
            since(was.write_bytes, is.write_bytes)?,
            since(was.write_ms, is.write_ms)?,
            since(before.write_merges, after.write_merges)?,
        ),
        discarded: known(was.discard_bytes, is.discard_bytes).map(|bytes| bytes / seconds),
        flushes: flushes.map(|flushes| flushes / seconds),
        flush_await_ms: flushes
            .zip(flush_ms)
            .and_then(|(n, ms)| (n > 0.0).then(|| ms / n)),
        aqu_sz: since(before.queue_ms, after.queue_ms)? / 1e3 / seconds,
        util: (since(was.busy_ms, is.busy_ms)? / 1e3 / seconds).min(1.0),
    })
}

/// Returns the device with the most I/O since a sample; the first of several equal ones.
pub fn busiest<'a>(first: &WatchSample, last: &'a WatchSample) -> Option<&'a DiskCounters> {
    let moved = |disk: &DiskCounters| {
        let before = first.disks.iter();
        let before = before
            .clone()
            .find(|d| d.counters.name == disk.counters.name);
        let bytes = |d: &DiskCounters| d.counters.read_bytes.saturating_add(d.counters.write_bytes);
        bytes(disk).saturating_sub(before.map_or(0, bytes))
    };
    // `max_by_key` returns the last of several equal ones.
    last.disks.iter().rev().max_by_key(|disk| moved(disk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::watch::{Paging, Processor};
    use assay_model::evidence::DeviceCounters;

    const KIB: u64 = 1024;

    fn memory() -> Memory {
        Memory {
            total_bytes: 1000 * KIB,
            free_bytes: 100 * KIB,
            available_bytes: Some(600 * KIB),
            buffers_bytes: 7 * KIB,
            cached_bytes: 200 * KIB,
            slab_reclaimable_bytes: 11 * KIB,
            shared_bytes: Some(5 * KIB),
            swap_used_bytes: 20 * KIB,
            dirty_bytes: 3 * KIB,
            writeback_bytes: 2 * KIB,
        }
    }

    /// Two samples two seconds apart.
    fn samples() -> (WatchSample, WatchSample) {
        let before = WatchSample {
            at_ns: 1_000_000_000,
            memory: Some(memory()),
            paging: Some(Paging {
                in_bytes: 1000,
                out_bytes: 2000,
                ..Paging::default()
            }),
            processor: Some(Processor {
                user: 100,
                idle: 500,
                interrupts: 10,
                context_switches: 20,
                ..Processor::default()
            }),
            ..WatchSample::default()
        };
        let after = WatchSample {
            at_ns: 3_000_000_000,
            paging: Some(Paging {
                in_bytes: 5000,
                out_bytes: 2000 + 40_960,
                swap_in_bytes: 0,
                swap_out_bytes: 8192,
            }),
            processor: Some(Processor {
                user: 100 + 30,
                nice: 10,
                system: 20,
                irq: 2,
                softirq: 3,
                idle: 500 + 100,
                iowait: 30,
                steal: 5,
                guest: 8,
                interrupts: 10 + 600,
                context_switches: 20 + 1000,
                running: 2,
                blocked: 1,
            }),
            ..before.clone()
        };
        (before, after)
    }

    #[test]
    fn free_counts_reclaimable_slab_as_cache_and_what_is_not_available_as_used() {
        let shown = free(&memory());
        assert_eq!(shown.buff_cache, (7 + 200 + 11) * KIB);
        assert_eq!(shown.used, Some(400 * KIB));
        let old = Memory {
            available_bytes: None,
            ..memory()
        };
        assert_eq!(free(&old).used, None, "absent is not zero");
    }

    #[test]
    fn vmstat_by_hand() {
        let (before, after) = samples();
        let shown = vmstat(&before, &after).unwrap();
        assert_eq!((shown.r, shown.b, shown.swpd), (2, 1, 20 * KIB));
        assert_eq!(shown.cache, 211 * KIB);
        assert_eq!((shown.bi, shown.bo), (2000.0, 20_480.0));
        assert_eq!((shown.si, shown.so), (0.0, 4096.0));
        assert_eq!((shown.interrupts, shown.cs), (300.0, 500.0));
        // 200 ticks in all: 40 in user mode of which 8 ran guests, 25 in the
        // kernel, 100 idle, 30 waiting, 5 stolen.
        let expected = CpuShares {
            us: 0.16,
            sy: 0.125,
            id: 0.5,
            wa: 0.15,
            st: 0.025,
            gu: 0.04,
        };
        assert_eq!(shown.cpu, expected);
    }

    #[test]
    fn what_is_missing_or_ran_backwards_gives_no_figure() {
        let (before, after) = samples();
        assert_eq!(vmstat(&after, &before), None, "time ran backwards");
        assert_eq!(vmstat(&before, &before), None, "no time has passed");
        let hidden = WatchSample {
            paging: None,
            ..after
        };
        assert_eq!(vmstat(&before, &hidden), None);
    }

    fn disk(name: &str, scale: u64) -> DiskCounters {
        DiskCounters {
            counters: DeviceCounters {
                name: name.to_owned(),
                read_ios: 10 * scale,
                read_bytes: 40_960 * scale,
                read_ms: 5 * scale,
                write_ios: 100 * scale,
                write_bytes: 1_000_000 * scale,
                write_ms: 250 * scale,
                in_flight: 3,
                busy_ms: 500 * scale,
                discard_bytes: None,
                flush_ios: Some(4 * scale),
                flush_ms: Some(20 * scale),
            },
            read_merges: scale,
            write_merges: 50 * scale,
            queue_ms: 3000 * scale,
            unwritten_bytes: None,
        }
    }

    #[test]
    fn iostat_by_hand() {
        let shown = iostat(&disk("sda", 1), &disk("sda", 2), 2.0).unwrap();
        assert_eq!(shown.read.per_second, 5.0);
        assert_eq!(shown.read.await_ms, Some(0.5));
        assert_eq!(shown.read.size, Some(4096.0));
        assert_eq!(shown.write.bytes, 500_000.0);
        assert_eq!(shown.write.merges, 25.0);
        assert_eq!(shown.write.await_ms, Some(2.5));
        assert_eq!(
            (shown.flushes, shown.flush_await_ms),
            (Some(2.0), Some(5.0))
        );
        assert_eq!((shown.aqu_sz, shown.util), (1.5, 0.25));
        assert_eq!(shown.discarded, None, "absent is not zero");
    }

    #[test]
    fn an_idle_device_has_no_latency_and_an_exchanged_one_no_figures() {
        let idle = iostat(&disk("sda", 1), &disk("sda", 1), 1.0).unwrap();
        assert_eq!(idle.write.await_ms, None);
        assert_eq!(idle.flush_await_ms, None);
        assert_eq!((idle.util, idle.flushes), (0.0, Some(0.0)));
        assert_eq!(iostat(&disk("sda", 2), &disk("sda", 1), 1.0), None);
    }

    #[test]
    fn the_busiest_device_moved_most_since_the_first_sample() {
        let of = |scales: [u64; 2]| WatchSample {
            disks: vec![disk("sda", scales[0]), disk("sdb", scales[1])],
            ..WatchSample::default()
        };
        let name = |first, last| {
            let last = of(last);
            busiest(&of(first), &last).map(|disk| disk.counters.name.clone())
        };
        assert_eq!(name([9, 1], [10, 5]).as_deref(), Some("sdb"));
        assert_eq!(name([1, 1], [1, 1]).as_deref(), Some("sda"));
        assert_eq!(
            busiest(&WatchSample::default(), &WatchSample::default()),
            None
        );
    }
}
