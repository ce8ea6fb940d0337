//! Store behind a stream, with another assay at the other end.

use super::frame::send;
use super::message::{Message, disagreement, expect, greeting, receive_parcels, send_parcel};
use super::{
    ExchangeError, Given, Offer, Parcel, Part, SaidOfChange, Sink, Source, Standing, Taken,
};
use std::collections::HashSet;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Store behind a stream, at whose other end [`fn@super::answer`] runs.
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
