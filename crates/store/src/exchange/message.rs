//! Messages between two assay processes, each with its own store.
//!
//! A field that either side may lack needs no new version. A sink derives facts again if those that
//! it receives have another version than its own.
//!
//! The other side is not trusted: lengths, numbers, ids and annotations are limited or checked, and
//! a pull takes only what it requested.

use super::frame::{receive, send};
use super::parcel::{RawImport, RawRun, RawTrial};
use super::{ExchangeError, Given, Offer, Parcel, Part, Record, SaidOfChange, Standing, Taken};
use assay_model::annotation::Annotation;
use assay_model::facts::RunFacts;
use assay_model::wire::Greeting;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};
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
