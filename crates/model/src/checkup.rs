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
    /// The storage, where a path was given.
    pub place: Option<Box<Inspection>>,
    /// Settings of the queue of each layer of the storage.
    pub queues: Vec<QueueSettings>,
    /// Each CPU whose frequency can change.
    pub cpus: Vec<CpuSpeed>,
    /// Number of times processors were throttled for heat since boot (x86).
    pub throttle_events: Option<u64>,
    /// Zones with a sensor.
    pub heat: Vec<HeatZone>,
    /// Cooling devices that the kernel has turned on now.
    pub cooling: Vec<CoolingDevice>,
    /// Memory of the system.
    pub memory: Option<MemoryCounters>,
    /// Swap space in use.
    pub swaps: Vec<SwapArea>,
    /// When dirty pages are written.
    pub writeback: Writeback,
    /// Clock sources on offer.
    pub clocksources: Vec<String>,
    /// Limits of the agent's control groups.
    pub limits: Limits,
    /// The container that the agent runs in, as far as it is known: `docker`.
    pub container: Option<String>,
    /// Hypervisor that the machine runs under.
    pub hypervisor: Option<String>,
    /// Power-saving settings between the processor and the storage.
    pub power: Vec<PowerSaving>,
    /// Activity of other processes during a moment in which the agent was idle.
    pub others: Option<Others>,
    /// Facilities of the kernel that do not work for the agent; empty also for an agent that does
    /// not ask for them.
    #[serde(default)]
    pub missing: Vec<MissingFacility>,
}

/// Facility of the kernel that does not work here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFacility {
    /// The facility.
    pub facility: Facility,
    /// The kernel's answer.
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
    /// Most that it may now run at.
    pub limit_khz: Option<u64>,
    /// Most that it can run at.
    pub most_khz: Option<u64>,
}

/// A zone with a sensor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatZone {
    /// Type of the zone, for example `cpu-thermal`.
    pub name: String,
    /// Temperature in thousandths of a degree Celsius.
    pub millicelsius: i64,
    /// From which one on the kernel slows something down (the lowest passive trip
    /// point).
    pub slows_from_millicelsius: Option<i64>,
}

/// A cooling device: something that the kernel turns up against heat.
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
    /// Used.
    pub used_bytes: u64,
    /// Kernel names of the devices that it is on.
    pub devices: Vec<String>,
}

/// `/proc/sys/vm`: when dirty pages are written. Of bytes and ratio one counts, the
/// other one is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writeback {
    /// From here on writers are held up.
    pub dirty_bytes: Option<u64>,
    /// The same in percent of the memory that is available.
    pub dirty_ratio: Option<u64>,
    /// From here on the kernel writes in the background.
    pub background_bytes: Option<u64>,
    /// The same in percent.
    pub background_ratio: Option<u64>,
    /// Seconds that writing is put off to let disks rest; 0 is off.
    pub laptop_mode: Option<u64>,
}

/// Limits of control groups, the tightest of a group and those around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory, the page cache included.
    pub memory_bytes: Option<u64>,
    /// Processors' time, in processors.
    pub cpus: Option<f64>,
    /// Lines of `io.max`: device number and its limits.
    pub io: Vec<String>,
}

/// A power-saving setting of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSaving {
    /// Kind of power saving.
    pub kind: PowerKind,
    /// The device it concerns: its name in `/sys`.
    pub device: String,
    /// The file that says so, and sets it.
    pub file: String,
    /// Value of the file.
    pub value: String,
}

/// Kind of power saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerKind {
    /// A device that may sleep when it is idle (`power/control`).
    Runtime,
    /// A USB device that may.
    UsbAutosuspend,
    /// An NVMe drive that changes its state of power by itself: how slow it may get
    /// by that, in microseconds.
    NvmeApst,
    /// Links of PCIe that may sleep.
    PcieAspm,
    /// A SATA link that may.
    SataLink,
}

/// Activity of other processes while the agent was idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// For how long was looked.
    pub elapsed_ns: u64,
    /// Bytes read and written on each observed disk.
    pub disks: Vec<DiskUse>,
    /// Who did I/O, busiest first; `None` when no other process can be looked into.
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
