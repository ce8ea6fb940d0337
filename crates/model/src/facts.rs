//! Facts of a run: its figures and surroundings, derived once and kept for lists, series and
//! searches over many runs.
//!
//! Everything here follows from a run's records and can be derived again. Agents have no use for
//! it, and none of it is compiled into their programs.

use crate::figures::Better;
use crate::metric::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the rules that facts are derived by. Facts of an older version are derived again.
pub const FACTS_VERSION: u32 = 1;

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
    /// Version of the rules that they were derived by.
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// Start of the run, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Project that the run belongs to.
    pub project: String,
    /// Machine that was measured: the target as the user called it, else the host name.
    pub target: String,
    /// Model of the device in a few words; a description if its maker gave it no name.
    pub model: String,
    /// Unit that series follow where the model has no name; `None` where they follow the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_unit: Option<String>,
    /// Value of each known [`Circumstance`], by its name.
    pub surroundings: BTreeMap<String, String>,
    /// The figures.
    pub figures: Vec<FigureFacts>,
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
    /// Condition that the trials ran under; empty: as the machine was.
    pub condition: String,
    /// Name of the metric, for example `read_bw`.
    pub metric: String,
    /// Label of the figure: what was measured.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Direction in which the metric is good; `None` if neither is.
    pub better: Option<Better>,
    /// `true` if the figure decides how good the job went, and is one of the device.
    pub primary: bool,
    /// `true` if it is a percentile of the tail; its centre is that of all operations together.
    pub tail: bool,
    /// Number of trials.
    pub n: u32,
    /// Median of the trials; of a tail, the percentile of all operations together.
    pub centre: f64,
    /// A value per trial, in the order in which they were run.
    pub samples: Vec<f64>,
}
