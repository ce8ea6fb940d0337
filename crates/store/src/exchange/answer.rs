//! Answering side of a [`super::Peer`].

use super::frame::{receive, send};
use super::message::{Message, disagreement, expect, greeting, receive_parcels, send_given};
use super::{ExchangeError, Given, MOST_OFFERS, Sink, Source};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

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
