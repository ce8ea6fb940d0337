//! Statements of users on the views of a store: read-only, one at a time, with a time limit.

use crate::backend::{Question, Value};
use crate::error::StoreError;
use crate::runs::Store;

impl Store {
    /// Calls `row` with each row of the answer to a user's statement. Returns the names of the
    /// columns. The statement can only read the views of the store.
    ///
    /// # Errors
    /// If the statement is not a single SELECT over views, exceeds its time limit, or fails.
    pub fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.database.ask(question, row)
    }
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
