//! Figures as a comparison takes them: one metric under one condition, with all
//! its trials. They come from assay's own runs or from somebody else's results.

use crate::annotation::Annotation;
use serde::{Deserialize, Serialize};

/// Which way a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times.
    Lower,
}

impl Better {
    /// 1 where more is better, -1 where less is.
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
        /// In the unit of the figure, in the order of the trials.
        values: Vec<f64>,
        /// When each trial was run: its place in the order of all trials of
        /// the session. Empty where the order is unknown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        positions: Vec<f64>,
    },
    /// Only a summary was handed down.
    Moments {
        /// Number of trials.
        n: u32,
        /// Arithmetic mean.
        mean: f64,
        /// Standard deviation (n - 1); `None` when not told.
        stdev: Option<f64>,
    },
}

impl Sample {
    /// Number of trials.
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
    /// The condition, such as `bfq` or `before`; empty where there is only one
    /// and it has no name.
    pub condition: String,
    /// Name of the metric, such as `seq_read` or `randread-4k: read_iops`.
    pub metric: String,
    /// Unit, as the source writes it.
    pub unit: String,
    /// Which way it is good; `None` where nobody said and the unit does not
    /// tell.
    pub better: Option<Better>,
    /// `true` if the figure may decide; the others are exploratory.
    pub primary: bool,
    /// The trials.
    pub sample: Sample,
    /// Measured place, in the words of evidence (`device`, `page-cache`, ...); `None` where it was
    /// not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// Results that were made elsewhere, as they were taken in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Lower-case letters and digits, unique among runs and imports.
    pub id: String,
    /// When it was taken in, milliseconds since 1970 (UTC).
    pub imported_unix_ms: u64,
    /// Version of assay that took it in.
    pub assay_version: String,
    /// The files it was read from.
    pub files: Vec<String>,
    /// Results read from the files.
    pub results: Results,
    /// Name, tags and note of the user; no part of the record.
    #[serde(skip)]
    pub annotation: Annotation,
}

/// Results read from the text output of another program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The program that measured, with its version where the text tells it.
    pub tool: String,
    /// Circumstances that the text states (kernel, command line, device), one a line. Anything else
    /// is unknown.
    pub circumstances: Vec<String>,
    /// Parts that were not understood or were left out, a sentence each.
    pub notes: Vec<String>,
    /// The figures, in the order of the text.
    pub figures: Vec<Figure>,
}
