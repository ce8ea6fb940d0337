//! Messages between two assay processes, each with its own store, and the records in transfer: the
//! stored bytes, not decoded.
//!
//! A field that either side may lack needs no new version. A sink derives facts again if those that
//! it receives have another version than its own.
//!
//! The other side is not trusted: lengths, numbers, ids and annotations are limited or checked, and
//! a pull takes only what it requested.

use super::{ExchangeError, Given, Offer, Part, SaidOfChange, Standing, Taken, receive, send};
use crate::runs;
use crate::runs::error_of;
use assay_model::annotation::Annotation;
use assay_model::device::register::to_hex;
use assay_model::figures::{FACTS_VERSION, Import, RunFacts};
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::wire::Greeting;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Oldest and newest protocol version that this build supports.
pub const VERSIONS: (u32, u32) = (1, 1);
/// Maximum number of parcels, and of bytes of records, in one batch.
const MOST_PARCELS: usize = 4096;
const MOST_BYTES: u64 = 1 << 30;

/// Message of either side.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// Opens the session; also the answer to it.
    Hello {
        /// Versions that the sender speaks, and its build.
        greeting: Greeting,
        /// Requested store; `None` for the default one of the other side.
        #[serde(default)]
        store: Option<PathBuf>,
    },
    /// Answer: the store is open.
    Opened,
    /// Request for [`super::Sink::compare`].
    Compare {
        /// Offers.
        offers: Vec<Offer>,
    },
    /// Answer to [`Message::Compare`].
    Compared {
        /// An answer to each offer.
        standings: Vec<Standing>,
    },
    /// Parcel; its trials follow as messages.
    Parcel(ParcelHead),
    /// Trial of the last run, with its record.
    Trial(RawTrial),
    /// Record that cannot be read.
    Damaged {
        /// Id of the run or import.
        id: String,
        /// Reason.
        why: String,
    },
    /// End of the parcels. A sender that offers them requests their storage with it.
    Sent {
        /// True to store removed records again, see [`super::Sink::take`].
        #[serde(default)]
        again: bool,
    },
    /// Answer: the parcels were processed.
    Taken {
        /// Outcome of each.
        taken: Vec<Taken>,
    },
    /// Request for [`super::Source::find`].
    Find {
        /// Name, id or beginning of an id.
        word: String,
    },
    /// Answer to [`Message::Find`].
    Found {
        /// The whole id.
        id: String,
    },
    /// Request for [`super::Source::offers`].
    OffersOf {
        /// The ids.
        ids: Vec<String>,
    },
    /// Request for [`super::Source::offers_after`].
    OffersAfter {
        /// The id.
        id: String,
    },
    /// Answer to [`Message::OffersOf`] and [`Message::OffersAfter`].
    Offers {
        /// Offers.
        offers: Vec<Offer>,
    },
    /// Request for [`super::Source::give`], answered by parcels.
    Give {
        /// The ids.
        ids: Vec<String>,
        /// Requested part of each record.
        part: Part,
    },
    /// Request for [`super::Source::opinions`].
    OpinionsOf {
        /// Ids of runs.
        ids: Vec<String>,
    },
    /// Answer to [`Message::OpinionsOf`]; also a request for [`super::Sink::take_opinions`].
    Opinions {
        /// The opinions.
        opinions: Vec<SaidOfChange>,
    },
    /// Answer to a request for [`super::Sink::take_opinions`].
    OpinionsTaken {
        /// Number of opinions that were newer.
        newer: usize,
    },
    /// Reports an error and ends the session.
    Refused {
        /// Reason, as a sentence.
        why: String,
    },
}

/// Parcel without trials and records.
#[derive(Debug, Serialize, Deserialize)]
pub struct ParcelHead {
    offer: Offer,
    #[serde(default)]
    run: Option<RawRun>,
    /// True for an import, whose record is part of this message.
    #[serde(default)]
    import: bool,
    annotation: Annotation,
    /// Facts of any version.
    #[serde(default)]
    facts: Option<Value>,
    /// Number of trials that follow.
    #[serde(default)]
    trials: u32,
}

/// Returns the greeting of this build.
pub fn greeting() -> Greeting {
    let (oldest, newest) = VERSIONS;
    Greeting {
        oldest,
        newest,
        ..Greeting::with([])
    }
}

/// Describes why two builds cannot communicate; `None` if they can.
pub fn disagreement(other: &Greeting) -> Option<String> {
    let own = greeting();
    match own.common(other) {
        Some(_) => None,
        None => Some(format!(
            "assay {} there speaks versions {} to {} of the protocol of stores, and assay {} here \
             {} to {}: update the older one",
            other.build, other.oldest, other.newest, own.build, own.oldest, own.newest
        )),
    }
}

/// Writes a parcel, or the reason why it cannot be read.
pub fn send_given(writer: &mut impl Write, given: &Given) -> Result<(), ExchangeError> {
    match given {
        Given::Parcel(parcel) => send_parcel(writer, parcel),
        Given::Damaged { id, why } => {
            let (id, why) = (id.clone(), why.clone());
            send(writer, &Message::Damaged { id, why }, &[])
        }
    }
}

/// Borrowed form of [`Message`] for a parcel, which avoids a copy.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Outgoing<'a> {
    Parcel {
        offer: &'a Offer,
        /// Run without its trials, which follow.
        run: Option<&'a RawRun>,
        import: bool,
        annotation: &'a Annotation,
        facts: Option<&'a RunFacts>,
        trials: usize,
    },
    Trial(&'a RawTrial),
}

/// Writes a parcel and its trials.
pub fn send_parcel(writer: &mut impl Write, parcel: &Parcel) -> Result<(), ExchangeError> {
    let (run, import) = match &parcel.record {
        None => (None, None),
        Some(Record::Import(import)) => (None, Some(import)),
        Some(Record::Run(run)) => (Some(run), None),
    };
    let trials: &[RawTrial] = run.map_or(&[], |run| &run.trials);
    let head = Outgoing::Parcel {
        offer: &parcel.offer,
        run,
        import: import.is_some(),
        annotation: &parcel.annotation,
        facts: parcel.facts.as_ref(),
        trials: trials.len(),
    };
    let record = import.map_or(&[][..], |import| &import.record);
    send(writer, &head, record)?;
    trials
        .iter()
        .try_for_each(|trial| send(writer, &Outgoing::Trial(trial), &trial.record))
}

/// Reads parcels up to the first other message. `first` is the first message, which the caller has
/// read already.
pub fn receive_parcels(
    reader: &mut impl Read,
    first: (Message, Vec<u8>),
) -> Result<(Vec<Given>, Message), ExchangeError> {
    let mut all = Vec::new();
    let mut bytes = 0;
    let mut next = first;
    loop {
        bytes += next.1.len() as u64;
        match next {
            (Message::Parcel(head), record) => {
                let parcel = with_trials(reader, head, record, &mut bytes)?;
                all.push(Given::Parcel(Box::new(parcel)));
            }
            (Message::Damaged { id, why }, _) => all.push(Given::Damaged { id, why }),
            (message, _) => return Ok((all, message)),
        }
        limited(all.len(), bytes)?;
        next = expect(reader)?;
    }
}

fn with_trials(
    reader: &mut impl Read,
    head: ParcelHead,
    record: Vec<u8>,
    bytes: &mut u64,
) -> Result<Parcel, ExchangeError> {
    let unexpected = |what: &str| ExchangeError::Protocol(format!("{what} is not expected"));
    let record = match (head.run, head.import) {
        (None, false) => None,
        (Some(run), false) => Some(Record::Run(run)),
        (None, true) => Some(Record::Import(RawImport { record })),
        (Some(_), true) => return Err(unexpected("a run that is an import")),
    };
    let mut parcel = Parcel {
        offer: head.offer,
        record,
        annotation: head.annotation,
        // Facts that do not parse are of other rules: this side derives them when needed.
        facts: head
            .facts
            .and_then(|facts| serde_json::from_value(facts).ok()),
    };
    for _ in 0..head.trials {
        let Some(Record::Run(run)) = &mut parcel.record else {
            return Err(unexpected("a trial"));
        };
        let (Message::Trial(trial), record) = expect(reader)? else {
            return Err(unexpected("another message than a trial"));
        };
        *bytes += record.len() as u64;
        limited(0, *bytes)?;
        run.trials.push(RawTrial { record, ..trial });
    }
    Ok(parcel)
}

fn limited(parcels: usize, bytes: u64) -> Result<(), ExchangeError> {
    match parcels > MOST_PARCELS || bytes > MOST_BYTES {
        true => Err(ExchangeError::Protocol(
            "it sends more at once than is taken".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Reads a message; the end of the stream is an error.
pub fn expect(reader: &mut impl Read) -> Result<(Message, Vec<u8>), ExchangeError> {
    let received = receive(reader)?;
    received.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof).into())
}

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
                let import: Import = runs::from_blob(&import.record)
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
        let header: RunHeader = runs::from_text(&self.header)
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
        let trials = trials.filter_map(|trial| runs::from_blob(&trial.record).ok());
        Ok(Run {
            header: runs::from_text(&self.header)?,
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

impl Record {
    /// Returns the SHA-256 of the contents, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        match self {
            Self::Run(run) => run.sha256(),
            Self::Import(import) => import.sha256(),
        }
    }
}

impl RawRun {
    /// Returns the SHA-256 over header, status, error and finish time, and over position and record
    /// of each trial, each preceded by its length.
    fn sha256(&self) -> String {
        let error = error_of(&self.status).unwrap_or_default();
        let finished = self.finished_unix_ms.map(|at| at.to_string());
        let mut content = Content::default();
        content.add(self.header.as_bytes());
        content.add(self.status.word().as_bytes());
        content.add(error.as_bytes());
        content.add(finished.unwrap_or_default().as_bytes());
        for trial in &self.trials {
            content.add(trial.position.to_string().as_bytes());
            content.add(&trial.record);
        }
        content.hex()
    }
}

impl RawImport {
    /// Returns the SHA-256 over the record, which contains the other columns too.
    fn sha256(&self) -> String {
        let mut content = Content::default();
        content.add(&self.record);
        content.hex()
    }
}

/// Hash over several parts. Each length precedes its part, so that no two lists hash the same
/// bytes.
#[derive(Default)]
struct Content(Sha256);

impl Content {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    fn hex(self) -> String {
        to_hex(&self.0.finalize())
    }
}
