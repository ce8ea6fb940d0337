//! Facts of a run: its figures and circumstances, derived once and stored for lists, series and
//! searches over many runs.
//!
//! Facts follow from a run's records and can be derived again. Agents do not use this module, and
//! none of it is compiled into their programs.
//!
//! To add a circumstance that can explain a change: add a variant of `Circumstance`, its value in
//! `report::results::facts::surroundings` and its words in `report::results::changes`, and raise
//! `FACTS_VERSION`, so that facts of stored runs are derived again.

use crate::figures::Better;
use crate::metric::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the rules for deriving facts. Facts of an older version are derived again.
pub const FACTS_VERSION: u32 = 4;

crate::named! {
    /// A circumstance of a run that can explain a change of its figures, in order of importance.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Circumstance {
        /// Unit of the device: serial number, CID, or the user's name for it.
        Unit = "unit",
        /// Firmware revision of the device.
        Firmware = "firmware",
        /// Mode of the device's bus.
        Bus = "bus",
        /// Release of the kernel.
        Kernel = "kernel",
        /// I/O schedulers in force.
        Scheduler = "scheduler",
        /// CPU frequency governors in force.
        Governor = "governor",
        /// Volatile write cache of the device, as the kernel sees it.
        WriteCache = "write_cache",
        /// File system and its mount options.
        FileSystem = "file_system",
        /// Board, or name of the machine.
        Machine = "machine",
        /// CPU model and number of CPUs.
        Cpu = "cpu",
        /// Distribution.
        Os = "os",
        /// Build of the program that measured.
        Assay = "assay",
    }
}

/// Facts of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Version of the rules by which the facts were derived.
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// Start of the run, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Project that the run belongs to.
    pub project: String,
    /// Measured machine: the target as named by the user, else the host name.
    pub target: String,
    /// Short name of the device's model; a description if it has no name.
    pub model: String,
    /// Unit of the device if its model has no name, so that series are per unit; `None` if they are
    /// per model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_unit: Option<String>,
    /// Value of each known [`Circumstance`], by its name.
    pub surroundings: BTreeMap<String, String>,
    /// The figures.
    pub figures: Vec<FigureFacts>,
    /// Evidence of each trial and direction, in the order of the trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<TrialEvidence>,
}

impl RunFacts {
    /// Returns the value of a circumstance; `None` if it is not known.
    pub fn known(&self, circumstance: Circumstance) -> Option<&str> {
        let value = self.surroundings.get(circumstance.name());
        value.map(String::as_str)
    }
}

/// One metric of one job under one condition: the trials of a run that have the same label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureFacts {
    /// Key of the series that the figure is a point of: 12 hexadecimal digits.
    pub series: String,
    /// Name of the job.
    pub job: String,
    /// Hash of the job's resolved options: 12 hexadecimal digits.
    pub job_hash: String,
    /// Condition of the trials; empty if the machine was left as it was.
    pub condition: String,
    /// Name of the metric, for example `read_bw`.
    pub metric: String,
    /// Label of the figure, which names the measured layer.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Direction in which the metric is better; `None` if neither is.
    pub better: Option<Better>,
    /// `true` if the figure decides the result of the job, and was measured on the device.
    pub primary: bool,
    /// `true` for a percentile of the tail; its centre is that of all operations together.
    pub tail: bool,
    /// Number of trials.
    pub n: u32,
    /// Median of the trials; for a tail, the percentile of all operations together.
    pub centre: f64,
    /// A value per trial, in the order in which they were run.
    pub samples: Vec<f64>,
}

/// Evidence of one direction of one trial, judged: the label, and the counters that led to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialEvidence {
    /// Place of the trial in the run.
    pub position: u32,
    /// Condition of the trial; empty if the machine was left as it was.
    pub condition: String,
    /// Direction of the bytes: `read`, `write` or `trim`.
    pub direction: String,
    /// Label of the rates, which names the measured layer.
    pub label: String,
    /// Label of the latencies of single calls.
    pub latency_label: String,
    /// Sentence with the counters that led to the label, in English.
    pub because: String,
    /// Bytes that the job moved.
    pub job_bytes: u64,
    /// Bytes that the device under test moved meanwhile, for all processes.
    pub device_bytes: Option<u64>,
    /// Share of the job's bytes that moved to or from the device while the clock ran.
    pub device_share: Option<f64>,
    /// Flushes that the disks completed while the clock ran.
    pub flushes: Option<u64>,
    /// `true` if a disk has a volatile cache.
    pub volatile_cache: Option<bool>,
    /// Bytes of the test file that were not yet on the device when the clock stopped.
    pub dirty_bytes: Option<u64>,
    /// Bytes that other processes moved on the device, as far as they can be separated.
    pub foreign_bytes: Option<u64>,
}
