//! Conditions compared with each other, and the smallest detectable differences.

use super::provenance;
use super::run::{annotated, warnings_of};
use crate::charts::Gallery;
use crate::document::{Block, Cell, Column, Detail, Document, Keep, Section, Table, TableRow};
use crate::results::comparison::{Power, Ranked, pairs, places};
use crate::results::summary::Summary;
use crate::results::sweep::{Sweep, Verdicts, by_condition};
use crate::results::{describe, warnings};
use crate::words::{Tone, clean, enumerate, percent, percent_points};
use assay_lang::{key, tr, translated};
use assay_model::run::Run;
use assay_stats::verdict::ranking::{self, MetricRanking, Ranking};

pub(super) const METHOD: &str = key!(
    "Values are geometric means. Conditions without a common letter differ; a \
                      common letter does not say that they are equal. Delta is against the \
                      median of the conditions. Higher is better for rates, lower for times."
);

/// Returns a ranking for a terminal: the conclusion, then a table for each metric.
pub fn document(ranked: &Ranked<'_>) -> Document {
    let ranking = ranked.ranking;
    let source = ranked.source;
    let mut document = Document::new(clean(&match ranked.baseline {
        Some(baseline) => tr!(
            "Conditions of {source} against {baseline}",
            source,
            baseline
        ),
        None => tr!("Conditions of {source} against each other", source),
    }));
    let mut answer = Section::new("verdict", "");
    conclude(ranking, &mut answer);
    let together = tr!(
        "The confidence level applies to all pairs and metrics together. assay compare of two of the conditions never contradicts these verdicts, but may find more."
    );
    answer.say(together, Some(Tone::Soft));
    answer.blocks.extend(warnings_of_ranking(ranked));
    document.push(answer);
    for metric in &ranking.metrics {
        document.push(of_metric(ranked, metric, &Sweep::default(), Detail::Full));
    }
    let mut method = Section::new("method", tr!("Method"));
    method.say(translated(METHOD), Some(Tone::Soft));
    document.push(method);
    document
}

/// Returns a run under several conditions for a mail.
pub fn mail(of: &Run, ranked: &Ranked<'_>) -> Document {
    let sweep = Sweep::of(of);
    let mut document = Document::new(tr!(
        "Conditions of {source} against each other",
        source = clean(&of.header.id)
    ));
    document.header = annotated(&of.annotation);
    for section in sections(ranked, &sweep) {
        document.push(section);
    }
    let split = by_condition(of.clone());
    document.push(warnings_of(&warnings::collect(&Summary::of(&split))));
    for section in provenance::of_run(of) {
        document.push(section);
    }
    let mut method = Section::new("method", tr!("Method"));
    method.say(translated(METHOD), None);
    document.push(method);
    document
}

/// Returns the conclusion and a table for each metric.
pub(crate) fn sections(ranked: &Ranked<'_>, sweep: &Sweep<'_>) -> Vec<Section> {
    let mut answer = Section::new("verdict", "");
    conclude(ranked.ranking, &mut answer);
    answer.blocks.extend(warnings_of_ranking(ranked));
    let metrics = ranked.ranking.metrics.iter();
    let tables = metrics.map(|metric| of_metric(ranked, metric, sweep, Detail::Brief));
    std::iter::once(answer).chain(tables).collect()
}

/// Returns a page's conclusion, with a chart and a table for each metric.
pub(crate) fn page_section(verdicts: &Verdicts, gallery: &Gallery) -> Section {
    let mut section = Section::new("verdict", tr!("Conditions against each other"));
    conclude(&verdicts.all, &mut section);
    section.say(
        tr!("Margin {margin} %. Conditions without a common letter differ; a common letter does not say that they are \
             equal. Delta is against the median of the conditions, the bars are against {baseline}, the first condition. \
             Higher is better for rates, lower for times. Verdicts, intervals and letters hold for all pairs and metrics together. An \
             interval without an end mark extends beyond the axis.", margin = percent_points(verdicts.options.margin), baseline = clean(&verdicts.baseline)),
        Some(Tone::Soft),
    );
    section.charts(&gallery.changes);
    for metric in &verdicts.all.metrics {
        let mut folded = Section::new("metric", clean(&metric.metric));
        for one in &metric.notes {
            folded.say(clean(&one.to_string()), Some(Tone::Care));
        }
        folded.table(table_against(metric, verdicts));
        section.blocks.push(Block::Details(folded));
    }
    section
}

fn conclude(ranking: &Ranking, section: &mut Section) {
    section.say(clean(&ranking.sentence.to_string()), Some(Tone::Strong));
    let deciding = match ranking.deciding.as_slice() {
        [] => tr!("No metric differs between any two conditions.").to_owned(),
        metrics => tr!("They differ on {metrics}.", metrics = enumerate(metrics)),
    };
    section.say(clean(&deciding), None);
}

/// Returns the warnings of the ranking as blocks.
fn warnings_of_ranking(ranked: &Ranked<'_>) -> impl Iterator<Item = Block> {
    let warnings = ranked.warnings.iter();
    warnings.map(|warning| Block::Warning {
        message: clean(&warning.to_string()),
        remedy: None,
        severe: false,
    })
}

fn of_metric(
    ranked: &Ranked<'_>,
    metric: &MetricRanking,
    sweep: &Sweep<'_>,
    detail: Detail,
) -> Section {
    let all = ranked.ranking.metrics.iter();
    let all = all.map(|metric| metric.metric.as_str());
    let mut title = describe::spoken(&metric.metric, describe::is_alone(&metric.metric, all));
    if let (Detail::Full, Some(found)) = (detail, &metric.omnibus) {
        title = format!(
            "{} (Welch F {}, p {})",
            clean(&metric.metric),
            short(found.f),
            short(found.p)
        );
    }
    let mut section = Section::new("metric", title);
    let mut table = table(metric, sweep);
    let mut said = said_once(&mut table.rows);
    section.table(table);
    said.extend(pairs(metric, ranked.baseline.is_some()));
    said.extend(metric.notes.iter().map(|note| clean(&note.to_string())));
    section.list(said);
    section
}

fn table(metric: &MetricRanking, sweep: &Sweep<'_>) -> Table {
    let conditions = metric.conditions.iter();
    Table {
        columns: columns(),
        rows: conditions
            .map(|ranked| TableRow {
                note: measured(metric, ranked, sweep),
                ..TableRow::new(cells(ranked, &metric.unit))
            })
            .collect(),
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::text(tr!("condition")),
        Column::number(tr!("mean")),
        Column::number("n"),
        Column::number("CV"),
        Column::number(tr!("delta")),
        Column::text(tr!("letters")),
        Column::number(tr!("rank")).keep(Keep::Spare),
    ]
}

fn cells(ranked: &ranking::Ranked, unit: &str) -> Vec<Cell> {
    vec![
        clean(&ranked.condition).into(),
        Cell::quantity(ranked.summary.centre, unit),
        Cell::Count(ranked.summary.n),
        ranked
            .summary
            .cv
            .map_or(Cell::Unknown, |cv| percent(cv).into()),
        Cell::Change(ranked.delta_percent),
        ranked.letters.clone().map_or(Cell::Unknown, Cell::Text),
        places(ranked).into(),
    ]
}

/// Returns the table that compares each condition with the first one.
fn table_against(metric: &MetricRanking, verdicts: &Verdicts) -> Table {
    let mut columns = columns();
    columns.extend([
        Column::number(tr!("against the first")),
        Column::number(tr!("interval")),
        Column::text(tr!("verdict")),
    ]);
    let rows = metric.conditions.iter().map(|ranked| {
        let pair = verdicts.against(metric, &ranked.condition);
        let change = pair.and_then(|pair| pair.change);
        let mut cells = cells(ranked, &metric.unit);
        cells.extend([Cell::change(change), Cell::interval(change)]);
        cells.push(match pair {
            Some(pair) => Cell::Verdict(pair.verdict.word()),
            None => tr!("baseline").into(),
        });
        TableRow::new(cells)
    });
    Table {
        rows: rows.collect(),
        columns,
    }
}

/// Removes a note that all conditions share from the rows, and returns it.
fn said_once(rows: &mut [TableRow]) -> Vec<String> {
    let first = rows.first().and_then(|row| row.note.clone());
    let Some(common) = first.filter(|_| rows.len() > 1) else {
        return Vec::new();
    };
    if rows.iter().any(|row| row.note.as_ref() != Some(&common)) {
        return Vec::new();
    }
    for row in rows {
        row.note = None;
    }
    vec![tr!("all of them: {common}", common)]
}

fn measured(metric: &MetricRanking, ranked: &ranking::Ranked, sweep: &Sweep<'_>) -> Option<String> {
    let is_it = |name: &str, job: &str| metric.metric == format!("{job}: {name}");
    let mut swept = sweep.metrics.iter();
    let swept = swept.find(|swept| is_it(&swept.name, &swept.job.name))?;
    let mut arms = swept.arms.iter();
    let arm = arms.find(|arm| arm.condition == ranked.condition)?;
    let measured = tr!("measured {labels}", labels = arm.labels());
    let missing = arm.missing.as_ref();
    let missing = missing.map(|missing| tr!("besides {missing}", missing));
    let words: Vec<String> = std::iter::once(measured).chain(missing).collect();
    Some(words.join("; "))
}

/// Formats a figure of a statistical test with few digits.
fn short(figure: f64) -> String {
    match figure {
        figure if figure != 0.0 && figure.abs() < 0.001 => format!("{figure:.0e}"),
        figure if figure.abs() < 1.0 => format!("{figure:.4}"),
        figure => format!("{figure:.1}"),
    }
}

/// Describes the smallest detectable differences, by number of trials.
pub fn power(tables: &[Power]) -> Document {
    let mut document =
        Document::new(tr!("Smallest detectable difference, by number of trials").to_owned());
    for power in tables {
        let title = tr!(
            "{name}: coefficient of variation of the trials {cv} %",
            name = power.name,
            cv = percent_points(power.cv)
        );
        let mut section = Section::new("power", clean(&title));
        let shown = |percent: Option<f64>| {
            percent.map_or(Cell::Unknown, |percent| format!("{percent:.1} %").into())
        };
        let of_runs = (tr!("runs per side, separate"), &power.of_runs);
        for (number, rows) in [(tr!("trials per side, interleaved"), &power.rows), of_runs] {
            if rows.is_empty() {
                continue;
            }
            let rows = rows.iter().map(|row| {
                TableRow::new(vec![
                    row.n.to_string().into(),
                    shown(row.difference_percent),
                    shown(row.equivalence_percent),
                ])
            });
            section.table(Table {
                columns: vec![
                    Column::number(number),
                    Column::number(tr!("difference found")),
                    Column::number(tr!("equivalent within")),
                ],
                rows: rows.collect(),
            });
        }
        if let Some(between) = power.between {
            let percent = format!("{:.1}", between.percent());
            // The variance is computed from differences of neighbouring runs: a single run has
            // none.
            let note = match between.earlier {
                0 | 1 => tr!(
                    "Runs are assumed to differ by {percent} %: the store has no earlier runs of this job.",
                    percent
                ),
                earlier => tr!(
                    "Runs differ by {percent} %, known from {earlier} earlier runs.",
                    percent,
                    earlier
                ),
            };
            section.say(note, Some(Tone::Soft));
        }
        document.push(section);
    }
    let Some(first) = tables.first() else {
        return document;
    };
    let mut method = Section::new("method", tr!("Method"));
    let note = tr!(
        "The smallest difference that four of five comparisons call faster or slower at a level of \
         {level} %, and the smallest margin at which four of five comparisons of identical sides end in \
         *equivalent*. A smaller difference usually ends in *equivalent* where it is below the margin \
         ({margin} %) and so many trials can show it, in *no conclusion* elsewhere. Three trials per \
         side are accepted only for imported results. The numbers hold for interleaved trials without \
         outliers; --trials auto of compare --paired-on and of sweep continues until there is a verdict.",
        level = format_args!("{:.2}", 100.0 * first.alpha),
        margin = percent_points(first.margin)
    );
    method.say(note, Some(Tone::Soft));
    document.push(method);
    document
}
