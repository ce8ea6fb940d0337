//! Looking on while a command runs: the page cache, the device, and when the
//! last dirty page has left.
//!
//! Samples are raw counters; `assay_stats::watch` derives the columns of `free`,
//! `vmstat` and `iostat` from them.

use crate::evidence::DeviceCounters;
use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// Parameters of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The command and its arguments; empty: until it is stopped.
    pub command: Vec<OsString>,
    /// Time between samples.
    pub interval_ns: u64,
    /// Without a command: end after so many samples.
    pub samples: Option<u64>,
    /// A device, its kernel name, or a path on it; `None`: the device of the
    /// current directory, or all disks where it has none.
    pub device: Option<PathBuf>,
    /// The longest wait for dirty pages after the command.
    pub drain_limit_ns: u64,
}

impl WorkSpec for Watch {
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

/// Counters at one moment. What a kernel does not have is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchSample {
    /// When, since the watching began.
    pub at_ns: u64,
    /// Phase of the watch.
    pub phase: Phase,
    /// `/proc/meminfo`.
    pub memory: Option<Memory>,
    /// `/proc/vmstat`.
    pub paging: Option<Paging>,
    /// `/proc/stat`.
    pub processor: Option<Processor>,
    /// Devices that are looked at.
    pub disks: Vec<DiskCounters>,
}

crate::named! {
    /// Phase of a watch when a sample is taken.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Phase {
        /// Nothing but the watching.
        #[default]
        Alone = "alone",
        /// The command runs.
        Command = "command",
        /// The command has ended; what it left dirty may still be in memory.
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
    /// Bytes that still have to be written, of all devices.
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

/// Lines of `/proc/stat`: times of all processors together in ticks, and counts,
/// since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// In user mode, guests included.
    pub user: u64,
    /// In user mode at low priority, guests included.
    pub nice: u64,
    /// In the kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while I/O was under way.
    pub iowait: u64,
    /// Interrupts.
    pub irq: u64,
    /// Soft interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Running a guest, both priorities; also in `user` and `nice`.
    pub guest: u64,
    /// Interrupts served.
    pub interrupts: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Processes that could run at that moment.
    pub running: u64,
    /// Processes that waited for I/O at that moment.
    pub blocked: u64,
}

/// Everything that `/sys/class/block/NAME/stat` has on one device, and what
/// waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// The counters that are evidence too.
    #[serde(flatten)]
    pub counters: DeviceCounters,
    /// Reads that were merged into others.
    pub read_merges: u64,
    /// Writes that were merged into others.
    pub write_merges: u64,
    /// Milliseconds, each counted once for every I/O under way in it.
    pub queue_ms: u64,
    /// Bytes of this device alone that still have to be written; only a kernel
    /// with debugfs tells (`/sys/kernel/debug/bdi`).
    pub unwritten_bytes: Option<u64>,
}

/// Final results of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchReport {
    /// End of the command; `None` without one.
    pub ended: Option<CommandEnd>,
    /// Result of waiting for the dirty pages; `None` without a command.
    pub drain: Option<Drain>,
    /// When each device that wrote was last seen to have completed a write,
    /// looked at some times a second.
    pub last_writes: Vec<LastWrite>,
}

/// End of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// When, since the watching began.
    pub at_ns: u64,
    /// Exit code; `None` when a signal ended the command.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// The last write of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWrite {
    /// Kernel name of the device.
    pub device: String,
    /// When it was seen, since the watching began.
    pub at_ns: u64,
}

/// Result of waiting for the pages that were dirty when the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "drain", rename_all = "snake_case")]
pub enum Drain {
    /// Next to none are dirty.
    Left {
        /// When that was seen, since the watching began. The pages had left with
        /// the [last write](WatchReport::last_writes) of their device before.
        at_ns: u64,
        /// At most so much may be left of them: what the kernel's count may be
        /// wrong by, and the fewest that were dirty.
        within_bytes: u64,
    },
    /// Others keep pages dirty, but those of the command are older than the
    /// kernel lets them become, and its device has been still since.
    Expired {
        /// When that was seen, since the watching began.
        at_ns: u64,
        /// The age at which the kernel writes pages, and the time until it looks
        /// (`dirty_expire_centisecs`, `dirty_writeback_centisecs`).
        age_ns: u64,
    },
    /// They had not when the longest wait was over.
    TimedOut {
        /// Bytes still to be written.
        unwritten_bytes: u64,
    },
    /// Nobody waited for it: the user asked to stop.
    NotAwaited {
        /// Bytes still to be written.
        unwritten_bytes: u64,
    },
    /// The kernel does not tell what is dirty.
    Unknown,
}
