//! Pages of series, changes, devices and machines.

use super::changes::{self, CHANGES};
use super::series::{self, COLUMNS, SeriesFilter};
use crate::backend::{Row, Value};
use crate::browse::{Conditions, KeyedPage, PageKey, page};
use crate::error::StoreError;
use crate::runs::Store;
use assay_model::series::{SeriesChange, StoredSeries};

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
        let rows = self
            .database
            .query(&sql, &conditions.values, series::read)?;
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
        self.database.query(&sql, &[run.into()], series::read)
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
        let read = |row: &Row<'_>| Ok((series::read(row)?, changes::read(row)?));
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
