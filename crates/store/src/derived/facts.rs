//! Facts of runs, and the points of series that they contain.

use super::{DERIVED, UNCHECKED, evidence, forget, number};
use crate::backend::{SqlSession, listed, rows};
use crate::error::StoreError;
use crate::record;
use crate::rows::json;
use crate::runs::{Store, unwritable};
use assay_model::facts::{Circumstance, FigureFacts, RunFacts};
use assay_model::figures::Better;
use std::collections::{BTreeMap, HashSet};

impl Store {
    /// Returns the ids of ended runs whose facts are missing, outdated, or from before the run was
    /// resumed; oldest first, at most `most`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs_without_facts(&self, version: u32, most: u32) -> Result<Vec<String>, StoreError> {
        self.database.query(
            "SELECT id FROM runs WHERE facts_version < ?1 AND status <> 'running' \
             ORDER BY started_unix_ms, id LIMIT ?2",
            &[version.into(), most.into()],
            |row| row.get("id"),
        )
    }

    /// Replaces the stored facts of ended runs, and adds their figures as points of series. Unknown
    /// runs are skipped.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn save_facts(&mut self, all: &[RunFacts]) -> Result<(), StoreError> {
        self.database.transaction(|t| save(t, all))
    }

    /// Returns the circumstances of runs by the runs' ids; runs without facts are left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn surroundings(
        &self,
        runs: &[&str],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, StoreError> {
        if runs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (marks, values) = listed(runs);
        let sql = format!("SELECT run_id, surroundings FROM facts WHERE run_id IN ({marks})");
        let all = self.database.query(&sql, &values, |row| {
            Ok((row.get("run_id")?, json(row, "surroundings")?))
        })?;
        Ok(all.into_iter().collect())
    }
}

/// Stores facts within a transaction.
pub(crate) fn save<'a>(
    t: &mut SqlSession<'_>,
    all: impl IntoIterator<Item = &'a RunFacts>,
) -> Result<(), StoreError> {
    t.lock(DERIVED)?;
    let all: Vec<&RunFacts> = all.into_iter().collect();
    let ended = ended(t, &all)?;
    let all: Vec<&RunFacts> = all
        .into_iter()
        .filter(|facts| ended.contains(&facts.run))
        .collect();
    let runs: Vec<&str> = all.iter().map(|facts| facts.run.as_str()).collect();
    forget(t, &runs)?;
    save_series(t, &all)?;
    let rows: Result<Vec<_>, _> = all.iter().map(|facts| row(facts)).collect();
    t.insert_many("facts", FACTS, rows?)?;
    evidence::insert(t, &all)?;
    let points = all
        .iter()
        .flat_map(|facts| figures(facts).map(|(series, figure)| point(series, facts, figure)));
    t.insert_many("points", POINTS, points.collect::<Result<Vec<_>, _>>()?)?;
    note_versions(t, &all)
}

/// Stores the version of their facts with the runs.
fn note_versions(t: &mut SqlSession<'_>, all: &[&RunFacts]) -> Result<(), StoreError> {
    let mut by_version: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for facts in all {
        let runs = by_version.entry(facts.version).or_default();
        runs.push(&facts.run);
    }
    for (version, runs) in by_version {
        let (marks, mut values) = listed(&runs);
        values.push(version.into());
        let version = format!("?{}", values.len());
        let sql = format!(
            "UPDATE runs SET facts_version = {version} \
             WHERE id IN ({marks}) AND facts_version <> {version}"
        );
        t.execute(&sql, &values)?;
    }
    Ok(())
}

/// Returns the ids of those runs that exist and have ended.
fn ended(t: &mut SqlSession<'_>, all: &[&RunFacts]) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<&str> = all.iter().map(|facts| facts.run.as_str()).collect();
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let (marks, values) = listed(&ids);
    let sql = format!("SELECT id FROM runs WHERE id IN ({marks}) AND status <> 'running'");
    let ended = t.query(&sql, &values, |row| row.get("id"))?;
    Ok(ended.into_iter().collect())
}

rows! {
    /// Columns of `facts`.
    FACTS of row(facts: &RunFacts) {
        run_id = &facts.run,
        project = &facts.project,
        target = &facts.target,
        model = &facts.model,
        unit = facts.known(Circumstance::Unit),
        bus = facts.known(Circumstance::Bus),
        kernel = facts.known(Circumstance::Kernel),
        firmware = facts.known(Circumstance::Firmware),
        governor = facts.known(Circumstance::Governor),
        surroundings = record::to_text(&facts.surroundings).map_err(unwritable(&facts.run))?,
    }
}

/// Returns the figures that become points, each with the number of its series. A run copied from
/// another store may contain two figures of a series, of which the first is used, and figures that
/// are not numbers, which are left out: one run must not block the tables of all others.
fn figures(facts: &RunFacts) -> impl Iterator<Item = (i64, &FigureFacts)> {
    let mut seen = HashSet::new();
    let figures = facts.figures.iter().filter(|figure| {
        figure.centre.is_finite() && figure.samples.iter().all(|value| value.is_finite())
    });
    let numbered = figures.map(|figure| (number(&figure.series), figure));
    numbered.filter(move |(series, _)| seen.insert(*series))
}

rows! {
    /// Columns of `points`.
    POINTS of point(series: i64, facts: &RunFacts, figure: &FigureFacts) {
        series = series,
        started_unix_ms = facts.started_unix_ms,
        run_id = &facts.run,
        n = figure.n,
        centre = figure.centre,
        samples = figure.samples.as_slice(),
    }
}

/// Adds missing series of all figures, and marks all series as unchecked.
fn save_series(t: &mut SqlSession<'_>, all: &[&RunFacts]) -> Result<(), StoreError> {
    // Each series once and in a fixed order, so that concurrent writers do not deadlock.
    let mut series: BTreeMap<i64, (&RunFacts, &FigureFacts)> = BTreeMap::new();
    for &facts in all {
        series.extend(figures(facts).map(|(id, figure)| (id, (facts, figure))));
    }
    let series = series.into_iter();
    let rows: Result<Vec<_>, _> = series
        .map(|(id, (facts, figure))| series_row(id, facts, figure))
        .collect();
    // Unchanged rows are not rewritten: a push touches every series of a board.
    let conflict = "ON CONFLICT (id) DO UPDATE SET better = excluded.better, \
         decides = excluded.decides, tail = excluded.tail, checked = excluded.checked \
         WHERE series.checked >= 0 OR series.decides <> excluded.decides \
         OR series.tail <> excluded.tail \
         OR COALESCE(series.better, '') <> COALESCE(excluded.better, '')";
    t.put_many("series", SERIES, &rows?, conflict)?;
    Ok(())
}

rows! {
    /// Columns of a new series.
    SERIES of series_row(id: i64, facts: &RunFacts, figure: &FigureFacts) {
        id = id,
        key = &figure.series,
        project = &facts.project,
        model = &facts.model,
        unit = facts.series_unit.as_deref().unwrap_or_default(),
        target = &facts.target,
        job = &figure.job,
        job_hash = &figure.job_hash,
        condition = &figure.condition,
        metric = &figure.metric,
        label = &figure.label,
        unit_of_measure = figure.unit.name(),
        better = figure.better.map(|better| match better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }),
        decides = figure.primary,
        tail = figure.tail,
        checked = UNCHECKED,
    }
}
