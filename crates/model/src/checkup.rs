//! Raw state of a machine, as the kernel shows it, read before a measurement. Conclusions drawn
//! from it are [`Finding`]s.
//!
//! To add a finding: add its evidence as a raw field of `Checkup`, read in `assay_probe::checkup`;
//! a variant of `Finding` with its severity; the rule in `report::results::checkup`, its text in
//! `words` there, and its name in `docs/devices.md`.

use crate::device::Inspection;
use crate::evidence::{MemoryCounters, ProcessIo, QueueSettings};
use crate::storage::System;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Raw result of a checkup. A value that the kernel does not show is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checkup {
    /// The machine.
    pub system: System,
    /// The storage, if a path was given.
    pub place: Option<Box<Inspection>>,
    /// Settings of the queue of each layer of the storage.
    pub queues: Vec<QueueSettings>,
    /// Each CPU whose frequency can change.
    pub cpus: Vec<CpuSpeed>,
    /// Number of times processors were throttled for heat since boot (x86).
    pub throttle_events: Option<u64>,
    /// Thermal zones with a sensor.
    pub heat: Vec<HeatZone>,
    /// Cooling devices that are active now.
    pub cooling: Vec<CoolingDevice>,
    /// Memory of the system.
    pub memory: Option<MemoryCounters>,
    /// Swap space in use.
    pub swaps: Vec<SwapArea>,
    /// Thresholds for writing dirty pages.
    pub writeback: Writeback,
    /// Available clock sources.
    pub clocksources: Vec<String>,
    /// Limits of the agent's control groups.
    pub limits: Limits,
    /// Container that the agent runs in, if known: `docker`.
    pub container: Option<String>,
    /// Hypervisor that the machine runs under.
    pub hypervisor: Option<String>,
    /// Power-saving settings between the processor and the storage.
    pub power: Vec<PowerSaving>,
    /// Activity of other processes during a moment in which the agent was idle.
    pub others: Option<Others>,
    /// Kernel facilities that do not work for the agent; also empty for an agent that does not
    /// check them.
    #[serde(default)]
    pub missing: Vec<MissingFacility>,
}

/// Facility of the kernel that does not work here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFacility {
    /// The facility.
    pub facility: Facility,
    /// Answer of the kernel.
    pub answer: String,
}

/// Facility of the kernel that some measurements use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facility {
    /// `io_uring(7)`.
    IoUring,
    /// `io_submit(2)`.
    Libaio,
    /// `cachestat(2)`.
    Cachestat,
    /// `vm.drop_caches`.
    DropCaches,
    /// Events of block requests in `tracefs`.
    BlockEvents,
}

/// A CPU whose frequency can change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSpeed {
    /// Number of the CPU.
    pub cpu: u32,
    /// Governor in force.
    pub governor: Option<String>,
    /// Highest frequency that is allowed now.
    pub limit_khz: Option<u64>,
    /// Highest frequency of the CPU.
    pub most_khz: Option<u64>,
}

/// A thermal zone with a sensor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatZone {
    /// Type of the zone, for example `cpu-thermal`.
    pub name: String,
    /// Temperature in thousandths of a degree Celsius.
    pub millicelsius: i64,
    /// Temperature from which the kernel slows something down (the lowest passive trip point).
    pub slows_from_millicelsius: Option<i64>,
}

/// A cooling device, which the kernel activates against heat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoolingDevice {
    /// Type of the cooling device, for example `cpufreq-cpu0`.
    pub name: String,
    /// Cooling level; 0 is off.
    pub state: u64,
}

/// Swap space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapArea {
    /// File or device.
    pub path: String,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Kernel names of the devices that hold it.
    pub devices: Vec<String>,
}

/// Settings in `/proc/sys/vm` for writing dirty pages. Of bytes and ratio, one is used and the
/// other one is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writeback {
    /// Dirty bytes from which writers are throttled.
    pub dirty_bytes: Option<u64>,
    /// Same limit in percent of the available memory.
    pub dirty_ratio: Option<u64>,
    /// Dirty bytes from which the kernel writes in the background.
    pub background_bytes: Option<u64>,
    /// Same threshold in percent.
    pub background_ratio: Option<u64>,
    /// Seconds by which writing is delayed to let disks rest; 0 is off.
    pub laptop_mode: Option<u64>,
}

/// Limits of control groups, the tightest of a group and its ancestors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory limit, including the page cache.
    pub memory_bytes: Option<u64>,
    /// Limit of processor time, in processors.
    pub cpus: Option<f64>,
    /// Lines of `io.max`: device number and its limits.
    pub io: Vec<String>,
}

/// A power-saving setting of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSaving {
    /// Kind of power saving.
    pub kind: PowerKind,
    /// Name of the device in `/sys`.
    pub device: String,
    /// File that shows and sets it.
    pub file: String,
    /// Value of the file.
    pub value: String,
}

/// Kind of power saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerKind {
    /// A device that may suspend when it is idle (`power/control`).
    Runtime,
    /// A USB device that may suspend.
    UsbAutosuspend,
    /// An NVMe drive that changes its power state by itself; the value is the largest added
    /// latency, in microseconds.
    NvmeApst,
    /// PCIe links that may sleep.
    PcieAspm,
    /// A SATA link that may sleep.
    SataLink,
}

/// Activity of other processes while the agent was idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// Duration of the observation, in nanoseconds.
    pub elapsed_ns: u64,
    /// Bytes read and written on each observed disk.
    pub disks: Vec<DiskUse>,
    /// Processes that did I/O, busiest first; `None` when no other process can be read.
    pub processes: Option<Vec<ProcessIo>>,
    /// Share of the processors' time that was used.
    pub cpu_share: Option<f64>,
}

/// I/O on one disk during the observed time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

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
