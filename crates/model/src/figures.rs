//! Figures as input of a comparison (one metric under one condition, with all its trials, from
//! assay's runs or from imported results), and facts of a run: its figures and circumstances,
//! derived once and stored for lists, series and searches over many runs. The two sides of a
//! comparison and its conclusion are here, too.
//!
//! Facts follow from a run's records and can be derived again. Agents do not use them, and none of
//! their code is compiled into their programs.
//!
//! To add a circumstance that can explain a change: add a variant of `Circumstance`, its value in
//! `report::results::facts` and its words in `report::results::changes`, and raise `FACTS_VERSION`,
//! so that facts of stored runs are derived again.

use crate::annotation::Annotation;
use assay_lang::key;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times.
    Lower,
}

impl Better {
    /// Returns 1 if more is better, -1 if less is better.
    pub const fn sign(self) -> f64 {
        match self {
            Self::Higher => 1.0,
            Self::Lower => -1.0,
        }
    }
}

/// Trials of a figure, as values or as a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Sample {
    /// A value per trial.
    Values {
        /// Values in the unit of the figure, in the order of the trials.
        values: Vec<f64>,
        /// Place of each trial in the order of all trials of the session; empty if the order is
        /// unknown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        positions: Vec<f64>,
    },
    /// A summary without the values.
    Moments {
        /// Number of trials.
        n: u32,
        /// Arithmetic mean.
        mean: f64,
        /// Standard deviation (n - 1); `None` when it is not given.
        stdev: Option<f64>,
    },
}

impl Sample {
    /// Returns the number of trials.
    pub fn n(&self) -> usize {
        match self {
            Self::Values { values, .. } => values.len(),
            Self::Moments { n, .. } => *n as usize,
        }
    }
}

/// One metric under one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Condition, such as `bfq` or `before`; empty if there is only one and it has no name.
    pub condition: String,
    /// Name of the metric, such as `seq_read` or `randread-4k: read_iops`.
    pub metric: String,
    /// Unit, as the source writes it.
    pub unit: String,
    /// Direction in which the metric is better; `None` if it is not given and does not follow from
    /// the unit.
    pub better: Option<Better>,
    /// `true` if the figure may decide; the others are exploratory.
    pub primary: bool,
    /// The trials.
    pub sample: Sample,
    /// Measured layer, as its label in the evidence (`device`, `page-cache`, ...); `None` where it
    /// was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Mean share of the trials' time, 0 to 1, in which a task of the machine waited for a
    /// processor, or a hypervisor held it back; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
}

/// Imported results of another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Id of lower-case letters and digits, unique among runs and imports.
    pub id: String,
    /// Time of the import, milliseconds since 1970 (UTC).
    pub imported_unix_ms: u64,
    /// Version of assay that imported it.
    pub assay_version: String,
    /// Files that were read.
    pub files: Vec<String>,
    /// Results read from the files.
    pub results: Results,
    /// Name, tags and note of the user; not part of the record.
    #[serde(skip)]
    pub annotation: Annotation,
}

/// Results read from the text output of another program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Program that measured, with its version if the text contains it.
    pub tool: String,
    /// Circumstances that the text states (kernel, command line, device), one per line. Others are
    /// unknown.
    pub circumstances: Vec<String>,
    /// Parts that were not understood or were left out, one sentence each.
    pub notes: Vec<String>,
    /// The figures, in the order of the text.
    pub figures: Vec<Figure>,
}

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

crate::named! {
    /// Unit of a metric; written in JSON as its symbol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Unit {
        /// Bytes per second.
        #[serde(rename = "B/s")]
        BytesPerSec = "B/s",
        /// I/O operations per second.
        #[serde(rename = "IOPS")]
        Iops = "IOPS",
        /// Transactions per second.
        #[serde(rename = "TPS")]
        Tps = "TPS",
        /// Bytes.
        #[serde(rename = "B")]
        Bytes = "B",
        /// Nanoseconds.
        #[serde(rename = "ns")]
        Nanos = "ns",
        /// A ratio; shares are 0 to 1.
        #[serde(rename = "ratio")]
        Ratio = "ratio",
        /// A number of objects or events.
        #[serde(rename = "count")]
        Count = "count",
    }
}

/// One derived figure of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name, for example `read_bw`, `write_lat_p99`, `longest_gap`.
    pub name: String,
    /// Unit of `value`.
    pub unit: Unit,
    /// Value of the metric.
    pub value: f64,
}

/// A series, with the time range of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSeries {
    /// Key of 12 hexadecimal digits, the same in every store.
    pub key: String,
    /// Project of the runs.
    pub project: String,
    /// Model of the device.
    pub model: String,
    /// Unit of a device whose model has no name; empty for all units of the model.
    pub unit: String,
    /// Measured machine.
    pub target: String,
    /// Name of the job.
    pub job: String,
    /// Hash of the job's resolved options.
    pub job_hash: String,
    /// Condition; empty if the machine was left as it was.
    pub condition: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of every point, which names the measured layer.
    pub label: String,
    /// Unit of the values.
    pub unit_of_measure: Unit,
    /// Direction in which the metric is better; without it, the series is not searched for changes.
    pub better: Option<Better>,
    /// `true` if the metric decides the result of the job, and was measured on the device.
    pub primary: bool,
    /// `true` for a percentile of the tail.
    pub tail: bool,
    /// Number of runs at the last search for changes.
    pub runs: u64,
    /// Start of the oldest run, milliseconds since 1970 (UTC).
    pub first_unix_ms: u64,
    /// Start of the newest run.
    pub last_unix_ms: u64,
    /// Figure of the newest run.
    pub last_centre: f64,
}

/// A run in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Id of the run.
    pub run: String,
    /// Start of the run, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Number of trials.
    pub n: u32,
    /// Median of the trials; for a tail, the percentile of all operations together.
    pub centre: f64,
    /// A value per trial.
    pub samples: Vec<f64>,
}

crate::named! {
    /// Direction in which a series changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Turn {
        /// The metric became better.
        Faster = "faster",
        /// The metric became worse.
        Slower = "slower",
    }
}

/// Runs on one side of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeSide {
    /// Runs that were compared.
    pub runs: u32,
    /// Geometric mean of their centres.
    pub centre: f64,
}

/// A circumstance that differs between the runs on both sides of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircumstanceChange {
    /// Name of the `Circumstance`.
    pub circumstance: String,
    /// Value before the change.
    pub before: String,
    /// Value after the change.
    pub after: String,
}

/// A change of a series between two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesChange {
    /// First run after the change.
    pub run: String,
    /// Last run before the change.
    pub before_run: String,
    /// Start of the first run after the change, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Start of the first run with which there were enough runs to find the change.
    pub found_unix_ms: u64,
    /// Direction of the change.
    pub turn: Turn,
    /// Change of the metric in percent.
    pub effect_percent: Option<f64>,
    /// 95 % confidence interval of the change in percent.
    pub effect_interval: Option<(f64, f64)>,
    /// Runs before the change.
    pub before: ChangeSide,
    /// Runs after the change.
    pub after: ChangeSide,
    /// p value of the verdict.
    pub p: f64,
    /// Circumstances that changed at the same runs.
    pub events: Vec<CircumstanceChange>,
    /// Name and version of the method that found the change.
    pub method: String,
    /// `true` if the user accepted the change.
    pub accepted: bool,
}

impl SeriesChange {
    /// `true` for a slowdown that no user has accepted.
    pub fn is_open(&self) -> bool {
        self.turn == Turn::Slower && !self.accepted
    }
}

crate::named! {
    /// Opinion of a user on a change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum OpinionState {
        /// The change is real and known.
        Accepted = "accepted",
        /// There is no change.
        False = "false",
    }
}

/// Opinion of a user on the change of a series at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// Key of the series.
    pub series: String,
    /// First run after the change.
    pub run: String,
    /// The opinion.
    pub state: OpinionState,
    /// Reason, in the user's words.
    pub note: String,
    /// Name of the user.
    pub author: String,
    /// Time of the opinion, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
}

/// Level of the tests behind a verdict, for a single look at the figures.
pub const LEVEL: f64 = 0.05;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Baseline of the comparison.
    A,
    /// Side that is judged.
    B,
}

impl Side {
    /// Both sides, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the side that it is compared with.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// Change of a quantity from A to B, in percent of A. The verdict shows whether it is an
/// improvement: more is better for a rate, and worse for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Estimated change, in percent.
    pub percent: f64,
    /// Interval that decided the verdict: it excludes 0 for *faster* and *slower*, lies within the
    /// margin for *equivalent*; for *no conclusion* it includes 0 and reaches beyond the margin.
    /// `None` where the error of the change is unknown, or where another reason forbids a verdict.
    pub interval: Option<(f64, f64)>,
    /// Confidence of `interval`, as a share.
    pub confidence: f64,
    /// Confidence interval of 95 % of this change, without correction for other metrics; `None`
    /// where the error of the change is unknown.
    pub ci95: Option<(f64, f64)>,
}

impl Change {
    /// Returns the change on the scale of logarithms.
    pub fn log(&self) -> f64 {
        (self.percent / 100.0).ln_1p()
    }
}

/// The four verdicts.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// B is better.
    Faster(Change),
    /// B is worse.
    Slower(Change),
    /// The difference is smaller than the margin.
    Equivalent(Change),
    /// No conclusion is possible.
    NoConclusion {
        /// Apparent change; `None` when it is unknown.
        change: Option<Change>,
        /// Additional trials per side that would settle it; `None` when unknown or out of reach.
        trials_needed: Option<u32>,
    },
}

impl Verdict {
    /// Returns the name of the verdict, as in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Faster(_) => key!("faster"),
            Self::Slower(_) => key!("slower"),
            Self::Equivalent(_) => key!("equivalent"),
            Self::NoConclusion { .. } => key!("no conclusion"),
        }
    }
}
