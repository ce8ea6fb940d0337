//! Figures as input of a comparison: one metric under one condition, with all its trials. They come
//! from assay's runs or from imported results.

use crate::annotation::Annotation;
use serde::{Deserialize, Serialize};

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
