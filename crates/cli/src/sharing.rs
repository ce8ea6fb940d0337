//! Copying runs to and from stores of others, at the end of a measurement and by command.

use crate::exit::{DONE, FAILED, Failure, end_links_with_this};
use crate::output::{print, print_json, say};
use crate::stored::lookup::StoreArgs;
use crate::stored::series::refresh_after_push;
use crate::ui::Destination;
use crate::ui::progress::Messages;
use crate::{config, stored};
use assay_lang::{counted, tr};
use assay_model::text::clean;
use assay_report::facts;
use assay_store::exchange::{
    ExchangeError, NameHeld, Parcel, Peer, Record, Sink, Source, Transfer, TransferTally,
};
use assay_store::{Location, Queued, Store};
use assay_target::{AgentSession, Ssh, Watchdog};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

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
        let is_silent = of_greeting.has_expired();
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
            && watchdog.has_expired()
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

/// Maximum time of a single read or write without progress. Storing a batch at the other side may
/// wait for other writers of a busy store: at most 150 s.
const SILENCE: Duration = Duration::from_secs(5 * 60);

/// Stream of a link, which is cut when a single read or write makes no progress for too long. Time
/// between them does not count, because this side is busy then.
struct Watched<S> {
    stream: S,
    watchdog: Arc<Watchdog>,
    silence: Duration,
}

impl<S> Watched<S> {
    /// Wraps a stream; the watchdog cuts its link.
    pub const fn new(stream: S, watchdog: Arc<Watchdog>, silence: Duration) -> Self {
        Self {
            stream,
            watchdog,
            silence,
        }
    }

    fn limited<T>(&mut self, work: impl FnOnce(&mut S) -> T) -> T {
        self.watchdog.restart(self.silence);
        let done = work(&mut self.stream);
        self.watchdog.restart(Duration::MAX);
        done
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.limited(|stream| stream.read(buffer))
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limited(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.limited(Write::flush)
    }
}

/// Runs and imports to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every run and import that has ended.
    All,
    /// Runs and imports with these ids.
    These(Vec<String>),
}

/// Copies runs between the local store and another. The tally includes the runs that were copied
/// before a failure.
pub fn copy(
    direction: Direction,
    store: &mut Store,
    other: &mut Connection,
    which: &Which,
    again: bool,
) -> (TransferTally, Option<Failure>) {
    let messages = Messages::new();
    let of = match which {
        Which::All => 0,
        Which::These(ids) => ids.len(),
    };
    let mut tell = |tally: &TransferTally| {
        let seen = tally.seen();
        let added = tally.added.len();
        messages.show(seen, of.max(seen), &tr!("{added} copied", added));
    };
    let mut prepare = |parcels: &mut [Parcel]| match direction {
        Direction::Push => add_facts(parcels),
        Direction::Pull => {}
    };
    let (from, to) = match direction {
        Direction::Push => (store as &mut dyn Source, other.sink()),
        Direction::Pull => (other.source(), store as _),
    };
    let mut tally = TransferTally::default();
    let mut transfer = Transfer {
        from,
        to,
        again,
        prepare: &mut prepare,
        tell: &mut tell,
    };
    let copied = match which {
        Which::All => transfer.everything(&mut tally),
        Which::These(ids) => transfer.these(ids, &mut tally),
    };
    messages.clear();
    let failure = copied.err().map(|error| other.failure(error));
    (tally, failure)
}

/// Derives the facts of runs on all cores: this takes longer than reading the runs.
fn add_facts(parcels: &mut [Parcel]) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let share = parcels.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        for some in parcels.chunks_mut(share) {
            let derive = move || some.iter_mut().for_each(add_facts_of);
            // If a thread cannot be started, its share is processed below.
            let _ = thread::Builder::new().spawn_scoped(scope, derive);
        }
    });
    let rest = parcels.iter_mut().filter(|parcel| parcel.facts.is_none());
    rest.for_each(add_facts_of);
}

fn add_facts_of(parcel: &mut Parcel) {
    if let Some(Record::Run(run)) = &parcel.record {
        parcel.facts = run.run().ok().map(|run| facts::of(&run));
    }
}

/// Version of the JSON format; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Maximum number of lines about runs of one kind.
const MOST_LINES: usize = 10;

/// Outcome of copying to or from a store.
pub struct Outcome<'a> {
    /// Direction of the runs.
    pub direction: Direction,
    /// Name of the other store, without a password.
    pub store: &'a str,
    /// Runs by outcome.
    pub tally: &'a TransferTally,
}

impl Outcome<'_> {
    /// Prints the outcome as text, unless `json`; returns the exit code. With `all`, runs that are under
    /// way or were removed are no failure.
    ///
    /// # Errors
    /// The failure that ended the transfer.
    pub fn end(
        &self,
        json: bool,
        all: bool,
        failure: Option<Failure>,
    ) -> Result<ExitCode, Failure> {
        if !json && (failure.is_none() || self.tally.seen() > 0) {
            print(|out| writeln!(out, "{}", self.line()))?;
            self.say_details();
        }
        let tally = self.tally;
        let left = !tally.removed.is_empty() || !tally.under_way.is_empty();
        let failed = !tally.conflicts.is_empty() || !tally.refused.is_empty() || left && !all;
        match failure {
            Some(failure) => Err(failure),
            None if failed => Ok(ExitCode::from(FAILED)),
            None => Ok(DONE),
        }
    }

    /// Returns the summary in one line.
    pub fn line(&self) -> String {
        let tally = self.tally;
        let n = tally.added.len() + tally.extended.len();
        let store = clean(self.store);
        let answer = match self.direction {
            Direction::Push => {
                counted!(
                    n,
                    "pushed {n} run to {store}",
                    "pushed {n} runs to {store}",
                    store
                )
            }
            Direction::Pull => {
                counted!(
                    n,
                    "pulled {n} run from {store}",
                    "pulled {n} runs from {store}",
                    store
                )
            }
        };
        let rest = self.rest().join(", ");
        match rest.is_empty() {
            true => answer,
            false => format!("{answer}: {rest}"),
        }
    }

    /// Returns the numbers of runs with other outcomes, in words.
    fn rest(&self) -> Vec<String> {
        let TransferTally {
            added: _,
            extended,
            annotated,
            there,
            conflicts,
            removed,
            under_way,
            nameless: _,
            refused,
            opinions,
        } = self.tally;
        let of = |n: usize, text: fn(usize) -> String| (n > 0).then(|| text(n));
        [
            of(extended.len(), |n| {
                counted!(
                    n,
                    "{n} of them longer than before",
                    "{n} of them longer than before"
                )
            }),
            of(annotated.len(), |n| {
                counted!(
                    n,
                    "{n} has a newer name, tag or note",
                    "{n} have newer names, tags or notes"
                )
            }),
            of(there.len(), |n| {
                counted!(n, "{n} was there already", "{n} were there already")
            }),
            of(conflicts.len(), |n| {
                counted!(n, "{n} conflict", "{n} conflicts")
            }),
            of(removed.len(), |n| {
                counted!(n, "{n} was removed there", "{n} were removed there")
            }),
            of(under_way.len(), |n| {
                counted!(n, "{n} is under way", "{n} are under way")
            }),
            of(refused.len(), |n| {
                counted!(n, "{n} was refused", "{n} were refused")
            }),
            of(*opinions, |n| {
                counted!(
                    n,
                    "{n} newer opinion on a change",
                    "{n} newer opinions on changes"
                )
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Prints messages about single runs, such as conflicts.
    pub fn say_details(&self) {
        let store = clean(self.store);
        let tally = self.tally;
        say_some(&tally.conflicts, |id| {
            tr!(
                "run {id}: {store} has another run of that id; neither was changed",
                id = clean(id),
                store
            )
        });
        say_some(&tally.removed, |id| match self.direction {
            Direction::Push => tr!(
                "run {id} was removed from {store}: assay store push {id} --again pushes it all the same",
                id = clean(id),
                store
            ),
            Direction::Pull => tr!(
                "run {id} was removed here: assay store pull {id} --again pulls it all the same",
                id = clean(id)
            ),
        });
        say_some(&tally.under_way, |id| {
            tr!(
                "run {id} has not ended: it is copied when it has",
                id = clean(id)
            )
        });
        say_some(&tally.nameless, |(id, NameHeld { name, holder })| {
            tr!(
                "run {id} was copied without its name {name}: there it is that of {holder}",
                id = clean(id),
                name = clean(name),
                holder = clean(holder)
            )
        });
        say_some(&tally.refused, |(id, why)| {
            tr!(
                "run {id} was not copied: {why}",
                id = clean(id),
                why = clean(why)
            )
        });
    }

    /// Returns the outcome as JSON, for [`print_transfers`].
    pub fn json(&self, error: Option<&str>) -> Value {
        let tally = self.tally;
        let nameless = tally.nameless.iter();
        let nameless = nameless
            .map(|(id, held)| json!({ "id": id, "name": held.name, "held_by": held.holder }));
        let refused = tally.refused.iter();
        let refused = refused.map(|(id, why)| json!({ "id": id, "why": why }));
        json!({
            "store": self.store,
            "added": tally.added,
            "extended": tally.extended,
            "annotated": tally.annotated,
            "there": tally.there,
            "conflicts": tally.conflicts,
            "removed": tally.removed,
            "under_way": tally.under_way,
            "nameless": nameless.collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
            "opinions": tally.opinions,
            "error": error,
        })
    }
}

/// Prints the transfers of a command as one document, even if there was none.
pub fn print_transfers(direction: Direction, transfers: &[Value]) -> Result<(), Failure> {
    print_json(&serde_json::json!({
        "schema": SCHEMA,
        "direction": match direction {
            Direction::Push => "push",
            Direction::Pull => "pull",
        },
        "transfers": transfers,
    }))
}

fn say_some<T>(all: &[T], line: impl Fn(&T) -> String) {
    for one in all.iter().take(MOST_LINES) {
        say(&line(one));
    }
    if let Some(n) = all.len().checked_sub(MOST_LINES).filter(|n| *n > 0) {
        say(&counted!(
            n,
            "... and {n} more (--json lists all)",
            "... and {n} more (--json lists all)"
        ));
    }
}

/// Returns the store for pushes and pulls: the one that the user names, else the store of the
/// arguments if it is a database, else that of the setting `push_to`.
///
/// # Errors
/// If it is the local store file in which runs are recorded, or that file has no folder.
pub fn other_store(
    named: Option<&Destination>,
    args: &StoreArgs,
) -> Result<Option<Destination>, Failure> {
    let other = match (named, args.location()?) {
        (Some(named), _) => Some(named.clone()),
        (None, Location::File(_)) => config::values().push_to.clone(),
        (None, server @ Location::Server(_)) => Some(Destination::Store(server)),
    };
    if let Some(Destination::Store(Location::File(path))) = &other
        && let (Ok(there), Ok(here)) = (path.canonicalize(), args.local_file()?.canonicalize())
        && there == here
    {
        let why = "it is the store itself: name another one";
        return Err(Failure::in_file(path, why));
    }
    Ok(other)
}

/// Pushes the runs that this process has ended, and those that wait for the same store. A failure is
/// printed, and does not change the exit code of the measurement.
pub fn push_ended() {
    let ended = stored::take_ended();
    let to = match stored::push_target() {
        Some(store) => Some(Destination::Store(store.clone())),
        None => config::values().push_to.clone(),
    };
    let Some(to) = to.filter(|_| !ended.is_empty()) else {
        return;
    };
    let mut stores: Vec<&Path> = ended.iter().map(|run| run.store.as_path()).collect();
    stores.dedup();
    for path in stores {
        let ids = ended.iter().filter(|run| run.store == path);
        let pushed = Store::open(path)
            .map_err(Failure::from)
            .and_then(|mut store| {
                for run in ids {
                    store.enqueue(&run.id, &to.to_string())?;
                }
                push_waiting(&mut store, &to)
            });
        let name = to.to_string();
        match pushed {
            Ok((tally, None)) => {
                let outcome = Outcome {
                    direction: Direction::Push,
                    store: &name,
                    tally: &tally,
                };
                outcome.say_details();
                say(&outcome.line());
            }
            Ok((_, Some(failure))) | Err(failure) => say(&tr!(
                "assay: not pushed: {why}; what waits here is pushed later, or by assay store push",
                why = clean(&failure.to_string())
            )),
        }
    }
}

/// Queues a run that another process has ended in the local file, for the database of this command,
/// if there is one. The run stays queued if this process is killed before its push. A failure is
/// printed, and ends nothing.
pub fn wait_for_database(store: &mut Store, run: &str) {
    let Some(to) = stored::push_target() else {
        return;
    };
    if let Err(error) = store.enqueue(run, &Destination::Store(to.clone()).to_string()) {
        say(&clean(&format!("assay: {error}")));
    }
    stored::note_ended(store.path(), run);
}

/// Pushes the runs that wait for a store; they stay queued if that fails.
///
/// # Errors
/// If the local store cannot be used.
pub fn push_waiting(
    store: &mut Store,
    to: &Destination,
) -> Result<(TransferTally, Option<Failure>), Failure> {
    let name = to.to_string();
    let waiting = store.queued()?.into_iter();
    let waiting = waiting.filter(|queued| queued.destination == name);
    let ids: Vec<String> = waiting.map(|queued| queued.id).collect();
    if ids.is_empty() {
        return Ok((TransferTally::default(), None));
    }
    let (tally, failure) = push(store, to, &Which::These(ids), false)?;
    if let Some(failure) = &failure {
        store.note_failed_attempt(&name, &failure.to_string())?;
    }
    Ok((tally, failure))
}

/// Maximum number of pushed runs after which the series are updated at once.
const FEW: usize = 200;

/// Pushes runs, and removes those that are settled from the queue.
///
/// # Errors
/// If the local store cannot be used.
pub fn push(
    store: &mut Store,
    to: &Destination,
    which: &Which,
    again: bool,
) -> Result<(TransferTally, Option<Failure>), Failure> {
    let name = to.to_string();
    let (tally, failure) = match Connection::open(to, Direction::Push) {
        Ok(mut other) => copy(Direction::Push, store, &mut other, which, again),
        Err(failure) => (TransferTally::default(), Some(failure)),
    };
    let settled: HashSet<&String> = settled(&tally).collect();
    let mut waiting = store.queued()?;
    waiting.retain(|queued| queued.destination == name && settled.contains(&queued.id));
    store.dequeue(waiting.iter().map(|queued| &queued.id), &name)?;
    let new = tally.added.len() + tally.extended.len() + tally.opinions;
    if let Destination::Store(location) = to
        && failure.is_none()
        && (1..=FEW).contains(&new)
    {
        refresh_after_push(location);
    }
    Ok((tally, failure))
}

/// Returns the runs that need no further attempt, because it would end the same way.
fn settled(tally: &TransferTally) -> impl Iterator<Item = &String> {
    let lists = [
        &tally.added,
        &tally.extended,
        &tally.annotated,
        &tally.there,
        &tally.conflicts,
        &tally.removed,
    ];
    let refused = tally.refused.iter().map(|(id, _)| id);
    lists.into_iter().flatten().chain(refused)
}

/// Returns the runs that wait in the local file; none if there is no such file.
pub fn waiting(args: &StoreArgs) -> Vec<Queued> {
    let local = args.local_file();
    // Opened for reading: an older format must not be changed.
    let waiting = local.and_then(|path| Ok(Store::open_to_read(&path)?.queued()?));
    waiting.unwrap_or_default()
}

/// Returns the queue as JSON.
pub fn json(waiting: &[Queued]) -> Value {
    let waiting = waiting.iter().map(|queued| {
        json!({
            "id": queued.id,
            "store": queued.destination,
            "attempts": queued.attempts,
            "last_error": queued.last_error,
        })
    });
    waiting.collect()
}

/// Describes the number of runs that wait for each store, in a line each.
pub fn waiting_in_words(waiting: &[Queued]) -> Vec<String> {
    let stores = waiting.chunk_by(|a, b| a.destination == b.destination);
    let lines = stores.filter_map(|waiting| {
        let first = waiting.first()?;
        let store = clean(&first.destination);
        let n = waiting.len();
        let line = counted!(
            n,
            "{n} run waits to be pushed to {store}: assay store push",
            "{n} runs wait to be pushed to {store}: assay store push",
            store
        );
        Some(match &first.last_error {
            Some(why) => format!("{line} ({})", clean(why)),
            None => line,
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
