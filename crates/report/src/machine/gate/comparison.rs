//! Cases of a comparison: each metric that decides.

use super::run::{lost, without_figure};
use super::{Case, Kernel, Measurement, Status, Suite};
use crate::results::comparison::Compared;
use crate::results::summary::Summary;
use crate::words::text::{Fact, clean};
use assay_lang::in_english;
use assay_model::verdict::Verdict;
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::line::VerdictRow;
use assay_stats::verdict::note::{Note, Side};
use serde_json::{Map, Value};

/// Returns the status of a metric's case. With `qualify`, the question is whether B may replace A.
pub const fn status(line: &VerdictRow, qualify: bool) -> Status {
    match (qualify, line.qualification, &line.verdict) {
        (true, Qualification::Pass, _)
        | (false, _, Verdict::Faster(_) | Verdict::Equivalent(_)) => Status::Pass,
        (true, Qualification::Fail, _) | (false, _, Verdict::Slower(_)) => Status::Fail,
        (true, Qualification::Inconclusive, _) | (false, _, Verdict::NoConclusion { .. }) => {
            Status::Skip
        }
    }
}

impl Suite {
    /// Makes the cases of a comparison. A metric that decides but exists only on one side is a
    /// skipped case.
    pub fn of_comparison(compared: &Compared<'_>) -> Self {
        in_english(|| Self::judged(compared))
    }

    fn judged(compared: &Compared<'_>) -> Self {
        let lines = compared.comparison.lines.iter();
        let lines = lines.filter(|line| line.primary);
        let groups = compared.jobs().grouped(lines, |line| &line.metric);
        let lines = groups.into_iter().flat_map(|(_, group)| group);
        let mut cases: Vec<Case> = lines.map(|line| judged_case(line, compared)).collect();
        cases.extend(missing(compared));
        let runs = compared.b_sources.iter().filter_map(|source| source.run);
        cases.extend(runs.flat_map(|run| lost(&Summary::of(run)).collect::<Vec<_>>()));
        if let Some(why) = compared.unjudged() {
            cases.push(Case {
                status: Status::Error,
                word: "not judged",
                ..without_figure("comparison", &why)
            });
        } else if cases.is_empty() {
            let why = "no metric that decides is there on either side";
            cases.push(skipped("comparison", why));
        }
        let [a, b] = compared.known_by();
        let newer = compared.b_sources.iter().find_map(|source| source.run);
        Self {
            name: format!("assay compare {a} {b}"),
            id: format!("{a}-{b}").replace(", ", "-"),
            cases,
            facts: facts(compared),
            warnings: compared.all_warnings(),
            kernel: newer.map(Kernel::of),
            started_unix_ms: newer.map(|run| run.header.started_unix_ms),
            took_s: newer.and_then(super::run::took_s),
        }
    }
}

fn judged_case(line: &VerdictRow, compared: &Compared<'_>) -> Case {
    let (job, metric) = line.metric.split_once(": ").unwrap_or((&line.metric, ""));
    let centre = line.b.map(|side| side.centre);
    let finite = centre.filter(|value| value.is_finite());
    Case {
        job: clean(job),
        condition: String::new(),
        metric: clean(metric),
        status: status(line, compared.qualify),
        word: compared.word(line),
        reason: compared.reason(line),
        measurement: finite.map(|value| Measurement {
            value,
            unit: line.unit.clone(),
        }),
        measured: compared.measured(&line.metric),
        detail: known(crate::machine::json::line(line, compared)),
    }
}

/// Returns cases for metrics that would decide, but one side lacks them or has another label.
fn missing(compared: &Compared<'_>) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (side, other, name) in [
        (&compared.a_sources, Side::B, compared.b),
        (&compared.b_sources, Side::A, compared.a),
    ] {
        let figures = side.iter().flat_map(|source| source.figures);
        for figure in figures.filter(|figure| figure.primary) {
            let mut lines = compared.comparison.lines.iter();
            let line = lines.find(|line| line.metric == figure.metric);
            let differs =
                |note: &&Note| matches!(note, Note::Measured(..) | Note::LabelNotRecorded(..));
            let why = match line {
                None => Some(format!(
                    "missing on side {other} ({name}), so it is not compared"
                )),
                Some(line) => line.notes.iter().find(differs).map(ToString::to_string),
            };
            let has_case = |case: &Case| case.name() == clean(&figure.metric);
            if let Some(why) = why.filter(|_| !cases.iter().any(has_case)) {
                cases.push(skipped(&figure.metric, &why));
            }
        }
    }
    cases
}

fn skipped(name: &str, why: &str) -> Case {
    let (job, metric) = name.split_once(": ").unwrap_or((name, ""));
    Case {
        metric: clean(metric),
        status: Status::Skip,
        word: "no conclusion",
        ..without_figure(job, &format!("no conclusion: {why}"))
    }
}

/// Removes unknown values, because the schemas of farms have no null.
fn known(detail: Value) -> Map<String, Value> {
    match detail {
        Value::Object(fields) => fields.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        _ => Map::new(),
    }
}

fn facts(compared: &Compared<'_>) -> Vec<Fact> {
    let [a, b] = compared.known_by();
    let mut facts = vec![
        ("A", a),
        ("B", b),
        ("question", compared.question()),
        ("holds for", compared.comparison.scope.to_string()),
    ];
    if let Some(run) = compared.b_sources.iter().find_map(|source| source.run) {
        facts.extend(super::run::place_facts(run));
    }
    facts
}
