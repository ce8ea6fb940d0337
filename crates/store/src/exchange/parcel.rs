//! Records in transfer: the stored bytes, not decoded.

use super::Offer;
use crate::record;
use assay_model::annotation::Annotation;
use assay_model::facts::{FACTS_VERSION, RunFacts};
use assay_model::figures::Import;
use assay_model::run::{Run, RunHeader, RunStatus};
use serde::{Deserialize, Serialize};
use std::io;

/// Maximum length of an id.
const LONGEST_ID: usize = 64;

/// Run or import in transfer, with its annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel {
    /// Offer of the source.
    pub offer: Offer,
    /// The record; `None` if the sink has it and needs only the annotation.
    pub record: Option<Record>,
    /// Name, tags and note.
    pub annotation: Annotation,
    /// Facts of a run, derived by the sender; `None` if the sink has to derive them.
    pub facts: Option<RunFacts>,
}

/// Record in transfer.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Run measured by assay.
    Run(RawRun),
    /// Results measured by another program.
    Import(RawImport),
}

/// Run as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawRun {
    /// [`RunHeader`] as JSON, with exactly the stored bytes.
    pub header: String,
    /// Status of the run; never [`RunStatus::Running`].
    #[serde(flatten)]
    pub status: RunStatus,
    /// Finish time, milliseconds since 1970 (UTC).
    pub finished_unix_ms: Option<u64>,
    /// Trials in the order of their positions.
    #[serde(skip)]
    pub trials: Vec<RawTrial>,
}

/// Trial as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawTrial {
    /// Place in the run.
    pub position: u32,
    /// Name of the job.
    pub job: String,
    /// Repetition, from 1.
    pub trial: u32,
    /// Outcome as shown in lists.
    pub outcome: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The record, compressed.
    #[serde(skip)]
    pub record: Vec<u8>,
}

/// Import as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawImport {
    /// The record, compressed.
    pub record: Vec<u8>,
}

/// Contents of a checked parcel.
pub(crate) enum Contents {
    /// A run.
    Run(Box<RunHeader>),
    /// An import.
    Import(Box<Import>),
    /// Only an annotation.
    Annotation,
}

impl Parcel {
    /// Returns the facts if they belong to this run and follow the rules of this version.
    pub(crate) fn own_facts(&self) -> Option<&RunFacts> {
        let facts = self.facts.as_ref();
        facts.filter(|facts| facts.run == self.offer.id && facts.version == FACTS_VERSION)
    }

    /// Checks the contents and returns them if they may be stored.
    ///
    /// # Errors
    /// The reason, as a sentence, if the contents do not match their hash or id.
    pub(crate) fn check(&self) -> Result<Contents, String> {
        let id = &self.offer.id;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(plain) {
            return Err("its id is not one of assay".to_owned());
        }
        check_annotation(&self.annotation)?;
        let Some(record) = &self.record else {
            return Ok(Contents::Annotation);
        };
        if self.offer.sha256.as_deref() != Some(&*record.sha256()) {
            return Err("its record is damaged".to_owned());
        }
        let (contents, own) = match record {
            Record::Run(run) => {
                let header = run.check()?;
                let own = header.id.clone();
                (Contents::Run(Box::new(header)), own)
            }
            Record::Import(import) => {
                let import: Import = record::from_blob(&import.record)
                    .map_err(|error| format!("its record cannot be read: {error}"))?;
                let own = import.id.clone();
                (Contents::Import(Box::new(import)), own)
            }
        };
        match own == *id {
            true => Ok(contents),
            false => Err(format!("its record is that of {own}")),
        }
    }
}

impl RawRun {
    fn check(&self) -> Result<RunHeader, String> {
        let header: RunHeader = record::from_text(&self.header)
            .map_err(|error| format!("its header cannot be read: {error}"))?;
        if self.status == RunStatus::Running {
            return Err("it is under way".to_owned());
        }
        let mut pairs = self.trials.windows(2);
        if pairs.any(|pair| pair[0].position >= pair[1].position) {
            return Err("its trials are not in order".to_owned());
        }
        Ok(header)
    }

    /// Decodes the run with its readable trials.
    ///
    /// # Errors
    /// If the header cannot be read.
    pub fn run(&self) -> io::Result<Run> {
        let trials = self.trials.iter();
        let trials = trials.filter_map(|trial| record::from_blob(&trial.record).ok());
        Ok(Run {
            header: record::from_text(&self.header)?,
            status: self.status.clone(),
            finished_unix_ms: self.finished_unix_ms,
            trials: trials.collect(),
            annotation: Annotation::default(),
        })
    }
}

/// Accepts only annotations that assay could have written: they are printed on terminals.
fn check_annotation(annotation: &Annotation) -> Result<(), String> {
    let mut said = Annotation::default();
    let name = annotation.name.iter().map(|name| ("name", name));
    let tags = annotation.tags.iter().map(|tag| ("tag", tag));
    let note = annotation.note.iter().map(|note| ("note", note));
    for (option, value) in name.chain(tags).chain(note) {
        said.take(option, value)
            .map_err(|why| format!("its {option} cannot be taken: {why}"))?;
    }
    match said == *annotation {
        true => Ok(()),
        false => Err("its name, tags and note are not as assay writes them".to_owned()),
    }
}
