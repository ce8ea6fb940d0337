//! Patch note of a comparison, and comparisons of several sides with the first one in one table.

use super::comparison::{headline, side};
use super::provenance::{commands, joined_values, machine, runs, system};
use super::rows::{align, by_unit, compact, exploratory_tally, footnote, name, percent_with_mark};
use crate::document::{Block, Cell, Column, Document, Section, Table, TableRow};
use crate::results::comparison::Compared;
use crate::results::names::ComparedSource;
use crate::words::{MAIL_COLUMNS, Tone, clean, labels, numbers, percent_points, width};
use assay_lang::tr;
use assay_model::figures::Verdict;
use assay_model::run::Run;
use assay_stats::verdict::{Summary, VerdictRow};

/// Columns of a line of a patch note without its indent.
const COLUMNS: usize = MAIL_COLUMNS - 2;

/// Returns the patch note of comparisons with one first side: machine, kernels, device and command,
/// the table, and an answer for each other side as the last lines.
pub fn patch(all: &[Compared<'_>]) -> Document {
    let mut document = Document::new(String::new());
    let mut place = Section::new("where", "");
    place.blocks.push(Block::Lines(origin(all)));
    document.push(place);
    let mut metrics = Section::new("metrics", "");
    add_tables(all, &mut metrics);
    let mut ending = Section::new("verdict", "");
    if let [compared] = all
        && let Some(tally) = exploratory_tally(compared)
    {
        ending.say(tally, None);
    }
    document.push(metrics);
    for compared in all {
        ending.say(headline(compared), None);
    }
    document.push(ending);
    document
}

/// Returns comparisons of several sides with the first one: one table, and an answer for each side as
/// the last lines.
pub fn document(all: &[Compared<'_>]) -> Document {
    let Some(first) = all.first() else {
        return Document::default();
    };
    let names = all.iter().map(|compared| compared.names[1].as_str());
    let mut document = Document::new(tr!(
        "{names} compared with {a}",
        names = names.collect::<Vec<_>>().join(", "),
        a = first.names[0]
    ));
    let mut legend = Section::new("sides", "");
    let sides = sides(all).into_iter();
    legend.facts(sides.map(|(name, sources)| (name, side(sources))));
    document.push(legend);
    let mut metrics = Section::new("metrics", tr!("Main figures (geometric means)"));
    add_tables(all, &mut metrics);
    document.push(metrics);
    let mut answer = Section::new("verdict", "");
    answer.say(
        tr!(
            "F faster, S slower, = equivalent (within {margin} %), ? no conclusion; all verdicts together err at most in {level} %",
            margin = percent_points(first.options.margin),
            level = percent_points(first.options.alpha * all.len() as f64)
        ),
        Some(Tone::Soft),
    );
    for compared in all {
        answer.say(headline(compared), Some(Tone::Strong));
    }
    document.push(answer);
    document
}

/// Returns each side once, the first one first.
fn sides<'a>(all: &'a [Compared<'a>]) -> Vec<(&'a str, &'a [ComparedSource<'a>])> {
    let first = all.first().into_iter();
    let first = first.map(|compared| (compared.names[0].as_str(), &*compared.a_sources));
    let others = all.iter();
    let others = others.map(|compared| (compared.names[1].as_str(), &*compared.b_sources));
    first.chain(others).collect()
}

/// Describes machine, kernels and device, as few lines as possible, and the commands.
fn origin(all: &[Compared<'_>]) -> Vec<String> {
    let sides = sides(all);
    let facts: [fn(&Run) -> Option<String>; 3] = [
        machine,
        |run| system(run, tr!("kernel")),
        |run| Some(labels::name(&run.header.storage)),
    ];
    let mut lines: Vec<String> = Vec::new();
    for of in facts {
        let values = sides.iter();
        let values = values.map(|(name, side)| (*name, joined_values(&runs(side), of)));
        let values = values.filter_map(|(name, value)| Some((name, value?)));
        let values: Vec<(&str, String)> = values.collect();
        let Some((_, first)) = values.first() else {
            continue;
        };
        let alike = values.iter().all(|(_, value)| value == first);
        let text = match alike {
            true => first.clone(),
            false => {
                let values = values
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}"));
                values.collect::<Vec<_>>().join("; ")
            }
        };
        match lines.last_mut() {
            Some(last) if width(last) + width(&text) + 2 <= COLUMNS => {
                last.push_str(&format!("; {text}"));
            }
            _ => lines.push(text),
        }
    }
    let imported = sides.iter().flat_map(|(_, sources)| *sources);
    let imported = imported.filter(|source| source.run.is_none());
    for line in imported.flat_map(|source| source.circumstances) {
        let line = clean(line);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let mut lines: Vec<String> = lines
        .iter()
        .flat_map(|line| crate::words::wrap(&crate::words::break_long(line, COLUMNS), COLUMNS))
        .collect();
    let mut ran: Vec<String> = Vec::new();
    for (_, sources) in sides {
        let of_side = commands(&runs(sources), is_annotation);
        if of_side != ran {
            lines.extend(of_side.iter().cloned());
            ran = of_side;
        }
    }
    lines
}

/// Returns true for options of a command that only name its run.
fn is_annotation(word: &str) -> bool {
    ["--name", "--tag", "--note"].contains(&word)
}

fn deciding<'a>(compared: &Compared<'a>) -> Vec<&'a VerdictRow> {
    let lines = compared.comparison.lines.iter();
    lines.filter(|line| line.primary).collect()
}

/// Returns the row of the same metric in a comparison.
fn found<'a>(compared: &Compared<'a>, wanted: &VerdictRow) -> Option<&'a VerdictRow> {
    let mut lines = compared.comparison.lines.iter();
    lines.find(|line| line.primary && line.metric == wanted.metric)
}

fn add_tables(all: &[Compared<'_>], section: &mut Section) {
    let tables = match all {
        [compared] => {
            let composite = compared.comparison.composite.as_ref();
            let composite = composite.filter(|_| !compared.qualify);
            compact(compared, &deciding(compared), composite)
        }
        _ => tables(all),
    };
    tables.into_iter().for_each(|table| section.table(table));
    let mut footnotes: Vec<String> = Vec::new();
    for compared in all {
        let found = footnote(compared, &deciding(compared));
        footnotes.extend(found.filter(|found| !footnotes.contains(found)));
    }
    for footnote in footnotes {
        section.say(footnote, Some(Tone::Soft));
    }
}

/// Returns a table for each unit with the means of all sides; those of others with their change and
/// the first letter of their verdict.
fn tables(all: &[Compared<'_>]) -> Vec<Table> {
    let mut metrics: Vec<&VerdictRow> = Vec::new();
    let groups = all.iter().flat_map(|compared| {
        let lines = deciding(compared).into_iter();
        compared.jobs().grouped(lines, |line| &line.metric)
    });
    for line in groups.flat_map(|(_, group)| group) {
        if !metrics.iter().any(|known| known.metric == line.metric) {
            metrics.push(line);
        }
    }
    let heads = sides(all).into_iter().map(|(name, _)| name);
    let tables = by_unit(metrics).into_iter().map(|(unit, metrics)| {
        let centre = |side: &Option<Summary>| side.as_ref().map(|side| side.centre);
        let centres = metrics.iter().flat_map(|line| {
            let first = all
                .iter()
                .find_map(|compared| centre(&found(compared, line)?.a));
            let others = all.iter().map(|compared| centre(&found(compared, line)?.b));
            std::iter::once(first).chain(others).collect::<Vec<_>>()
        });
        let (numbers, unit) = numbers(unit, &centres.collect::<Vec<_>>());
        let rows = metrics
            .iter()
            .zip(numbers.chunks(all.len() + 1))
            .map(|(line, numbers)| {
                let mut cells: Vec<Cell> = vec![name(line, &metrics).into()];
                cells.push(numbers[0].clone().into());
                let others = all.iter().zip(&numbers[1..]).map(|(compared, number)| {
                    let line = found(compared, line);
                    line.map_or(Cell::Unknown, |line| {
                        let change = percent_with_mark(line);
                        let mark = mark(&line.verdict);
                        format!("{number} {change} {mark}").into()
                    })
                });
                cells.extend(others);
                TableRow::new(cells)
            });
        let mut columns = vec![Column::text(unit)];
        columns.extend(heads.clone().map(Column::number));
        Table {
            columns,
            rows: rows.collect(),
        }
    });
    let mut tables: Vec<Table> = tables.collect();
    align(&mut tables);
    tables
}

const fn mark(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Faster(_) => "F",
        Verdict::Slower(_) => "S",
        Verdict::Equivalent(_) => "=",
        Verdict::NoConclusion { .. } => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::write_patch;
    use crate::testing::comparison_fixture::{Sides, repeated};

    fn note(all: &[Compared<'_>]) -> String {
        let mut out = Vec::new();
        write_patch(&patch(all), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Two runs of one job with two figures that decide.
    fn sides(name: &str) -> Sides {
        let of = |factor: fn(&str) -> f64, name: &str| {
            let mut run = repeated(2, factor);
            run.trials.retain(|trial| trial.job.name == "rand-rw-4k");
            run.header
                .plan
                .jobs
                .retain(|planned| planned.job.name == "rand-rw-4k");
            run.annotation.name = Some(name.to_owned());
            run
        };
        let mut b = of(|_| 0.7, name);
        b.header.id = "q7w8e9r2".to_owned();
        Sides::of(of(|_| 1.0, "before"), b)
    }

    #[test]
    fn few_figures_are_a_note_of_ten_lines() {
        let sides = sides("after");
        let text = note(&[sides.compared()]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 10, "{text}");
        for line in &lines {
            let begins = ["---", "#", "diff", "From "]
                .iter()
                .any(|begin| line.starts_with(begin));
            assert!(!begins && width(line) <= MAIL_COLUMNS, "{line}");
        }
        for asked in [
            "Example Board",
            "6.6.63",
            "SanDisk DG4032",
            "$ assay qualify",
            "before",
        ] {
            assert!(text.contains(asked), "{asked}: {text}");
        }
        assert!(
            lines
                .last()
                .is_some_and(|line| line.contains("after is faster in")),
            "{text}"
        );
    }

    #[test]
    fn names_of_users_are_no_marks_of_a_patch() {
        let sides = sides("--- a/file");
        for line in note(&[sides.compared()]).lines() {
            assert!(line.starts_with("  "), "{line}");
        }
    }

    #[test]
    fn several_sides_have_a_column_and_an_answer_each() {
        let (second, third) = (sides("second"), sides("third"));
        let mut all = vec![second.compared(), third.compared()];
        Compared::name_together(&mut all);
        let text = note(&all);
        let head = text
            .lines()
            .find(|line| line.contains("IOPS"))
            .expect("a head");
        let names: Vec<&str> = head.split_whitespace().skip(1).collect();
        assert_eq!(names, ["before", "second", "third"]);
        assert!(text.contains("+42.9 % F"), "{text}");
        let last: Vec<&str> = text.lines().rev().take(2).collect();
        assert!(last[0].contains("third is faster"), "{text}");
        assert!(last[1].contains("second is faster"), "{text}");
    }
}
