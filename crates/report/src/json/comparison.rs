//! A comparison as JSON: `docs/json.md` describes it.

use crate::comparison::Compared;
use assay_stats::verdict::line::{Line, Summary};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    a: &'a str,
    b: &'a str,
    scope: &'a str,
    margin_pct: f64,
    alpha: f64,
    pairs: Vec<PairPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    composite: Option<PairPart<'a>>,
    warnings: Vec<String>,
}

/// One metric of two sides.
#[derive(Serialize)]
pub(super) struct PairPart<'a> {
    pub(super) metric: &'a str,
    pub(super) unit: &'a str,
    pub(super) a: &'a str,
    pub(super) b: &'a str,
    primary: bool,
    a_value: Option<f64>,
    b_value: Option<f64>,
    a_n: Option<usize>,
    b_n: Option<usize>,
    a_cv_pct: Option<f64>,
    b_cv_pct: Option<f64>,
    change_pct: Option<f64>,
    ci95_pct: Option<[f64; 2]>,
    p_adjusted: Option<f64>,
    verdict: &'static str,
    trials_needed: Option<u32>,
    notes: Vec<String>,
}

impl<'a> PairPart<'a> {
    pub(super) fn of(line: &'a Line, a: &'a str, b: &'a str) -> Self {
        let side = |side: &Option<Summary>, figure: fn(&Summary) -> Option<f64>| {
            side.as_ref()
                .and_then(figure)
                .filter(|value| value.is_finite())
        };
        let cv = |summary: &Summary| summary.cv.map(|cv| 100.0 * cv);
        let trials_needed = match &line.verdict {
            assay_model::verdict::Verdict::NoConclusion { trials_needed, .. } => *trials_needed,
            _ => None,
        };
        Self {
            metric: &line.metric,
            unit: &line.unit,
            a,
            b,
            primary: line.primary,
            a_value: side(&line.a, |summary| Some(summary.centre)),
            b_value: side(&line.b, |summary| Some(summary.centre)),
            a_n: line.a.as_ref().map(|summary| summary.n),
            b_n: line.b.as_ref().map(|summary| summary.n),
            a_cv_pct: side(&line.a, cv),
            b_cv_pct: side(&line.b, cv),
            change_pct: line.change.map(|change| change.percent),
            ci95_pct: line
                .change
                .and_then(|change| change.interval)
                .map(|(low, high)| [low, high]),
            p_adjusted: line.p_adjusted,
            verdict: line.verdict.word(),
            trials_needed,
            notes: line.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The comparison as one JSON object.
#[must_use]
pub fn comparison(compared: &Compared<'_>) -> Value {
    let pair = |line| PairPart::of(line, compared.a, compared.b);
    let found = compared.comparison;
    let notes = found.notes.iter().map(ToString::to_string);
    let document = Document {
        schema: super::SCHEMA,
        a: compared.a,
        b: compared.b,
        scope: &found.scope,
        margin_pct: 100.0 * compared.options.margin,
        alpha: compared.options.alpha,
        pairs: found.lines.iter().map(pair).collect(),
        composite: found.composite.as_ref().map(pair),
        warnings: notes.chain(compared.warnings.iter().cloned()).collect(),
    };
    serde_json::to_value(document).unwrap_or(Value::Null)
}
