//! Conditions compared with each other, and the smallest detectable differences.

use super::provenance;
use super::provenance::{annotated, warnings_of};
use crate::charts::Gallery;
use crate::document::{Block, Cell, Column, Detail, Document, Keep, Section, Table, TableRow};
use crate::results::comparison::{Power, Ranked, pairs, places};
use crate::results::effects::{self, Effect, Factor, Knee};
use crate::results::matrix::{self, Mark, Matrix};
use crate::results::summary::Summary;
use crate::results::sweep::{Sweep, Verdicts, by_condition};
use crate::results::{describe, warnings};
use crate::words::{self, Tone, clean, enumerate, percent, percent_points, value};
use assay_lang::{counted, key, tr, translated};
use assay_model::condition::Condition;
use assay_model::figures::Verdict;
use assay_model::run::Run;
use assay_stats::figures::{may_decide, measured_in_words};
use assay_stats::verdict::ranking::{self, MetricRanking, Ranking};
use std::collections::BTreeSet;

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
    answer.blocks.extend(warnings_of_ranking(ranked));
    conclude(ranking, &mut answer);
    document.push(answer);
    for metric in &ranking.metrics {
        document.push(of_metric(ranked, metric, &Sweep::default(), Detail::Full));
    }
    let mut method = Section::new("method", tr!("Method"));
    method.say(translated(METHOD), Some(Tone::Soft));
    let together = tr!(
        "The confidence level applies to all pairs and metrics together. assay compare of two of the conditions never contradicts these verdicts, but may find more."
    );
    method.say(together, Some(Tone::Soft));
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
pub(crate) fn page_section(
    conditions: &[Condition],
    verdicts: &Verdicts,
    gallery: &Gallery,
) -> Section {
    let mut section = Section::new("verdict", tr!("Conditions against each other"));
    conclude_sweep(conditions, verdicts, &mut section);
    let effects = effects_of(conditions, verdicts);
    if !effects.blocks.is_empty() {
        section.heading(effects.title);
        section.blocks.extend(effects.blocks);
    }
    section.blocks.extend(maps(gallery));
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

/// Rows of all tables of an ending together, so that it fits a screen.
const FEW_ROWS: usize = 16;
/// Conditions that one sentence can compare.
const FEW_CONDITIONS: usize = 6;

/// Returns the end of a sweep on a terminal: the sentence on its conditions, their short ranking or
/// their maps, and the effect of each factor.
pub(super) fn ending(run: &Run) -> Vec<Section> {
    let conditions = &run.header.plan.conditions;
    let Some(verdicts) = Verdicts::of(run) else {
        return Vec::new();
    };
    let mut answer = Section::new("verdict", tr!("Conditions against each other"));
    conclude_sweep(conditions, &verdicts, &mut answer);
    let maps = effects::maps(conditions, &verdicts.figures, Some(&verdicts.all));
    let decides = |matrix: &&Matrix| {
        let mut metrics = verdicts.all.metrics.iter();
        metrics.any(|metric| matrix.title.split(", ").next() == Some(&metric.metric))
    };
    let maps: Vec<&Matrix> = maps.iter().filter(decides).collect();
    let rows: usize = maps.iter().map(|matrix| matrix.rows.levels.len() + 2).sum();
    let mut sections = vec![answer];
    match maps.len() {
        0 => {
            let ranked = verdicts.all.metrics.iter().map(short_ranking);
            let rows = verdicts.all.metrics.len() * (conditions.len() + 2);
            sections.extend(ranked.filter(|_| rows <= FEW_ROWS));
        }
        _ if rows <= FEW_ROWS => sections.extend(maps.into_iter().map(map_for_terminals)),
        count => {
            let maps = counted!(count, "{n} map", "{n} maps");
            sections[0].say(
                tr!("The page of the run has {maps}.", maps),
                Some(Tone::Soft),
            );
        }
    }
    sections.push(effects_of(conditions, &verdicts));
    sections
}

/// Concludes on the conditions of a sweep: in one sentence on each, or, of many over several factors,
/// with the best of each metric; the effects say the rest.
fn conclude_sweep(conditions: &[Condition], verdicts: &Verdicts, section: &mut Section) {
    if conditions.len() <= FEW_CONDITIONS || Factor::all(conditions).len() < 2 {
        return conclude(&verdicts.all, section);
    }
    let metrics = verdicts.all.metrics.iter();
    let best = metrics.filter_map(|metric| {
        let best = metric.conditions.first()?;
        let (name, value) = (&best.condition, value(&metric.unit, best.summary.centre));
        let best = clean(&format!("{name} ({value})"));
        Some((clean(&metric.metric), tr!("best under {best}", best)))
    });
    section.facts(best);
}

/// Returns the conditions with their means and letters, the best first.
fn short_ranking(metric: &MetricRanking) -> Section {
    let mut section = Section::new("metric", clean(&metric.metric));
    let rows = metric.conditions.iter().map(|ranked| {
        let mut cells = cells(ranked, &metric.unit);
        cells.truncate(6);
        TableRow::new(cells)
    });
    let mut columns = columns();
    columns.truncate(6);
    section.table(Table {
        columns,
        rows: rows.collect(),
    });
    section
}

/// Returns a map as a table, with marks before the values.
fn map_for_terminals(matrix: &Matrix) -> Section {
    let (divisor, unit, digits) = matrix::scale_of(matrix);
    let all = || matrix.cells.iter().flatten().flatten();
    let labels: BTreeSet<&str> = all().filter_map(|cell| cell.label.as_deref()).collect();
    let labels: Vec<&str> = labels.into_iter().map(translated).collect();
    let title = format!("{}, {unit}, {}", clean(&matrix.title), labels.join(" / "));
    let mut section = Section::new("map", title);
    let shown = |cell: &Option<matrix::Cell>| {
        let Some(cell) = cell else {
            return Cell::Unknown;
        };
        let mark = match cell.mark {
            Some(Mark::Knee) => "*",
            Some(Mark::Plateau) => "=",
            None => "",
        };
        let value = format!("{mark}{:.digits$}", cell.value / divisor);
        match may_decide(cell.label.as_deref()) {
            true => value.into(),
            false => format!("({value})").into(),
        }
    };
    let rows = matrix.rows.levels.iter().zip(&matrix.cells);
    let rows = rows.map(|(level, cells)| {
        let head = Cell::Text(level.to_string());
        TableRow::new(
            std::iter::once(head)
                .chain(cells.iter().map(shown))
                .collect(),
        )
    });
    let corner = format!(
        "{} \\ {}",
        clean(&matrix.rows.name),
        clean(&matrix.columns.name)
    );
    let levels = matrix.columns.levels.iter();
    let levels = levels.map(|level| Column::number(level.to_string()));
    section.table(Table {
        columns: std::iter::once(Column::text(corner))
            .chain(levels)
            .collect(),
        rows: rows.collect(),
    });
    let has = |mark: Mark| all().any(|cell| cell.mark == Some(mark));
    let outside = all().any(|cell| !may_decide(cell.label.as_deref()));
    let legend = [
        has(Mark::Knee).then(|| tr!("* knee")),
        has(Mark::Plateau).then(|| tr!("= equivalent to the knee")),
        outside.then(|| tr!("() not measured on the device")),
    ];
    let legend: Vec<&str> = legend.into_iter().flatten().collect();
    if !legend.is_empty() {
        section.say(legend.join("; "), Some(Tone::Soft));
    }
    section
}

/// Returns the effect of each factor on each deciding metric, a line each.
fn effects_of(conditions: &[Condition], verdicts: &Verdicts) -> Section {
    let mut section = Section::new("effects", tr!("Effect of each factor"));
    let least = verdicts.options.min_trials;
    let extended = verdicts.extended;
    let effects = effects::effects(conditions, &verdicts.figures, &verdicts.options, extended);
    let of_one = |a: &Effect, b: &Effect| a.ranking.metric == b.ranking.metric;
    for effects in effects.chunk_by(of_one) {
        let metric = &effects[0].ranking;
        let labels: Vec<String> = effects[0]
            .measured
            .iter()
            .map(|m| measured_in_words(m))
            .collect();
        let of_device = effects.iter().all(Effect::is_judged);
        let heading = [vec![metric.metric.clone()], labels].concat();
        section.heading(clean(&heading.join(", ")));
        if !of_device {
            let why = tr!("no verdict: not all figures are of the device, under the same label");
            section.say(why, Some(Tone::Care));
        }
        let trials = metric.conditions.iter().map(|level| level.summary.n);
        if let Some(trials) = trials.min().filter(|trials| *trials < least) {
            let more = least - trials;
            let trials = counted!(trials, "{n} trial", "{n} trials");
            let few = match verdicts.extended {
                Some(_) => tr!(
                    "too few for a verdict ({trials}): --add {more} or more",
                    trials,
                    more
                ),
                None => tr!("too few for a verdict ({trials})", trials),
            };
            section.say(few, None);
            continue;
        }
        let margin = verdicts.options.margin;
        section.facts(effects.iter().map(|effect| {
            let text = effect_text(effect, margin);
            (clean(&effect.factor.name), clean(&text))
        }));
    }
    section
}

/// Describes an effect: `none 75.7 MB/s, bfq 64.8 MB/s: no difference found (below 25 % unseen; --add
/// 10)`.
fn effect_text(effect: &Effect, margin: f64) -> String {
    let metric = &effect.ranking;
    let of = |level: &String| {
        let mut levels = metric.conditions.iter();
        let centre = levels
            .find(|ranked| ranked.condition == *level)?
            .summary
            .centre;
        Some(format!("{level} {}", value(&metric.unit, centre)))
    };
    let (Some(best), Some(worst)) = (metric.conditions.first(), metric.conditions.last()) else {
        return String::new();
    };
    let ends = [&best.condition, &worst.condition];
    let levels = match (effect.factor.is_ordered, metric.conditions.len()) {
        (_, ..=3) => {
            let all: Vec<String> = effect.factor.levels.iter().filter_map(of).collect();
            all.join(", ")
        }
        (true, _) => {
            let last = effect.factor.levels.last();
            let ends = effect.factor.levels.first().into_iter().chain(last);
            ends.filter_map(of).collect::<Vec<_>>().join(" .. ")
        }
        (false, _) => {
            let ends = ends.iter().filter_map(|level| of(level));
            ends.collect::<Vec<_>>().join(" .. ")
        }
    };
    let verdicts = metric.pairs.iter().map(|pair| &pair.verdict);
    let are_equivalent = verdicts
        .clone()
        .all(|found| matches!(found, Verdict::Equivalent(_)));
    if !effect.is_judged() {
        return levels;
    }
    let verdict = if let Some((better, worse)) = effect.largest_difference() {
        let change = 100.0 * (better.summary.centre / worse.summary.centre - 1.0);
        tr!(
            "{best} against {worst} {change}",
            best = better.condition,
            worst = worse.condition,
            change = words::change(change)
        )
    } else if are_equivalent {
        tr!(
            "equivalent within {margin} %",
            margin = percent_points(margin)
        )
    } else {
        let seen = effects::seen_percent(metric);
        let found = match effect.unseen_percent {
            Some(unseen) if seen < unseen => tr!("no difference found"),
            _ => translated("no conclusion"),
        };
        let unseen = effect.unseen_percent.map(|percent| {
            tr!(
                "below {percent} % unseen",
                percent = format_args!("{percent:.0}")
            )
        });
        let more = effect.more.map(|more| format!("--add {more}"));
        let hints: Vec<String> = unseen.into_iter().chain(more).collect();
        match hints.is_empty() {
            true => found.to_owned(),
            false => format!("{found} ({})", hints.join("; ")),
        }
    };
    let knee = effect.knee.as_ref().map(|knee| knee_text(knee, effect));
    let text = format!("{levels}: {verdict}");
    std::iter::once(text)
        .chain(knee)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Describes a knee: `knee at 4: more adds +3.0 % (equivalent), p99 latency x2.1`.
fn knee_text(knee: &Knee, effect: &Effect) -> String {
    let level = &knee.level;
    let more = words::change(knee.more_percent);
    let p99 = knee.p99_ratio.map_or(String::new(), |ratio| {
        tr!(", p99 latency x{ratio}", ratio = format_args!("{ratio:.1}"))
    });
    match (knee.is_plateau, effect.factor.levels.first() == Some(level)) {
        (true, true) => tr!(
            "a plateau from {level} on: more adds {more}{p99}",
            level,
            more,
            p99
        ),
        (true, false) => tr!(
            "knee at {level}: more adds {more} (equivalent){p99}",
            level,
            more,
            p99
        ),
        (false, _) => tr!(
            "best at {level}: the highest level adds {more}{p99}",
            level,
            more,
            p99
        ),
    }
}

/// Returns each matrix: its sentence, its charts, and its figures with their labels.
pub(super) fn maps(gallery: &Gallery) -> Vec<Block> {
    let mut section = Section::default();
    // Each matrix has two charts: a map and a surface.
    for (matrix, charts) in gallery.maps.iter().zip(gallery.matrices.chunks(2)) {
        let (_, unit, _) = matrix::scale_of(matrix);
        let title = format!("{}, {unit}", clean(&matrix.title));
        section.heading(title);
        let sentence = matrix.sentence();
        if !sentence.is_empty() {
            section.say(sentence, None);
        }
        section.charts(charts);
        section.table(table_of(matrix));
    }
    section.blocks
}

fn table_of(matrix: &Matrix) -> Table {
    let (divisor, _, digits) = matrix::scale_of(matrix);
    let cell = |cell: &Option<matrix::Cell>| {
        cell.as_ref().map_or(Cell::Empty, |cell| Cell::Measured {
            value: cell.value / divisor,
            digits,
            label: cell.label.clone().unwrap_or("unknown".to_owned()),
        })
    };
    let rows = matrix.rows.levels.iter().zip(&matrix.cells);
    let rows = rows.map(|(level, cells)| {
        let head = Cell::Text(level.to_string());
        TableRow::new(
            std::iter::once(head)
                .chain(cells.iter().map(cell))
                .collect(),
        )
    });
    let levels = matrix.columns.levels.iter();
    let levels = levels.map(|level| Column::number(level.to_string()));
    let corner = match matrix.is_of_files() {
        true => tr!("File").to_owned(),
        false => format!(
            "{} \\ {}",
            clean(&matrix.rows.name),
            clean(&matrix.columns.name)
        ),
    };
    Table {
        columns: std::iter::once(Column::text(corner))
            .chain(levels)
            .collect(),
        rows: rows.collect(),
    }
}

fn conclude(ranking: &Ranking, section: &mut Section) {
    section.say(clean(&ranking.sentence.to_string()), Some(Tone::Strong));
    if let metrics @ [_, ..] = ranking.deciding.as_slice() {
        let metrics = enumerate(metrics);
        section.say(clean(&tr!("They differ on {metrics}.", metrics)), None);
    }
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
