//! Patch note of a comparison, and comparisons of several sides with the first one in one table.

use super::comparison::{common_label, headline, label_and_margin, side};
use super::provenance::{commands, joined_values, machine, runs, system};
use super::rows::{align, by_unit, compact, exploratory_tally, footnote, name, percent_with_mark};
use crate::document::{Block, Cell, Column, Document, Section, Table, TableRow};
use crate::results::comparison::Compared;
use crate::results::names::ComparedSource;
use crate::words::{MAIL_COLUMNS, Tone, clean, labels, numbers, percent_points, width};
use assay_lang::tr;
use assay_model::figures::{LEVEL, Verdict};
use assay_model::run::Run;
use assay_stats::verdict::{Note, Summary, VerdictRow};

/// Columns of a line of a patch note without its indent.
const COLUMNS: usize = MAIL_COLUMNS - 2;

/// Returns the patch note of comparisons with one first side: machine, kernels, device and command,
/// the table, what it means, and an answer for each other side as the last lines.
pub fn patch(all: &[Compared<'_>]) -> Document {
    let mut document = Document::new(String::new());
    let mut place = Section::new("where", "");
    place.blocks.push(Block::Lines(origin(all)));
    document.push(place);
    let mut metrics = Section::new("metrics", "");
    add_tables(all, &mut metrics);
    document.push(metrics);
    let mut ending = Section::new("verdict", "");
    ending.say(marks(all), None);
    for note in united(all, label_notes) {
        ending.say(note, None);
    }
    if let [compared] = all
        && let Some(tally) = exploratory_tally(compared)
    {
        ending.say(tally, None);
    }
    for compared in all {
        ending.say(headline(compared), None);
    }
    document.push(ending);
    document
}

/// Returns comparisons of several sides with the first one for a terminal: one table, notes, and an
/// answer for each side as the last lines.
pub fn document(all: &[Compared<'_>]) -> Document {
    let mut answer = Section::new("verdict", "");
    answer.say(marks(all), Some(Tone::Soft));
    answers(all, &mut answer);
    let [sides, metrics, notes] = basis(all);
    arranged(all, [sides, metrics, notes, answer])
}

/// Returns comparisons of several sides with the first one for a page or a mail: the answers first.
pub fn page(all: &[Compared<'_>]) -> Document {
    let mut answer = Section::new("verdict", "");
    answers(all, &mut answer);
    answer.say(marks(all), Some(Tone::Soft));
    let [sides, metrics, notes] = basis(all);
    arranged(all, [answer, sides, metrics, notes])
}

fn arranged(all: &[Compared<'_>], sections: [Section; 4]) -> Document {
    let Some(first) = all.first() else {
        return Document::default();
    };
    let names = all.iter().map(|compared| compared.names[1].as_str());
    let mut document = Document::new(tr!(
        "{names} compared with {a}",
        names = names.collect::<Vec<_>>().join(", "),
        a = first.names[0]
    ));
    sections
        .into_iter()
        .for_each(|section| document.push(section));
    document
}

/// Returns the sides, the table and the notes.
fn basis(all: &[Compared<'_>]) -> [Section; 3] {
    let mut legend = Section::new("sides", "");
    let sides = sides(all).into_iter();
    legend.facts(sides.map(|(name, sources)| (name, side(sources))));
    let mut metrics = Section::new("metrics", tr!("Main figures (geometric means)"));
    add_tables(all, &mut metrics);
    let mut notes = Section::new("notes", tr!("Notes"));
    notes.list(united(all, |compared| compared.told_warnings()));
    [legend, metrics, notes]
}

fn answers(all: &[Compared<'_>], section: &mut Section) {
    for compared in all {
        section.say(headline(compared), Some(Tone::Strong));
    }
}

/// Explains the marks of verdicts, with the label of all figures if it is one.
fn marks(all: &[Compared<'_>]) -> String {
    let first = match all {
        [] => return String::new(),
        [compared] => return label_and_margin(compared),
        [first, ..] => first,
    };
    let margin = percent_points(first.options.margin);
    let marks = tr!(
        "F faster, S slower, = equivalent (within {margin} %), ? no conclusion; F and S of all sides together err at most in {level} %",
        margin,
        level = percent_points(LEVEL)
    );
    let label = common_label(first);
    let label = label.filter(|label| {
        all.iter()
            .all(|one| common_label(one).as_ref() == Some(label))
    });
    match label {
        Some(measured) => format!("{}; {marks}", tr!("measured {measured}", measured)),
        None => marks,
    }
}

/// Returns the notes that what was measured is not known.
fn label_notes(compared: &Compared<'_>) -> Vec<String> {
    let notes = compared.comparison.notes.iter();
    let notes =
        notes.filter(|note| matches!(note, Note::MeasuredUnknown(_) | Note::MeasuredNotRecorded));
    notes.map(|note| compared.told(note)).collect()
}

/// Returns the sentences of all comparisons: those of each one first, then the others with its side.
fn united(all: &[Compared<'_>], of: impl Fn(&Compared<'_>) -> Vec<String>) -> Vec<String> {
    let told: Vec<Vec<String>> = all.iter().map(of).collect();
    let is_shared = |line: &String| told.iter().all(|lines| lines.contains(line));
    let mut united: Vec<String> = told.first().cloned().unwrap_or_default();
    united.retain(is_shared);
    for (compared, lines) in all.iter().zip(&told) {
        let start = format!("{}: ", compared.names[1]);
        let own = lines.iter().filter(|line| !is_shared(line));
        united.extend(own.map(|line| match line.starts_with(&start) {
            true => line.clone(),
            false => format!("{start}{line}"),
        }));
    }
    united
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
        let values: Vec<(&str, Option<String>)> = values.collect();
        let Some(known) = values.iter().find_map(|(_, value)| value.as_ref()) else {
            continue;
        };
        let alike = values
            .iter()
            .all(|(_, value)| value.as_ref() == Some(known));
        let text = match alike {
            true => known.clone(),
            false => {
                let values = values.iter().map(|(name, value)| {
                    let value = value.as_deref().unwrap_or(tr!("unknown"));
                    format!("{name}: {value}")
                });
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
    let stated = sides.iter().map(|(name, sources)| {
        let imported = sources.iter().filter(|source| source.run.is_none());
        let stated = imported.flat_map(|source| source.circumstances);
        (*name, stated.map(|line| clean(line)).collect())
    });
    for (name, stated) in by_side(stated.collect()) {
        let told = stated.into_iter().map(|line| match name {
            Some(name) => format!("{name}: {line}"),
            None => line,
        });
        lines.extend(told);
    }
    let mut lines: Vec<String> = lines
        .iter()
        .flat_map(|line| crate::words::wrap(&crate::words::break_long(line, COLUMNS), COLUMNS))
        .collect();
    let ran = sides.iter();
    let ran = ran.map(|(name, sources)| (*name, commands(&runs(sources), is_annotation)));
    for (name, mut ran) in by_side(ran.collect()) {
        if let (Some(name), Some(first)) = (name, ran.first_mut()) {
            match width(name) + 2 + width(first) <= COLUMNS {
                true => *first = format!("{name}: {first}"),
                false => lines.push(format!("{name}:")),
            }
        }
        lines.extend(ran);
    }
    lines
}

/// Returns the lines once and without a name if all sides have the same ones, else those of each side
/// that has any.
fn by_side(sides: Vec<(&str, Vec<String>)>) -> Vec<(Option<&str>, Vec<String>)> {
    let alike = sides.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let of = if alike { 1 } else { sides.len() };
    let sides = sides.into_iter().take(of);
    sides
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(name, lines)| ((!alike).then_some(name), lines))
        .collect()
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
    use crate::render::{Form, write_mail, write_patch};
    use crate::testing::comparison_fixture::{Sides, repeated};
    use assay_lang::Told;

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
    fn a_note_says_what_its_words_mean() {
        let mut sides = sides("after");
        let mut n = 0;
        sides.comparison.lines.retain(|line| {
            n += usize::from(line.primary);
            !line.primary || n == 1
        });
        let notes = &mut sides.comparison.notes;
        notes.extend([Note::OwnSessions, Note::MeasuredNotRecorded]);
        let text = note(&[sides.compared()]);
        assert!(text.contains("; equivalent = within 5 %"), "{text}");
        assert!(text.contains("measured "), "{text}");
        assert!(text.contains("imported results do not record"), "{text}");
        assert!(!text.contains("each side is of a session"), "{text}");
    }

    #[test]
    fn a_fact_that_one_side_lacks_is_not_claimed_for_all() {
        let stated = ["tool: fio 3.36".to_owned()];
        let sides = sides("after");
        let mut compared = sides.compared();
        for source in &mut compared.b_sources {
            source.run = None;
            source.circumstances = &stated;
        }
        let text = note(&[compared]);
        for expected in [
            "before: Example Board",
            "after: unknown",
            "after: tool: fio 3.36",
            "before: $ assay qualify",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn commands_that_differ_have_the_name_of_their_side() {
        let mut sides = sides("after");
        sides.b.header.command.push("--direct".to_owned());
        let text = note(&[sides.compared()]);
        for side in ["before", "after"] {
            let head = format!("{side}: $ assay");
            let alone = format!("  {side}:\n  $ assay");
            assert!(text.contains(&head) || text.contains(&alone), "{text}");
        }
    }

    #[test]
    fn warnings_of_several_sides_are_told_once_or_with_their_side() {
        let (second, third) = (sides("second"), sides("third"));
        let mut all = vec![second.compared(), third.compared()];
        all[1]
            .warnings
            .extend(Told::all(|| vec!["the bus differs".to_owned()]));
        Compared::name_together(&mut all);
        let read = |document: &Document| {
            let mut out = Vec::new();
            write_mail(document, Form::Text, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let (shown, page) = (read(&document(&all)), read(&page(&all)));
        for text in [&shown, &page] {
            assert_eq!(text.matches("the kernel differs").count(), 1, "{text}");
            assert!(text.contains("third: the bus differs"), "{text}");
        }
        let at = |text: &str, words: &str| text.find(words).expect("the words");
        assert!(at(&page, "third is faster") < at(&page, "the bus differs"));
        assert!(at(&shown, "third is faster") > at(&shown, "the bus differs"));
        assert!(page.contains("err at most in 5 %"), "{page}");
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
