//! Series, their runs and changes as JSON.

use super::{SCHEMA, rfc3339};
use crate::described;
use crate::results::changes::ListedSeries;
use crate::words::text::clean;
use assay_model::figures::Better;
use assay_model::series::{
    ChangeSide, CircumstanceChange, Opinion, SeriesChange, SeriesPoint, StoredSeries,
};
use serde_json::{Value, json};

described! {
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

/// A text, unless it is empty.
fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl SeriesEntry {
    /// Makes the JSON of a series.
    pub fn of(series: &StoredSeries) -> Self {
        let better = series.better.map(|better| match better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        });
        Self {
            series: series.key.clone(),
            project: series.project.clone(),
            model: series.model.clone(),
            unit: known(&series.unit),
            target: series.target.clone(),
            job: series.job.clone(),
            job_hash: series.job_hash.clone(),
            condition: known(&series.condition),
            metric: series.metric.clone(),
            label: series.label.clone(),
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
    /// Makes the JSON of a run of a series.
    pub fn of(point: &SeriesPoint) -> Self {
        Self {
            run: point.run.clone(),
            started: rfc3339(point.started_unix_ms),
            trials: point.n,
            centre: point.centre,
            values: point.samples.clone(),
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
    /// Makes the JSON of a change.
    pub fn of(change: &SeriesChange) -> Self {
        Self {
            open: change.is_open(),
            verdict: change.turn.name().to_owned(),
            run: change.run.clone(),
            before_run: change.before_run.clone(),
            started: rfc3339(change.started_unix_ms),
            found: rfc3339(change.found_unix_ms),
            accepted: change.accepted,
            effect_pct: change.effect_percent,
            effect_interval_pct: change.effect_interval.map(|(low, high)| vec![low, high]),
            before: SideEntry::of(change.before),
            after: SideEntry::of(change.after),
            p: change.p,
            events: change.events.iter().map(EventEntry::of).collect(),
            method: change.method.clone(),
        }
    }
}

impl EventEntry {
    fn of(event: &CircumstanceChange) -> Self {
        Self {
            circumstance: event.circumstance.clone(),
            before: event.before.clone(),
            after: event.after.clone(),
        }
    }
}

/// Series with their last changes.
pub fn series(all: &[ListedSeries]) -> Value {
    let all = all.iter().map(|listed| {
        json!({
            "series": SeriesEntry::of(&listed.series),
            "change": listed.change.as_ref().map(ChangeEntry::of),
            "new": listed.is_new,
        })
    });
    json!({"schema": SCHEMA, "series": all.collect::<Vec<_>>()})
}

/// One series with its runs, its changes and what users say of them.
pub fn trend(
    series: &StoredSeries,
    points: &[SeriesPoint],
    changes: &[SeriesChange],
    opinions: &[Opinion],
) -> Value {
    let points = points.iter().map(PointEntry::of);
    let opinions = opinions.iter().map(|opinion| {
        json!({
            "run": opinion.run,
            "state": opinion.state,
            "note": opinion.note,
            "author": opinion.author,
            "at": rfc3339(opinion.at_unix_ms),
        })
    });
    let changes = changes.iter().map(ChangeEntry::of);
    json!({
        "schema": SCHEMA,
        "series": SeriesEntry::of(series),
        "points": points.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
        "opinions": opinions.collect::<Vec<_>>(),
    })
}

/// New changes, as a webhook takes them: `text` is a line that chats show.
pub fn news(new: &[(StoredSeries, SeriesChange)], since_unix_ms: Option<u64>) -> Value {
    let slowdowns = new.iter().filter(|(_, change)| change.is_open()).count();
    let changes = new.iter().map(|(series, change)| {
        json!({
            "series": SeriesEntry::of(series),
            "change": ChangeEntry::of(change),
        })
    });
    json!({
        "schema": SCHEMA,
        "since": since_unix_ms.map(rfc3339),
        "text": line(new, slowdowns),
        "slowdowns": slowdowns,
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// Changes that a line for a chat names.
const NAMED: usize = 3;

/// The news as one line for a chat, in English: slowdowns first.
fn line(new: &[(StoredSeries, SeriesChange)], slowdowns: usize) -> String {
    let count = |n: usize, word: &str| match n {
        1 => format!("1 new {word}"),
        n => format!("{n} new {word}s"),
    };
    let counts = match slowdowns {
        0 => count(new.len(), "change"),
        n if n == new.len() => count(n, "slowdown"),
        n => format!("{}, {}", count(n, "slowdown"), count(new.len(), "change")),
    };
    let (open, others): (Vec<_>, Vec<_>) = new.iter().partition(|(_, change)| change.is_open());
    let all = open.into_iter().chain(others);
    let mut named: Vec<String> = all.take(NAMED).map(told).collect();
    if new.len() > NAMED {
        named.push("...".to_owned());
    }
    match named.is_empty() {
        true => "assay: no new change".to_owned(),
        false => format!("assay: {counts}: {}", named.join("; ")),
    }
}

fn told((series, change): &(StoredSeries, SeriesChange)) -> String {
    let effect = change.effect_percent.unwrap_or_default();
    let events = change.events.iter();
    let events = events.map(|of| format!(", {} {} -> {}", of.circumstance, of.before, of.after));
    let text = format!(
        "{} {} {effect:+.1} % on {}, {}{}",
        series.job,
        series.metric,
        series.target,
        series.model,
        events.collect::<String>()
    );
    clean(&text)
}
