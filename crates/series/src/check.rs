//! Search for changes in all series of one job.

use crate::events::{self, Circumstances};
use assay_model::figures::{
    Better, ChangeSide, SeriesChange, SeriesPoint, StoredSeries, Turn, Verdict,
};
use assay_stats::changes::{
    ChangePoint, JITTER, Opinion, Rules, RunPoint, RunSeries, SideOfChange, find, find_in_job,
};
use assay_store::{CheckedSeries, Store, StoreError};
use std::collections::BTreeMap;

/// Opinions of users by the keys of series.
#[derive(Debug, Default)]
pub struct Opinions(BTreeMap<String, Vec<Opinion>>);

impl Opinions {
    /// Reads all opinions of a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
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
pub fn job(
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
                let circumstances = events::around(store, &of.points, &changes)?;
                let dates = Dates {
                    input,
                    opinions,
                    rules: &rules,
                };
                let stored = |change| stored(of, change, &circumstances, &dates);
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

fn stored(
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
        turn: turn(change, of.series.better),
        effect_percent: change.effect.map(|effect| effect.percent),
        effect_interval: change.effect.and_then(|effect| effect.ci95),
        before: side(change.before),
        after: side(change.after),
        p: change.p,
        events: events::at(&of.points, change.index, circumstances),
        method: change.method.to_owned(),
        accepted: change.accepted,
    }
}

fn side(side: SideOfChange) -> ChangeSide {
    ChangeSide {
        runs: u32::try_from(side.runs).unwrap_or(u32::MAX),
        centre: side.centre,
    }
}

/// Returns the direction of a change. An accepted change may have a verdict without a direction.
fn turn(change: &ChangePoint, better: Option<Better>) -> Turn {
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
