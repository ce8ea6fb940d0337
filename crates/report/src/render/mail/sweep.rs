//! A run under several conditions: which of them differ.

use super::run::write_warnings;
use super::{Sheet, place};
use crate::render::terminal::table::{Column, Row, Table};
use crate::results::comparison::{Ranked, pairs, value};
use crate::results::jobs;
use crate::results::summary::Summary;
use crate::results::sweep::{Sweep, by_condition};
use crate::results::warnings;
use crate::words::format::percent;
use crate::words::labels::Labels;
use crate::words::text::{clean, enumerate};
use assay_lang::{key, tr, translated};
use assay_model::run::Run;
use assay_stats::verdict::ranking::{self, MetricRanking};
use std::io;

pub(super) const METHOD: &str = key!(
    "Values are geometric means. Conditions without a common letter differ; a \
                      common letter does not say that they are equal. Delta is against the \
                      median of the conditions: of a rate more is better, of a time less."
);

pub(super) fn write(run: &Run, ranked: &Ranked<'_>, sheet: &mut impl Sheet) -> io::Result<()> {
    let sweep = Sweep::of(run);
    sheet.title(&tr!(
        "Conditions of {source} against each other",
        source = clean(&run.header.id)
    ))?;
    write_ranking(ranked, &sweep, sheet)?;
    let split = by_condition(run.clone());
    write_warnings(&warnings::collect(&Summary::of(&split)), sheet)?;
    place::write(run, sheet)?;
    sheet.heading(tr!("Method"))?;
    sheet.paragraph(translated(METHOD))
}

/// What came of the conditions: a sentence, and a table for each metric.
pub(super) fn write_ranking(
    ranked: &Ranked<'_>,
    sweep: &Sweep<'_>,
    sheet: &mut impl Sheet,
) -> io::Result<()> {
    sheet.paragraph(&clean(&ranked.ranking.sentence.to_string()))?;
    sheet.paragraph(&match ranked.ranking.deciding.as_slice() {
        [] => tr!("No metric tells any two of them apart.").to_owned(),
        metrics => clean(&tr!(
            "They differ on {metrics}.",
            metrics = enumerate(metrics)
        )),
    })?;
    for metric in &ranked.ranking.metrics {
        let all = ranked
            .ranking
            .metrics
            .iter()
            .map(|metric| metric.metric.as_str());
        sheet.heading(&jobs::spoken(
            &metric.metric,
            jobs::is_alone(&metric.metric, all),
        ))?;
        let mut table = table(metric, sweep);
        let mut said = said_once(&mut table.rows);
        sheet.table(table)?;
        said.extend(pairs(metric, ranked.baseline.is_some()));
        said.extend(metric.notes.iter().map(|note| clean(&note.to_string())));
        if !said.is_empty() {
            sheet.list(&said)?;
        }
    }
    Ok(())
}

fn table(metric: &MetricRanking, sweep: &Sweep<'_>) -> Table<6> {
    let column = |head, right| Column { head, right };
    let rows = metric.conditions.iter();
    Table {
        columns: [
            column(tr!("condition"), false),
            column(tr!("mean"), true),
            column("n", true),
            column("CV", true),
            column(tr!("delta"), true),
            column(tr!("letters"), false),
        ],
        rows: rows.map(|ranked| row(metric, ranked, sweep)).collect(),
    }
}

/// What would be said of every condition.
fn said_once(rows: &mut [Row]) -> Vec<String> {
    let first = rows.first().and_then(|row| row.sentence.clone());
    let Some(common) = first.filter(|_| rows.len() > 1) else {
        return Vec::new();
    };
    if rows
        .iter()
        .any(|row| row.sentence.as_ref() != Some(&common))
    {
        return Vec::new();
    }
    for row in rows {
        row.sentence = None;
    }
    vec![tr!("all of them: {common}", common)]
}

fn row(metric: &MetricRanking, ranked: &ranking::Ranked, sweep: &Sweep<'_>) -> Row {
    let is_it = |name: &str, job: &str| metric.metric == format!("{job}: {name}");
    let mut swept = sweep.metrics.iter();
    let swept = swept.find(|swept| is_it(&swept.name, &swept.job.name));
    let arms = swept.into_iter().flat_map(|swept| &swept.arms);
    let arm = arms
        .into_iter()
        .find(|arm| arm.condition == ranked.condition);
    let measured = arm.map(|arm| tr!("measured {labels}", labels = arm.labels()));
    let missing = arm.and_then(|arm| arm.missing.as_ref());
    let missing = missing.map(|missing| tr!("besides {missing}", missing));
    let words: Vec<String> = measured.into_iter().chain(missing).collect();
    Row {
        cells: vec![
            clean(&ranked.condition),
            value(&metric.unit, ranked.summary.centre),
            ranked.summary.n.to_string(),
            ranked.summary.cv.map_or_else(|| "-".to_owned(), percent),
            format!("{:+.1} %", ranked.delta_percent),
            ranked.letters.clone().unwrap_or_else(|| "-".to_owned()),
        ],
        labels: Labels::default(),
        sentence: (!words.is_empty()).then(|| words.join("; ")),
    }
}
