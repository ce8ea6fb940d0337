//! Conditions that would spoil a measurement.

use super::{DiskUse, Facility, PowerKind};
use crate::units::Bytes;
use serde::Serialize;

crate::named! {
    /// Severity of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Severity {
        /// To be known and said with the figures.
        Note = "note",
        /// Figures vary, or are not the best of the device.
        Disturbs = "disturbs",
        /// Figures are of something else, cannot be believed, or cannot be had.
        Spoils = "spoils",
    }
}

/// A condition that can affect a measurement. Field names are those of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// Files of the path are in memory.
    Memory {
        /// `tmpfs is memory`.
        what: String,
    },
    /// Which device holds the path is not known.
    UnknownDevice {
        /// The reason.
        why: String,
    },
    /// Nothing can be written there.
    NotWritable {
        /// The reasons.
        reasons: Vec<String>,
    },
    /// A loop device whose file this machine caches.
    LoopDevice {
        /// The device.
        device: String,
        /// Backing file of the device.
        file: String,
    },
    /// The kernel does not count the I/O of a device.
    IostatsOff {
        /// The device.
        device: String,
    },
    /// A device has a volatile cache, and the kernel believes that it has none.
    FlushesDropped {
        /// The device.
        device: String,
    },
    /// The file system sends no flushes.
    NoBarriers {
        /// Mount point.
        point: String,
        /// The option that says so.
        option: String,
    },
    /// Others use the disk.
    OthersIo {
        /// I/O of other processes on the disk.
        disk: DiskUse,
        /// For how long was looked.
        elapsed_ns: u64,
        /// Who did I/O then.
        processes: Vec<String>,
    },
    /// Limits of control groups on I/O.
    IoLimit {
        /// Lines of `io.max`.
        limits: Vec<String>,
    },
    /// Others use the processors.
    BusyCpu {
        /// Share of all processors' time.
        share: f64,
    },
    /// Much is still to be written.
    DirtyPages {
        /// Dirty or being written.
        bytes: Bytes,
    },
    /// The processors' frequency changes.
    Governor {
        /// Governors in force.
        governors: Vec<String>,
    },
    /// Processors are kept below what they can do.
    FrequencyLimit {
        /// Most that they may run at.
        khz: u64,
        /// Most that they can.
        most_khz: u64,
    },
    /// Something is slowed down against heat now.
    Throttled {
        /// Names of what is throttled.
        what: Vec<String>,
    },
    /// It was, since boot.
    WasThrottled {
        /// Number of throttle events.
        events: u64,
    },
    /// A zone is near the temperature at which it will be.
    Hot {
        /// The zone.
        zone: String,
        /// Thousandths of a degree Celsius.
        millicelsius: i64,
        /// From which one on.
        slows_from_millicelsius: i64,
    },
    /// Not root.
    NoRoot,
    /// Little room for a test file.
    LittleRoom {
        /// Room.
        available: Bytes,
    },
    /// The file system is nearly full.
    NearlyFull {
        /// Share that is used, in percent.
        used_percent: u64,
    },
    /// The kernel lacks counters or calls.
    OldKernel {
        /// Kernel release.
        release: String,
        /// Counters and calls that the kernel lacks.
        lacks: Vec<&'static str>,
    },
    /// A facility of the kernel does not work here.
    MissingFacility {
        /// The facility.
        facility: Facility,
        /// The kernel's answer.
        answer: String,
    },
    /// Reading the clock is slow or coarse.
    ClockSource {
        /// The one in force.
        source: String,
        /// A better one that is on offer.
        better: Option<String>,
    },
    /// Memory is swapped to the device under test.
    SwapOnDevice {
        /// File or device.
        path: String,
    },
    /// Memory was swapped out.
    Swapping {
        /// Amount of swap in use.
        used: Bytes,
    },
    /// Something between the processor and the storage may sleep.
    PowerSaving {
        /// Kind of power saving.
        how: PowerKind,
        /// Which device.
        device: String,
        /// The file that sets it.
        file: String,
        /// Value of the file.
        value: String,
    },
    /// The kernel puts writing off to let disks rest.
    LaptopMode,
    /// Dirty pages are limited otherwise than usual.
    DirtyLimits {
        /// From here on the kernel writes in the background, where it is known.
        background: Option<Bytes>,
        /// From here on writers are held up, where it is known.
        limit: Option<Bytes>,
    },
    /// Blocks of removed files are not given back to the flash.
    NoDiscard {
        /// Mount point.
        point: String,
    },
    /// They are given back at once, in the middle of other work.
    OnlineDiscard {
        /// Mount point.
        point: String,
    },
    /// A layer encrypts all data on its way to the device.
    Encrypted {
        /// The layer.
        device: String,
    },
    /// Contents may be compressed on their way.
    Compressed {
        /// Mount point.
        point: String,
        /// The option that says so.
        option: String,
    },
    /// The page cache is smaller than the memory.
    MemoryLimit {
        /// The limit.
        limit: Bytes,
        /// Memory of the machine.
        memory: Bytes,
    },
    /// The processors' time is limited.
    CpuLimit {
        /// In processors.
        cpus: f64,
    },
    /// In a container.
    Container {
        /// Which kind.
        name: String,
    },
    /// In a virtual machine.
    VirtualMachine {
        /// Which kind.
        name: String,
    },
    /// The bus is slower than it could be.
    SlowBus {
        /// The device.
        device: String,
        /// Mode in force.
        bus: String,
        /// Best bus mode possible, where known.
        could: Option<String>,
    },
    /// The device is worn or warns.
    Worn {
        /// The device.
        device: String,
        /// Problems that the device reports.
        problems: Vec<String>,
    },
    /// A cache of the device is off.
    CacheOff {
        /// The device.
        device: String,
    },
}

impl Finding {
    /// Returns the severity of this finding.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Memory { .. }
            | Self::UnknownDevice { .. }
            | Self::NotWritable { .. }
            | Self::LoopDevice { .. }
            | Self::IostatsOff { .. }
            | Self::FlushesDropped { .. }
            | Self::NoBarriers { .. }
            | Self::OthersIo { .. }
            | Self::IoLimit { .. } => Severity::Spoils,
            Self::BusyCpu { .. }
            | Self::DirtyPages { .. }
            | Self::Governor { .. }
            | Self::FrequencyLimit { .. }
            | Self::Throttled { .. }
            | Self::Hot { .. }
            | Self::NoRoot
            | Self::LittleRoom { .. }
            | Self::NearlyFull { .. }
            | Self::ClockSource { .. }
            | Self::SwapOnDevice { .. }
            | Self::LaptopMode
            | Self::MemoryLimit { .. }
            | Self::CpuLimit { .. }
            | Self::VirtualMachine { .. }
            | Self::SlowBus { .. }
            | Self::Worn { .. } => Severity::Disturbs,
            Self::PowerSaving { how, .. } => match how {
                PowerKind::UsbAutosuspend | PowerKind::PcieAspm | PowerKind::SataLink => {
                    Severity::Disturbs
                }
                PowerKind::Runtime | PowerKind::NvmeApst => Severity::Note,
            },
            Self::WasThrottled { .. }
            | Self::OldKernel { .. }
            | Self::MissingFacility { .. }
            | Self::Swapping { .. }
            | Self::DirtyLimits { .. }
            | Self::NoDiscard { .. }
            | Self::OnlineDiscard { .. }
            | Self::Encrypted { .. }
            | Self::Compressed { .. }
            | Self::Container { .. }
            | Self::CacheOff { .. } => Severity::Note,
        }
    }
}
