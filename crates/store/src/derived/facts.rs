//! Facts of runs, and the points that they add to series.

use super::{DERIVED, UNCHECKED, forget, number};
use crate::backend::{Row, SqlSession, Value};
use crate::error::StoreError;
use crate::record;
use crate::runs::Store;
use assay_model::facts::{Circumstance, FigureFacts, RunFacts};
use assay_model::figures::Better;
use std::collections::BTreeMap;

/// Columns of `facts`, in the order of [`row`].
const FACTS: &[&str] = &[
    "run_id",
    "version",
    "finished_unix_ms",
    "project",
    "target",
    "model",
    "unit",
    "bus",
    "kernel",
    "firmware",
    "governor",
    "scheduler",
    "command",
    "surroundings",
];

impl Store {
    /// Ids of ended runs whose facts are missing, of an older version, or from before the run was
    /// resumed; oldest first, at most `most`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs_without_facts(&self, version: u32, most: u32) -> Result<Vec<String>, StoreError> {
        self.database.query(
            "SELECT runs.id AS id FROM runs LEFT JOIN facts ON facts.run_id = runs.id \
             WHERE runs.status <> 'running' AND (facts.run_id IS NULL OR facts.version < ?1 \
             OR facts.finished_unix_ms <> COALESCE(runs.finished_unix_ms, 0)) \
             ORDER BY runs.started_unix_ms, runs.id LIMIT ?2",
            &[version.into(), most.into()],
            |row| row.get("id"),
        )
    }

    /// Stores facts of runs that have ended, and their figures as points of series; replaces
    /// those of an earlier time. Runs that are not there are passed over.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_facts(&mut self, all: &[RunFacts]) -> Result<(), StoreError> {
        self.database.transaction(|t| save(t, all))
    }

    /// Values of the circumstances of runs, by the runs' ids; runs without facts are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn surroundings(
        &self,
        runs: &[&str],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, StoreError> {
        let mut found = BTreeMap::new();
        self.database.snapshot(|t| {
            for run in runs {
                let sql = "SELECT surroundings FROM facts WHERE run_id = ?1";
                let values = t.first(sql, &[(*run).into()], |row| words(row, "surroundings"))?;
                found.extend(values.map(|values| ((*run).to_owned(), values)));
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Stores facts within a transaction.
pub(crate) fn save<'a>(
    t: &mut SqlSession<'_>,
    all: impl IntoIterator<Item = &'a RunFacts>,
) -> Result<(), StoreError> {
    t.lock(DERIVED)?;
    let mut ended = Vec::new();
    for facts in all {
        if let Some(finished) = finished(t, &facts.run)? {
            forget(t, &facts.run)?;
            ended.push((facts, finished));
        }
    }
    save_series(t, ended.iter().map(|(facts, _)| *facts))?;
    let mut rows = Vec::new();
    for (facts, finished) in &ended {
        rows.push(row(facts, *finished)?);
    }
    t.insert_many("facts", FACTS, rows)?;
    let points = ended.iter().flat_map(|(facts, _)| points(facts));
    t.insert_many("points", POINTS, points)?;
    Ok(())
}

/// Reads a JSON object of texts.
fn words(row: &Row<'_>, column: &str) -> Result<BTreeMap<String, String>, StoreError> {
    let text: String = row.get(column)?;
    record::from_text(&text).map_err(|error| row.wrong(column, &error.to_string()))
}

/// End of a run that has ended, 0 if nobody saw it; `None` without such a run.
fn finished(t: &mut SqlSession<'_>, run: &str) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT COALESCE(finished_unix_ms, 0) AS finished FROM runs \
               WHERE id = ?1 AND status <> 'running'";
    t.first(sql, &[run.into()], |row| row.get("finished"))
}

fn row(facts: &RunFacts, finished: i64) -> Result<Vec<Value>, StoreError> {
    let known = |circumstance| facts.known(circumstance).into();
    let unwritable = |source| StoreError::Unwritable {
        run: facts.run.clone(),
        source,
    };
    Ok(vec![
        (&facts.run).into(),
        facts.version.into(),
        finished.into(),
        (&facts.project).into(),
        (&facts.target).into(),
        (&facts.model).into(),
        known(Circumstance::Unit),
        known(Circumstance::Bus),
        known(Circumstance::Kernel),
        known(Circumstance::Firmware),
        known(Circumstance::Governor),
        known(Circumstance::Scheduler),
        (&facts.command).into(),
        record::to_text(&facts.surroundings)
            .map_err(unwritable)?
            .into(),
    ])
}

/// Columns of `points`, in the order of [`points`].
const POINTS: &[&str] = &[
    "series",
    "started_unix_ms",
    "run_id",
    "n",
    "centre",
    "samples",
];

fn points(facts: &RunFacts) -> impl Iterator<Item = Vec<Value>> + '_ {
    facts.figures.iter().map(|figure| {
        vec![
            number(&figure.series).into(),
            facts.started_unix_ms.into(),
            (&facts.run).into(),
            figure.n.into(),
            figure.centre.into(),
            figure.samples.as_slice().into(),
        ]
    })
}

/// Adds the series of all figures that are not there, and marks all to be checked.
fn save_series<'a>(
    t: &mut SqlSession<'_>,
    all: impl Iterator<Item = &'a RunFacts>,
) -> Result<(), StoreError> {
    // Each once and in one order, whoever else does the same.
    let mut series: BTreeMap<i64, (&RunFacts, &FigureFacts)> = BTreeMap::new();
    for facts in all {
        let figures = facts.figures.iter();
        series.extend(figures.map(|figure| (number(&figure.series), (facts, figure))));
    }
    let sql = format!(
        "INSERT INTO series (id, key, project, model, unit, target, job, job_hash, condition, \
         metric, label, unit_of_measure, better, decides, tail, checked) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, {UNCHECKED}) \
         ON CONFLICT (id) DO UPDATE SET better = excluded.better, decides = excluded.decides, \
         tail = excluded.tail, checked = excluded.checked"
    );
    for (id, (facts, figure)) in series {
        t.execute(&sql, &series_row(id, facts, figure))?;
    }
    Ok(())
}

fn series_row(id: i64, facts: &RunFacts, figure: &FigureFacts) -> Vec<Value> {
    let better = figure.better.map(|better| match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    });
    vec![
        id.into(),
        (&figure.series).into(),
        (&facts.project).into(),
        (&facts.model).into(),
        facts.series_unit.as_deref().unwrap_or_default().into(),
        (&facts.target).into(),
        (&figure.job).into(),
        (&figure.job_hash).into(),
        (&figure.condition).into(),
        (&figure.metric).into(),
        (&figure.label).into(),
        figure.unit.name().into(),
        better.into(),
        figure.primary.into(),
        figure.tail.into(),
    ]
}
