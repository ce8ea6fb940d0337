//! Comparisons, rankings and powers as JSON: `docs/verdicts.md` describes them.

use crate::results::comparison::{Compared, Power, Ranked};
use assay_lang::in_english;
use assay_model::figures::Better;
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::line::{Summary, VerdictRow};
use assay_stats::verdict::ranking::{MetricRanking, Pair};
use serde::Serialize;
use serde_json::Value;

/// Version of the form of comparisons and rankings: 2 since a change is that of the quantity
/// itself, where 1 had that of speed.
const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    schema: u32,
    a: &'a str,
    b: &'a str,
    scope: String,
    margin_pct: f64,
    alpha: f64,
    pairs: Vec<LinePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    composite: Option<LinePart<'a>>,
    contradiction: Option<String>,
    warnings: Vec<String>,
}

/// Result for one metric of two sides.
#[derive(Serialize)]
struct PairPart<'a> {
    metric: &'a str,
    unit: &'a str,
    a: &'a str,
    b: &'a str,
    better: Option<Better>,
    change_pct: Option<f64>,
    ci95_pct: Option<[f64; 2]>,
    p_adjusted: Option<f64>,
    verdict: &'static str,
    trials_needed: Option<u32>,
    notes: Vec<String>,
}

impl<'a> PairPart<'a> {
    fn of_line(line: &'a VerdictRow, a: &'a str, b: &'a str) -> Self {
        Self {
            metric: &line.metric,
            unit: &line.unit,
            a,
            b,
            better: line.better,
            change_pct: line.change.map(|change| change.percent),
            ci95_pct: line.change.and_then(ends),
            p_adjusted: line.p_adjusted,
            verdict: line.verdict.word(),
            trials_needed: trials_needed(&line.verdict),
            notes: line.notes.iter().map(ToString::to_string).collect(),
        }
    }

    fn of_pair(metric: &'a MetricRanking, pair: &'a Pair) -> Self {
        Self {
            metric: &metric.metric,
            unit: &metric.unit,
            a: &pair.a,
            b: &pair.b,
            better: metric.better,
            change_pct: pair.change.map(|change| change.percent),
            ci95_pct: pair.change.and_then(ends),
            p_adjusted: pair.p_adjusted,
            verdict: pair.verdict.word(),
            trials_needed: trials_needed(&pair.verdict),
            notes: pair.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The same with the figures of both sides.
#[derive(Serialize)]
struct LinePart<'a> {
    #[serde(flatten)]
    pair: PairPart<'a>,
    primary: bool,
    qualification: &'static str,
    drift_pct: Option<f64>,
    a_value: Option<f64>,
    b_value: Option<f64>,
    a_n: Option<usize>,
    b_n: Option<usize>,
    a_cv_pct: Option<f64>,
    b_cv_pct: Option<f64>,
}

impl<'a> LinePart<'a> {
    fn of(line: &'a VerdictRow, a: &'a str, b: &'a str) -> Self {
        let side = |side: &Option<Summary>, figure: fn(&Summary) -> Option<f64>| {
            side.as_ref()
                .and_then(figure)
                .filter(|value| value.is_finite())
        };
        let cv = |summary: &Summary| summary.cv.map(|cv| 100.0 * cv);
        Self {
            pair: PairPart::of_line(line, a, b),
            primary: line.primary,
            qualification: line.qualification.word(),
            drift_pct: line.drift.map(|drift| drift.percent),
            a_value: side(&line.a, |summary| Some(summary.centre)),
            b_value: side(&line.b, |summary| Some(summary.centre)),
            a_n: line.a.as_ref().map(|summary| summary.n),
            b_n: line.b.as_ref().map(|summary| summary.n),
            a_cv_pct: side(&line.a, cv),
            b_cv_pct: side(&line.b, cv),
        }
    }
}

fn ends(change: Change) -> Option<[f64; 2]> {
    change.interval.map(|(low, high)| [low, high])
}

const fn trials_needed(verdict: &Verdict) -> Option<u32> {
    match verdict {
        Verdict::NoConclusion { trials_needed, .. } => *trials_needed,
        Verdict::Faster(_) | Verdict::Slower(_) | Verdict::Equivalent(_) => None,
    }
}

/// Returns the result for one metric as one JSON object.
pub fn line(line: &VerdictRow, compared: &Compared<'_>) -> Value {
    let part = in_english(|| LinePart::of(line, compared.a, compared.b));
    serde_json::to_value(part).unwrap_or(Value::Null)
}

/// The comparison as one JSON object.
pub fn comparison(compared: &Compared<'_>) -> Value {
    in_english(|| whole(compared))
}

fn whole(compared: &Compared<'_>) -> Value {
    let pair = |line| LinePart::of(line, compared.a, compared.b);
    let found = compared.comparison;
    let document = ComparisonDocument {
        schema: SCHEMA,
        a: compared.a,
        b: compared.b,
        scope: found.scope.to_string(),
        margin_pct: 100.0 * compared.options.margin,
        alpha: compared.options.alpha,
        pairs: found.lines.iter().map(pair).collect(),
        composite: found.composite.as_ref().map(pair),
        contradiction: compared.contradiction(),
        warnings: compared.all_warnings(),
    };
    serde_json::to_value(document).unwrap_or(Value::Null)
}

#[derive(Serialize)]
struct RankingPart<'a> {
    schema: u32,
    source: &'a str,
    baseline: Option<&'a str>,
    margin_pct: f64,
    alpha: f64,
    sentence: String,
    deciding: &'a [String],
    metrics: Vec<MetricPart<'a>>,
    pairs: Vec<PairPart<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct MetricPart<'a> {
    metric: &'a str,
    unit: &'a str,
    of_device: bool,
    welch_f: Option<f64>,
    welch_p: Option<f64>,
    welch_f_raw: Option<f64>,
    welch_p_raw: Option<f64>,
    conditions: Vec<ConditionPart<'a>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ConditionPart<'a> {
    condition: &'a str,
    value: f64,
    n: usize,
    cv_pct: Option<f64>,
    delta_pct: f64,
    letters: Option<&'a str>,
    best_rank: usize,
    worst_rank: usize,
}

impl<'a> MetricPart<'a> {
    fn of(metric: &'a MetricRanking) -> Self {
        let (log, raw) = (metric.omnibus.as_ref(), metric.omnibus_raw.as_ref());
        let conditions = metric.conditions.iter().map(|ranked| ConditionPart {
            condition: &ranked.condition,
            value: ranked.summary.centre,
            n: ranked.summary.n,
            cv_pct: ranked.summary.cv.map(|cv| 100.0 * cv),
            delta_pct: ranked.delta_percent,
            letters: ranked.letters.as_deref(),
            best_rank: ranked.best_rank,
            worst_rank: ranked.worst_rank,
        });
        Self {
            metric: &metric.metric,
            unit: &metric.unit,
            of_device: metric.of_device,
            welch_f: log.map(|found| found.f),
            welch_p: log.map(|found| found.p),
            welch_f_raw: raw.map(|found| found.f),
            welch_p_raw: raw.map(|found| found.p),
            conditions: conditions.collect(),
            notes: metric.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The ranking as one JSON object.
pub fn ranking(ranked: &Ranked<'_>) -> Value {
    in_english(|| ranked_whole(ranked))
}

fn ranked_whole(ranked: &Ranked<'_>) -> Value {
    let found = ranked.ranking;
    let pairs = found.metrics.iter().flat_map(|metric| {
        let pairs = metric.pairs.iter();
        pairs.map(|pair| PairPart::of_pair(metric, pair))
    });
    let part = RankingPart {
        schema: SCHEMA,
        source: ranked.source,
        baseline: ranked.baseline,
        margin_pct: 100.0 * ranked.options.margin,
        alpha: ranked.options.alpha,
        sentence: found.sentence.to_string(),
        deciding: &found.deciding,
        metrics: found.metrics.iter().map(MetricPart::of).collect(),
        pairs: pairs.collect(),
        warnings: ranked.warnings.iter().map(ToString::to_string).collect(),
    };
    serde_json::to_value(part).unwrap_or(Value::Null)
}

/// Returns the differences that numbers of trials can show, as one JSON object.
pub fn power(tables: &[Power]) -> Value {
    let tables: Vec<Value> = tables
        .iter()
        .map(|table| {
            let rows = table.rows.iter().map(|row| {
                serde_json::json!({
                    "n": row.n,
                    "difference_pct": row.difference_percent,
                    "equivalence_pct": row.equivalence_percent,
                })
            });
            serde_json::json!({
                "name": table.name,
                "cv_pct": 100.0 * table.cv,
                "alpha": table.alpha,
                "margin_pct": 100.0 * table.margin,
                "rows": rows.collect::<Vec<_>>(),
            })
        })
        .collect();
    serde_json::json!({ "schema": super::SCHEMA, "tables": tables })
}
