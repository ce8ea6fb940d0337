//! Messages between two assays, each of which has a store.

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

/// Oldest and newest version of these messages that this build speaks.
pub const VERSIONS: (u32, u32) = (1, 1);
/// Most parcels, and most bytes of records, that are taken at once.
const MOST_PARCELS: usize = 4096;
const MOST_BYTES: u64 = 1 << 30;

/// Message of either side.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// Opens the session, and answers that.
    Hello {
        /// Versions that the sender speaks, and its build.
        greeting: Greeting,
        /// Store that is asked for; `None`: the usual one there.
        #[serde(default)]
        store: Option<PathBuf>,
    },
    /// The store is open.
    Opened,
    /// Asks for [`super::Sink::compare`].
    Compare {
        /// Offers.
        offers: Vec<Offer>,
    },
    /// Answers it.
    Compared {
        /// An answer to each offer.
        standings: Vec<Standing>,
    },
    /// A parcel; its trials follow.
    Parcel(ParcelHead),
    /// Trial of the last run, with its record.
    Trial(RawTrial),
    /// A record that cannot be read.
    Damaged {
        /// Id of the run or import.
        id: String,
        /// Reason.
        why: String,
    },
    /// End of the parcels; asks to take them where they were not asked for.
    Sent {
        /// Takes removed ones as well, see [`super::Sink::take`].
        #[serde(default)]
        again: bool,
    },
    /// Parcels were taken.
    Taken {
        /// Outcome of each.
        taken: Vec<Taken>,
    },
    /// Asks for [`super::Source::find`].
    Find {
        /// Name, id or beginning of an id.
        word: String,
    },
    /// Answers it.
    Found {
        /// The whole id.
        id: String,
    },
    /// Asks for [`super::Source::offers`].
    OffersOf {
        /// The ids.
        ids: Vec<String>,
    },
    /// Asks for [`super::Source::offers_after`].
    OffersAfter {
        /// The id.
        id: String,
    },
    /// Answers both.
    Offers {
        /// Offers.
        offers: Vec<Offer>,
    },
    /// Asks for [`super::Source::give`]; parcels answer.
    Give {
        /// The ids.
        ids: Vec<String>,
        /// Part of each.
        part: Part,
    },
    /// Asks for [`super::Source::opinions`].
    OpinionsOf {
        /// Ids of runs.
        ids: Vec<String>,
    },
    /// Answers it, and asks for [`super::Sink::take_opinions`].
    Opinions {
        /// The opinions.
        opinions: Vec<SaidOfChange>,
    },
    /// Answers that.
    OpinionsTaken {
        /// Number of those that were newer.
        newer: usize,
    },
    /// Says why something cannot be done, and ends the session.
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
    /// An import, whose record comes with this message.
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

/// Greeting of this build.
pub fn greeting() -> Greeting {
    let (oldest, newest) = VERSIONS;
    Greeting {
        oldest,
        newest,
        ..Greeting::with([])
    }
}

/// Says why two builds cannot talk; `None`: they can.
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

/// Writes a parcel or the reason why there is none.
pub fn send_given(writer: &mut impl Write, given: &Given) -> Result<(), ExchangeError> {
    match given {
        Given::Parcel(parcel) => send_parcel(writer, parcel),
        Given::Damaged { id, why } => {
            let (id, why) = (id.clone(), why.clone());
            send(writer, &Message::Damaged { id, why }, &[])
        }
    }
}

/// [`Message`] of a parcel that is written without copying it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Outgoing<'a> {
    Parcel {
        offer: &'a Offer,
        /// Its trials are no part of it.
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

/// Reads parcels up to the message after them, which begin with one that was read already.
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
        // Those of other rules are derived here when they are needed.
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

/// Reads a message that has to come.
pub fn expect(reader: &mut impl Read) -> Result<(Message, Vec<u8>), ExchangeError> {
    let received = receive(reader)?;
    received.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof).into())
}
