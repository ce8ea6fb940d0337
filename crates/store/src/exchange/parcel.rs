//! Records as they travel: the bytes that are stored, not what they mean.

use super::Offer;
use crate::record;
use assay_model::annotation::Annotation;
use assay_model::facts::{FACTS_VERSION, RunFacts};
use assay_model::figures::Import;
use assay_model::run::{Run, RunHeader, RunStatus};
use serde::{Deserialize, Serialize};
use std::io;

/// Longest id that is taken.
const LONGEST_ID: usize = 64;

/// Run or import on its way, with its annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel {
    /// Offer of the source.
    pub offer: Offer,
    /// The record; `None`: the sink has it, and gets the annotation alone.
    pub record: Option<Record>,
    /// Name, tags and note.
    pub annotation: Annotation,
    /// Facts of a run, derived by whoever sends it; `None`: the sink derives them when it needs
    /// them.
    pub facts: Option<RunFacts>,
}

/// Record on its way.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A run of assay's own.
    Run(RawRun),
    /// Results that were made elsewhere.
    Import(RawImport),
}

/// Run as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawRun {
    /// [`RunHeader`] as JSON, byte by byte as it was stored.
    pub header: String,
    /// Status of the run; never [`RunStatus::Running`].
    #[serde(flatten)]
    pub status: RunStatus,
    /// End, milliseconds since 1970 (UTC).
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
    /// Word for lists.
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

/// Contents of a parcel that was checked.
pub(crate) enum Contents {
    /// A run.
    Run(Box<RunHeader>),
    /// An import.
    Import(Box<Import>),
    /// An annotation alone.
    Annotation,
}

impl Parcel {
    /// Facts, if they are of this run and of this version's rules.
    pub(crate) fn own_facts(&self) -> Option<&RunFacts> {
        let facts = self.facts.as_ref();
        facts.filter(|facts| facts.run == self.offer.id && facts.version == FACTS_VERSION)
    }

    /// Checks the contents and returns them if they may be stored.
    ///
    /// # Errors
    /// When its contents are not those of its hash or its id: why, as a sentence.
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

    /// The run with the trials that can be read: for whoever derives something from it.
    ///
    /// # Errors
    /// When the header cannot be read.
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

/// Takes only what a user could have said: it is shown on terminals.
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
