//! Conditions that would spoil a measurement.
//!
//! To add a finding: add its evidence as a raw field of `Checkup`, read in `assay_probe::checkup`;
//! a variant of `Finding` with its severity; the rule in `report::results::checkup`, its text in
//! `words` there, and its name in `docs/devices.md`.

use super::{DiskUse, Facility, PowerKind};
use crate::units::Bytes;
use serde::Serialize;

crate::named! {
    /// Severity of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Severity {
        /// Information to show with the figures.
        Note = "note",
        /// Figures vary, or are not the best that the device can reach.
        Disturbs = "disturbs",
        /// Figures measure something else, are wrong, or cannot be measured.
        Spoils = "spoils",
    }
}

/// A condition that can affect a measurement. Field names are those of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// Files of the path are in memory.
    Memory {
        /// Reason, such as `tmpfs is memory`.
        what: String,
    },
    /// The device that holds the path is not known.
    UnknownDevice {
        /// The reason.
        why: String,
    },
    /// Nothing can be written at the path.
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
    /// A device has a volatile cache, and the kernel assumes that it has none.
    FlushesDropped {
        /// The device.
        device: String,
    },
    /// The file system sends no flushes.
    NoBarriers {
        /// Mount point.
        point: String,
        /// Mount option that causes it.
        option: String,
    },
    /// Other processes use the disk.
    OthersIo {
        /// I/O of other processes on the disk.
        disk: DiskUse,
        /// Duration of the observation, in nanoseconds.
        elapsed_ns: u64,
        /// Processes that did I/O.
        processes: Vec<String>,
    },
    /// Limits of control groups on I/O.
    IoLimit {
        /// Lines of `io.max`.
        limits: Vec<String>,
    },
    /// Other processes use the processors.
    BusyCpu {
        /// Share of all processors' time.
        share: f64,
    },
    /// Many pages are still dirty.
    DirtyPages {
        /// Bytes that are dirty or being written.
        bytes: Bytes,
    },
    /// The processors' frequency changes.
    Governor {
        /// Governors in force.
        governors: Vec<String>,
    },
    /// Processors run below their highest frequency.
    FrequencyLimit {
        /// Highest frequency that is allowed.
        khz: u64,
        /// Highest frequency of the processors.
        most_khz: u64,
    },
    /// A component is slowed down against heat now.
    Throttled {
        /// Names of the throttled components.
        what: Vec<String>,
    },
    /// Processors were throttled since boot.
    WasThrottled {
        /// Number of throttle events.
        events: u64,
    },
    /// A zone is near the temperature at which it is throttled.
    Hot {
        /// The zone.
        zone: String,
        /// Temperature in thousandths of a degree Celsius.
        millicelsius: i64,
        /// Temperature from which the kernel slows something down.
        slows_from_millicelsius: i64,
    },
    /// The agent does not run as root.
    NoRoot,
    /// There is little free space for a test file.
    LittleRoom {
        /// Free space.
        available: Bytes,
    },
    /// The file system is nearly full.
    NearlyFull {
        /// Used share, in percent.
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
        /// Answer of the kernel.
        answer: String,
    },
    /// Reading the clock is slow or coarse.
    ClockSource {
        /// Clock source in force.
        source: String,
        /// A better clock source that is available.
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
    /// A device between the processor and the storage may sleep.
    PowerSaving {
        /// Kind of power saving.
        how: PowerKind,
        /// Name of the device.
        device: String,
        /// File that sets it.
        file: String,
        /// Value of the file.
        value: String,
    },
    /// The kernel delays writing to let disks rest.
    LaptopMode,
    /// The limits of dirty pages are not the defaults.
    DirtyLimits {
        /// Bytes from which the kernel writes in the background, if known.
        background: Option<Bytes>,
        /// Bytes from which writers are throttled, if known.
        limit: Option<Bytes>,
    },
    /// Blocks of removed files are not discarded on the flash.
    NoDiscard {
        /// Mount point.
        point: String,
    },
    /// Blocks of removed files are discarded at once, during other work.
    OnlineDiscard {
        /// Mount point.
        point: String,
    },
    /// A layer encrypts all data on its way to the device.
    Encrypted {
        /// The layer.
        device: String,
    },
    /// Contents may be compressed before they reach the device.
    Compressed {
        /// Mount point.
        point: String,
        /// Mount option that causes it.
        option: String,
    },
    /// The page cache is smaller than the memory.
    MemoryLimit {
        /// The limit.
        limit: Bytes,
        /// Memory of the machine.
        memory: Bytes,
    },
    /// The processor time is limited.
    CpuLimit {
        /// Limit in processors.
        cpus: f64,
    },
    /// The agent runs in a container.
    Container {
        /// Kind of the container.
        name: String,
    },
    /// The machine is virtual.
    VirtualMachine {
        /// Kind of the virtual machine.
        name: String,
    },
    /// The bus runs in a slower mode than possible.
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
