//! Imports results of other programs as comparable figures.
//!
//! Missing information stays unknown; units and digits are kept. Each file is a
//! trial of its figures. In a table, in dd's lines, and in texts with several
//! outputs of iozone or of fio's JSON, a repeated figure is another trial.
//!
//! To add a format: add a variant of `Format`, a module that passes its figures to a `Collector`,
//! text in `detect` that only that program writes, an example in the fuzz test
//! (`ASSAY_FUZZ_SECONDS=600` runs it longer), and a part of `docs/import.md`. Missing information
//! becomes a note.

mod collect;
mod fio_json;
mod fio_text;
mod iozone;
mod lines;
mod table;

pub use collect::together;

use assay_model::figures::{Better, Results};
use assay_model::storage::folder_of;
use assay_model::text::{clean, shorten};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::path::Path;
use thiserror::Error;

assay_model::named! {
    /// Program that wrote a text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Format {
        /// fio's JSON, with or without its bins.
        FioJson = "fio-json",
        /// fio's normal output, also quoted in an e-mail.
        FioText = "fio-text",
        /// iozone's text: tables, blocks of `-R`, throughput.
        Iozone = "iozone",
        /// Final lines of dd.
        Dd = "dd",
        /// A table with separators.
        Table = "table",
        /// `vmstat` with an interval.
        Vmstat = "vmstat",
    }
}

impl Format {
    /// Returns the name of the format, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::FioJson => "fio's JSON",
            Self::FioText => "fio's normal output",
            Self::Iozone => "iozone's text",
            Self::Dd => "dd's lines",
            Self::Table => "a table with separators (CSV)",
            Self::Vmstat => "vmstat's lines",
        }
    }
}

/// Results of a text and its format.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Program that wrote the text.
    pub format: Format,
    /// Results of the text.
    pub results: Results,
}

/// Reads a text. `format`: `None` detects the format.
///
/// # Errors
/// When the text is empty, has an unknown format, is incomplete, or has an
/// impossible figure. The error gives the figure and its line.
pub fn read(text: &str, format: Option<Format>) -> Result<Taken, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let plain = without_prefixes(text);
    let had_prefixes = plain != text;
    let text = plain.as_ref();
    let format = match format {
        Some(format) => format,
        None => detect(text).ok_or_else(|| match of(text) {
            Some(problem) => ImportError::at(None, problem),
            None if table::is_separated(text) => ImportError::at(None, COLUMNS),
            None => ImportError::Unknown,
        })?,
    };
    let mut results = match format {
        Format::FioJson => fio_json::read(text),
        Format::FioText => fio_text::read(text),
        Format::Iozone => iozone::read(text),
        Format::Dd => lines::read_dd(text),
        Format::Table => table::read(text),
        Format::Vmstat => lines::read_vmstat(text),
    }?;
    if results.figures.is_empty() {
        return Err(ImportError::Nothing { format });
    }
    if had_prefixes {
        let note = "Prefixes of a log (time stamps, levels, colours) were left out.";
        results.notes.push(note.to_owned());
    }
    Ok(Taken { format, results })
}

/// Detects the format of a text; `None` if it is unknown.
pub fn detect(text: &str) -> Option<Format> {
    if text.contains('\0') {
        return None;
    }
    if text.contains("\"fio version\"") {
        return Some(Format::FioJson);
    }
    let mut seen = None;
    for line in unquoted(text) {
        let line = line.text;
        if fio_text::is_job(line) {
            return Some(Format::FioText);
        }
        if is_iozone(line) {
            return Some(Format::Iozone);
        }
        // Such lines may also occur within outputs of the other programs.
        if seen.is_none() {
            seen = weak(line);
        }
    }
    if seen.is_some() {
        return seen;
    }
    table::has_columns(text).then_some(Format::Table)
}

fn weak(line: &str) -> Option<Format> {
    if line.split('\r').any(lines::is_copied) {
        return Some(Format::Dd);
    }
    lines::is_vmstat_head(line).then_some(Format::Vmstat)
}

fn is_iozone(line: &str) -> bool {
    let start = line.trim_start();
    start.starts_with("Iozone: Performance Test")
        || start.starts_with("Children see throughput for")
        || start.starts_with("\"Writer report\"")
        || start.starts_with("\"Reader report\"")
        || iozone::is_columns(&line.split_whitespace().take(2).collect::<Vec<_>>())
}

/// Longest problem, in characters: a quoted cell may be as long as a file.
const LONGEST: usize = 400;

/// Message for a table with unknown columns, with an example line of each kind.
const COLUMNS: &str = "these columns are not known: a table has the columns metric and \
     value, as in 'condition,metric,unit,value' with 'bfq,seq_read,MB/s,166'; or metric and mean; or \
     unit and a column for each condition; or a column for each metric, as in 'condition,read (MB/s)'";

/// Reason for which a text cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is empty.
    #[error("it is empty: the program may have written to another file, or have failed")]
    Empty,
    /// No importer knows the format.
    #[error(
        "not known what wrote this; understood are {}: --format {} says which it is",
        known(Format::words),
        known(Format::name)
    )]
    Unknown,
    /// The text contains no figures.
    #[error("no figures found, read as {}: is it the whole output? --format names another of {}", .format.words(), known(Format::name))]
    Nothing {
        /// Format in which it was read.
        format: Format,
    },
    /// A line has an error.
    #[error("line {line}: {problem}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description of the error, and the remedy.
        problem: String,
    },
    /// The error belongs to no single line.
    #[error("{problem}")]
    Text {
        /// Description of the error, and the remedy.
        problem: String,
    },
}

impl ImportError {
    /// Makes an error with its line, if known.
    fn at(line: Option<usize>, problem: impl Into<String>) -> Self {
        // The problem quotes the text, which may contain any character.
        let problem = shorten(&clean(&problem.into()), LONGEST);
        match line {
            Some(line) => Self::Line { line, problem },
            None => Self::Text { problem },
        }
    }
}

fn known(word: fn(Format) -> &'static str) -> String {
    let words = Format::ALL.map(word);
    match words.split_last() {
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => String::new(),
    }
}

/// Test for a kind of incomplete text, with the message for the user.
type Fragment = (fn(&str) -> bool, &'static str);

const FRAGMENTS: [Fragment; 5] = [
    (
        is_log,
        "these seem to be rows of a log of fio (write_bw_log, write_lat_log ...): they are samples \
         of one run, not results of several; take fio's output (--output-format=json)",
    ),
    (
        |text| text.get(1..).is_some_and(|text| text.starts_with(";fio-")),
        "this seems to be fio's terse output, which is not understood: use --output-format=json",
    ),
    (
        is_json,
        "this seems to be a part of a JSON document: take all of the file, which begins with a \
         brace (fio: --output=FILE)",
    ),
    (
        |text| text.lines().any(lines::is_count),
        "this seems to be dd's output without its last line, which has bytes and seconds: \
         status=noxfer leaves it out, and some builds of busybox lack it",
    ),
    (
        |text| {
            text.lines()
                .any(|line| fio_text::direction(line.trim().to_lowercase().as_str()).is_some())
        },
        "this seems to be a part of fio's normal output: take all of it, above all the line \
         'NAME: (groupid=' of each job",
    ),
];

/// Returns the message for a text that is not a complete output.
fn of(text: &str) -> Option<&'static str> {
    let mut fragments = FRAGMENTS.iter().filter(|_| !text.contains('\0'));
    let found = fragments.find(|(is_it, _)| is_it(text));
    found.map(|(_, problem)| *problem)
}

/// Returns true for rows of `msec, value, direction, bytes, ...`, or of a
/// histogram log.
fn is_log(text: &str) -> bool {
    let number = |cell: &str| cell.trim().trim_start_matches("0x").parse::<u64>().ok();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.all(|line| {
        let cells: Option<Vec<u64>> = line.split(',').map(number).collect();
        cells.is_some_and(|cells| cells.len() >= 4 && (cells[1] <= 2 || cells[2] <= 2))
    })
}

fn is_json(text: &str) -> bool {
    let is_member = |line: &str| {
        let member = line.trim_start().strip_prefix('"');
        let value = member.and_then(|member| member.split_once('"'));
        value.is_some_and(|(_, value)| value.trim_start().starts_with(':'))
    };
    text.lines().any(is_member) && serde_json::from_str::<IgnoredAny>(text).is_err()
}

/// Line with its number, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NumberedLine<'a> {
    number: usize,
    text: &'a str,
}

/// Returns the lines of a text without an e-mail's quote marks.
fn unquoted(text: &str) -> impl Iterator<Item = NumberedLine<'_>> {
    text.lines().enumerate().map(|(at, line)| NumberedLine {
        number: at + 1,
        text: unquote(line),
    })
}

/// Removes quote marks: `> > text` is `text`, with its leading blanks.
fn unquote(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.trim_start().strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest.trim_end()
}

/// Returns true if `word` is in a list separated by blanks.
fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Returns true if a line starts with an entry of a list separated by commas.
fn starts_with_one(line: &str, starts: &str) -> bool {
    starts.split(',').any(|start| line.starts_with(start))
}

/// Returns the text without colours, and without log prefixes (time stamp, level, program) if each
/// line has them.
fn without_prefixes(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if text.contains('\u{1b}') {
        let mut parts = text.split("\u{1b}[");
        let first = parts.next().unwrap_or_default().to_owned();
        let plain = parts.fold(first, |plain, part| {
            let is_parameter = |c: char| c.is_ascii_digit() || ";?".contains(c);
            let rest = part.trim_start_matches(is_parameter);
            plain + rest.get(1..).unwrap_or_default()
        });
        text = Cow::Owned(plain);
    }
    let mut whole = text.lines().map(unquote).filter(|line| !line.is_empty());
    if !whole.all(|line| without_prefix(line).is_some()) {
        return text;
    }
    let bare = |line| without_prefix(unquote(line)).map_or("", without_labels);
    let lines: Vec<&str> = text.lines().map(bare).collect();
    Cow::Owned(lines.join("\n"))
}

fn without_prefix(line: &str) -> Option<&str> {
    time_stamp(line).or_else(|| container(line))
}

const MONTHS: &str = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
const LEVELS: &str = "TRACE DEBUG INFO NOTICE WARN WARNING ERROR FATAL trace debug info notice warn \
     warning error stdout stderr F";

/// Returns the rest of a line after its time stamp, such as `12:09:00`, `2026-11-27T16:34:41.1Z`,
/// `Nov 27 16:34:41`, `[   12.345678]`.
fn time_stamp(line: &str) -> Option<&str> {
    let is_of = |text: &str, marks: &str| {
        let rest = text.replace(|c: char| c.is_ascii_digit(), "");
        rest.len() < text.len() && rest.chars().all(|c| marks.contains(c))
    };
    let mut rest = line.trim_start();
    if let Some((inside, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_time = is_of(inside, " :-./,TZ+") && inside.contains([':', '.']);
        return is_time.then_some(behind);
    }
    // A date is one word, or a month and a day, followed by a time.
    for _ in 0..3 {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        if is_of(word, ":-./,TZ+") && word.matches(':').count() >= 2 {
            return Some(behind);
        }
        if !is_among(MONTHS, word) && !is_of(word, "-/") {
            return None;
        }
        rest = behind.trim_start();
    }
    None
}

/// Returns the rest of a line after the name of a container: `web-1  | text`.
fn container(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once('|')?;
    let is_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let name = name.trim();
    (!name.is_empty() && name.chars().all(is_name)).then_some(rest)
}

/// Returns the rest of a line after levels, tags and programs, such as `DEBUG| [stdout]`, `host
/// fio[7]:`.
fn without_labels(line: &str) -> &str {
    let mut rest = line;
    loop {
        rest = rest.strip_prefix(' ').unwrap_or(rest);
        let (word, behind) = rest.split_at(rest.trim_end().find(' ').unwrap_or(rest.len()));
        let next = behind.trim_start();
        let next = next.split_at(next.find(' ').unwrap_or(next.len()));
        let is_program = |word: &str| word.ends_with("]:") && word.contains('[');
        let label = word.trim_matches(|c| "[]|:".contains(c));
        let is_tag = word.starts_with('[') && word.ends_with(']') && !label.is_empty();
        rest = match () {
            () if is_program(word) || is_among(LEVELS, label) || is_tag || word == "|" => behind,
            () if is_program(next.0) || next.0 == "kernel:" => next.1,
            () => return rest,
        };
    }
}

/// Headings of results: single lines before them.
#[derive(Debug, Default)]
struct Headings {
    found: Vec<(usize, String)>,
    /// Devices and folders in commands.
    places: Vec<(usize, String)>,
}

/// Line with its origin: `None` for other text, otherwise the file that the program's or shell's
/// line names, or an empty text.
type MarkedLine<'a> = (NumberedLine<'a>, Option<&'a str>);

/// Words of a heading that only numbers the trials.
const COUNTING: &str = "run trial test pass round iteration loop try attempt repeat no";

impl Headings {
    fn find<'a>(lines: impl IntoIterator<Item = MarkedLine<'a>>) -> Self {
        let mut all = Self::default();
        let mut candidate = None;
        let mut begins = true;
        for (line, own) in lines {
            if line.text.trim().is_empty() {
                begins = true;
            } else if own.is_some() || is_shell(line.text) {
                let file = own.filter(|file| !file.is_empty());
                all.places
                    .extend(file.map(|file| (line.number, place(file))));
                all.found.extend(candidate.take());
                begins = true;
            } else {
                let title = title(line.text).filter(|_| begins);
                candidate = title.map(|title| (line.number, title));
                begins = false;
            }
        }
        all
    }

    /// Keeps the headings if they distinguish the results on these lines, or else the places: each
    /// result must have one, not all the same, and they must not only number trials.
    fn of_results(mut self, lines: impl Iterator<Item = usize>) -> Self {
        let lines: Vec<usize> = lines.collect();
        // Compares headings of trials without their numbers.
        let without_digits = |heading: &str| heading.replace(|c: char| c.is_ascii_digit(), "");
        let is_of_trial = |heading: &&str| {
            let heading = heading.to_lowercase();
            let mut words = heading.split(|c: char| !c.is_alphabetic());
            words.any(|word| is_among(COUNTING, word))
        };
        for _ in 0..2 {
            let used: Vec<&str> = lines.iter().map(|line| self.above(*line)).collect();
            let differ = |two: &[&str]| without_digits(two[0]) != without_digits(two[1]);
            let tell = match used.first().is_some_and(is_of_trial) {
                true => used.windows(2).any(differ),
                false => used.windows(2).any(|two| two[0] != two[1]),
            };
            if tell && !used.contains(&"") {
                break;
            }
            self.found = std::mem::take(&mut self.places);
        }
        self
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the heading above a line.
    fn above(&self, line: usize) -> &str {
        let above = self.found.partition_point(|(heading, _)| *heading <= line);
        let heading = above.checked_sub(1).and_then(|at| self.found.get(at));
        heading.map_or("", |(_, heading)| heading)
    }
}

/// Returns true for a line with a shell's prompt.
fn is_shell(line: &str) -> bool {
    let line = line.trim_start();
    let first = line.split(' ').next().unwrap_or_default();
    let root = line.strip_prefix("# ");
    is_among("$ % +", first)
        || first.contains('@') && first.ends_with(['$', '#'])
        || root.is_some_and(|command| command.starts_with(|c: char| !c.is_uppercase()))
}

/// Returns a heading without its decoration; `None` for a sentence, a message or a setting.
fn title(line: &str) -> Option<String> {
    let program = line
        .trim_start()
        .split_once(": ")
        .map_or("", |(start, _)| start);
    let title = line.trim_matches(|c: char| " \t#*=-_~:[]".contains(c));
    let is_title = !is_among("dd fio iozone sh bash", program)
        && !title.ends_with(['.', ',', ';'])
        && !title.contains('=')
        && title.contains(char::is_alphabetic)
        && title.chars().count() <= 60;
    is_title.then(|| title.to_owned())
}

/// Returns the folder of a file, or the path of a device.
fn place(file: &str) -> String {
    let file = Path::new(file);
    let place = match folder_of(file) {
        folder if folder == Path::new("/dev") => file,
        folder => folder,
    };
    place.display().to_string()
}

/// Parses a number at the beginning of a text, after blanks, and returns the
/// rest. Accepts NaN and infinities, so that the caller can refuse them with a
/// message.
fn leading(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let length = if let Some(word) = odd(unsigned) {
        word
    } else {
        let digits = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.');
        let digits = digits.unwrap_or(unsigned.len());
        digits + exponent(&unsigned[digits..])
    };
    let (number, rest) = text.split_at(sign + length);
    Some((number.parse().ok()?, rest))
}

/// Length of a leading `nan` or `inf`.
fn odd(text: &str) -> Option<usize> {
    let word = text.get(..3)?;
    ["nan", "inf"]
        .iter()
        .any(|odd| word.eq_ignore_ascii_case(odd))
        .then_some(3)
}

/// Length of a leading exponent such as `e-05`.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let digits = unsigned.len()
        - unsigned
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    match digits {
        0 => 0,
        _ => 1 + rest.len() - unsigned.len() + digits,
    }
}

/// Parses a number with fio's suffix for thousands, such as `19.1k`.
fn with_suffix(text: &str) -> Option<(f64, &str)> {
    let (value, rest) = leading(text)?;
    let power = match rest.chars().next() {
        Some('k') => "e3",
        Some('M') => "e6",
        Some('G') => "e9",
        _ => return Some((value, rest)),
    };
    let digits = &text[..text.len() - rest.len()];
    // Parse again with the exponent: a multiplication would round.
    let value = format!("{}{power}", digits.trim()).parse().ok()?;
    Some((value, &rest[1..]))
}

/// Returns the value after `key=` in a line of `key=value` pairs, and the rest.
fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(found) = line.get(from..)?.find(key) {
        let start = from + found;
        let end = start + key.len();
        let whole = line[..start]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && before != '_');
        if whole && let Some(value) = line[end..].trim_start().strip_prefix('=') {
            return Some(value);
        }
        from = end;
    }
    None
}

/// Amounts for which more per second is better.
const AMOUNTS: &str = "b kb mb gb tb kib mib gib tib k m g byte bytes kbyte kbytes mbyte mbytes gbyte gbytes \
     bit mbit gbit io ios op ops block blocks transactions sectors";
/// Rates without a slash.
const RATES: &str = "iops kiops tps kbps mbps gbps qps ops bps";
const TIMES: &str = "s ms us µs μs ns sec secs msec usec nsec second seconds millisecond milliseconds \
     microsecond microseconds nanosecond nanoseconds min minutes";

/// Returns the direction in which a figure of this unit improves; `None` if the
/// unit does not determine it.
fn better(unit: &str) -> Option<Better> {
    let unit = unit.trim().to_lowercase();
    if is_among(RATES, &unit) {
        return Some(Better::Higher);
    }
    match unit.split_once('/') {
        None => is_among(TIMES, &unit).then_some(Better::Lower),
        Some((amount, "s" | "sec" | "second")) => {
            is_among(AMOUNTS, amount.trim()).then_some(Better::Higher)
        }
        Some((time, "op" | "io" | "ops")) => is_among(TIMES, time.trim()).then_some(Better::Lower),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
