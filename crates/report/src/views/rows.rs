//! Tables of comparisons as text: a row a figure, with both means, the change, its interval, p, the number
//! of values and the verdict.

use crate::document::{Cell, Column, Keep, Table, TableRow};
use crate::results::comparison::{Compared, percent, tallied};
use crate::results::describe;
use crate::words::{numbers, pad, pad_left, shorten, width};
use assay_lang::{counted, tr, translated};
use assay_stats::verdict::{Note, Summary as SideSummary, VerdictRow};

/// Maximum width of the name of a side above a column of a text.
const LONGEST_HEAD: usize = 8;

/// Returns the names of the sides, short enough for columns of a text unless they are alike then.
pub(super) fn heads(compared: &Compared<'_>) -> [String; 2] {
    let heads = compared.names.each_ref();
    let heads = heads.map(|name| shorten(name, LONGEST_HEAD));
    match heads[0] == heads[1] {
        true => compared.names.clone(),
        false => heads,
    }
}

/// Returns a table for each unit, with a row a figure: both means, the change, the interval that
/// decided, p, the number of values and the verdict.
pub(super) fn compact(
    compared: &Compared<'_>,
    lines: &[&VerdictRow],
    composite: Option<&VerdictRow>,
) -> Vec<Table> {
    let heads = heads(compared);
    let groups = compared
        .jobs()
        .grouped(lines.iter().copied(), |line| &line.metric);
    let lines: Vec<&VerdictRow> = groups.into_iter().flat_map(|(_, group)| group).collect();
    let tables = by_unit(lines).into_iter().map(|(unit, lines)| {
        let centres = lines.iter().flat_map(|line| [&line.a, &line.b]);
        let centres: Vec<Option<f64>> = centres
            .map(|side| side.as_ref().map(|side| side.centre))
            .collect();
        let (numbers, unit) = numbers(unit, &centres);
        let mut columns = vec![Column::text(unit)];
        columns.extend(heads.iter().map(Column::number));
        columns.extend([
            Column::number(tr!("change")),
            Column::text(tr!("interval")),
            Column::number("p"),
            Column::text("n").keep(Keep::Spare),
            Column::text(tr!("verdict")),
        ]);
        let rows = lines
            .iter()
            .zip(numbers.chunks(2))
            .map(|(line, numbers)| TableRow {
                note: kept_by_label(compared, line),
                ..compact_row(compared, line, name(line, &lines), numbers)
            });
        Table {
            rows: rows.collect(),
            columns,
        }
    });
    let mut tables: Vec<Table> = tables.collect();
    if let (Some(last), Some(line)) = (tables.last_mut(), composite) {
        let none = [String::new(), String::new()];
        let row = compact_row(compared, line, tr!("all").to_owned(), &none);
        last.rows.push(row);
    }
    align(&mut tables);
    tables
}

/// Groups rows by unit, in the order of the first ones.
pub(super) fn by_unit(lines: Vec<&VerdictRow>) -> Vec<(&str, Vec<&VerdictRow>)> {
    let mut units: Vec<(&str, Vec<&VerdictRow>)> = Vec::new();
    for line in lines {
        match units.iter_mut().find(|(unit, _)| *unit == line.unit) {
            Some((_, rows)) => rows.push(line),
            None => units.push((&line.unit, vec![line])),
        }
    }
    units
}

/// Fills the cells of tables, so that all tables have the same widths; the last column stays.
pub(super) fn align(tables: &mut [Table]) {
    let columns = tables.first().map_or(0, |table| table.columns.len());
    for at in 0..columns.saturating_sub(1) {
        let rows = || tables.iter().flat_map(|table| &table.rows);
        let widest = rows().filter_map(|row| Some(width(&row.cells.get(at)?.text())));
        let widest = widest.max().unwrap_or_default();
        for table in tables.iter_mut() {
            let right = table.columns[at].right;
            for cell in table
                .rows
                .iter_mut()
                .filter_map(|row| row.cells.get_mut(at))
            {
                *cell = match right {
                    true => pad_left(&cell.text(), widest),
                    false => pad(&cell.text(), widest),
                }
                .into();
            }
        }
    }
}

fn compact_row(
    compared: &Compared<'_>,
    line: &VerdictRow,
    name: String,
    numbers: &[String],
) -> TableRow {
    let known = |text: String| {
        if text.is_empty() {
            Cell::Empty
        } else {
            text.into()
        }
    };
    let change = percent_with_mark(line);
    let interval = line.change.and_then(|change| change.interval);
    let p = line.p_adjusted.filter(|p| p.is_finite());
    let (a, b) = (n(&line.a), n(&line.b));
    let mut cells = vec![name.into()];
    cells.extend(numbers.iter().cloned().map(known));
    cells.extend([
        known(change),
        known(interval.map_or_else(String::new, interval_in_words)),
        known(p.map_or_else(String::new, p_in_words)),
        known(match (a, b) {
            (0, 0) => String::new(),
            (a, b) if a == b => a.to_string(),
            (a, b) => format!("{a}/{b}"),
        }),
        Cell::Verdict(compared.word_for_people(line)),
    ]);
    TableRow::new(cells)
}

/// Formats the ends of an interval with as many digits as matter.
fn interval_in_words((low, high): (f64, f64)) -> String {
    let digits = |end: f64| usize::from(end.abs() < 99.95);
    format!("{low:+.*}..{high:+.*}", digits(low), digits(high))
}

/// Formats a p value in four characters.
fn p_in_words(p: f64) -> String {
    match p {
        p if p < 0.0095 => "<.01".to_owned(),
        p => format!("{p:.2}"),
    }
}

/// Formats a change, with a mark if it is not that of the two means; empty if it is unknown.
pub(super) fn percent_with_mark(line: &VerdictRow) -> String {
    let mark = if line.notes.iter().any(is_marked) {
        "*"
    } else {
        ""
    };
    line.change
        .map_or_else(String::new, |change| percent(change) + mark)
}

/// Returns true if the change is not that of the two means.
pub(super) const fn is_marked(note: &Note) -> bool {
    matches!(note, Note::WithoutDrift | Note::ByRanks)
}

/// Explains the mark of changes that are not those of the two means, safe to display.
pub(super) fn footnote(compared: &Compared<'_>, lines: &[&VerdictRow]) -> Option<String> {
    let notes = lines.iter().flat_map(|line| &line.notes);
    let notes = notes.filter(|note| is_marked(note));
    let mut told: Vec<String> = notes.map(|note| compared.told(note)).collect();
    told.dedup();
    (!told.is_empty()).then(|| format!("* {}", told.join("; ")))
}

pub(super) fn name(line: &VerdictRow, among: &[&VerdictRow]) -> String {
    let others = among.iter().map(|line| line.metric.as_str());
    let alone = line.primary && describe::is_alone(&line.metric, others);
    describe::spoken(translated(&line.metric), alone)
}

pub(super) fn n(side: &Option<SideSummary>) -> usize {
    side.as_ref().map_or(0, |side| side.n)
}

/// Returns the reason why the label of a metric prevents it from deciding.
pub(super) fn kept_by_label(compared: &Compared<'_>, line: &VerdictRow) -> Option<String> {
    let mut notes = line.notes.iter().filter(|note| note.is_on_label());
    let note = notes.next().filter(|_| compared.is_kept_by_label(line))?;
    Some(compared.told(note))
}

/// Counts the verdicts of exploratory metrics; `None` if there are none.
pub(super) fn exploratory_tally(compared: &Compared<'_>) -> Option<String> {
    let lines = compared
        .comparison
        .lines
        .iter()
        .filter(|line| !line.primary);
    let words: Vec<&str> = lines.map(|line| line.verdict.word()).collect();
    let n = words.len();
    let counts = tallied(
        words.into_iter(),
        &["faster", "slower", "equivalent", "no conclusion"],
    );
    (n > 0).then(|| {
        counted!(
            n,
            "{n} other figure: {counts}",
            "{n} other figures: {counts}",
            counts
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::Sides;

    #[test]
    fn names_that_are_alike_when_short_stay_whole() {
        let sides = Sides::new();
        let mut compared = sides.compared();
        compared.names = ["nightly-a-card", "nightly-b-card"].map(str::to_owned);
        assert_eq!(heads(&compared), compared.names);
        compared.names = ["before", "a-long-name"].map(str::to_owned);
        assert!(
            heads(&compared)
                .iter()
                .all(|head| width(head) <= LONGEST_HEAD)
        );
    }

    #[test]
    fn the_interval_is_the_one_that_decided() {
        let mut sides = Sides::new();
        let line = &mut sides.comparison.lines[0];
        let change = line.change.as_mut().expect("a change");
        (change.interval, change.ci95) = (Some((-9.0, 9.0)), Some((-1.0, 1.0)));
        let row = |sides: &Sides| {
            let line = &sides.comparison.lines[0];
            compact_row(&sides.compared(), line, String::new(), &[]).cells[2].text()
        };
        assert_eq!(row(&sides), "-9.0..+9.0");
        let change = sides.comparison.lines[0].change.as_mut();
        change.expect("a change").interval = None;
        assert_eq!(row(&sides), "", "a withheld verdict");
    }
}
