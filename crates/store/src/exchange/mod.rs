//! Copying runs and imports from one store to another.
//!
//! A [`Source`] lists and sends records, a [`Sink`] reports missing records and stores them. A
//! [`crate::Store`] is both, and so is a [`Peer`]: a store behind a byte stream, at whose other end
//! another assay runs [`fn@answer`]. [`Transfer`] copies from a source to a sink.
//!
//! Records are compared by the SHA-256 of their contents, never by their age. A record with the
//! same hash is not sent again, so that repeating an interrupted transfer costs little. Contents
//! are never replaced by other contents of the same id, with one exception: a run that ended early
//! is replaced by the same run after it was resumed, which has all its trials and more.
//!
//! Names, tags, notes and opinions on changes are not part of the hash: the newest one is kept.

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

/// Maximum number of ids in a request.
pub const MOST_OFFERS: usize = 500;

/// Description of a source's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Id of the run or import.
    pub id: String,
    /// SHA-256 of the contents in hexadecimal digits; `None` while the run is under way.
    pub sha256: Option<String>,
    /// Time of the last change of name, tags or note, milliseconds since 1970 (UTC); `None` without
    /// any.
    pub annotated_unix_ms: Option<u64>,
}

/// Reply of a sink to an offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The sink does not have the record.
    Absent,
    /// The sink has the same contents.
    Same {
        /// [`Offer::annotated_unix_ms`] of the sink's record.
        annotated_unix_ms: Option<u64>,
    },
    /// The sink has other contents under that id.
    Other,
    /// The run is under way in the sink.
    UnderWay,
    /// The record was removed from the sink.
    Removed,
}

/// Result of storing one parcel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Id of the run or import.
    pub id: String,
    /// Outcome for that id.
    pub outcome: TakenAs,
    /// Name that the record did not get because another record has it.
    pub nameless: Option<NameHeld>,
}

/// Name that belongs to another run or import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameHeld {
    /// The name.
    pub name: String,
    /// Id of the run or import that has it.
    pub holder: String,
}

/// Outcome of storing one parcel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenAs {
    /// The record was added.
    Added,
    /// The run was replaced by the same run with more trials: it was resumed meanwhile.
    Extended,
    /// The sink had the same contents; its annotation may have been updated.
    Same,
    /// The sink has the same run with more trials.
    Longer,
    /// The sink has other contents under that id; nothing was changed.
    Conflict,
    /// The run is under way in the sink; nothing was changed.
    UnderWay,
    /// The record was removed from the sink; nothing was changed.
    Removed,
    /// The record is damaged or does not match its hash or id; nothing was changed.
    Refused {
        /// Reason, as a sentence.
        why: String,
    },
}

/// Requested part of a run or import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The record and the annotation.
    Whole,
    /// The annotation alone.
    Annotation,
}

/// Reply of a source to a request for a record.
#[derive(Debug)]
pub enum Given {
    /// The record or its annotation.
    Parcel(Box<Parcel>),
    /// The stored record cannot be read.
    Damaged {
        /// Id of the run or import.
        id: String,
        /// Reason, as a sentence.
        why: String,
    },
}

/// Store that runs are copied from.
pub trait Source {
    /// Returns the whole id of the run or import that `word` names, with the rules of
    /// [`crate::Store::find`].
    ///
    /// # Errors
    /// If no record matches, or the store cannot be read.
    fn find(&mut self, word: &str) -> Result<String, ExchangeError>;

    /// Returns offers for those of the ids that exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn offers(&mut self, ids: &[String]) -> Result<Vec<Offer>, ExchangeError>;

    /// Returns offers for the next ids after this one, in the order of ids; empty at the end.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn offers_after(&mut self, id: &str) -> Result<Vec<Offer>, ExchangeError>;

    /// Returns the first of these records in the same order: at least one, and as many as fit into
    /// memory.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn give(&mut self, ids: &[String], part: Part) -> Result<Vec<Given>, ExchangeError>;

    /// Returns all opinions on changes that begin with these runs.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn opinions(&mut self, ids: &[String]) -> Result<Vec<SaidOfChange>, ExchangeError>;
}

/// Store that runs are copied to.
pub trait Sink {
    /// Returns the standing of each offer, in the same order.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn compare(&mut self, offers: &[Offer]) -> Result<Vec<Standing>, ExchangeError>;

    /// Stores parcels, each completely or not at all, and returns the outcome of each in the same
    /// order. `again` also stores records that were removed before.
    ///
    /// # Errors
    /// If the store cannot be written; no parcel is stored then.
    fn take(&mut self, parcels: Vec<Parcel>, again: bool) -> Result<Vec<Taken>, ExchangeError>;

    /// Stores opinions on changes that begin with runs of this store. Returns the number of those
    /// that were newer than the stored ones.
    ///
    /// # Errors
    /// If the store cannot be written; no opinion is stored then.
    fn take_opinions(&mut self, all: Vec<SaidOfChange>) -> Result<usize, ExchangeError>;
}

/// Error that ends a transfer.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// A store on this side cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stream to the other side broke.
    #[error("the connection was lost: {0}")]
    Link(#[from] io::Error),
    /// Error reported by the other side.
    #[error("{0}")]
    Refused(String),
    /// The other side violates the protocol.
    #[error("the other side does not answer as assay store does: {0}")]
    Protocol(String),
}
