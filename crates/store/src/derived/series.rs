//! Series and their points.

use super::{DERIVED, UNCHECKED, forget, named, number};
use crate::backend::{Row, SqlSession, Value, listed, rows};
use crate::error::StoreError;
use crate::pages::{Conditions, KeyedPage, PageKey, like, literally, page};
use crate::runs;
use crate::runs::{Store, read_json, unwritable};
use assay_model::figures::{
    Better, ChangeSide, Circumstance, FigureFacts, RunFacts, SeriesChange, SeriesPoint,
    StoredSeries, Turn, Unit,
};
use std::collections::{BTreeMap, HashSet};

/// Filter of series; a series must match every given field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesFilter {
    /// Project.
    pub project: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Part of the model, unit or target; ASCII letters match in either case.
    pub device: Option<String>,
    /// Name of a job; a trailing `*` matches any ending.
    pub job: Option<String>,
    /// Name of a metric; a trailing `*` matches any ending.
    pub metric: Option<String>,
    /// Beginning of the key.
    pub key: Option<String>,
    /// Earliest start of the newest run, milliseconds since 1970 (UTC).
    pub since_unix_ms: Option<u64>,
    /// True to select only primary metrics, which decide verdicts.
    pub only_primary: bool,
}

/// Columns of a series.
pub(super) const COLUMNS: &str = "key, project, model, unit, target, job, job_hash, condition, \
    metric, label, unit_of_measure, better, decides, tail, runs, first_unix_ms, last_unix_ms, \
    last_centre";

impl Store {
    /// Returns the series that match a filter, by device, then by job and metric.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn series(&self, filter: &SeriesFilter) -> Result<Vec<StoredSeries>, StoreError> {
        let conditions = filter.conditions();
        let sql = format!(
            "SELECT {COLUMNS} FROM series {} \
             ORDER BY model, unit, target, project, job, condition, metric, label, id",
            conditions.clause()
        );
        self.database.query(&sql, &conditions.values, read)
    }

    /// Returns the points of a series, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn points(&self, key: &str) -> Result<Vec<SeriesPoint>, StoreError> {
        self.database.query(
            "SELECT run_id, started_unix_ms, n, centre, samples FROM points WHERE series = ?1 \
             ORDER BY started_unix_ms, run_id",
            &[number(key).into()],
            point,
        )
    }

    /// Returns at most `most` points of a series: those of the newest runs that started before
    /// `end` (milliseconds since 1970, UTC), oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_points(
        &self,
        key: &str,
        end: u64,
        most: u32,
    ) -> Result<Vec<SeriesPoint>, StoreError> {
        let mut points = self.database.query(
            "SELECT run_id, started_unix_ms, n, centre, samples FROM points WHERE series = ?1 \
             AND started_unix_ms < ?2 ORDER BY started_unix_ms DESC, run_id DESC LIMIT ?3",
            &[number(key).into(), end.into(), most.into()],
            point,
        )?;
        points.reverse();
        Ok(points)
    }

    /// Returns the series of jobs whose points have changed since the last check, grouped: all
    /// series of a job under one condition are in one group.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn unchecked_series(&self) -> Result<Vec<Vec<StoredSeries>>, StoreError> {
        const GROUP: &str = "project, model, unit, target, job_hash, condition";
        let sql = format!(
            "SELECT {COLUMNS} FROM series WHERE ({GROUP}) IN \
             (SELECT {GROUP} FROM series WHERE checked < 0) ORDER BY {GROUP}, id"
        );
        let all = self.database.query(&sql, &[], read)?;
        fn group(of: &StoredSeries) -> [&String; 6] {
            [
                &of.project,
                &of.model,
                &of.unit,
                &of.target,
                &of.job_hash,
                &of.condition,
            ]
        }
        let groups = all.chunk_by(|a, b| group(a) == group(b));
        Ok(groups.map(<[StoredSeries]>::to_vec).collect())
    }
}

fn point(row: &Row<'_>) -> Result<SeriesPoint, StoreError> {
    Ok(SeriesPoint {
        run: row.get("run_id")?,
        started_unix_ms: row.get("started_unix_ms")?,
        n: row.get("n")?,
        centre: row.get("centre")?,
        samples: row.get("samples")?,
    })
}

pub(super) fn read(row: &Row<'_>) -> Result<StoredSeries, StoreError> {
    let better: Option<String> = row.get("better")?;
    let better = match better.as_deref() {
        Some("higher") => Some(Better::Higher),
        Some("lower") => Some(Better::Lower),
        _ => None,
    };
    Ok(StoredSeries {
        key: row.get("key")?,
        project: row.get("project")?,
        model: row.get("model")?,
        unit: row.get("unit")?,
        target: row.get("target")?,
        job: row.get("job")?,
        job_hash: row.get("job_hash")?,
        condition: row.get("condition")?,
        metric: row.get("metric")?,
        label: row.get("label")?,
        unit_of_measure: named(row, "unit_of_measure", &Unit::ALL, Unit::name)?,
        better,
        primary: row.get("decides")?,
        tail: row.get("tail")?,
        runs: row.get("runs")?,
        first_unix_ms: row.get("first_unix_ms")?,
        last_unix_ms: row.get("last_unix_ms")?,
        last_centre: row.get("last_centre")?,
    })
}

impl SeriesFilter {
    /// Returns conditions on the columns of `series`; series without runs are excluded.
    pub(super) fn conditions(&self) -> Conditions {
        let mut all = Conditions::default();
        all.add("runs > ?", 0_u32);
        if let Some(project) = &self.project {
            all.add("project = ?", project);
        }
        if let Some(model) = &self.model {
            all.add("model = ?", model);
        }
        if let Some(device) = &self.device {
            all.add(
                "lower(model || ' ' || unit || ' ' || target) LIKE ? ESCAPE '!'",
                like(device),
            );
        }
        for (column, wanted) in [("job", &self.job), ("metric", &self.metric)] {
            if let Some(wanted) = wanted {
                all.add(&format!("{column} LIKE ? ESCAPE '!'"), pattern(wanted));
            }
        }
        if let Some(key) = &self.key {
            all.add("key LIKE ? ESCAPE '!'", pattern(&format!("{key}*")));
        }
        if let Some(since) = self.since_unix_ms {
            all.add("last_unix_ms >= ?", since);
        }
        if self.only_primary {
            all.add("decides = ?", true);
        }
        all
    }
}

/// Returns the LIKE pattern for a name that may end in `*`.
fn pattern(name: &str) -> String {
    match name.strip_suffix('*') {
        Some(beginning) => format!("{}%", literally(beginning)),
        None => literally(name),
    }
}

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
    pub fn circumstances(
        &self,
        runs: &[&str],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, StoreError> {
        if runs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (marks, values) = listed(runs);
        let sql = format!("SELECT run_id, surroundings FROM facts WHERE run_id IN ({marks})");
        let all = self.database.query(&sql, &values, |row| {
            Ok((row.get("run_id")?, read_json(row, "surroundings")?))
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
    super::insert(t, &all)?;
    let points = all
        .iter()
        .flat_map(|facts| figures(facts).map(|(series, figure)| point_row(series, facts, figure)));
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
        surroundings = runs::to_text(&facts.surroundings).map_err(unwritable(&facts.run))?,
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
    POINTS of point_row(series: i64, facts: &RunFacts, figure: &FigureFacts) {
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

/// Device model, unit or machine in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSummary {
    /// Name of the model, the unit or the machine.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Start of the newest run that has figures, milliseconds since 1970 (UTC); 0 if none has.
    pub newest_unix_ms: u64,
}

impl Store {
    /// Returns a page of the series that match a filter: at most `most`, after the key `after`, the
    /// series with the newest run first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn series_page(
        &self,
        filter: &SeriesFilter,
        after: Option<&PageKey>,
        most: u32,
    ) -> Result<KeyedPage<StoredSeries>, StoreError> {
        let mut conditions = filter.conditions();
        if let Some(key) = after {
            conditions.behind("last_unix_ms", "key", key);
        }
        let limit = conditions.limit(most);
        let sql = format!(
            "SELECT {COLUMNS} FROM series {} ORDER BY last_unix_ms DESC, key DESC {limit}",
            conditions.clause()
        );
        let rows = self.database.query(&sql, &conditions.values, read)?;
        let key = |series: &StoredSeries| PageKey {
            at_unix_ms: series.last_unix_ms,
            id: series.key.clone(),
        };
        Ok(page(rows, most, key))
    }

    /// Returns the series that have a point from a run, by job and metric.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn series_of_run(&self, run: &str) -> Result<Vec<StoredSeries>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM series WHERE runs > 0 \
             AND id IN (SELECT series FROM points WHERE run_id = ?1) \
             ORDER BY decides DESC, job, condition, metric, id"
        );
        self.database.query(&sql, &[run.into()], read)
    }

    /// Returns a page of changes with their series: at most `most`, after the key `after`, newest
    /// first. With `open`, only slowdowns without an accepting opinion.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn change_page(
        &self,
        filter: &SeriesFilter,
        open: bool,
        after: Option<&PageKey>,
        most: u32,
    ) -> Result<KeyedPage<(StoredSeries, SeriesChange)>, StoreError> {
        const ID: &str = "found.key || '/' || changes.run_id";
        let found = filter.conditions();
        let of_series = found.clause();
        let mut conditions = Conditions::after(found.values);
        if open {
            conditions.add("changes.verdict = ?", "slower");
            conditions.add("changes.accepted = ?", 0_u32);
        }
        if let Some(key) = after {
            conditions.behind("changes.started_unix_ms", ID, key);
        }
        let limit = conditions.limit(most);
        let columns = CHANGES.join(", changes.");
        let sql = format!(
            "SELECT found.*, changes.{columns} FROM changes JOIN \
             (SELECT {COLUMNS}, id AS series_id FROM series {of_series}) AS found \
             ON changes.series = found.series_id {} \
             ORDER BY changes.started_unix_ms DESC, {ID} DESC {limit}",
            conditions.clause()
        );
        let read = |row: &Row<'_>| Ok((read(row)?, read_change(row)?));
        let rows = self.database.query(&sql, &conditions.values, read)?;
        let key = |(series, change): &(StoredSeries, SeriesChange)| PageKey {
            at_unix_ms: change.started_unix_ms,
            id: format!("{}/{}", series.key, change.run),
        };
        Ok(page(rows, most, key))
    }

    /// Returns the number of open slowdowns of primary metrics.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open_changes(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) AS n FROM changes JOIN series ON changes.series = series.id \
                   WHERE changes.verdict = 'slower' AND changes.accepted = 0 \
                   AND series.decides = ?1 AND series.runs > 0";
        let n = self
            .database
            .first(sql, &[true.into()], |row| row.get("n"))?;
        Ok(n.unwrap_or_default())
    }

    /// Returns a page of device models, the most recently measured first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn device_page(
        &self,
        after: Option<&PageKey>,
        most: u32,
    ) -> Result<KeyedPage<DeviceSummary>, StoreError> {
        self.grouped("model", after, most)
    }

    /// Returns a page of machines, the most recently measured first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn machine_page(
        &self,
        after: Option<&PageKey>,
        most: u32,
    ) -> Result<KeyedPage<DeviceSummary>, StoreError> {
        self.grouped("target", after, most)
    }

    /// Groups the runs by a column of facts. The times are those of series, because there are fewer
    /// series than runs.
    fn grouped(
        &self,
        column: &str,
        after: Option<&PageKey>,
        most: u32,
    ) -> Result<KeyedPage<DeviceSummary>, StoreError> {
        let mut conditions = Conditions::default();
        if let Some(key) = after {
            conditions.behind("COALESCE(newest, 0)", "name", key);
        }
        let limit = conditions.limit(most);
        let sql = format!(
            "SELECT name, runs, COALESCE(newest, 0) AS newest FROM \
             (SELECT {column} AS name, count(*) AS runs FROM facts GROUP BY {column}) AS named \
             LEFT JOIN (SELECT {column} AS of_series, max(last_unix_ms) AS newest FROM series \
             WHERE runs > 0 GROUP BY {column}) AS timed ON name = of_series {} \
             ORDER BY COALESCE(newest, 0) DESC, name DESC {limit}",
            conditions.clause()
        );
        self.summaries_of(&sql, &conditions.values, most)
    }

    /// Returns at most `most` units of a model, the most recently measured first. Runs without a
    /// known unit have an empty name.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn units_of(&self, model: &str, most: u32) -> Result<KeyedPage<DeviceSummary>, StoreError> {
        let values = [model.into(), (u64::from(most) + 1).into()];
        let sql = "SELECT COALESCE(unit, '') AS name, count(*) AS runs, \
                   max(started_unix_ms) AS newest FROM facts JOIN runs ON runs.id = facts.run_id \
                   WHERE model = ?1 GROUP BY COALESCE(unit, '') ORDER BY newest DESC LIMIT ?2";
        self.summaries_of(sql, &values, most)
    }

    fn summaries_of(
        &self,
        sql: &str,
        values: &[Value],
        most: u32,
    ) -> Result<KeyedPage<DeviceSummary>, StoreError> {
        let rows = self.database.query(sql, values, |row| {
            Ok(DeviceSummary {
                name: row.get("name")?,
                runs: row.get("runs")?,
                newest_unix_ms: row.get("newest")?,
            })
        })?;
        let key = |device: &DeviceSummary| PageKey {
            at_unix_ms: device.newest_unix_ms,
            id: device.name.clone(),
        };
        Ok(page(rows, most, key))
    }
}

/// Series with the result of a search for changes.
#[derive(Clone, Debug)]
pub struct CheckedSeries<'a> {
    /// Key of the series.
    pub key: &'a str,
    /// Points in which changes were searched.
    pub points: &'a [SeriesPoint],
    /// Changes found.
    pub changes: Vec<SeriesChange>,
}

impl Store {
    /// Replaces the stored changes of series. A series whose points have changed meanwhile remains
    /// marked as unchecked.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn save_changes(&mut self, checked: &[CheckedSeries<'_>]) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            for series in checked {
                save_changes(t, series)?;
            }
            Ok(())
        })
    }

    /// Returns the changes of series that match a filter, each with its series; newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn changes(
        &self,
        filter: &SeriesFilter,
    ) -> Result<Vec<(StoredSeries, SeriesChange)>, StoreError> {
        let conditions = filter.conditions();
        let columns = CHANGES.join(", changes.");
        let sql = format!(
            "SELECT found.*, changes.{columns} FROM \
             (SELECT {COLUMNS}, id AS series_id FROM series {}) \
             AS found JOIN changes ON changes.series = found.series_id \
             ORDER BY changes.started_unix_ms DESC, found.key",
            conditions.clause()
        );
        let read = |row: &Row<'_>| Ok((read(row)?, read_change(row)?));
        self.database.query(&sql, &conditions.values, read)
    }

    /// Returns the changes of one series, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn changes_of(&self, key: &str) -> Result<Vec<SeriesChange>, StoreError> {
        let columns = CHANGES.join(", ");
        let sql = format!(
            "SELECT {columns} FROM changes WHERE series = ?1 ORDER BY started_unix_ms, run_id"
        );
        self.database
            .query(&sql, &[number(key).into()], read_change)
    }
}

fn save_changes(t: &mut SqlSession<'_>, checked: &CheckedSeries<'_>) -> Result<(), StoreError> {
    let id = number(checked.key);
    t.execute("DELETE FROM changes WHERE series = ?1", &[id.into()])?;
    let sql = "SELECT count(*) AS there FROM points WHERE series = ?1";
    let there = t.first(sql, &[id.into()], |row| row.get::<usize>("there"))?;
    if there == Some(0) {
        t.execute("DELETE FROM series WHERE id = ?1", &[id.into()])?;
        return Ok(());
    }
    let seen = checked.points.len();
    let mark = match there == Some(seen) {
        true => seen.into(),
        false => Value::Int(UNCHECKED),
    };
    let (first, last) = (checked.points.first(), checked.points.last());
    t.execute(
        "UPDATE series SET checked = ?2, runs = ?3, first_unix_ms = ?4, last_unix_ms = ?5, \
         last_centre = ?6 WHERE id = ?1",
        &[
            id.into(),
            mark,
            seen.into(),
            first.map_or(0, |point| point.started_unix_ms).into(),
            last.map_or(0, |point| point.started_unix_ms).into(),
            last.map_or(0.0, |point| point.centre).into(),
        ],
    )?;
    let mut rows = Vec::new();
    for change in &checked.changes {
        rows.push(change_row(id, change)?);
    }
    t.insert_many("changes", CHANGES, rows)?;
    Ok(())
}

rows! {
    /// Columns of `changes`.
    pub(super) CHANGES of change_row(series: i64, change: &SeriesChange) {
        { let interval = change.effect_interval; }
        series = series,
        run_id = &change.run,
        before_run_id = &change.before_run,
        started_unix_ms = change.started_unix_ms,
        found_unix_ms = change.found_unix_ms,
        verdict = change.turn.name(),
        effect = change.effect_percent,
        effect_low = interval.map(|(low, _)| low),
        effect_high = interval.map(|(_, high)| high),
        before_runs = change.before.runs,
        before_centre = change.before.centre,
        after_runs = change.after.runs,
        after_centre = change.after.centre,
        p = change.p,
        events = runs::to_text(&change.events).map_err(unwritable(&change.run))?,
        method = &change.method,
        accepted = change.accepted,
    }
}

pub(super) fn read_change(row: &Row<'_>) -> Result<SeriesChange, StoreError> {
    let low: Option<f64> = row.get("effect_low")?;
    let high: Option<f64> = row.get("effect_high")?;
    let side = |runs, centre| -> Result<ChangeSide, StoreError> {
        Ok(ChangeSide {
            runs: row.get(runs)?,
            centre: row.get(centre)?,
        })
    };
    Ok(SeriesChange {
        run: row.get("run_id")?,
        before_run: row.get("before_run_id")?,
        started_unix_ms: row.get("started_unix_ms")?,
        found_unix_ms: row.get("found_unix_ms")?,
        turn: named(row, "verdict", &Turn::ALL, Turn::name)?,
        effect_percent: row.get("effect")?,
        effect_interval: low.zip(high),
        before: side("before_runs", "before_centre")?,
        after: side("after_runs", "after_centre")?,
        p: row.get("p")?,
        events: read_json(row, "events")?,
        method: row.get("method")?,
        accepted: row.get("accepted")?,
    })
}

/// Number of points to read for each requested run.
const LOOKED_AT: u64 = 10;

/// Figure of a run, with the identity of its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitFigure {
    /// Id of the run.
    pub run: String,
    /// The unit.
    pub unit: String,
    /// Hash of the job.
    pub job_hash: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of the measurement: what the figure measures.
    pub label: String,
    /// Median of the trials.
    pub centre: f64,
}

impl Store {
    /// Returns figures from runs on other units of the same model with the same bus mode (empty if
    /// not known): those of the newest `most` runs that share a job with `run`. Figures under a
    /// condition are left out, and units without an identity. Returns nothing if `run` is not a
    /// point of a series.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn figures_of_kind(
        &self,
        run: &str,
        bus: &str,
        own_unit: &str,
        most: u32,
    ) -> Result<Vec<UnitFigure>, StoreError> {
        // Series have no unit, and facts no time. To bound the time of a page for any size of the
        // store, each matching series contributes only its newest points, fewer if there are more
        // series.
        let sql = "WITH kind AS (SELECT s.id AS id FROM series own JOIN series s \
             ON s.job_hash = own.job_hash AND s.model = own.model AND s.metric = own.metric \
             AND s.label = own.label AND s.condition = own.condition \
             WHERE own.id IN (SELECT series FROM points WHERE run_id = ?1) \
             AND own.condition = '' AND own.decides = ?4 ORDER BY s.last_unix_ms DESC LIMIT ?5), \
             newest AS (SELECT p.run_id AS run_id, f.unit AS unit \
             FROM kind JOIN points p ON p.series = kind.id JOIN facts f ON f.run_id = p.run_id \
             WHERE p.started_unix_ms >= COALESCE((SELECT started_unix_ms FROM points \
             WHERE series = kind.id ORDER BY started_unix_ms DESC \
             LIMIT 1 OFFSET ?5 / (SELECT count(*) + 1 FROM kind)), 0) \
             AND COALESCE(f.bus, '') = ?2 AND f.unit <> ?3 \
             GROUP BY p.run_id, f.unit ORDER BY max(p.started_unix_ms) DESC, p.run_id LIMIT ?6) \
             SELECT newest.run_id AS run_id, newest.unit AS unit, s.job_hash AS job_hash, \
             s.metric AS metric, s.label AS label, p.centre AS centre \
             FROM newest JOIN points p ON p.run_id = newest.run_id JOIN series s ON s.id = p.series \
             WHERE s.condition = ''";
        let values = [
            run.into(),
            bus.into(),
            own_unit.into(),
            true.into(),
            (u64::from(most) * LOOKED_AT).into(),
            most.into(),
        ];
        self.database.query(sql, &values, |row| {
            Ok(UnitFigure {
                run: row.get("run_id")?,
                unit: row.get("unit")?,
                job_hash: row.get("job_hash")?,
                metric: row.get("metric")?,
                label: row.get("label")?,
                centre: row.get("centre")?,
            })
        })
    }
}
