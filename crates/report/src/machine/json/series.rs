//! Series, their runs and changes as JSON.

use super::{SCHEMA, rfc3339};
use crate::results::changes::ListedSeries;
use crate::words::text::clean;
use assay_model::figures::Better;
use assay_model::series::{
    ChangeSide, CircumstanceChange, Opinion, SeriesChange, SeriesPoint, StoredSeries,
};
use serde::Serialize;
use serde_json::{Value, json};

/// A series.
#[derive(Serialize)]
struct SeriesPart<'a> {
    series: &'a str,
    project: &'a str,
    model: &'a str,
    unit: Option<&'a str>,
    target: &'a str,
    job: &'a str,
    job_hash: &'a str,
    condition: Option<&'a str>,
    metric: &'a str,
    label: &'a str,
    unit_of_measure: &'static str,
    better: Option<Better>,
    primary: bool,
    tail: bool,
    runs: u64,
    first_run: String,
    last_run: String,
    latest: f64,
}

impl<'a> SeriesPart<'a> {
    fn of(series: &'a StoredSeries) -> Self {
        let filled = |text: &'a String| (!text.is_empty()).then_some(text.as_str());
        Self {
            series: &series.key,
            project: &series.project,
            model: &series.model,
            unit: filled(&series.unit),
            target: &series.target,
            job: &series.job,
            job_hash: &series.job_hash,
            condition: filled(&series.condition),
            metric: &series.metric,
            label: &series.label,
            unit_of_measure: series.unit_of_measure.name(),
            better: series.better,
            primary: series.primary,
            tail: series.tail,
            runs: series.runs,
            first_run: rfc3339(series.first_unix_ms),
            last_run: rfc3339(series.last_unix_ms),
            latest: series.last_centre,
        }
    }
}

/// A change.
#[derive(Serialize)]
struct ChangePart<'a> {
    run: &'a str,
    before_run: &'a str,
    started: String,
    found: String,
    verdict: &'static str,
    open: bool,
    accepted: bool,
    effect_pct: Option<f64>,
    effect_interval_pct: Option<[f64; 2]>,
    before: ChangeSide,
    after: ChangeSide,
    p: f64,
    events: &'a [CircumstanceChange],
    method: &'a str,
}

impl<'a> ChangePart<'a> {
    fn of(change: &'a SeriesChange) -> Self {
        Self {
            run: &change.run,
            before_run: &change.before_run,
            started: rfc3339(change.started_unix_ms),
            found: rfc3339(change.found_unix_ms),
            verdict: change.turn.name(),
            open: change.is_open(),
            accepted: change.accepted,
            effect_pct: change.effect_percent,
            effect_interval_pct: change.effect_interval.map(|(low, high)| [low, high]),
            before: change.before,
            after: change.after,
            p: change.p,
            events: &change.events,
            method: &change.method,
        }
    }
}

/// Series with their last changes.
pub fn series(all: &[ListedSeries]) -> Value {
    let all = all.iter().map(|listed| {
        json!({
            "series": SeriesPart::of(&listed.series),
            "change": listed.change.as_ref().map(ChangePart::of),
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
    let points = points.iter().map(|point| {
        json!({
            "run": point.run,
            "started": rfc3339(point.started_unix_ms),
            "trials": point.n,
            "centre": point.centre,
            "values": point.samples,
        })
    });
    let opinions = opinions.iter().map(|opinion| {
        json!({
            "run": opinion.run,
            "state": opinion.state,
            "note": opinion.note,
            "author": opinion.author,
            "at": rfc3339(opinion.at_unix_ms),
        })
    });
    let changes = changes.iter().map(ChangePart::of);
    json!({
        "schema": SCHEMA,
        "series": SeriesPart::of(series),
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
            "series": SeriesPart::of(series),
            "change": ChangePart::of(change),
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
