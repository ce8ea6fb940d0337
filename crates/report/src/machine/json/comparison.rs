//! Comparisons, rankings and powers as JSON, described in `docs/verdicts.md`.

use crate::results::comparison::{Compared, Power, Ranked};
use assay_lang::in_english;
use assay_model::figures::{Change, Verdict};
use assay_stats::verdict::power::PowerRow;
use assay_stats::verdict::ranking::{MetricRanking, Pair};
use assay_stats::verdict::{Summary, VerdictRow};
use serde_json::{Value, json};

/// Version of the format of comparisons and rankings. Since version 2 a change refers to the
/// quantity itself, in version 1 to speed.
const SCHEMA: u32 = 2;

/// Returns the result for one metric as one JSON object.
pub fn line(line: &VerdictRow, compared: &Compared<'_>) -> Value {
    in_english(|| row(line, compared))
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
    in_english(|| whole(compared))
}

fn whole(compared: &Compared<'_>) -> Value {
    let found = compared.comparison;
    let pairs = found.lines.iter().map(|line| row(line, compared));
    let mut document = json!({
        "schema": SCHEMA,
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
    document
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
        "schema": SCHEMA,
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

/// Returns the differences that numbers of trials can show, as one JSON object.
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
    json!({ "schema": super::SCHEMA, "tables": tables })
}
