//! Sampling while a command runs: the page cache, the device, and the time at which the last dirty
//! page is written.
//!
//! Samples are raw counters; `assay_stats::watch` derives the columns of `free`,
//! `vmstat` and `iostat` from them.
//!
//! To add a column: add a raw counter here, read it in `assay_probe::counters`, add its formula in
//! `assay_stats::watch`, and its place in `report::watch` and `docs/watch.md`. The agent only
//! samples.

use crate::act::ActSpec;
use crate::evidence::DeviceCounters;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// Parameters of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Command and arguments; empty: run until stopped.
    pub command: Vec<OsString>,
    /// Time between samples.
    pub interval_ns: u64,
    /// Number of samples after which it ends without a command.
    pub samples: Option<u64>,
    /// Device, by its kernel name or a path on it; `None`: the device of the current directory, or
    /// all disks if it has none.
    pub device: Option<PathBuf>,
    /// Longest wait for dirty pages after the command.
    pub drain_limit_ns: u64,
}

impl ActSpec for Watch {
    fn writes(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn waits_on_exit(&self) -> bool {
        false
    }

    fn runs_commands(&self) -> bool {
        true
    }
}

/// Counters at one moment. Values that the kernel does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchSample {
    /// Time since the watch began.
    pub at_ns: u64,
    /// Phase of the watch.
    pub phase: Phase,
    /// `/proc/meminfo`.
    pub memory: Option<Memory>,
    /// `/proc/vmstat`.
    pub paging: Option<Paging>,
    /// `/proc/stat`.
    pub processor: Option<Processor>,
    /// Counters of the observed devices.
    pub disks: Vec<DiskCounters>,
}

crate::named! {
    /// Phase of a watch when a sample is taken.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Phase {
        /// No command runs.
        #[default]
        Alone = "alone",
        /// The command runs.
        Command = "command",
        /// The command has ended; its dirty pages may still be in memory.
        Draining = "draining",
    }
}

/// Lines of `/proc/meminfo`, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// `MemTotal`.
    pub total_bytes: u64,
    /// `MemFree`.
    pub free_bytes: u64,
    /// `MemAvailable` (Linux 3.14).
    pub available_bytes: Option<u64>,
    /// `Buffers`.
    pub buffers_bytes: u64,
    /// `Cached`.
    pub cached_bytes: u64,
    /// `SReclaimable`: part of the cache for `free` and `vmstat`.
    pub slab_reclaimable_bytes: u64,
    /// `Shmem`.
    pub shared_bytes: Option<u64>,
    /// `SwapTotal` less `SwapFree`.
    pub swap_used_bytes: u64,
    /// `Dirty`.
    pub dirty_bytes: u64,
    /// `Writeback`.
    pub writeback_bytes: u64,
}

impl Memory {
    /// Returns the bytes of all devices that are not yet written.
    pub const fn unwritten_bytes(&self) -> u64 {
        self.dirty_bytes.saturating_add(self.writeback_bytes)
    }
}

/// Lines of `/proc/vmstat`, in bytes since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paging {
    /// `pgpgin`: read from devices.
    pub in_bytes: u64,
    /// `pgpgout`: written to devices.
    pub out_bytes: u64,
    /// `pswpin`.
    pub swap_in_bytes: u64,
    /// `pswpout`.
    pub swap_out_bytes: u64,
}

/// Lines of `/proc/stat`: times of all processors together in ticks, and counts, since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Time in user mode, including guests.
    pub user: u64,
    /// Time in user mode at low priority, including guests.
    pub nice: u64,
    /// Time in the kernel.
    pub system: u64,
    /// Idle time.
    pub idle: u64,
    /// Idle time with I/O in flight.
    pub iowait: u64,
    /// Time of interrupts.
    pub irq: u64,
    /// Time of soft interrupts.
    pub softirq: u64,
    /// Time taken by the hypervisor.
    pub steal: u64,
    /// Time of running guests, both priorities; also in `user` and `nice`.
    pub guest: u64,
    /// Interrupts served.
    pub interrupts: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Number of runnable processes at that moment.
    pub running: u64,
    /// Number of processes that waited for I/O at that moment.
    pub blocked: u64,
}

/// All counters of `/sys/class/block/NAME/stat` of one device, and its dirty data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Counters that evidence contains too.
    #[serde(flatten)]
    pub counters: DeviceCounters,
    /// Reads that were merged into others.
    pub read_merges: u64,
    /// Writes that were merged into others.
    pub write_merges: u64,
    /// Sum over time of the I/Os in flight, in milliseconds.
    pub queue_ms: u64,
    /// Bytes of this device that are not yet written; only a kernel with debugfs reports them
    /// (`/sys/kernel/debug/bdi`).
    pub unwritten_bytes: Option<u64>,
}

/// Final results of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchReport {
    /// End of the command; `None` without one.
    pub ended: Option<CommandEnd>,
    /// Result of waiting for the dirty pages; `None` without a command.
    pub drain: Option<Drain>,
    /// Time of the last completed write of each device that wrote, sampled several times a second.
    pub last_writes: Vec<LastWrite>,
}

/// End of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Time since the watch began.
    pub at_ns: u64,
    /// Exit code; `None` when a signal ended the command.
    pub exit_code: Option<i32>,
    /// Signal that ended the command.
    pub signal: Option<i32>,
}

/// Last write of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWrite {
    /// Kernel name of the device.
    pub device: String,
    /// Time at which it was detected, since the watch began.
    pub at_ns: u64,
}

/// Result of waiting for the pages that were dirty when the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "drain", rename_all = "snake_case")]
pub enum Drain {
    /// Almost no pages are dirty.
    Left {
        /// Time at which that was detected, since the watch began. The pages were written by the
        /// [last write](WatchReport::last_writes) of their device before it.
        at_ns: u64,
        /// Upper bound of the remaining bytes: the error of the kernel's count plus the smallest
        /// dirty count seen.
        within_bytes: u64,
    },
    /// Other processes keep pages dirty, but the command's pages are older than the kernel's limit,
    /// and its device has been idle since.
    Expired {
        /// Time at which that was detected, since the watch began.
        at_ns: u64,
        /// Age at which the kernel writes pages, plus its wake-up interval
        /// (`dirty_expire_centisecs`, `dirty_writeback_centisecs`).
        age_ns: u64,
    },
    /// The longest wait timed out.
    TimedOut {
        /// Bytes that are not yet written.
        unwritten_bytes: u64,
    },
    /// The user stopped the watch before the pages were written.
    NotAwaited {
        /// Bytes that are not yet written.
        unwritten_bytes: u64,
    },
    /// The kernel does not report dirty pages.
    Unknown,
}
