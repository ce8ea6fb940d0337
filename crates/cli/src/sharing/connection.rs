//! Reaching stores that runs are copied to and from.

use crate::exit::Failure;
use crate::interrupt::end_links_with_this;
use crate::ui::destination::Destination;
use assay_store::Store;
use assay_store::exchange::{ExchangeError, Peer, Sink, Source};
use assay_target::{AgentSession, Ssh};
use std::io;
use std::time::Duration;

/// Time within which the other side greets.
const GREETING: Duration = Duration::from_secs(60);
/// Commands of the other side.
const RECEIVE: &str = "assay store receive";
const SEND: &str = "assay store send";

/// Direction in which runs are copied, seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the other store.
    Push,
    /// From it.
    Pull,
}

/// Store that can give and take.
trait Endpoint: Source + Sink {}

impl<S: Source + Sink> Endpoint for S {}

/// Open store of others.
pub struct Connection {
    // Dropped first: the other side ends with its input.
    endpoint: Box<dyn Endpoint>,
    session: Option<AgentSession>,
    name: String,
}

impl Connection {
    /// Opens a store, which is made if it is one that runs are copied to.
    ///
    /// # Errors
    /// When it cannot be reached or opened.
    pub fn open(to: &Destination, direction: Direction) -> Result<Self, Failure> {
        let (address, store) = match to {
            Destination::Ssh { address, store } => (address, store),
            Destination::Store(location) => {
                let store = match direction {
                    Direction::Push => Store::open(location),
                    Direction::Pull => Store::open_existing(location),
                }?;
                return Ok(Self {
                    endpoint: Box::new(store),
                    session: None,
                    name: to.to_string(),
                });
            }
        };
        end_links_with_this()?;
        let command = match direction {
            Direction::Push => RECEIVE,
            Direction::Pull => SEND,
        };
        let mut session = Ssh::new(address.clone()).carry_out(command)?;
        let reader = std::mem::replace(&mut session.reader, Box::new(io::empty()));
        let writer = session.writer.take();
        let writer = writer.unwrap_or_else(|| Box::new(io::sink()));
        let watchdog = session.must_answer_within(GREETING);
        let greeted = Peer::greet(reader, writer, store.as_deref());
        let is_silent = watchdog.has_barked();
        drop(watchdog);
        match greeted {
            Ok(peer) => Ok(Self {
                endpoint: Box::new(peer),
                session: Some(session),
                name: to.to_string(),
            }),
            Err(_) if is_silent => Err(Failure::lost(format!(
                "{to}: no answer within {} s",
                GREETING.as_secs()
            ))),
            Err(error) => Err(in_words(&to.to_string(), Some(&session), error)),
        }
    }

    /// The store as one that gives.
    pub fn source(&mut self) -> &mut dyn Source {
        &mut *self.endpoint
    }

    /// The store as one that takes.
    pub fn sink(&mut self) -> &mut dyn Sink {
        &mut *self.endpoint
    }

    /// Failure that ended a transfer.
    pub fn failure(&self, error: ExchangeError) -> Failure {
        in_words(&self.name, self.session.as_ref(), error)
    }
}

fn in_words(name: &str, session: Option<&AgentSession>, error: ExchangeError) -> Failure {
    let why = match error {
        ExchangeError::Store(error) => return error.into(),
        ExchangeError::Refused(why) => return Failure::failed(format!("{name}: {why}")),
        error @ (ExchangeError::Link(_) | ExchangeError::Protocol(_)) => error.to_string(),
    };
    let complaint = session.and_then(AgentSession::complaint);
    let lacks_assay = |line: &&String| line.contains("assay") && line.contains("not found");
    match complaint.as_ref() {
        Some(line) if complaint.as_ref().filter(lacks_assay).is_some() => Failure::lost(format!(
            "{name}: assay is not found there ({line}): install it where commands of ssh find it"
        )),
        Some(line) => Failure::lost(format!("{name}: {why} ({line})")),
        None => Failure::lost(format!("{name}: {why}")),
    }
}
