//! Series and their points.

use super::{named, number};
use crate::backend::Row;
use crate::browse::Conditions;
use crate::error::StoreError;
use crate::pages::{like, literally};
use crate::runs::Store;
use assay_model::figures::Better;
use assay_model::metric::Unit;
use assay_model::series::{SeriesPoint, StoredSeries};

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
