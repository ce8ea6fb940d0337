//! Before and after: the table that maintainers ask for, and how to get it again.

use super::{Sheet, place};
use crate::render::terminal::table::{Column, Row, Table};
use crate::results::comparison::{Compared, SharedNotes, ends, percent, tallied, value};
use crate::results::jobs;
use crate::words::labels::Labels;
use crate::words::text::{clean, enumerate};
use assay_lang::{counted, key, tr, translated};
use assay_model::verdict::Verdict;
use assay_stats::verdict::line::{Line, Summary};
use assay_stats::verdict::note::Note;
use std::io;

const METHOD: &str = key!(
    "Each trial gives one value per metric; centres are geometric means, a \
                      change is that of the figure itself. Intervals are unadjusted, verdicts hold for \
                      all metrics together."
);

pub(super) fn write(compared: &Compared<'_>, sheet: &mut impl Sheet) -> io::Result<()> {
    let [a, b] = compared.known_by();
    sheet.title(&tr!("B: {b}, compared with A: {a}", b, a))?;
    sheet.paragraph(&clean(&conclusion(compared)))?;
    let shared = SharedNotes::of(compared.comparison);
    let (primary, exploratory): (Vec<&Line>, Vec<&Line>) = compared
        .comparison
        .lines
        .iter()
        .partition(|line| line.primary);
    if !primary.is_empty() {
        sheet.heading(tr!("Metrics that decide"))?;
        let mut table = table(compared, &primary, &shared);
        if let Some(composite) = &compared.comparison.composite {
            table.rows.push(heading(tr!("All together")));
            table.rows.push(row(compared, composite, &primary, &shared));
        }
        sheet.table(table)?;
    }
    explored(compared, &exploratory, &shared, sheet)?;
    let told = shared.told().map(|note| clean(&note));
    let warnings: Vec<String> = told.chain(compared.all_warnings()).collect();
    if !warnings.is_empty() {
        sheet.heading(tr!("To be read with it"))?;
        sheet.list(&warnings)?;
    }
    place::write_both(&compared.a_sources, &compared.b_sources, sheet)?;
    sheet.heading(tr!("Method"))?;
    let scope = &compared.comparison.scope;
    sheet.paragraph(&tr!(
        "Asked: {question} It holds for {scope}. {method}",
        question = compared.question(),
        scope,
        method = translated(METHOD)
    ))
}

/// Of exploratory metrics only those that differ, for there are many, and those that only
/// what they measured keeps from deciding.
fn explored(
    compared: &Compared<'_>,
    lines: &[&Line],
    shared: &SharedNotes,
    sheet: &mut impl Sheet,
) -> io::Result<()> {
    let is_told = |line: &&&Line| {
        let differs = matches!(line.verdict, Verdict::Faster(_) | Verdict::Slower(_));
        differs || compared.is_kept_by_label(line)
    };
    let told: Vec<&Line> = lines.iter().filter(is_told).copied().collect();
    if lines.is_empty() {
        return Ok(());
    }
    sheet.heading(tr!("Exploratory"))?;
    if !told.is_empty() {
        sheet.table(table(compared, &told, shared))?;
    }
    let words = lines.iter().map(|line| line.verdict.word());
    let counts = tallied(words, &["faster", "slower", "equivalent", "no conclusion"]);
    let of = counted!(
        lines.len(),
        "{n} exploratory metric",
        "{n} exploratory metrics"
    );
    sheet.list(&[tr!("of {of}: {counts}", of, counts)])
}

/// The verdicts in a sentence or two.
fn conclusion(compared: &Compared<'_>) -> String {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let words: Vec<&str> = lines.map(|line| line.qualification.word()).collect();
    if !compared.qualify || words.is_empty() {
        return compared.conclusion();
    }
    let of = counted!(words.len(), "{n} metric", "{n} metrics");
    let counts = tallied(words.into_iter(), &["pass", "fail", "inconclusive"]);
    tr!("May B take the place of A? Of {of}: {counts}.", of, counts)
}

fn table(compared: &Compared<'_>, lines: &[&Line], shared: &SharedNotes) -> Table<5> {
    let column = |head, right| Column { head, right };
    let groups = compared
        .jobs()
        .grouped(lines.iter().copied(), |line| &line.metric);
    let several = groups.len() > 1;
    let rows = groups.into_iter().flat_map(|(title, group)| {
        let heading = several.then(|| heading(&title));
        let rows = group
            .into_iter()
            .map(|line| row(compared, line, lines, shared));
        heading.into_iter().chain(rows.collect::<Vec<_>>())
    });
    Table {
        columns: [
            column(tr!("metric"), false),
            column("A", true),
            column("B", true),
            column(tr!("change"), true),
            column(tr!("verdict"), false),
        ],
        rows: rows.collect(),
    }
}

/// A row that names those below it.
pub(super) fn heading(title: &str) -> Row {
    Row {
        cells: vec![title.to_owned()],
        labels: Labels::default(),
        sentence: None,
    }
}

fn row(compared: &Compared<'_>, line: &Line, lines: &[&Line], shared: &SharedNotes) -> Row {
    let figure = |side: &Option<Summary>| {
        let side = side.as_ref().filter(|_| !line.unit.is_empty());
        side.map_or_else(|| "-".to_owned(), |side| value(&line.unit, side.centre))
    };
    let others = lines.iter().map(|line| line.metric.as_str());
    let alone = line.primary && jobs::is_alone(&line.metric, others);
    Row {
        cells: vec![
            jobs::spoken(&line.metric, alone),
            figure(&line.a),
            figure(&line.b),
            line.change.map_or_else(|| "-".to_owned(), percent),
            compared.word(line).to_owned(),
        ],
        labels: Labels::default(),
        sentence: Some(clean(&behind(compared, line, shared))),
    }
}

/// What the verdict rests on.
fn behind(compared: &Compared<'_>, line: &Line, shared: &SharedNotes) -> String {
    let mut words = Vec::new();
    if let Some(ends) = line.change.and_then(ends) {
        words.push(tr!("95 % interval {ends}", ends));
    }
    let n = |side: &Option<Summary>| side.as_ref().map_or(0, |side| side.n);
    let (a, b) = (n(&line.a), n(&line.b));
    words.push(match compared.is_of_means() {
        true => tr!("by {a} and {b}", a, b = compared.counted(b)),
        false => tr!("n {a} and {b}", a, b),
    });
    let is_told = line.notes.iter().any(Note::is_on_label);
    if let Some(measured) = compared.measured(&line.metric).filter(|_| !is_told) {
        words.push(tr!("measured {measured}", measured));
    }
    words.extend(outliers(&line.notes));
    let notes = line.notes.iter();
    let notes = notes.filter(|note| !matches!(note, Note::Outlier(..)));
    let notes: Vec<Note> = notes.cloned().collect();
    words.extend(shared.not_among(&notes));
    words.join("; ")
}

/// Trials that are far off the others, in one clause.
fn outliers(notes: &[Note]) -> Option<String> {
    let trials = notes.iter().filter_map(|note| match note {
        Note::Outlier(side, trial) => Some(format!("{side}{trial}")),
        _ => None,
    });
    let trials: Vec<String> = trials.collect();
    (!trials.is_empty()).then(|| {
        tr!(
            "kept, though far off the others: {trials}",
            trials = enumerate(&trials)
        )
    })
}
