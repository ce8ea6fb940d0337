//! Raw state of a machine, as the kernel shows it, read before a measurement. Conclusions drawn
//! from it are [`Finding`]s.

mod finding;

pub use finding::{Finding, Severity};

use crate::evidence::{MemoryCounters, ProcessIo, QueueSettings};
use crate::inspection::Inspection;
use crate::system::System;
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
