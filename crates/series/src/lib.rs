//! Keeps the data derived from the runs of a store up to date: their facts, the points that these
//! add to series, changes of the series, and the events at a change. Also compares a run with those
//! of other units in the same store ([`standings`]).
//!
//! The store keeps the tables and derives nothing; this crate applies the rules of other crates to
//! it. Commands that read series call [`refresh`] first. A store that receives pushed runs gets
//! their facts with them, so that little work remains.

#[cfg(test)]
mod tests;

use assay_model::figures::{
    Better, ChangeSide, Circumstance, CircumstanceChange, FACTS_VERSION, RunFacts, SeriesChange,
    SeriesPoint, StoredSeries, Turn, Verdict,
};
use assay_report::facts;
use assay_report::population::{KinFigure, Others, Standings};
use assay_stats::changes::{
    ChangePoint, JITTER, Opinion, Rules, RunPoint, RunSeries, SideOfChange, find, find_in_job,
};
use assay_store::{CheckedSeries, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Number of runs whose facts are stored in one transaction.
const BATCH: usize = 50;

/// Work of a refresh, for progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Runs whose facts were derived.
    pub runs: usize,
    /// Runs that cannot be read; they are in no series.
    pub damaged: usize,
    /// Jobs whose series were searched for changes.
    pub jobs: usize,
}

/// Derives facts of all runs that have none of the current version, and searches all series that
/// gained or lost runs for changes. Calls `go_on` between steps, with the work so far and the
/// number of runs without facts; the next refresh completes one that ended early.
///
/// # Errors
/// When the store cannot be read or written.
pub fn refresh(
    store: &mut Store,
    mut go_on: impl FnMut(Refreshed, usize) -> ControlFlow<()>,
) -> Result<Refreshed, StoreError> {
    let mut done = Refreshed::default();
    let stale = store.runs_without_facts(FACTS_VERSION, u32::MAX)?;
    for batch in stale.chunks(BATCH) {
        if go_on(done, stale.len()).is_break() {
            return Ok(done);
        }
        let mut all = Vec::new();
        for id in batch {
            all.extend(facts_of(store, id)?);
        }
        store.save_facts(&all)?;
        done.runs += all.len();
        done.damaged += batch.len() - all.len();
    }
    let opinions = Opinions::of(store)?;
    for group in store.unchecked_series()? {
        if go_on(done, stale.len()).is_break() {
            return Ok(done);
        }
        check_job(store, &group, &opinions)?;
        done.jobs += 1;
    }
    Ok(done)
}

/// Returns the facts of a run; `None` if it cannot be read, or was removed meanwhile.
fn facts_of(store: &Store, id: &str) -> Result<Option<RunFacts>, StoreError> {
    match store.load(id) {
        Ok(loaded) => Ok(Some(facts::of(&loaded.run))),
        Err(StoreError::DamagedRun { .. } | StoreError::NoSuchRun { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Drops all derived data and derives it again.
///
/// # Errors
/// As [`refresh`].
pub fn rebuild(
    store: &mut Store,
    go_on: impl FnMut(Refreshed, usize) -> ControlFlow<()>,
) -> Result<Refreshed, StoreError> {
    store.drop_derived()?;
    refresh(store, go_on)
}

/// Opinions of users by the keys of series.
#[derive(Debug, Default)]
struct Opinions(BTreeMap<String, Vec<Opinion>>);

impl Opinions {
    /// Reads all opinions of a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn of(store: &Store) -> Result<Self, StoreError> {
        let mut all: BTreeMap<String, Vec<Opinion>> = BTreeMap::new();
        for opinion in store.opinions(None)? {
            all.entry(opinion.series).or_default().push(Opinion {
                run_id: opinion.run,
                state: opinion.state,
            });
        }
        Ok(Self(all))
    }

    fn on(&self, series: &StoredSeries) -> &[Opinion] {
        self.0.get(&series.key).map_or(&[], Vec::as_slice)
    }
}

/// A series with its points, as input of the search.
struct Searched<'a> {
    series: &'a StoredSeries,
    points: Vec<SeriesPoint>,
}

/// Searches all series of a job and stores their changes.
///
/// # Errors
/// When the store cannot be read or written.
fn check_job(
    store: &mut Store,
    group: &[StoredSeries],
    opinions: &Opinions,
) -> Result<(), StoreError> {
    let mut searched = Vec::new();
    for series in group {
        searched.push(Searched {
            series,
            points: store.points(&series.key)?,
        });
    }
    let rules = Rules::default();
    let input: Vec<(RunSeries, Vec<Opinion>)> = searched
        .iter()
        .filter_map(|of| Some((of.input()?, opinions.on(of.series).to_vec())))
        .collect();
    let mut found = find_in_job(&input, &rules).into_iter().zip(&input);
    let mut checked = Vec::new();
    for of in &searched {
        let changes = match of.series.better.and_then(|_| found.next()) {
            Some((changes, (input, opinions))) => {
                let circumstances = circumstances_around(store, &of.points, &changes)?;
                let dates = Dates {
                    input,
                    opinions,
                    rules: &rules,
                };
                let stored = |change| stored_change(of, change, &circumstances, &dates);
                changes.iter().map(stored).collect()
            }
            None => Vec::new(),
        };
        checked.push(CheckedSeries {
            key: &of.series.key,
            points: &of.points,
            changes,
        });
    }
    store.save_changes(&checked)
}

impl Searched<'_> {
    fn input(&self) -> Option<RunSeries> {
        let points = self.points.iter().map(|point| RunPoint {
            run_id: point.run.clone(),
            started_unix_ms: point.started_unix_ms,
            // For a tail, only the percentile of all operations together is compared.
            trials: match self.series.tail {
                true => vec![point.centre],
                false => point.samples.clone(),
            },
        });
        Some(RunSeries {
            points: points.collect(),
            better: self.series.better?,
            tail: self.series.tail,
            margin: None,
        })
    }
}

fn stored_change(
    of: &Searched<'_>,
    change: &ChangePoint,
    circumstances: &Circumstances,
    dates: &Dates<'_>,
) -> SeriesChange {
    SeriesChange {
        run: change.run_id.clone(),
        before_run: change.before_run_id.clone(),
        started_unix_ms: change.started_unix_ms,
        found_unix_ms: dates.found(change),
        turn: turn_of(change, of.series.better),
        effect_percent: change.effect.map(|effect| effect.percent),
        effect_interval: change.effect.and_then(|effect| effect.ci95),
        before: change_side(change.before),
        after: change_side(change.after),
        p: change.p,
        events: events_at(&of.points, change.index, circumstances),
        method: change.method.to_owned(),
        accepted: change.accepted,
    }
}

/// Values of circumstances, by run and then by name of the circumstance.
type Circumstances = BTreeMap<String, BTreeMap<String, String>>;

/// Runs by which a change may be misplaced; events between these runs count too.
const OFF: usize = 1;

/// Reads the circumstances of the runs around changes.
///
/// # Errors
/// When the store cannot be read.
fn circumstances_around(
    store: &Store,
    points: &[SeriesPoint],
    changes: &[ChangePoint],
) -> Result<Circumstances, StoreError> {
    let places = changes.iter().flat_map(|change| near(change.index));
    let runs = places.filter_map(|place| points.get(place));
    let runs: Vec<&str> = runs.map(|point| point.run.as_str()).collect();
    store.circumstances(&runs)
}

/// Indices of the points on both sides of a change.
fn near(index: usize) -> impl Iterator<Item = usize> {
    index.saturating_sub(1 + OFF)..=index + OFF
}

/// Returns the circumstances that differ across a change, in order of importance. Compares the two
/// runs next to it, else those one run further away. A circumstance that is not known on one side
/// is not an event.
fn events_at(
    points: &[SeriesPoint],
    index: usize,
    circumstances: &Circumstances,
) -> Vec<CircumstanceChange> {
    let all = Circumstance::ALL.into_iter();
    let found = all.filter_map(|circumstance| {
        let name = circumstance.name();
        let value = |place: usize| circumstances.get(&points.get(place)?.run)?.get(name);
        let differing = |off: usize| {
            let before = value(index.checked_sub(1 + off)?)?;
            let after = value(index + off)?;
            (before != after).then(|| CircumstanceChange {
                circumstance: name.to_owned(),
                before: before.clone(),
                after: after.clone(),
            })
        };
        (0..=OFF).find_map(differing)
    });
    found.collect()
}

fn change_side(side: SideOfChange) -> ChangeSide {
    ChangeSide {
        runs: u32::try_from(side.runs).unwrap_or(u32::MAX),
        centre: side.centre,
    }
}

/// Returns the direction of a change. An accepted change may have a verdict without a direction.
fn turn_of(change: &ChangePoint, better: Option<Better>) -> Turn {
    let gain = (change.after.centre - change.before.centre) * better.map_or(1.0, Better::sign);
    match change.verdict {
        Verdict::Faster(_) => Turn::Faster,
        Verdict::Slower(_) => Turn::Slower,
        _ if gain < 0.0 => Turn::Slower,
        _ => Turn::Faster,
    }
}

/// Determines when a change could first have been found.
struct Dates<'a> {
    input: &'a RunSeries,
    opinions: &'a [Opinion],
    rules: &'a Rules,
}

/// Most runs after a change with which the search is repeated; a change found later has the date of
/// the newest run.
const LATEST: usize = 40;

impl Dates<'_> {
    /// Returns the start of the first run with which there were enough runs to find the change. It
    /// depends on the runs only, so the list of changes since a date is the same at each query.
    fn found(&self, change: &ChangePoint) -> u64 {
        let points = &self.input.points;
        let first = change.index + self.rules.min_runs;
        let mut lengths = first..points.len().min(first + LATEST);
        let is_near = |found: &ChangePoint| found.index.abs_diff(change.index) <= JITTER;
        let length = lengths.find(|length| {
            let earlier = RunSeries {
                points: points.iter().take(*length).cloned().collect(),
                better: self.input.better,
                tail: self.input.tail,
                margin: self.input.margin,
            };
            let found = find(&earlier, self.opinions, self.rules);
            found.iter().any(is_near)
        });
        let run = points.get(length.unwrap_or(points.len()).saturating_sub(1));
        run.map_or(0, |point| point.started_unix_ms)
    }
}

/// Compares a run with other units of its kind, by the newest of their runs, at most `most`.
///
/// # Errors
/// When the store cannot be read.
pub fn standings(store: &Store, facts: &RunFacts, most: u32) -> Result<Standings, StoreError> {
    let known = |circumstance| facts.known(circumstance).unwrap_or_default();
    let (bus, unit) = (known(Circumstance::Bus), known(Circumstance::Unit));
    let figures = store.figures_of_kind(&facts.run, bus, unit, most)?;
    let runs: BTreeSet<&str> = figures.iter().map(|figure| figure.run.as_str()).collect();
    let runs = runs.len();
    let others = figures.into_iter().map(|figure| KinFigure {
        unit: figure.unit,
        job: figure.job_hash,
        metric: figure.metric,
        label: figure.label,
        value: figure.centre,
    });
    let mut standings = others.collect::<Others>().place(facts);
    standings.newest_runs = Some(runs);
    Ok(standings)
}
