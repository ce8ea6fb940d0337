//! Figures of all units of a device model.

use crate::error::StoreError;
use crate::runs::Store;

/// A figure of a run, with what tells its unit from others.
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
    /// Label of the figure: what was measured.
    pub label: String,
    /// Median of the trials.
    pub centre: f64,
}

impl Store {
    /// Figures of all runs on one model and mode of the bus, which is empty where it is not known.
    /// Figures under a condition, and of units that nothing tells from others, are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn figures_of_model(&self, model: &str, bus: &str) -> Result<Vec<UnitFigure>, StoreError> {
        self.database.query(
            "SELECT f.run_id AS run_id, f.unit AS unit, s.job_hash AS job_hash, \
             s.metric AS metric, s.label AS label, p.centre AS centre \
             FROM facts f JOIN points p ON p.run_id = f.run_id JOIN series s ON s.id = p.series \
             WHERE f.model = ?1 AND COALESCE(f.bus, '') = ?2 AND f.unit IS NOT NULL \
             AND s.condition = ''",
            &[model.into(), bus.into()],
            |row| {
                Ok(UnitFigure {
                    run: row.get("run_id")?,
                    unit: row.get("unit")?,
                    job_hash: row.get("job_hash")?,
                    metric: row.get("metric")?,
                    label: row.get("label")?,
                    centre: row.get("centre")?,
                })
            },
        )
    }
}
