//! A run: an executed plan.

use crate::act::Acts;
use crate::annotation::Annotation;
use crate::plan::Plan;
use crate::storage::{Storage, System};
use crate::trial::{Outcome, TrialRecord};
use crate::units::Nanos;
use crate::verdict::{LEVEL, Side};
use assay_lang::key;
use serde::{Deserialize, Serialize};

/// Description of a run without its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Id of lower-case letters and digits, unique.
    pub id: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Version of assay that made the run.
    pub assay_version: String,
    /// Programs that made the run; absent in runs from before protocol 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builds: Option<Builds>,
    /// Command that made the run.
    pub command: Vec<String>,
    /// Measured machine, as named by the user; `None` for the machine that the command ran on.
    #[serde(default)]
    pub target: Option<String>,
    /// Plan of the run.
    pub plan: Plan,
    /// The machine.
    pub system: System,
    /// Storage at the start.
    pub storage: Storage,
    /// Acts of its slots; absent if these are the jobs of the plan, and in runs from before
    /// protocol 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts: Option<Box<Acts>>,
    /// Conditions that may end the run before its plan does.
    #[serde(default, skip_serializing_if = "Stopping::is_nothing")]
    pub stopping: Stopping,
    /// Run that it was interleaved with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// The user's claims about the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Measured unit, as named by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Project of its series; `None`: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl RunHeader {
    /// Returns the place of a trial of this run in the session, counted over both runs if two were
    /// interleaved.
    pub fn place_of(&self, position: u32) -> u32 {
        let paired = self.paired.as_ref();
        let place = paired.and_then(|paired| paired.places.get(position as usize));
        place.copied().unwrap_or(position)
    }
}

/// Programs that made a run: version and commit of each, as in SemVer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Builds {
    /// Build of assay that stored the run.
    pub host: String,
    /// Build of the agent that measured.
    pub agent: String,
    /// Version of the protocol between them.
    pub protocol: u32,
}

/// The user's claims about a device, shown beside its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// Mode of the bus, one of [`crate::limits`].
    pub bus: Option<String>,
    /// Figures of the manufacturer's datasheet.
    pub datasheet: Option<Datasheet>,
}

/// Typical figures of a datasheet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datasheet {
    /// Part number that the datasheet describes.
    pub part: String,
    /// Document that states the figures.
    pub source: String,
    /// Sequential reads, in millions of bytes per second.
    pub seq_read_mb_s: Option<f64>,
    /// Sequential writes, in millions of bytes per second.
    pub seq_write_mb_s: Option<f64>,
    /// Random reads of 4 KiB, per second.
    pub rand_read_iops: Option<f64>,
    /// Random writes of 4 KiB, per second.
    pub rand_write_iops: Option<f64>,
}

/// A figure of a datasheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasheetFigure {
    /// Sequential reads.
    SeqRead,
    /// Sequential writes.
    SeqWrite,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
}

impl Datasheet {
    /// Returns a figure in bytes per second or I/Os per second, if it is given.
    pub fn value(&self, figure: DatasheetFigure) -> Option<f64> {
        match figure {
            DatasheetFigure::SeqRead => self.seq_read_mb_s.map(|rate| rate * 1e6),
            DatasheetFigure::SeqWrite => self.seq_write_mb_s.map(|rate| rate * 1e6),
            DatasheetFigure::RandRead => self.rand_read_iops,
            DatasheetFigure::RandWrite => self.rand_write_iops,
        }
    }

    /// Returns the name of a figure that is not above 0, which makes the datasheet invalid.
    pub fn problem(&self) -> Option<&'static str> {
        let figures = [
            ("seq_read_mb_s", self.seq_read_mb_s),
            ("seq_write_mb_s", self.seq_write_mb_s),
            ("rand_read_iops", self.rand_read_iops),
            ("rand_write_iops", self.rand_write_iops),
        ];
        let mut wrong = figures.into_iter().filter(|(_, figure)| {
            figure.is_some_and(|figure| !(figure.is_finite() && figure > 0.0))
        });
        wrong.next().map(|(name, _)| name)
    }
}

/// Conditions that may end a run before all trials of its plan have run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// Looks at which the run ends if its comparisons are settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// Time that another round must not exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

impl Stopping {
    /// All trials of the plan are run.
    pub const NEVER: Self = Self {
        looks: None,
        budget: None,
    };

    /// Level that verdicts on the run are held to: it was looked at more than once, or
    /// once.
    pub fn alpha(&self) -> f64 {
        self.looks.as_ref().map_or(LEVEL, |looks| looks.alpha)
    }

    /// `true` if all trials are run.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Times at which the figures of a run are evaluated, fixed before its first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// Trials of each condition or side at each look.
    pub at: Vec<u32>,
    /// Level of each look, for difference and equivalence: so small that the total error rate of
    /// all looks is that of one look at 0.05.
    pub alpha: f64,
    /// Margin of the verdicts, as a share.
    pub margin: f64,
}

/// Two runs that were measured in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// Id of the other run.
    pub with: String,
    /// Side of this run.
    pub side: Side,
    /// Place of each trial of this run in the common session, in the order of its plan.
    pub places: Vec<u32>,
}

/// Status of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum RunStatus {
    /// In progress, or killed before the status could be stored.
    Running,
    /// The run is complete.
    Finished,
    /// Stopped by the user or another process.
    Interrupted,
    /// Stopped by an error.
    Failed {
        /// Error message: what failed, where, and what to do.
        error: String,
    },
}

impl RunStatus {
    /// Returns the name of the status, as in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Running => key!("running"),
            Self::Finished => key!("finished"),
            Self::Interrupted => key!("interrupted"),
            Self::Failed { .. } => key!("failed"),
        }
    }
}

/// A run with all its trials, in the order they were run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Plan and place of the run.
    pub header: RunHeader,
    /// Status of the run.
    pub status: RunStatus,
    /// End, milliseconds since 1970 (UTC).
    pub finished_unix_ms: Option<u64>,
    /// The trials.
    pub trials: Vec<TrialRecord>,
    /// Name, tags and note of the user.
    pub annotation: Annotation,
}

impl Run {
    /// `true` if this run was interleaved with the other one: the positions of both count in one
    /// session.
    pub fn took_turns_with(&self, other: &Self) -> bool {
        let with = |run: &Self| run.header.paired.as_ref().map(|paired| paired.with.clone());
        with(self).as_ref() == Some(&other.header.id)
            && with(other).as_ref() == Some(&self.header.id)
    }

    /// Returns the number of complete rounds, without conditioning.
    pub fn whole_rounds(&self) -> u32 {
        let order = &self.header.plan.order;
        let ended = self.trials.iter();
        let ended = ended.filter(|trial| trial.outcome != Outcome::Interrupted);
        match order.get(ended.count()) {
            // The round of the first missing trial is incomplete.
            Some(missing) => missing.trial.saturating_sub(1),
            None => order.last().map_or(0, |last| last.trial),
        }
    }
}
