//! iozone's text, with the labels that assay's own iozone adds: the table of single and automatic
//! mode (rows of figures below the names of tests), the blocks of `-R` (one per test, with record
//! sizes above and file sizes at the left), and throughput mode.

use super::collect::{Collector, Key};
use super::{Headings, ImportError, MarkedLine, NumberedLine, starts_with_one};
use crate::import::leading;
use crate::iozone::table::LABEL_LETTERS;
use assay_model::act::iozone::Test;
use assay_model::figures::Results;
use std::collections::HashMap;

/// Largest number of metrics that may decide; more are a survey.
const DECIDING: usize = 7;

/// Figure of a text.
#[derive(Clone, Debug, PartialEq)]
struct IozoneFigure {
    /// File and record size and, in throughput mode, the children.
    of: String,
    /// iozone's name of the test.
    test: String,
    value: f64,
    unit: &'static str,
    line: usize,
}

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("iozone");
    let mut heading = Heading::default();
    let mut marks = Marks::default();
    let mut table = IozoneTable::default();
    let mut blocks = Blocks::default();
    let mut throughput = Throughput::default();
    let mut errors = Vec::new();
    for line in super::unquoted(text) {
        heading.line(line.text, &mut all);
        marks.line(line.text);
        table.line(&line, &heading)?;
        blocks.line(&line, heading.unit())?;
        throughput.line(&line, heading.unit())?;
        errors.extend(is_error(line.text).then_some(line.text));
    }
    // The blocks of `-R` repeat the figures above them, so only one kind is used.
    let cells = [table.cells, throughput.cells, blocks.cells];
    let cells = cells.into_iter().find(|cells| !cells.is_empty());
    let cells = cells.unwrap_or_default();
    let headings = Headings::find(super::unquoted(text).map(marked));
    let headings = headings.of_results(cells.iter().map(|cell| cell.line));
    let mut names: Vec<(&str, &str)> = cells.iter().map(|cell| (&*cell.of, &*cell.test)).collect();
    names.sort_unstable();
    names.dedup();
    let primary = names.len() <= DECIDING;
    if !primary {
        all.note(format!(
            "These are {} metrics, a survey: none of them is primary.",
            names.len()
        ));
    }
    all.errors("iozone", &errors);
    if marks.is_empty() {
        all.note(
            "What was measured, device or page cache, is not recorded: files that fit into the \
             memory are mostly in the page cache.",
        );
    }
    for cell in &cells {
        let key = Key {
            condition: headings.above(cell.line).to_owned(),
            metric: format!("{}: {}", cell.of, cell.test),
            unit: cell.unit.to_owned(),
            // Figures per process only explain their sum.
            primary: primary && !cell.test.contains("per "),
            measured: marks.of(&cell.of, &cell.test),
        };
        all.value(key, cell.value, None, Some(cell.line))?;
    }
    Ok(all.finish())
}

/// Returns true if iozone reports that figures are wrong, or that it ended early.
fn is_error(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    starts_with_one(&line, "error,iozone: interrupted,can not,can't,i/o error")
        || line.contains("invalid in this")
}

/// Returns true if the line names the columns of a table: `KB` up to version 3.408, then `kB`.
pub(super) fn is_columns(words: &[&str]) -> bool {
    matches!(words, [unit, "reclen", ..] if unit.eq_ignore_ascii_case("kB"))
}

/// Marks a line with its origin. The line of column names may start with a table's heading.
fn marked(line: NumberedLine<'_>) -> MarkedLine<'_> {
    let text = line.text;
    if let Some((_, command)) = text.split_once("Command line used:") {
        let file = command
            .split_once(" -f")
            .map_or("", |(_, file)| file.trim_start());
        return (line, file.split(' ').next());
    }
    if let Some((name, columns)) = text.split_once("random")
        && columns.trim_start().starts_with("random")
        && !name.trim().is_empty()
    {
        return (NumberedLine { text: name, ..line }, None);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_size = |word: &&str| word.parse::<u64>().is_ok();
    let own = text.starts_with('\t')
        || starts_with_one(text.trim_start(), "\",#,iozone test,iozone:,Iozone:")
        || text.contains("random")
        || text.contains("iozone -")
        || is_error(text)
        || is_columns(&words)
        || words.first().is_some_and(is_size);
    (line, own.then_some(""))
}

/// Returns the prefix of figures for a file size and record size.
fn sizes(file_kib: &str, record_kib: &str) -> String {
    format!("{file_kib} kB file, {record_kib} kB records")
}

/// Returns the tests of the table, in the order of its columns: all except that of throughput
/// mode.
fn tests() -> impl Iterator<Item = Test> {
    Test::ALL.into_iter().filter(|test| *test != Test::Mixed)
}

/// Name of a test's column.
const fn column(test: Test) -> &'static str {
    match test {
        Test::RandomRead => "random read",
        Test::RandomWrite => "random write",
        Test::BackwardRead => "bkwd read",
        Test::RecordRewrite => "record rewrite",
        Test::StrideRead => "stride read",
        other => other.name(),
    }
}

/// Returns the column name of a test, given its name in assay's labels.
fn column_of(name: &str) -> String {
    match tests().find(|test| test.name() == name) {
        Some(test) => column(test).to_owned(),
        None => name.to_owned(),
    }
}

/// Parses the figure of a cell; `None` for 0, which means that the test was not run.
fn cell(
    of: String,
    test: Test,
    figure: &str,
    unit: &'static str,
    line: usize,
) -> Result<Option<IozoneFigure>, ImportError> {
    let value: f64 = figure.parse().map_err(|_| {
        let problem = format!("'{figure}' is not a figure of iozone");
        ImportError::at(Some(line), problem)
    })?;
    Ok((value != 0.0).then(|| IozoneFigure {
        of,
        test: column(test).to_owned(),
        value,
        unit,
        line,
    }))
}

/// Values of the banner that determine the meaning of the figures.
#[derive(Debug, Default)]
struct Heading {
    unit: Option<&'static str>,
    /// Tests requested with `-i`; `None` if the command is unknown.
    tests: Option<Vec<u8>>,
}

impl Heading {
    fn line(&mut self, line: &str, all: &mut Collector) {
        let line = line.trim();
        if line.starts_with("Iozone: Performance Test") {
            // Another output begins, possibly with other flags.
            *self = Self::default();
        } else if let Some(version) = line.strip_prefix("Version $Revision:") {
            all.tool(format!("iozone {}", version.trim_end_matches('$').trim()));
        } else if line.starts_with("assay ") && line.contains("like iozone") {
            all.tool(line);
        } else if let Some(command) = line.strip_prefix("Command line used:") {
            self.tests = asked_tests(command);
            all.circumstance(format!("command: {}", command.trim()));
        } else if sizes_of(line).is_some() {
            all.circumstance(line);
        } else if let Some(date) = line.strip_prefix("Run began:") {
            all.circumstance(format!("run began {}", date.trim()));
        } else if line.starts_with("Output is in ") || line.contains(" Mode. Output is in ") {
            self.unit = Some(unit(line));
        }
    }

    /// Returns the unit of rates: the one in the banner, or iozone's default.
    fn unit(&self) -> &'static str {
        self.unit.unwrap_or("kBytes/sec")
    }
}

fn unit(line: &str) -> &'static str {
    let line = line.to_ascii_lowercase();
    if line.contains("microseconds") {
        "microseconds/op"
    } else if line.contains("operations per second") || line.contains("ops/sec") {
        "ops/sec"
    } else {
        "kBytes/sec"
    }
}

/// Returns numbers after `-i`, separate or attached (`-i 0 -i1`); empty without `-i`.
fn asked_tests(command: &str) -> Option<Vec<u8>> {
    let mut words = command.split_whitespace().skip(1);
    let mut tests = Vec::new();
    while let Some(word) = words.next() {
        let Some(number) = word.strip_prefix("-i") else {
            continue;
        };
        let number = if number.is_empty() {
            words.next()?
        } else {
            number
        };
        tests.push(number.parse().ok()?);
    }
    Some(tests)
}

/// Labels by sizes and test.
#[derive(Debug, Default)]
struct Marks {
    tests: Vec<String>,
    cells: HashMap<(String, String), String>,
}

impl Marks {
    fn line(&mut self, line: &str) {
        let Some(rest) = line.trim_start().strip_prefix("# ") else {
            return;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        match &words[..] {
            ["kB", "reclen", tests @ ..] => {
                self.tests = tests.iter().map(|&name| column_of(name)).collect();
            }
            [file, record, letters @ ..] if letters.len() == self.tests.len() => {
                for (letter, test) in letters.iter().zip(&self.tests) {
                    let label = LABEL_LETTERS.iter().find(|(_, known)| known == letter);
                    // If trials differ, the label is unknown.
                    if let Some((label, _)) = label.filter(|(label, _)| *label != "differs") {
                        let of = (sizes(file, record), test.clone());
                        self.cells.insert(of, (*label).to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn of(&self, sizes: &str, test: &str) -> Option<String> {
        self.cells
            .get(&(sizes.to_owned(), test.to_owned()))
            .cloned()
    }
}

/// Blocks read so far.
#[derive(Debug, Default)]
struct Blocks {
    test: Option<Test>,
    records: Vec<String>,
    unit: &'static str,
    cells: Vec<IozoneFigure>,
}

impl Blocks {
    fn line(&mut self, line: &NumberedLine<'_>, unit: &'static str) -> Result<(), ImportError> {
        self.unit = unit;
        let text = line.text.trim();
        if let Some(title) = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix(" report\""))
        {
            // CPU utilization is no figure of storage, so its block is skipped.
            self.test = tests().find(|test| test.title() == title.trim());
            self.records.clear();
            return Ok(());
        }
        let Some(test) = self.test else {
            return Ok(());
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let quoted: Option<Vec<String>> = words.iter().map(|word| size(word)).collect();
        match (quoted, words.split_first()) {
            (_, None) => {}
            (Some(records), _) if self.records.is_empty() => self.records = records,
            (_, Some((file, figures))) => match size(file) {
                Some(file) => self.row(test, &file, figures, line.number)?,
                None => self.test = None,
            },
        }
        Ok(())
    }

    fn row(
        &mut self,
        test: Test,
        file: &str,
        figures: &[&str],
        line: usize,
    ) -> Result<(), ImportError> {
        if figures.len() > self.records.len() {
            let problem = format!(
                "{} figures for {} record sizes",
                figures.len(),
                self.records.len()
            );
            return Err(ImportError::at(Some(line), problem));
        }
        for (figure, record) in figures.iter().zip(&self.records) {
            let cell = cell(sizes(file, record), test, figure, self.unit, line)?;
            self.cells.extend(cell);
        }
        Ok(())
    }
}

/// Parses a size such as `"1024"`.
fn size(word: &str) -> Option<String> {
    let inner = word.strip_prefix('"')?.strip_suffix('"')?;
    let is_number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| inner.to_owned())
}

/// Table read so far.
#[derive(Debug, Default)]
struct IozoneTable {
    columns: Vec<Test>,
    /// Columns of text at which the tests' names end.
    ends: Vec<usize>,
    cells: Vec<IozoneFigure>,
}

impl IozoneTable {
    fn line(&mut self, line: &NumberedLine<'_>, heading: &Heading) -> Result<(), ImportError> {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if is_columns(&words) {
            self.columns = columns(&words[2..]);
            self.ends = ends(line.text).skip(2).collect();
            return Ok(());
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        let [file, record, figures @ ..] = &words[..] else {
            return Ok(());
        };
        let is_size = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if !is_size(file) || !is_size(record) || figures.is_empty() {
            return Ok(());
        }
        let tests = self.tests_of(line.text, figures.len(), heading);
        let tests = tests.ok_or_else(|| {
            ImportError::at(
                Some(line.number),
                format!(
                    "{} figures for {} columns, and their columns are unknown: keep the \
                     blanks, or the line 'Command line used'",
                    figures.len(),
                    self.columns.len()
                ),
            )
        })?;
        for (figure, test) in figures.iter().zip(tests) {
            let of = sizes(file, record);
            let cell = cell(of, test, figure, heading.unit(), line.number)?;
            self.cells.extend(cell);
        }
        Ok(())
    }

    /// Returns the tests of a row's figures: all columns, or the requested tests, or
    /// those with a matching position.
    fn tests_of(&self, row: &str, count: usize, heading: &Heading) -> Option<Vec<Test>> {
        if count == self.columns.len() {
            return Some(self.columns.clone());
        }
        if let Some(asked) = heading.tests.as_ref().filter(|tests| !tests.is_empty()) {
            let columns = self.columns.iter().copied();
            let columns: Vec<Test> = columns.filter(|t| asked.contains(&t.number())).collect();
            if count == columns.len() {
                return Some(columns);
            }
        }
        self.by_place(row).filter(|tests| tests.len() == count)
    }

    /// Matches figures to tests by position: in all versions of iozone, a figure ends
    /// near the end of its column's name.
    fn by_place(&self, row: &str) -> Option<Vec<Test>> {
        let mut tests: Vec<Test> = Vec::new();
        let mut next = 0;
        for end in ends(row).skip(2) {
            let distance = |at: &usize| self.ends[*at].abs_diff(end);
            let at = (next..self.ends.len().min(self.columns.len())).min_by_key(distance)?;
            if distance(&at) > NEAR {
                return None;
            }
            tests.push(self.columns[at]);
            next = at + 1;
        }
        Some(tests)
    }
}

/// Largest distance between the ends of a figure and of its column's name, in
/// characters.
const NEAR: usize = 4;

/// Returns positions of the words' last characters.
fn ends(line: &str) -> impl Iterator<Item = usize> {
    let bytes = line.as_bytes();
    let is_end = |at: usize| bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    (0..bytes.len()).filter(move |&at| !bytes[at].is_ascii_whitespace() && is_end(at))
}

/// Returns the columns by the number of names; some names occupy two lines.
fn columns(tests: &[&str]) -> Vec<Test> {
    let mut columns: Vec<Test> = self::tests().collect();
    // With vectors, `-E` may be absent.
    match tests.get(13) {
        Some(&"pwritev") => drop(columns.drain(13..17)),
        _ => columns.truncate(tests.len()),
    }
    columns
}

/// Results read so far.
#[derive(Debug, Default)]
struct Throughput {
    sizes: Option<String>,
    /// Name of the children, for example `2 initial writers`.
    doers: Option<String>,
    unit: &'static str,
    cells: Vec<IozoneFigure>,
}

/// Lines below the total of the children.
const OF_EACH: [(&str, &str); 3] = [
    ("Min throughput per", "min throughput per"),
    ("Max throughput per", "max throughput per"),
    ("Avg throughput per", "avg throughput per"),
];

impl Throughput {
    fn line(&mut self, line: &NumberedLine<'_>, unit: &'static str) -> Result<(), ImportError> {
        self.unit = unit;
        let text = line.text.trim();
        if let Some(found) = sizes_of(text) {
            self.sizes = Some(found);
            return Ok(());
        }
        let Some((left, right)) = text.split_once('=') else {
            return Ok(());
        };
        let left = left.trim();
        let sums = [
            ("Children see throughput for", "throughput"),
            ("Parent sees throughput for", "throughput as parent sees it"),
        ];
        for (start, name) in sums {
            if let Some(doers) = left.strip_prefix(start) {
                let words: Vec<&str> = doers.split_whitespace().collect();
                self.doers = Some(words.join(" "));
                return self.cell(name, right, line.number);
            }
        }
        for (start, name) in OF_EACH {
            if let Some(each) = left.strip_prefix(start) {
                return self.cell(&format!("{name} {}", each.trim()), right, line.number);
            }
        }
        Ok(())
    }

    fn cell(&mut self, test: &str, figure: &str, line: usize) -> Result<(), ImportError> {
        let Some(doers) = &self.doers else {
            return Ok(());
        };
        let (value, _) = leading(figure).ok_or_else(|| {
            let problem = format!("'{}' is not a figure of iozone", figure.trim());
            ImportError::at(Some(line), problem)
        })?;
        let of = match &self.sizes {
            Some(sizes) => format!("{sizes}, {doers}"),
            None => doers.clone(),
        };
        self.cells.push(IozoneFigure {
            of,
            test: test.to_owned(),
            value,
            unit: self.unit,
            line,
        });
        Ok(())
    }
}

/// Parses `Each process writes a 1024 kByte file in 4 kByte records`.
fn sizes_of(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [
        "Each",
        ..,
        "writes",
        "a",
        file,
        unit,
        "file",
        "in",
        record,
        _,
        last,
    ] = &words[..]
    else {
        return None;
    };
    let are_sizes = unit.eq_ignore_ascii_case("kByte") && last.starts_with("record");
    are_sizes.then(|| sizes(file, record))
}
