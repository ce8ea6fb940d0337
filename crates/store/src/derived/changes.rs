//! Changes of series.

use super::series::{self, COLUMNS, SeriesFilter};
use super::{DERIVED, UNCHECKED, named, number};
use crate::backend::{Row, SqlSession, Value, rows};
use crate::error::StoreError;
use crate::record;
use crate::rows::json;
use crate::runs::{Store, unwritable};
use assay_model::series::{ChangeSide, SeriesChange, SeriesPoint, StoredSeries, Turn};

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
                save(t, series)?;
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
        let read = |row: &Row<'_>| Ok((series::read(row)?, read(row)?));
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
        self.database.query(&sql, &[number(key).into()], read)
    }
}

fn save(t: &mut SqlSession<'_>, checked: &CheckedSeries<'_>) -> Result<(), StoreError> {
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
        rows.push(row(id, change)?);
    }
    t.insert_many("changes", CHANGES, rows)?;
    Ok(())
}

rows! {
    /// Columns of `changes`.
    pub(super) CHANGES of row(series: i64, change: &SeriesChange) {
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
        events = record::to_text(&change.events).map_err(unwritable(&change.run))?,
        method = &change.method,
        accepted = change.accepted,
    }
}

pub(super) fn read(row: &Row<'_>) -> Result<SeriesChange, StoreError> {
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
        events: json(row, "events")?,
        method: row.get("method")?,
        accepted: row.get("accepted")?,
    })
}
