//! Copying runs and imports from one store to another.
//!
//! A [`Source`] says what it has and gives it, a [`Sink`] says what it lacks and takes it; a
//! [`crate::Store`] is both, and so is a [`Peer`]: a store that another assay answers for
//! ([`fn@answer`]), over any stream of bytes. [`Transfer`] asks one and gives to the other.
//!
//! Records are compared by the SHA-256 of their contents, never by their age: what is there with
//! the same hash is not sent again, so that a transfer that was cut is begun again at no cost.
//! Nothing is ever overwritten by other contents of the same id, with one exception: a run that
//! ended early is replaced by the same run after it was resumed, which has all its trials and
//! more.
//!
//! Names, tags, notes, and opinions on changes lie outside the hash: what was said last counts.

mod answer;
mod content;
mod extension;
mod frame;
mod message;
mod parcel;
mod peer;
mod reading;
mod sink;
mod source;
mod transfer;

pub use crate::derived::SaidOfChange;
pub use answer::{AnsweringRole, answer};
pub use parcel::{Parcel, RawImport, RawRun, RawTrial, Record};
pub use peer::Peer;
pub use transfer::{Transfer, TransferTally};

use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::io;
use thiserror::Error;

/// Most ids that are asked about at once.
pub const MOST_OFFERS: usize = 500;

/// Record that a source has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Id of the run or import.
    pub id: String,
    /// SHA-256 of the contents in hexadecimal digits; `None` while the run is under way.
    pub sha256: Option<String>,
    /// Last change of name, tags or note, milliseconds since 1970 (UTC); `None`: there are none.
    pub annotated_unix_ms: Option<u64>,
}

/// Answer of a sink to an offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The sink does not have it.
    Absent,
    /// The sink has the same.
    Same {
        /// [`Offer::annotated_unix_ms`] of the sink's.
        annotated_unix_ms: Option<u64>,
    },
    /// The sink has other contents under that id, or parts of it.
    Other,
    /// It is under way there.
    UnderWay,
    /// It was removed there.
    Removed,
}

/// Result of taking one parcel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Id of the run or import.
    pub id: String,
    /// Outcome for that id.
    pub outcome: TakenAs,
    /// Name that it did not get, since another has it.
    pub nameless: Option<NameHeld>,
}

/// Name that belongs to another run or import of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameHeld {
    /// The name.
    pub name: String,
    /// Id of the run or import that has it.
    pub holder: String,
}

/// Outcome of taking one parcel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenAs {
    /// It is there now.
    Added,
    /// The same run is there now with more trials: it was resumed meanwhile.
    Extended,
    /// The same was there already; its annotation may be newer now.
    Same,
    /// The same run was there already with more trials.
    Longer,
    /// Other contents are there under that id: nothing was changed.
    Conflict,
    /// It is under way there: nothing was changed.
    UnderWay,
    /// It was removed there: nothing was changed.
    Removed,
    /// It is damaged or not what it claims to be: nothing was changed.
    Refused {
        /// Reason, as a sentence.
        why: String,
    },
}

/// Part of a run or import that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The record and the annotation.
    Whole,
    /// The annotation alone.
    Annotation,
}

/// Run or import that a source was asked for.
#[derive(Debug)]
pub enum Given {
    /// The whole of it.
    Parcel(Box<Parcel>),
    /// It cannot be read as it was written.
    Damaged {
        /// Id of the run or import.
        id: String,
        /// Reason, as a sentence.
        why: String,
    },
}

/// Store that runs are copied from.
pub trait Source {
    /// Whole id of the run or import that `word` names, as [`crate::Store::find`] reads it.
    ///
    /// # Errors
    /// When there is none, or the store cannot be read.
    fn find(&mut self, word: &str) -> Result<String, ExchangeError>;

    /// Offers for these ids, of those that are there.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn offers(&mut self, ids: &[String]) -> Result<Vec<Offer>, ExchangeError>;

    /// Offers for the first ids after this one, in the order of ids; empty at the end.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn offers_after(&mut self, id: &str) -> Result<Vec<Offer>, ExchangeError>;

    /// The first of these runs and imports in the same order: at least one, and not more than fit
    /// into memory.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn give(&mut self, ids: &[String], part: Part) -> Result<Vec<Given>, ExchangeError>;

    /// All that was said of changes that begin with these runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn opinions(&mut self, ids: &[String]) -> Result<Vec<SaidOfChange>, ExchangeError>;
}

/// Store that runs are copied to.
pub trait Sink {
    /// An answer to each offer, in the same order.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn compare(&mut self, offers: &[Offer]) -> Result<Vec<Standing>, ExchangeError>;

    /// Takes parcels, each as a whole or not at all; the outcome of each, in the same order. With
    /// `again` also what was removed there.
    ///
    /// # Errors
    /// When the store cannot be written: none was taken then.
    fn take(&mut self, parcels: Vec<Parcel>, again: bool) -> Result<Vec<Taken>, ExchangeError>;

    /// Takes what was said of changes that begin with runs that are there; number of those that
    /// were newer than what was said there.
    ///
    /// # Errors
    /// When the store cannot be written: none was taken then.
    fn take_opinions(&mut self, all: Vec<SaidOfChange>) -> Result<usize, ExchangeError>;
}

/// Why a transfer ended early.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// A store on this side cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stream to the other side broke.
    #[error("the connection was lost: {0}")]
    Link(#[from] io::Error),
    /// The other side says why it cannot do what it was asked for.
    #[error("{0}")]
    Refused(String),
    /// The other side breaks the protocol.
    #[error("the other side does not answer as assay store does: {0}")]
    Protocol(String),
}
