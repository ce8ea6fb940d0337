//! Series of the store: kept up to date before they are read, and found by their names.

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

/// Runs to derive that are told: they take a while.
const MANY: usize = 200;

/// Opens a store that is there, and brings its series up to date. Of one that may only be read
/// the series are as they were last, which is told.
pub fn open(args: &StoreArgs) -> Result<Store, Failure> {
    let (store, is_current) = brought_up_to_date(args)?;
    if !is_current {
        say(tr!(
            "assay: the store may only be read, and some of its series are not up to date: they are as they were last"
        ));
    }
    Ok(store)
}

/// The same for a gate, which must not pass runs that it did not look at.
///
/// # Errors
/// When runs are missing in the series of a store that may only be read.
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

/// The store, and `false` if something is missing in its series and it may only be read.
fn brought_up_to_date(args: &StoreArgs) -> Result<(Store, bool), Failure> {
    let there = args.open_existing()?;
    let mut store = match there.location() {
        Location::File(_) => Store::open(there.location()).unwrap_or(there),
        Location::Server(_) => there,
    };
    let is_current = refresh(&mut store)?;
    Ok((store, is_current))
}

/// Brings series up to date; `false` if something is missing and the store may only be read.
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

/// Time that series are brought up to date for behind a push; the rest is done when they are read.
const BEHIND_A_PUSH: Duration = Duration::from_secs(2);

/// Looks for changes that runs bring which were pushed just now: those who only read the store
/// cannot. That it fails is no failure of the push.
pub fn refresh_after_push(location: &Location) {
    let begun = Instant::now();
    let go_on = |_, runs| match runs > MANY || begun.elapsed() > BEHIND_A_PUSH {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let _ = Store::open_existing(location)
        .and_then(|mut store| assay_series::refresh(&mut store, go_on));
}

/// Drops all that is derived and derives it again.
pub fn rebuild(args: &StoreArgs) -> Result<(), Failure> {
    let mut store = args.open_to_change()?;
    let done = assay_series::rebuild(&mut store, teller())?;
    tell_damaged(done);
    let runs = counted!(done.runs, "{n} run", "{n} runs");
    let jobs = counted!(done.jobs, "{n} job", "{n} jobs");
    say(&tr!("derived again: {runs}, series of {jobs}", runs, jobs));
    Ok(())
}

/// Says once that there is much to do.
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

/// The series that `text` names: a key, its first digits, or words that occur in what the series
/// is of. Of several, the only one that decides.
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

/// Text that words of a user are looked for in.
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

/// Series that are named where several fit.
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

/// Words that a user can give to mean this series: one device has several metrics of a job.
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
