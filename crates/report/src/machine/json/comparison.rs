//! Comparisons, rankings and powers as JSON, described in `docs/verdicts.md`; series, their runs
//! and changes.

use super::{SCHEMA, rfc3339};
use crate::described;
use crate::results::changes::ListedSeries;
use crate::results::comparison::{Compared, Power, Ranked, RequirementRow};
use crate::results::requirements::verdict;
use crate::words::clean;
use assay_lang::in_english;
use assay_model::figures::{
    Better, Change, ChangeSide, CircumstanceChange, Opinion, SeriesChange, SeriesPoint,
    StoredSeries, Verdict,
};
use assay_stats::verdict::power::PowerRow;
use assay_stats::verdict::ranking::{MetricRanking, Pair};
use assay_stats::verdict::{Summary, VerdictRow};
use serde_json::{Value, json};

/// Version of the format of comparisons and rankings. Since version 2 a change refers to the
/// quantity itself, in version 1 to speed.
const COMPARISON_SCHEMA: u32 = 2;

/// Returns the result for one metric as one JSON object.
pub fn line(line: &VerdictRow, compared: &Compared<'_>) -> Value {
    in_english(|| row(line, &compared.in_letters()))
}

fn row(line: &VerdictRow, compared: &Compared<'_>) -> Value {
    let value = |side: &Option<Summary>| side.as_ref().map(|summary| summary.centre);
    let n = |side: &Option<Summary>| side.as_ref().map(|summary| summary.n);
    let cv = |side: &Option<Summary>| side.as_ref().and_then(cv_percent);
    json!({
        "metric": line.metric,
        "unit": line.unit,
        "a": compared.a,
        "b": compared.b,
        "better": line.better,
        "change_pct": line.change.map(|change| change.percent),
        "interval_pct": line.change.and_then(|change| change.interval),
        "confidence_pct": confidence_percent(line.change),
        "ci95_pct": line.change.and_then(|change| change.ci95),
        "p_adjusted": line.p_adjusted,
        "verdict": line.verdict.word(),
        "trials_needed": trials_needed(&line.verdict),
        "notes": sentences(&line.notes),
        "primary": line.primary,
        "qualification": line.qualification.word(),
        "drift_pct": line.drift.map(|drift| drift.percent),
        "a_value": value(&line.a),
        "b_value": value(&line.b),
        "a_n": n(&line.a),
        "b_n": n(&line.b),
        "a_cv_pct": cv(&line.a),
        "b_cv_pct": cv(&line.b),
    })
}

fn cv_percent(summary: &Summary) -> Option<f64> {
    summary.cv.map(|cv| 100.0 * cv)
}

fn confidence_percent(change: Option<Change>) -> Option<f64> {
    let shown = change.filter(|change| change.interval.is_some());
    shown.map(|change| 100.0 * change.confidence)
}

fn sentences(all: &[impl ToString]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

const fn trials_needed(verdict: &Verdict) -> Option<u32> {
    match verdict {
        Verdict::NoConclusion { trials_needed, .. } => *trials_needed,
        Verdict::Faster(_) | Verdict::Slower(_) | Verdict::Equivalent(_) => None,
    }
}

/// Converts a comparison to one JSON object.
pub fn comparison(compared: &Compared<'_>) -> Value {
    in_english(|| whole(&compared.in_letters()))
}

fn whole(compared: &Compared<'_>) -> Value {
    let found = compared.comparison;
    let pairs = found.lines.iter().map(|line| row(line, compared));
    let mut document = json!({
        "schema": COMPARISON_SCHEMA,
        "a": compared.a,
        "b": compared.b,
        "scope": found.scope.to_string(),
        "margin_pct": 100.0 * compared.options.margin,
        "alpha": compared.options.alpha,
        "pairs": pairs.collect::<Vec<_>>(),
        "contradiction": compared.contradiction(),
        "warnings": compared.all_warnings(),
    });
    if let Some(line) = &found.composite {
        document["composite"] = row(line, compared);
    }
    if compared.qualify {
        document["replaces"] = compared.replaces().word().into();
        document["answer"] = clean(&compared.answer()).into();
    }
    if !compared.requirements.is_empty() {
        document["requirements"] = requirement_values(&compared.requirements).into();
    }
    document
}

/// Returns the requirements as JSON.
pub fn requirements(id: &str, rows: &[RequirementRow]) -> Value {
    in_english(|| {
        json!({
            "schema": 1,
            "source": id,
            "verdict": verdict(rows),
            "requirements": requirement_values(rows),
        })
    })
}

/// Returns a JSON object for each requirement.
fn requirement_values(rows: &[RequirementRow]) -> Vec<Value> {
    let rows = rows.iter().map(|row| {
        let figure = row.figure.as_ref();
        json!({
            "requirement": row.requirement,
            "value": figure.map(|(centre, ..)| centre),
            "low": figure.map(|(_, (low, _), _)| low),
            "high": figure.map(|(_, (_, high), _)| high),
            "unit": figure.map(|(.., unit)| unit),
            "result": row.word(),
            "why": row.why,
        })
    });
    rows.collect()
}

/// Converts a ranking to one JSON object.
pub fn ranking(ranked: &Ranked<'_>) -> Value {
    in_english(|| ranked_whole(ranked))
}

fn ranked_whole(ranked: &Ranked<'_>) -> Value {
    let found = ranked.ranking;
    let pairs = found.metrics.iter().flat_map(|metric| {
        let pairs = metric.pairs.iter();
        pairs.map(|pair| ranked_pair(metric, pair))
    });
    json!({
        "schema": COMPARISON_SCHEMA,
        "source": ranked.source,
        "baseline": ranked.baseline,
        "margin_pct": 100.0 * ranked.options.margin,
        "alpha": ranked.options.alpha,
        "sentence": found.sentence.to_string(),
        "deciding": found.deciding,
        "metrics": found.metrics.iter().map(ranked_metric).collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
        "warnings": sentences(&ranked.warnings),
    })
}

fn ranked_metric(metric: &MetricRanking) -> Value {
    let (log, raw) = (metric.omnibus.as_ref(), metric.omnibus_raw.as_ref());
    let conditions = metric.conditions.iter().map(|ranked| {
        json!({
            "condition": ranked.condition,
            "value": ranked.summary.centre,
            "n": ranked.summary.n,
            "cv_pct": cv_percent(&ranked.summary),
            "delta_pct": ranked.delta_percent,
            "letters": ranked.letters,
            "best_rank": ranked.best_rank,
            "worst_rank": ranked.worst_rank,
        })
    });
    json!({
        "metric": metric.metric,
        "unit": metric.unit,
        "of_device": metric.of_device,
        "welch_f": log.map(|found| found.f),
        "welch_p": log.map(|found| found.p),
        "welch_f_raw": raw.map(|found| found.f),
        "welch_p_raw": raw.map(|found| found.p),
        "conditions": conditions.collect::<Vec<_>>(),
        "notes": sentences(&metric.notes),
    })
}

fn ranked_pair(metric: &MetricRanking, pair: &Pair) -> Value {
    json!({
        "metric": metric.metric,
        "unit": metric.unit,
        "a": pair.a,
        "b": pair.b,
        "better": metric.better,
        "change_pct": pair.change.map(|change| change.percent),
        "interval_pct": pair.change.and_then(|change| change.interval),
        "confidence_pct": confidence_percent(pair.change),
        "ci95_pct": pair.change.and_then(|change| change.ci95),
        "p_adjusted": pair.p_adjusted,
        "verdict": pair.verdict.word(),
        "trials_needed": trials_needed(&pair.verdict),
        "notes": sentences(&pair.notes),
    })
}

/// Returns the smallest differences detected, by number of trials, as one JSON object.
pub fn power(tables: &[Power]) -> Value {
    let tables: Vec<Value> = tables
        .iter()
        .map(|table| {
            let rows = |rows: &[PowerRow]| {
                let rows = rows.iter().map(|row| {
                    json!({
                        "n": row.n,
                        "difference_pct": row.difference_percent,
                        "equivalence_pct": row.equivalence_percent,
                    })
                });
                rows.collect::<Vec<_>>()
            };
            json!({
                "name": table.name,
                "cv_pct": 100.0 * table.cv,
                "alpha": table.alpha,
                "margin_pct": 100.0 * table.margin,
                "rows": rows(&table.rows),
                "between_runs_cv_pct": table.between.map(|between| between.percent()),
                "earlier_runs": table.between.map(|between| between.earlier),
                "runs": rows(&table.of_runs),
            })
        })
        .collect();
    json!({ "schema": SCHEMA, "tables": tables })
}

described! {
    /// A metric of a job on a device, over runs.
    pub struct SeriesEntry of (series: &StoredSeries) {
        /// 12 hexadecimal digits, the same in every store.
        pub series: String = series.key.clone(),
        /// Project of its runs.
        pub project: String = series.project.clone(),
        /// Model of the device.
        pub model: String = series.model.clone(),
        /// Unit of a device whose model has no name; null: any unit of the model.
        pub unit: Option<String> = known(&series.unit),
        /// Machine that was measured.
        pub target: String = series.target.clone(),
        /// Name of the job.
        pub job: String = series.job.clone(),
        /// Hash of the job's resolved options.
        pub job_hash: String = series.job_hash.clone(),
        /// Condition; null: as the machine was.
        pub condition: Option<String> = known(&series.condition),
        /// Name of the metric.
        pub metric: String = series.metric.clone(),
        /// Label of every point: kind of storage that was measured.
        pub label: String = series.label.clone(),
        /// Unit of the values.
        pub unit_of_measure: String = series.unit_of_measure.name().to_owned(),
        /// higher or lower; null: neither is good.
        pub better: Option<String> = series.better.map(good),
        /// True if the metric decides how good the job went.
        pub primary: bool = series.primary,
        /// True for percentiles of the tail.
        pub tail: bool = series.tail,
        /// Number of its runs.
        pub runs: u64 = series.runs,
        /// Start of its oldest run, RFC 3339.
        pub first_run: String = rfc3339(series.first_unix_ms),
        /// Start of its newest run.
        pub last_run: String = rfc3339(series.last_unix_ms),
        /// Figure of its newest run.
        pub latest: f64 = series.last_centre,
    }

    /// A run in a series.
    pub struct PointEntry of (point: &SeriesPoint) {
        /// Id of the run.
        pub run: String = point.run.clone(),
        /// Start of the run, RFC 3339.
        pub started: String = rfc3339(point.started_unix_ms),
        /// Number of trials.
        pub trials: u32 = point.n,
        /// Median of the trials; of a tail, the percentile of all operations together.
        pub centre: f64 = point.centre,
        /// A value per trial.
        pub values: Vec<f64> = point.samples.clone(),
    }

    /// A change of a series between two runs.
    pub struct ChangeEntry of (change: &SeriesChange) {
        /// First run after the change.
        pub run: String = change.run.clone(),
        /// Last run before it.
        pub before_run: String = change.before_run.clone(),
        /// Start of the first run after it, RFC 3339.
        pub started: String = rfc3339(change.started_unix_ms),
        /// Start of the run with which there were runs enough to find it.
        pub found: String = rfc3339(change.found_unix_ms),
        /// faster or slower.
        pub verdict: String = change.turn.name().to_owned(),
        /// True if it is a slowdown without an accepting opinion.
        pub open: bool = change.is_open(),
        /// True if a user accepted it.
        pub accepted: bool = change.accepted,
        /// Change of the metric in percent.
        pub effect_pct: Option<f64> = change.effect_percent,
        /// Both ends of its 95 % confidence interval.
        pub effect_interval_pct: Option<Vec<f64>> =
            change.effect_interval.map(|(low, high)| vec![low, high]),
        /// Runs before it.
        pub before: SideEntry = SideEntry::of(change.before),
        /// Runs from it on.
        pub after: SideEntry = SideEntry::of(change.after),
        /// p value of the verdict.
        pub p: f64 = change.p,
        /// Circumstances that changed with it.
        pub events: Vec<EventEntry> = change.events.iter().map(EventEntry::of).collect(),
        /// Name and version of the method that found it.
        pub method: String = change.method.clone(),
    }

    /// Runs on one side of a change.
    pub struct SideEntry of (side: ChangeSide) {
        /// Runs that were compared.
        pub runs: u32 = side.runs,
        /// Geometric mean of their centres.
        pub centre: f64 = side.centre,
    }

    /// A circumstance that differs between the runs on both sides of a change.
    pub struct EventEntry of (event: &CircumstanceChange) {
        /// Name of the circumstance.
        pub circumstance: String = event.circumstance.clone(),
        /// Value before the change.
        pub before: String = event.before.clone(),
        /// Value after it.
        pub after: String = event.after.clone(),
    }
}

/// Returns a text, unless it is empty.
fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn good(better: Better) -> String {
    match better {
        Better::Higher => "higher".to_owned(),
        Better::Lower => "lower".to_owned(),
    }
}

/// Converts series with their last changes to one JSON object.
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

/// Converts one series with its runs, its changes and the users' opinions on them.
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

/// Converts new changes for a webhook; `text` is a line for chats.
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
        "text": news_line(new, slowdowns),
        "slowdowns": slowdowns,
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// Maximum number of changes named in a line for a chat.
const NAMED: usize = 3;

/// Formats the news as one line for a chat, in English: slowdowns first.
fn news_line(new: &[(StoredSeries, SeriesChange)], slowdowns: usize) -> String {
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
    let mut named: Vec<String> = all.take(NAMED).map(change_in_words).collect();
    if new.len() > NAMED {
        named.push("...".to_owned());
    }
    match named.is_empty() {
        true => "assay: no new change".to_owned(),
        false => format!("assay: {counts}: {}", named.join("; ")),
    }
}

fn change_in_words((series, change): &(StoredSeries, SeriesChange)) -> String {
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
