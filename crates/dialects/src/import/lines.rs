//! Lines of texts that were quoted by people or written to logs by programs.

use assay_model::storage::folder_of;
use std::borrow::Cow;
use std::path::Path;

/// Line with its number, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberedLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// Returns the lines of a text without an e-mail's quote marks.
pub(super) fn unquoted(text: &str) -> impl Iterator<Item = NumberedLine<'_>> {
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
pub(super) fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Returns true if a line starts with an entry of a list separated by commas.
pub(super) fn starts_with_one(line: &str, starts: &str) -> bool {
    starts.split(',').any(|start| line.starts_with(start))
}

/// Returns the text without colours, and without log prefixes (time stamp, level, program) if each
/// line has them.
pub(super) fn without_prefixes(text: &str) -> Cow<'_, str> {
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
pub(super) struct Headings {
    found: Vec<(usize, String)>,
    /// Devices and folders in commands.
    places: Vec<(usize, String)>,
}

/// Line with its origin: `None` for other text, otherwise the file that the program's or shell's
/// line names, or an empty text.
pub(super) type MarkedLine<'a> = (NumberedLine<'a>, Option<&'a str>);

/// Words of a heading that only numbers the trials.
const COUNTING: &str = "run trial test pass round iteration loop try attempt repeat no";

impl Headings {
    pub(super) fn find<'a>(lines: impl IntoIterator<Item = MarkedLine<'a>>) -> Self {
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
    pub(super) fn of_results(mut self, lines: impl Iterator<Item = usize>) -> Self {
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

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the heading above a line.
    pub(super) fn above(&self, line: usize) -> &str {
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
