//! Queue of runs for other stores, which a measuring command could not push at its end.
//!
//! A run is in the queue before it is pushed, so that a run whose process is killed meanwhile is
//! pushed later.

use crate::config;
use crate::exit::Failure;
use crate::output::say;
use crate::sharing::ahead::{Which, copy};
use crate::sharing::connection::{Connection, Direction};
use crate::sharing::outcome::Outcome;
use crate::stored::ended;
use crate::stored::lookup::StoreArgs;
use crate::stored::series::refresh_after_push;
use crate::ui::destination::Destination;
use assay_lang::{counted, tr};
use assay_model::text::clean;
use assay_store::exchange::TransferTally;
use assay_store::{Location, Queued, Store};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

/// Returns the store for pushes and pulls: the one that the user names, else the store of the
/// arguments if it is a database, else that of the setting `push_to`.
///
/// # Errors
/// If it is the file that runs are measured into, or that file has no folder.
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
    let ended = ended::take();
    let to = match ended::store() {
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
                "assay: not pushed: {why}; what waits here is pushed later, or by assay push",
                why = clean(&failure.to_string())
            )),
        }
    }
}

/// Queues a run that another process has ended in the local file, for the database of this command,
/// if there is one. The run stays queued if this process is killed before its push. A failure is
/// printed, and ends nothing.
pub fn wait_for_database(store: &mut Store, run: &str) {
    let Some(to) = ended::store() else {
        return;
    };
    if let Err(error) = store.enqueue(run, &Destination::Store(to.clone()).to_string()) {
        say(&clean(&format!("assay: {error}")));
    }
    ended::note(store.path(), run);
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
            "{n} run waits to be pushed to {store}: assay push",
            "{n} runs wait to be pushed to {store}: assay push",
            store
        );
        Some(match &first.last_error {
            Some(why) => format!("{line} ({})", clean(why)),
            None => line,
        })
    });
    lines.collect()
}
