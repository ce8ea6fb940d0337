//! Series, their points and changes.

use super::runs::json;
use crate::asked::Asked;
use crate::described::described;
use crate::pages::series::one;
use crate::reply::{Problem, Reply};
use crate::wanted;
use assay_model::figures::Better;
use assay_model::series::{
    ChangeSide, CircumstanceChange, SeriesChange, SeriesPoint, StoredSeries,
};
use assay_report::json::rfc3339;

/// Rows of a page.
const ROWS: u32 = 100;

described! {
    /// Series, the one with the newest run first.
    pub struct SeriesPage {
        /// The series.
        pub series: Vec<SeriesEntry>,
        /// Value of `after` for further series; null: there are none.
        pub next: Option<String>,
    }

    /// A metric of a job on a device, over runs.
    pub struct SeriesEntry {
        /// 12 hexadecimal digits, the same in every store.
        pub series: String,
        /// Project of its runs.
        pub project: String,
        /// Model of the device.
        pub model: String,
        /// Unit of a device whose model has no name; null: any unit of the model.
        pub unit: Option<String>,
        /// Machine that was measured.
        pub target: String,
        /// Name of the job.
        pub job: String,
        /// Hash of the job's resolved options.
        pub job_hash: String,
        /// Condition; null: as the machine was.
        pub condition: Option<String>,
        /// Name of the metric.
        pub metric: String,
        /// Label of every point: what was measured.
        pub label: String,
        /// Unit of the values.
        pub unit_of_measure: String,
        /// higher or lower; null: neither is good.
        pub better: Option<String>,
        /// True if the metric decides how good the job went.
        pub primary: bool,
        /// True for percentiles of the tail.
        pub tail: bool,
        /// Number of its runs.
        pub runs: u64,
        /// Start of its oldest run, RFC 3339.
        pub first_run: String,
        /// Start of its newest run.
        pub last_run: String,
        /// Figure of its newest run.
        pub latest: f64,
    }

    /// A series with all its runs, the oldest first.
    pub struct PointList {
        /// The series.
        pub series: SeriesEntry,
        /// Runs of the series.
        pub points: Vec<PointEntry>,
    }

    /// A run in a series.
    pub struct PointEntry {
        /// Id of the run.
        pub run: String,
        /// Start of the run, RFC 3339.
        pub started: String,
        /// Number of trials.
        pub trials: u32,
        /// Median of the trials; of a tail, the percentile of all operations together.
        pub centre: f64,
        /// A value per trial.
        pub values: Vec<f64>,
    }

    /// Changes, the newest first.
    pub struct ChangePage {
        /// The changes.
        pub changes: Vec<ChangeOfSeries>,
        /// Value of `after` for older changes; null: there are none.
        pub next: Option<String>,
    }

    /// A change and its series.
    pub struct ChangeOfSeries {
        /// The series.
        pub series: SeriesEntry,
        /// The change.
        pub change: ChangeEntry,
    }

    /// A change of a series between two runs.
    pub struct ChangeEntry {
        /// First run after the change.
        pub run: String,
        /// Last run before it.
        pub before_run: String,
        /// Start of the first run after it, RFC 3339.
        pub started: String,
        /// Start of the run with which there were runs enough to find it.
        pub found: String,
        /// faster or slower.
        pub verdict: String,
        /// True if it is a slowdown that nobody accepted.
        pub open: bool,
        /// True if a user accepted it.
        pub accepted: bool,
        /// Change of the metric in percent.
        pub effect_pct: Option<f64>,
        /// Both ends of its 95 % confidence interval.
        pub effect_interval_pct: Option<Vec<f64>>,
        /// Runs before it.
        pub before: SideEntry,
        /// Runs from it on.
        pub after: SideEntry,
        /// p value of the verdict.
        pub p: f64,
        /// Circumstances that changed with it.
        pub events: Vec<EventEntry>,
        /// Name and version of the method that found it.
        pub method: String,
    }

    /// Runs on one side of a change.
    pub struct SideEntry {
        /// Runs that were compared.
        pub runs: u32,
        /// Geometric mean of their centres.
        pub centre: f64,
    }

    /// A circumstance that differs between the runs on both sides of a change.
    pub struct EventEntry {
        /// Name of the circumstance.
        pub circumstance: String,
        /// Value before the change.
        pub before: String,
        /// Value after it.
        pub after: String,
    }
}

/// A page of series.
pub fn list(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = wanted::series(&asked.query)?;
    let after = wanted::after(&asked.query)?;
    let page = asked.store.series_page(&filter, after.as_ref(), ROWS)?;
    json(&SeriesPage {
        series: page.rows.into_iter().map(SeriesEntry::of).collect(),
        next: page.next.map(|key| key.to_string()),
    })
}

/// One series with all its runs.
pub fn points(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let series = one(asked)?;
    let points = asked.store.points(&series.key)?;
    json(&PointList {
        series: SeriesEntry::of(series),
        points: points.into_iter().map(PointEntry::of).collect(),
    })
}

/// A page of changes.
pub fn changes(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = wanted::series(&asked.query)?;
    let open = wanted::only_open(&asked.query, false)?;
    let after = wanted::after(&asked.query)?;
    let page = asked
        .store
        .change_page(&filter, open, after.as_ref(), ROWS)?;
    let entries = page.rows.into_iter();
    json(&ChangePage {
        changes: entries.map(ChangeOfSeries::of).collect(),
        next: page.next.map(|key| key.to_string()),
    })
}

/// A text, unless it is empty.
fn known(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl SeriesEntry {
    fn of(series: StoredSeries) -> Self {
        let better = series.better.map(|better| match better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        });
        Self {
            series: series.key,
            project: series.project,
            model: series.model,
            unit: known(series.unit),
            target: series.target,
            job: series.job,
            job_hash: series.job_hash,
            condition: known(series.condition),
            metric: series.metric,
            label: series.label,
            unit_of_measure: series.unit_of_measure.name().to_owned(),
            better: better.map(str::to_owned),
            primary: series.primary,
            tail: series.tail,
            runs: series.runs,
            first_run: rfc3339(series.first_unix_ms),
            last_run: rfc3339(series.last_unix_ms),
            latest: series.last_centre,
        }
    }
}

impl PointEntry {
    fn of(point: SeriesPoint) -> Self {
        Self {
            run: point.run,
            started: rfc3339(point.started_unix_ms),
            trials: point.n,
            centre: point.centre,
            values: point.samples,
        }
    }
}

impl ChangeOfSeries {
    fn of((series, change): (StoredSeries, SeriesChange)) -> Self {
        Self {
            series: SeriesEntry::of(series),
            change: ChangeEntry::of(change),
        }
    }
}

impl SideEntry {
    fn of(side: ChangeSide) -> Self {
        Self {
            runs: side.runs,
            centre: side.centre,
        }
    }
}

impl ChangeEntry {
    fn of(change: SeriesChange) -> Self {
        Self {
            open: change.is_open(),
            verdict: change.turn.name().to_owned(),
            run: change.run,
            before_run: change.before_run,
            started: rfc3339(change.started_unix_ms),
            found: rfc3339(change.found_unix_ms),
            accepted: change.accepted,
            effect_pct: change.effect_percent,
            effect_interval_pct: change.effect_interval.map(|(low, high)| vec![low, high]),
            before: SideEntry::of(change.before),
            after: SideEntry::of(change.after),
            p: change.p,
            events: change.events.into_iter().map(EventEntry::of).collect(),
            method: change.method,
        }
    }
}

impl EventEntry {
    fn of(event: CircumstanceChange) -> Self {
        Self {
            circumstance: event.circumstance,
            before: event.before,
            after: event.after,
        }
    }
}
