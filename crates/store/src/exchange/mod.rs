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
//!
//! A message on a byte stream is two lengths of four bytes (little endian), then JSON of the first
//! length and a record of the second.

mod message;
mod sink;

pub use crate::derived::SaidOfChange;
pub use message::{Parcel, RawImport, RawRun, RawTrial, Record};

use crate::derived::said_of;
use crate::error::StoreError;
use crate::runs::Store;
use assay_model::annotation::Annotation;
use message::{Message, disagreement, expect, greeting, receive_parcels, send_given, send_parcel};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sink::{Known, annotations_of, fitting, known_after, known_of, records_of};
use std::collections::{HashMap, HashSet};
use std::io;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
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

impl Source for Store {
    fn find(&mut self, word: &str) -> Result<String, ExchangeError> {
        Ok(Self::find(self, word)?.id().to_owned())
    }

    fn offers(&mut self, ids: &[String]) -> Result<Vec<Offer>, ExchangeError> {
        let known = self.database.snapshot(|t| known_of(t, ids))?;
        Ok(self.with_hashes(known)?)
    }

    fn offers_after(&mut self, id: &str) -> Result<Vec<Offer>, ExchangeError> {
        let known = self.database.snapshot(|t| known_after(t, id))?;
        Ok(self.with_hashes(known)?)
    }

    fn give(&mut self, ids: &[String], part: Part) -> Result<Vec<Given>, ExchangeError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let given = self.database.snapshot(|t| {
            let (ids, mut records) = match part {
                Part::Annotation => (ids, HashMap::new()),
                Part::Whole => {
                    let some = fitting(t, ids)?;
                    (some, records_of(t, some)?)
                }
            };
            let known = known_of(t, ids)?.into_iter();
            let mut known: HashMap<String, Known> =
                known.map(|known| (known.offer.id.clone(), known)).collect();
            let mut annotations = annotations_of(t, ids)?;
            let given = ids.iter().map(|id| {
                let record = records.remove(id);
                let annotation = annotations.remove(id).unwrap_or_default();
                match known.remove(id) {
                    Some(known) if part == Part::Annotation || record.is_some() => {
                        parcel(known.offer, record, annotation)
                    }
                    _ => damaged(id, "it was removed or resumed meanwhile"),
                }
            });
            Ok(given.collect())
        })?;
        Ok(given)
    }

    fn opinions(&mut self, ids: &[String]) -> Result<Vec<SaidOfChange>, ExchangeError> {
        Ok(self.database.snapshot(|t| said_of(t, ids))?)
    }
}

/// Returns a parcel if the record has not changed since it was hashed.
fn parcel(mut offer: Offer, record: Option<Record>, annotation: Annotation) -> Given {
    if let (None, Some(record)) = (&offer.sha256, &record) {
        offer.sha256 = Some(record.sha256());
    }
    let parcel = Parcel {
        offer,
        record,
        annotation,
        facts: None,
    };
    match parcel.check() {
        Ok(_) => Given::Parcel(Box::new(parcel)),
        Err(why) => damaged(&parcel.offer.id, &why),
    }
}

fn damaged(id: &str, why: &str) -> Given {
    Given::Damaged {
        id: id.to_owned(),
        why: why.to_owned(),
    }
}

/// Outcome of a transfer so far. "There" is the sink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferTally {
    /// Runs and imports added.
    pub added: Vec<String>,
    /// Runs replaced by a version with more trials.
    pub extended: Vec<String>,
    /// Existing runs and imports with an updated name, tags or note.
    pub annotated: Vec<String>,
    /// Existing runs and imports: the same, or the same run with more trials.
    pub there: Vec<String>,
    /// Runs and imports whose id has other contents in the sink.
    pub conflicts: Vec<String>,
    /// Runs and imports that were removed from the sink.
    pub removed: Vec<String>,
    /// Runs that are under way in either store.
    pub under_way: Vec<String>,
    /// Runs and imports copied without their name, because another record has it in the sink.
    pub nameless: Vec<(String, NameHeld)>,
    /// Runs and imports that were not copied, with the reason.
    pub refused: Vec<(String, String)>,
    /// Number of opinions on changes that were newer than those of the sink.
    pub opinions: usize,
}

impl TransferTally {
    /// Returns the number of runs and imports processed.
    pub fn seen(&self) -> usize {
        let Self {
            added,
            extended,
            annotated,
            there,
            conflicts,
            removed,
            under_way,
            refused,
            nameless: _,
            opinions: _,
        } = self;
        let lists = [
            added, extended, annotated, there, conflicts, removed, under_way,
        ];
        lists.into_iter().map(Vec::len).sum::<usize>() + refused.len()
    }

    /// Returns the runs that differ between the sink and the source.
    fn apart(&self) -> HashSet<&String> {
        let lists = [&self.conflicts, &self.removed, &self.under_way];
        let refused = self.refused.iter().map(|(id, _)| id);
        lists.into_iter().flatten().chain(refused).collect()
    }

    fn note(&mut self, taken: Taken, part: Part) {
        let Taken {
            id,
            outcome,
            nameless,
        } = taken;
        self.nameless
            .extend(nameless.map(|name| (id.clone(), name)));
        let list = match outcome {
            TakenAs::Added => &mut self.added,
            TakenAs::Extended => &mut self.extended,
            TakenAs::Same if part == Part::Annotation => &mut self.annotated,
            TakenAs::Same | TakenAs::Longer => &mut self.there,
            TakenAs::Conflict => &mut self.conflicts,
            TakenAs::UnderWay => &mut self.under_way,
            TakenAs::Removed => &mut self.removed,
            TakenAs::Refused { why } => return self.refused.push((id, why)),
        };
        list.push(id);
    }
}

/// Copies records from one store to another.
pub struct Transfer<'a> {
    /// Store that runs are copied from.
    pub from: &'a mut dyn Source,
    /// Store that they are copied to.
    pub to: &'a mut dyn Sink,
    /// True to copy records again that were removed from the sink.
    pub again: bool,
    /// Called with the parcels of a batch before they are sent.
    pub prepare: &'a mut dyn FnMut(&mut [Parcel]),
    /// Called after each batch.
    pub tell: &'a mut dyn FnMut(&TransferTally),
}

impl Transfer<'_> {
    /// Copies these runs and imports. After an error, the tally contains the records copied before it.
    ///
    /// # Errors
    /// If one of the stores can no longer be used.
    pub fn these(
        &mut self,
        ids: &[String],
        tally: &mut TransferTally,
    ) -> Result<(), ExchangeError> {
        for ids in ids.chunks(MOST_OFFERS) {
            let offers = self.from.offers(ids)?;
            self.batch(&offers, tally)?;
        }
        Ok(())
    }

    /// Copies all records of the source.
    ///
    /// # Errors
    /// As [`Self::these`].
    pub fn everything(&mut self, tally: &mut TransferTally) -> Result<(), ExchangeError> {
        let mut last = String::new();
        loop {
            let offers = self.from.offers_after(&last)?;
            let Some(offer) = offers.last() else {
                return Ok(());
            };
            last.clone_from(&offer.id);
            for offers in offers.chunks(MOST_OFFERS) {
                self.batch(offers, tally)?;
            }
        }
    }

    fn batch(&mut self, offers: &[Offer], tally: &mut TransferTally) -> Result<(), ExchangeError> {
        let mut ended: Vec<Offer> = Vec::new();
        for offer in offers {
            match offer.sha256 {
                Some(_) => ended.push(offer.clone()),
                None => tally.under_way.push(offer.id.clone()),
            }
        }
        let (mut records, mut annotations) = (Vec::new(), Vec::new());
        for (offer, standing) in ended.iter().zip(self.to.compare(&ended)?) {
            let id = offer.id.clone();
            match standing {
                Standing::Absent | Standing::Other => records.push(id),
                Standing::Removed if self.again => records.push(id),
                Standing::Removed => tally.removed.push(id),
                Standing::UnderWay => tally.under_way.push(id),
                Standing::Same { annotated_unix_ms }
                    if offer.annotated_unix_ms > annotated_unix_ms =>
                {
                    annotations.push(id);
                }
                Standing::Same { .. } => tally.there.push(id),
            }
        }
        self.send(&records, Part::Whole, tally)?;
        self.send(&annotations, Part::Annotation, tally)?;
        let ended: Vec<String> = ended.into_iter().map(|offer| offer.id).collect();
        self.send_opinions(&ended, tally)?;
        (self.tell)(tally);
        Ok(())
    }

    /// Sends the opinions on changes that begin with runs that both stores have.
    fn send_opinions(
        &mut self,
        ids: &[String],
        tally: &mut TransferTally,
    ) -> Result<(), ExchangeError> {
        let mut opinions = self.from.opinions(ids)?;
        if !opinions.is_empty() {
            let apart = tally.apart();
            opinions.retain(|said| !apart.contains(&said.run));
        }
        if !opinions.is_empty() {
            tally.opinions += self.to.take_opinions(opinions)?;
        }
        Ok(())
    }

    fn send(
        &mut self,
        ids: &[String],
        part: Part,
        tally: &mut TransferTally,
    ) -> Result<(), ExchangeError> {
        let mut left = ids;
        while !left.is_empty() {
            let given = self.from.give(left, part)?;
            left = left.get(given.len().max(1)..).unwrap_or_default();
            let mut parcels = Vec::new();
            for given in given {
                match given {
                    Given::Damaged { id, why } => tally.refused.push((id, why)),
                    Given::Parcel(parcel) => parcels.push(*parcel),
                }
            }
            (self.prepare)(&mut parcels);
            for taken in self.to.take(parcels, self.again)? {
                tally.note(taken, part);
            }
            (self.tell)(tally);
        }
        Ok(())
    }
}

/// Maximum length of the JSON and of the record. Records are not longer even before they are
/// compressed.
const LONGEST: u32 = 64 << 20;
/// Memory allocated at once for an announced length.
const MOST_ARE_SHORTER: u32 = 64 << 10;

/// Writes a message, without flushing.
fn send(
    writer: &mut impl Write,
    message: &impl Serialize,
    record: &[u8],
) -> Result<(), ExchangeError> {
    let json = serde_json::to_vec(message).map_err(io::Error::from)?;
    for part in [&json[..], record] {
        let length = u32::try_from(part.len()).ok();
        let length = length.filter(|length| *length <= LONGEST).ok_or_else(|| {
            ExchangeError::Protocol(format!("a message of {} bytes is too long", part.len()))
        })?;
        writer.write_all(&length.to_le_bytes())?;
    }
    writer.write_all(&json)?;
    Ok(writer.write_all(record)?)
}

/// Reads a message and its record; `None` if the stream ended between messages.
fn receive<M: DeserializeOwned>(
    reader: &mut impl Read,
) -> Result<Option<(M, Vec<u8>)>, ExchangeError> {
    let mut first = [0; 1];
    match reader.read_exact(&mut first) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut rest = [0; 7];
    reader.read_exact(&mut rest)?;
    let ([a], [b, c, d, e, f, g, h]) = (first, rest);
    let json = body(reader, u32::from_le_bytes([a, b, c, d]))?;
    let record = body(reader, u32::from_le_bytes([e, f, g, h]))?;
    let message = serde_json::from_slice(&json)
        .map_err(|error| ExchangeError::Protocol(format!("not a message of assay: {error}")))?;
    Ok(Some((message, record)))
}

fn body(reader: &mut impl Read, length: u32) -> Result<Vec<u8>, ExchangeError> {
    if length > LONGEST {
        return Err(ExchangeError::Protocol(format!(
            "it announces {length} bytes, and at most {LONGEST} are taken"
        )));
    }
    // The buffer grows as bytes arrive, so that an announced length alone costs little memory.
    let mut body = Vec::with_capacity(length.min(MOST_ARE_SHORTER) as usize);
    reader.take(length.into()).read_to_end(&mut body)?;
    match body.len() == length as usize {
        true => Ok(body),
        false => Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
    }
}

/// Store behind a stream, at whose other end [`answer`] runs.
#[derive(Debug)]
pub struct Peer<R: Read, W: Write> {
    reader: BufReader<R>,
    writer: BufWriter<W>,
}

impl<R: Read, W: Write> Peer<R, W> {
    /// Exchanges greetings and requests a store; `None` requests the default one of the other side.
    ///
    /// # Errors
    /// If no answer arrives, or the other side has no common version or cannot open the store.
    pub fn greet(reader: R, writer: W, store: Option<&Path>) -> Result<Self, ExchangeError> {
        let mut peer = Self {
            reader: BufReader::new(reader),
            writer: BufWriter::new(writer),
        };
        let hello = Message::Hello {
            greeting: greeting(),
            store: store.map(Path::to_owned),
        };
        let Message::Hello { greeting, .. } = peer.ask(&hello)? else {
            return Err(unexpected());
        };
        if let Some(why) = disagreement(&greeting) {
            return Err(ExchangeError::Refused(why));
        }
        match expect(&mut peer.reader)? {
            (Message::Opened, _) => Ok(peer),
            (Message::Refused { why }, _) => Err(ExchangeError::Refused(why)),
            _ => Err(unexpected()),
        }
    }

    fn ask(&mut self, message: &Message) -> Result<Message, ExchangeError> {
        send(&mut self.writer, message, &[])?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Message, ExchangeError> {
        // A refusal explains more than the write error that follows from it.
        let flushed = self.writer.flush();
        match expect(&mut self.reader) {
            Ok((Message::Refused { why }, _)) => Err(ExchangeError::Refused(why)),
            Ok((message, _)) => flushed.map(|()| message).map_err(Into::into),
            Err(error) => Err(error),
        }
    }

    fn ask_for_offers(&mut self, message: &Message) -> Result<Vec<Offer>, ExchangeError> {
        match self.ask(message)? {
            Message::Offers { offers } => Ok(offers),
            _ => Err(unexpected()),
        }
    }
}

impl<R: Read, W: Write> Source for Peer<R, W> {
    fn find(&mut self, word: &str) -> Result<String, ExchangeError> {
        let word = word.to_owned();
        match self.ask(&Message::Find { word })? {
            Message::Found { id } => Ok(id),
            _ => Err(unexpected()),
        }
    }

    fn offers(&mut self, ids: &[String]) -> Result<Vec<Offer>, ExchangeError> {
        let ids = ids.to_vec();
        self.ask_for_offers(&Message::OffersOf { ids })
    }

    fn offers_after(&mut self, id: &str) -> Result<Vec<Offer>, ExchangeError> {
        let offers = self.ask_for_offers(&Message::OffersAfter { id: id.to_owned() })?;
        // Unsorted ids could make the listing endless.
        let mut before = id;
        for offer in &offers {
            if *offer.id <= *before {
                return Err(unexpected());
            }
            before = &offer.id;
        }
        Ok(offers)
    }

    fn opinions(&mut self, ids: &[String]) -> Result<Vec<SaidOfChange>, ExchangeError> {
        let message = Message::OpinionsOf { ids: ids.to_vec() };
        match self.ask(&message)? {
            Message::Opinions { opinions } if opinions.iter().all(|o| ids.contains(&o.run)) => {
                Ok(opinions)
            }
            _ => Err(unexpected()),
        }
    }

    fn give(&mut self, ids: &[String], part: Part) -> Result<Vec<Given>, ExchangeError> {
        let message = Message::Give {
            ids: ids.to_vec(),
            part,
        };
        let first = self.ask(&message)?;
        let (given, end) = receive_parcels(&mut self.reader, (first, Vec::new()))?;
        let asked: HashSet<&String> = ids.iter().collect();
        let is_asked = |given: &Given| match given {
            Given::Parcel(parcel) => asked.contains(&parcel.offer.id),
            Given::Damaged { id, .. } => asked.contains(id),
        };
        match end {
            Message::Sent { .. } if !given.is_empty() && given.iter().all(is_asked) => Ok(given),
            Message::Refused { why } => Err(ExchangeError::Refused(why)),
            _ => Err(unexpected()),
        }
    }
}

impl<R: Read, W: Write> Sink for Peer<R, W> {
    fn take_opinions(&mut self, all: Vec<SaidOfChange>) -> Result<usize, ExchangeError> {
        let most = all.len();
        match self.ask(&Message::Opinions { opinions: all })? {
            Message::OpinionsTaken { newer } if newer <= most => Ok(newer),
            _ => Err(unexpected()),
        }
    }

    fn compare(&mut self, offers: &[Offer]) -> Result<Vec<Standing>, ExchangeError> {
        let message = Message::Compare {
            offers: offers.to_vec(),
        };
        match self.ask(&message)? {
            Message::Compared { standings } if standings.len() == offers.len() => Ok(standings),
            _ => Err(unexpected()),
        }
    }

    fn take(&mut self, parcels: Vec<Parcel>, again: bool) -> Result<Vec<Taken>, ExchangeError> {
        for parcel in &parcels {
            send_parcel(&mut self.writer, parcel)?;
        }
        match self.ask(&Message::Sent { again })? {
            Message::Taken { taken } if taken.len() == parcels.len() => Ok(taken),
            _ => Err(unexpected()),
        }
    }
}

fn unexpected() -> ExchangeError {
    ExchangeError::Protocol("its answer is not one to the question".to_owned())
}

/// Role of the answering side in a transfer.
pub enum AnsweringRole<S> {
    /// Receives records of the other side.
    Receive(S),
    /// Sends records of this side.
    Send(S),
}

/// Answers another assay until it closes the stream. `open` is called with the requested store,
/// `None` for the default one.
///
/// # Errors
/// If the stream breaks, the other side violates the protocol, or the store cannot be used. The
/// error is also sent to the other side.
pub fn answer<S: Source + Sink>(
    reader: impl Read,
    writer: impl Write,
    open: impl FnOnce(Option<PathBuf>) -> Result<AnsweringRole<S>, String>,
) -> Result<(), ExchangeError> {
    let (mut reader, mut writer) = (BufReader::new(reader), BufWriter::new(writer));
    let answered = greet(&mut reader, &mut writer, open)
        .and_then(|role| serve(&mut reader, &mut writer, role));
    if let Err(error) = &answered
        && !matches!(error, ExchangeError::Link(_))
    {
        let why = error.to_string();
        // The other side may have disconnected already.
        let _ = send(&mut writer, &Message::Refused { why }, &[]);
        let _ = writer.flush();
    }
    answered
}

fn greet<S>(
    reader: &mut impl Read,
    writer: &mut impl Write,
    open: impl FnOnce(Option<PathBuf>) -> Result<AnsweringRole<S>, String>,
) -> Result<AnsweringRole<S>, ExchangeError> {
    let (
        Message::Hello {
            greeting: other,
            store,
        },
        _,
    ) = expect(reader)?
    else {
        return Err(ExchangeError::Protocol("it does not greet".to_owned()));
    };
    let hello = Message::Hello {
        greeting: greeting(),
        store: None,
    };
    send(writer, &hello, &[])?;
    if let Some(why) = disagreement(&other) {
        return Err(ExchangeError::Refused(why));
    }
    let role = open(store).map_err(ExchangeError::Refused)?;
    send(writer, &Message::Opened, &[])?;
    writer.flush()?;
    Ok(role)
}

fn serve<S: Source + Sink>(
    reader: &mut impl Read,
    writer: &mut impl Write,
    mut role: AnsweringRole<S>,
) -> Result<(), ExchangeError> {
    while let Some(received) = receive(reader)? {
        match &mut role {
            AnsweringRole::Receive(store) => take(reader, writer, store, received)?,
            AnsweringRole::Send(store) => give(writer, store, received.0)?,
        }
        writer.flush()?;
    }
    Ok(())
}

fn take(
    reader: &mut impl Read,
    writer: &mut impl Write,
    store: &mut impl Sink,
    received: (Message, Vec<u8>),
) -> Result<(), ExchangeError> {
    if let (Message::Compare { offers }, _) = &received {
        few(offers.len())?;
        let standings = store.compare(offers)?;
        return send(writer, &Message::Compared { standings }, &[]);
    }
    if let (Message::Opinions { opinions }, _) = received {
        let newer = store.take_opinions(opinions)?;
        return send(writer, &Message::OpinionsTaken { newer }, &[]);
    }
    let (given, Message::Sent { again }) = receive_parcels(reader, received)? else {
        return Err(not_asked());
    };
    let parcels = given.into_iter().map(|given| match given {
        Given::Parcel(parcel) => Ok(*parcel),
        Given::Damaged { .. } => Err(not_asked()),
    });
    let taken = store.take(parcels.collect::<Result<_, _>>()?, again)?;
    send(writer, &Message::Taken { taken }, &[])
}

fn give(
    writer: &mut impl Write,
    store: &mut impl Source,
    message: Message,
) -> Result<(), ExchangeError> {
    match message {
        Message::Find { word } => {
            let id = store.find(&word)?;
            send(writer, &Message::Found { id }, &[])
        }
        Message::OffersOf { ids } => {
            few(ids.len())?;
            let offers = store.offers(&ids)?;
            send(writer, &Message::Offers { offers }, &[])
        }
        Message::OffersAfter { id } => {
            let offers = store.offers_after(&id)?;
            send(writer, &Message::Offers { offers }, &[])
        }
        Message::Give { ids, part } => {
            few(ids.len())?;
            for given in store.give(&ids, part)? {
                send_given(writer, &given)?;
            }
            send(writer, &Message::Sent { again: false }, &[])
        }
        Message::OpinionsOf { ids } => {
            few(ids.len())?;
            let opinions = store.opinions(&ids)?;
            send(writer, &Message::Opinions { opinions }, &[])
        }
        _ => Err(not_asked()),
    }
}

fn few(ids: usize) -> Result<(), ExchangeError> {
    match ids > MOST_OFFERS {
        true => Err(ExchangeError::Protocol(format!(
            "it asks about {ids} runs at once, and at most {MOST_OFFERS} are answered"
        ))),
        false => Ok(()),
    }
}

fn not_asked() -> ExchangeError {
    ExchangeError::Protocol(
        "its question is not one for this command (push asks store receive, pull asks store send)"
            .to_owned(),
    )
}

/// Run or import that waits to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Id of the run or import.
    pub id: String,
    /// Destination store, without a password.
    pub destination: String,
    /// Number of failed attempts.
    pub attempts: u32,
    /// Error of the last attempt.
    pub last_error: Option<String>,
}

impl Store {
    /// Adds a run or import to the queue for another store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn enqueue(&mut self, id: &str, destination: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO queue (id, destination) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.database
            .execute(sql, &[id.into(), destination.into()])
            .map(drop)
    }

    /// Returns the queued runs and imports, by destination.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn queued(&self) -> Result<Vec<Queued>, StoreError> {
        let sql = "SELECT id, destination, attempts, last_error FROM queue \
                   ORDER BY destination, id";
        self.database.query(sql, &[], |row| {
            Ok(Queued {
                id: row.get("id")?,
                destination: row.get("destination")?,
                attempts: row.get("attempts")?,
                last_error: row.get("last_error")?,
            })
        })
    }

    /// Removes records from the queue for a store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn dequeue<'a>(
        &mut self,
        ids: impl IntoIterator<Item = &'a String>,
        destination: &str,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM queue WHERE id = ?1 AND destination = ?2";
        self.database.transaction(|t| {
            for id in ids {
                t.execute(sql, &[id.into(), destination.into()])?;
            }
            Ok(())
        })
    }

    /// Stores the reason of a failed attempt with all records queued for a store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn note_failed_attempt(
        &mut self,
        destination: &str,
        error: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE queue SET attempts = attempts + 1, last_error = ?1 \
                   WHERE destination = ?2";
        self.database
            .execute(sql, &[error.into(), destination.into()])
            .map(drop)
    }
}
