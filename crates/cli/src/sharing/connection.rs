//! Connections to stores that runs are copied to and from.

use crate::exit::Failure;
use crate::interrupt::end_links_with_this;
use crate::sharing::silence::{SILENCE, Watched};
use crate::ui::destination::Destination;
use assay_store::Store;
use assay_store::exchange::{ExchangeError, Peer, Sink, Source};
use assay_target::{AgentSession, Ssh, Watchdog};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for the greeting of the other side.
const GREETING: Duration = Duration::from_secs(60);
/// Commands that run on the other side.
const RECEIVE: &str = "assay store receive";
const SEND: &str = "assay store send";

/// Direction in which runs are copied, from the view of this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the other store.
    Push,
    /// From it.
    Pull,
}

/// Store that can be a source and a sink.
trait Endpoint: Source + Sink {}

impl<S: Source + Sink> Endpoint for S {}

/// Connection to another store.
pub struct Connection {
    // Dropped first: the other side ends when its input is closed.
    endpoint: Box<dyn Endpoint>,
    /// Cuts the link when the other side is silent for too long.
    watchdog: Option<Arc<Watchdog>>,
    session: Option<AgentSession>,
    name: String,
}

impl Connection {
    /// Opens a store; the sink of a push is created if it does not exist.
    ///
    /// # Errors
    /// If the store cannot be reached or opened.
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
                    watchdog: None,
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
        let session = Ssh::new(address.clone()).carry_out(command)?;
        Self::over(session, to.to_string(), store.as_deref(), SILENCE)
    }

    /// Exchanges greetings over a link. `silence` is the time limit for progress of a read or write.
    fn over(
        mut session: AgentSession,
        name: String,
        store: Option<&Path>,
        silence: Duration,
    ) -> Result<Self, Failure> {
        let reader = std::mem::replace(&mut session.reader, Box::new(io::empty()));
        let writer = session.writer.take();
        let writer = writer.unwrap_or_else(|| Box::new(io::sink()));
        let watch = |patience| session.must_answer_within(patience);
        let watchdog = Arc::new(watch(Duration::MAX).map_err(Failure::no_thread)?);
        let watched = || Arc::clone(&watchdog);
        let reader = Watched::new(reader, watched(), silence);
        let writer = Watched::new(writer, watched(), silence);
        let of_greeting = watch(GREETING).map_err(Failure::no_thread)?;
        let greeted = Peer::greet(reader, writer, store);
        let is_silent = of_greeting.has_barked();
        drop(of_greeting);
        match greeted {
            Ok(peer) => Ok(Self {
                endpoint: Box::new(peer),
                watchdog: Some(watchdog),
                session: Some(session),
                name,
            }),
            Err(_) if is_silent => Err(Failure::lost(format!(
                "{name}: no answer within {} s",
                GREETING.as_secs()
            ))),
            Err(error) => Err(unreached(&name, &session, error)),
        }
    }

    /// Returns the store as a source.
    pub fn source(&mut self) -> &mut dyn Source {
        &mut *self.endpoint
    }

    /// Returns the store as a sink.
    pub fn sink(&mut self) -> &mut dyn Sink {
        &mut *self.endpoint
    }

    /// Failure that ended a transfer.
    pub fn failure(&self, error: ExchangeError) -> Failure {
        if let Some(watchdog) = &self.watchdog
            && watchdog.has_barked()
        {
            return Failure::lost(format!(
                "{}: the other side has taken and sent nothing for {} min; whole runs that arrived \
                 are kept: see whether that machine hangs, then repeat the command",
                self.name,
                SILENCE.as_secs() / 60
            ));
        }
        in_words(&self.name, self.session.as_ref(), error)
    }
}

/// Failure of a link before the first message of the other side: ssh's error is the reason.
fn unreached(name: &str, session: &AgentSession, error: ExchangeError) -> Failure {
    match (&error, session.complaint()) {
        (ExchangeError::Link(_), Some(line)) if !lacks_assay(&line) => {
            Failure::lost(format!("{name} cannot be reached: {line}"))
        }
        _ => in_words(name, Some(session), error),
    }
}

/// Returns `true` for a shell's error that assay was not found.
fn lacks_assay(line: &str) -> bool {
    line.contains("assay") && line.contains("not found")
}

fn in_words(name: &str, session: Option<&AgentSession>, error: ExchangeError) -> Failure {
    let why = match error {
        ExchangeError::Store(error) => return error.into(),
        ExchangeError::Refused(why) => return Failure::failed(format!("{name}: {why}")),
        error @ (ExchangeError::Link(_) | ExchangeError::Protocol(_)) => error.to_string(),
    };
    let complaint = session.and_then(AgentSession::complaint);
    match complaint {
        Some(line) if lacks_assay(&line) => Failure::lost(format!(
            "{name}: assay is not found there ({line}): install it where commands of ssh find it"
        )),
        Some(line) => Failure::lost(format!("{name}: {why} ({line})")),
        None => Failure::lost(format!("{name}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::ahead::{Which, copy};
    use assay_model::annotation::Annotation;
    use assay_model::figures::{Import, Results};
    use assay_store::exchange::{AnsweringRole, answer};
    use assay_target::{Local, Target};
    use assay_testkit::Scratch;
    use std::fs;

    /// Returns the messages of the other side up to the point where its store is open.
    fn greeting(folder: &Scratch) -> Vec<u8> {
        let mut hello = Vec::new();
        assert!(Peer::greet(io::empty(), &mut hello, None).is_err());
        let mut answered = Vec::new();
        let open = |_| {
            let store = Store::open(&folder.join("there.sqlite"));
            store
                .map(AnsweringRole::Receive)
                .map_err(|error| error.to_string())
        };
        answer(&hello[..], &mut answered, open).expect("the end of the stream");
        answered
    }

    #[test]
    fn who_is_silent_in_the_middle_is_given_up_and_nothing_is_settled() {
        let folder = Scratch::new().expect("a folder");
        let says = folder.join("says");
        fs::write(&says, greeting(&folder)).expect("a file");
        // It takes all that it is sent, and never answers.
        let script = "cat \"$0\"; cat >/dev/null; :";
        let session = Local::new("sh", &["-c", script, assay_testkit::text(&says)]).start();
        let session = session.expect("a shell");
        let silence = Duration::from_millis(300);
        let other = Connection::over(session, "ssh://lab".to_owned(), None, silence);
        let mut other = other.expect("it greets");
        let mut here = Store::open(&folder.join("here.sqlite")).expect("a store");
        let import = Import {
            id: "i1".to_owned(),
            imported_unix_ms: 1,
            assay_version: String::new(),
            files: Vec::new(),
            results: Results::default(),
            annotation: Annotation::default(),
        };
        here.save_import(&import).expect("an import");
        let (tally, failure) = copy(Direction::Push, &mut here, &mut other, &Which::All, false);
        let failure = failure.expect("it does not answer");
        assert_eq!(tally.seen(), 0);
        assert_eq!(failure.number(), crate::exit::LOST);
        let words = failure.to_string();
        assert!(
            words.contains("ssh://lab: the other side has taken and sent nothing"),
            "{words}"
        );
    }

    #[test]
    fn who_is_slow_but_goes_on_is_waited_for() {
        let folder = Scratch::new().expect("a folder");
        let says = folder.join("says");
        fs::write(&says, greeting(&folder)).expect("a file");
        let script = "for part in 0 1 2 3 4; do \
                      dd if=\"$0\" bs=16 skip=$part count=1 2>/dev/null; sleep 1; done; \
                      dd if=\"$0\" bs=16 skip=5 2>/dev/null; cat >/dev/null; :";
        let session = Local::new("sh", &["-c", script, assay_testkit::text(&says)]).start();
        let session = session.expect("a shell");
        let silence = Duration::from_secs(3);
        assert!(Connection::over(session, String::new(), None, silence).is_ok());
    }
}
