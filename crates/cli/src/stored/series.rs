//! Series of the store: updated before they are read, and found by their names.

use crate::exit::Failure;
use crate::output::say;
use crate::stored::lookup::StoreArgs;
use assay_lang::{counted, tr};
use assay_model::series::StoredSeries;
use assay_report::text::clean;
use assay_series::Refreshed;
use assay_store::{Location, SeriesFilter, Store, StoreError};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Number of new runs from which a message is printed, because deriving them takes a while.
const MANY: usize = 200;

/// Opens an existing store, and updates its series. A read-only store keeps its series, and a
/// message is printed if they are not up to date.
pub fn open(args: &StoreArgs) -> Result<Store, Failure> {
    let (store, is_current) = brought_up_to_date(args)?;
    if !is_current {
        say(tr!(
            "assay: the store may only be read, and some of its series are not up to date: they are as they were last"
        ));
    }
    Ok(store)
}

/// Opens an existing store for a gate, and updates its series: a gate must not pass runs that are
/// in no series.
///
/// # Errors
/// If the store is read-only and runs are missing in its series.
pub fn open_for_gate(args: &StoreArgs) -> Result<Store, Failure> {
    let (store, is_current) = brought_up_to_date(args)?;
    match is_current {
        true => Ok(store),
        false => Err(Failure::failed(
            "no verdict: some series are not up to date, and this store may only be read: let a user \
             who may write run assay series, or run the gate as one",
        )),
    }
}

/// Returns the store, and `false` if it is read-only and its series are not up to date.
fn brought_up_to_date(args: &StoreArgs) -> Result<(Store, bool), Failure> {
    let there = args.open_existing()?;
    let mut store = match there.location() {
        Location::File(_) => Store::open(there.location()).unwrap_or(there),
        Location::Server(_) => there,
    };
    let is_current = refresh(&mut store)?;
    Ok((store, is_current))
}

/// Updates series; returns `false` if they are not up to date and the store is read-only.
pub fn refresh(store: &mut Store) -> Result<bool, Failure> {
    match assay_series::refresh(store, teller()) {
        Err(StoreError::ReadOnly { .. } | StoreError::Forbidden { .. }) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(done) => {
            tell_damaged(done);
            Ok(true)
        }
    }
}

/// Time limit for the update of series after a push; the rest is done when they are read.
const BEHIND_A_PUSH: Duration = Duration::from_secs(2);

/// Updates the series after a push, for users who can only read the store. A failure here is no
/// failure of the push.
pub fn refresh_after_push(location: &Location) {
    let begun = Instant::now();
    let go_on = |_, runs| match runs > MANY || begun.elapsed() > BEHIND_A_PUSH {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let _ = Store::open_existing(location)
        .and_then(|mut store| assay_series::refresh(&mut store, go_on));
}

/// Removes all derived data and derives it again.
pub fn rebuild(args: &StoreArgs) -> Result<(), Failure> {
    let mut store = args.open_to_change()?;
    let done = assay_series::rebuild(&mut store, teller())?;
    tell_damaged(done);
    let runs = counted!(done.runs, "{n} run", "{n} runs");
    let jobs = counted!(done.jobs, "{n} job", "{n} jobs");
    say(&tr!("derived again: {runs}, series of {jobs}", runs, jobs));
    Ok(())
}

/// Returns a progress callback that prints one message if there is much to do.
fn teller() -> impl FnMut(Refreshed, usize) -> ControlFlow<()> {
    let mut told = false;
    move |_, runs| {
        if runs >= MANY && !told {
            let runs = counted!(runs, "{n} run", "{n} runs");
            say(&tr!("assay: figures of {runs} are added to series", runs));
            told = true;
        }
        ControlFlow::Continue(())
    }
}

fn tell_damaged(done: Refreshed) {
    if done.damaged > 0 {
        let runs = counted!(done.damaged, "{n} run", "{n} runs");
        let text = tr!("assay: {runs} cannot be read and are in no series", runs);
        say(&text);
    }
}

/// Finds the series that `text` names: a key, its first digits, or words that occur in the
/// description of the series. If several match, the only deciding one is taken.
pub fn find(store: &Store, text: &str) -> Result<StoredSeries, Failure> {
    let is_key = text.len() >= 4 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    if is_key {
        let filter = SeriesFilter {
            key: Some(text.to_ascii_lowercase()),
            ..SeriesFilter::default()
        };
        if let [only] = store.series(&filter)?.as_slice() {
            return Ok(only.clone());
        }
    }
    let mut found = store.series(&SeriesFilter::default())?;
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    found.retain(|series| {
        let of = described(series);
        words.iter().all(|word| of.contains(word))
    });
    let mut deciding = found.iter().filter(|series| series.primary);
    match (found.as_slice(), deciding.next(), deciding.next()) {
        ([only], _, _) => Ok(only.clone()),
        (_, Some(only), None) => Ok(only.clone()),
        ([], _, _) => Err(Failure::usage(format!(
            "no series '{}': assay series --all lists those that there are",
            clean(text)
        ))),
        (several, _, _) => Err(Failure::usage(ambiguous(text, several))),
    }
}

/// Returns the text that is searched for the user's words.
fn described(series: &StoredSeries) -> String {
    let parts = [
        &series.key,
        &series.project,
        &series.model,
        &series.unit,
        &series.target,
        &series.job,
        &series.condition,
        &series.metric,
        &series.label,
    ];
    let parts: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    parts.join(" ")
}

/// Maximum number of series that are listed if several match.
const NAMED: usize = 6;

fn ambiguous(text: &str, several: &[StoredSeries]) -> String {
    let mut sorted: Vec<&StoredSeries> = several.iter().collect();
    sorted.sort_by_key(|series| !series.primary);
    let shown = sorted
        .iter()
        .take(NAMED)
        .map(|series| format!("{} ({})", series.key, told(series)));
    let shown: Vec<String> = shown.collect();
    let more = match several.len() > NAMED {
        true => ", ...",
        false => "",
    };
    format!(
        "'{}' fits {} series: give more words, or a key: {}{more}",
        clean(text),
        several.len(),
        shown.join(", ")
    )
}

/// Returns the words that identify this series: one device has several metrics of a job.
fn told(series: &StoredSeries) -> String {
    let parts = [
        &series.target,
        &series.job,
        &series.condition,
        &series.metric,
    ];
    let parts = parts.iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(|part| clean(part)).collect();
    parts.join(" ")
}
