//! Words and lines of text; foreign text is made safe to display.

pub use assay_lang::enumerate;
use assay_lang::tr;
pub use assay_model::text::clean;
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Columns of a mail: RFC 2822 recommends 78, and quoting needs some of them.
pub(crate) const MAIL_COLUMNS: usize = 72;

/// Name with a value, safe to display.
pub type Fact = (&'static str, String);

/// Returns the number of a trial for readers, from 1; trial 0 is the conditioning trial.
pub fn numbered(trial: u32) -> String {
    match trial {
        0 => tr!("conditioning").to_owned(),
        trial => format!("#{trial}"),
    }
}

/// Names a trial in a sentence: `trial 3`.
pub fn trial_named(trial: u32) -> String {
    match trial {
        0 => tr!("the conditioning trial").to_owned(),
        trial => tr!("trial {trial}", trial),
    }
}

/// Breaks `text` at spaces, and between the characters of a script without spaces, into lines of at
/// most `width` columns. A longer word has a separate line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    let text = with_units(text);
    let lines = textwrap::wrap(&text, options).into_iter();
    lines
        .filter(|line| !line.is_empty())
        .map(|line| line.replace(NO_BREAK, " "))
        .collect()
}

const NO_BREAK: char = '\u{a0}';

/// Units that stay on the line of their number; `k` and `M` precede another unit.
const UNITS: [&str; 31] = [
    "%", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "B/s", "kB/s", "MB/s", "GB/s",
    "KiB/s", "MiB/s", "GiB/s", "ns", "µs", "ms", "s", "min", "h", "k", "M", "IOPS", "TPS", "Hz",
    "kHz", "MHz", "°C",
];

/// Returns the words of a text, joined where no line break is allowed between a number and its
/// unit.
fn with_units(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut before = "";
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', '.', ':', ')', '?']));
        let scaled = matches!(before, "k" | "M");
        match is_unit && (scaled || before.ends_with(|c: char| c.is_ascii_digit())) {
            true => joined.push(NO_BREAK),
            false if before.is_empty() => {}
            false => joined.push(' '),
        }
        joined.push_str(word);
        before = word;
    }
    joined
}

/// Returns the places where UAX 14 lets a line end, limited to spaces and positions beside a wide
/// character: a path is never broken at its slashes.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    // UAX 14 joins some characters with the text before the space.
    if !line.chars().any(is_wide) {
        return WordSeparator::AsciiSpace.find_words(line);
    }
    let mut words = Vec::new();
    let (mut start, mut end) = (0, 0);
    for part in WordSeparator::UnicodeBreakProperties.find_words(line) {
        let (before, after) = line.split_at(end);
        let ends = before
            .chars()
            .next_back()
            .is_some_and(|c| c == ' ' || is_wide(c))
            || after.chars().next().is_some_and(is_wide);
        if ends && end > start {
            words.push(Word::from(&line[start..end]));
            start = end;
        }
        end += part.word.len() + part.whitespace.len();
    }
    words.push(Word::from(&line[start..]));
    Box::new(words.into_iter())
}

fn is_wide(c: char) -> bool {
    display_width(c.encode_utf8(&mut [0; 4])) > 1
}

/// Shortens a text to a number of columns, with an ellipsis in the middle.
pub fn shorten(text: &str, columns: usize) -> String {
    let shortened = (0..=columns).rev();
    let mut shortened = shortened.map(|most| assay_model::text::shorten(text, most));
    shortened
        .find(|text| width(text) <= columns)
        .unwrap_or_default()
}

/// Makes a sentence of a clause.
pub fn sentence(said: &str) -> String {
    tr!("{said}.", said)
}

/// Returns the width of a text on a terminal or in a mail; a Chinese character has two columns.
pub fn width(text: &str) -> usize {
    display_width(text)
}

/// Returns the beginning of a text that fits into a number of columns.
pub fn beginning(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let fits = text.chars().take_while(|c| {
        taken += width(c.encode_utf8(&mut [0; 4]));
        taken <= columns
    });
    fits.collect()
}

/// Fills a text with trailing spaces to a number of columns.
pub fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Fills a text with leading spaces to a number of columns.
pub fn pad_left(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{}{text}", " ".repeat(blanks))
}

/// Breaks long words, so that no line of [`wrap`] exceeds the width.
pub fn break_long(text: &str, width: usize) -> String {
    let mut cut = String::with_capacity(text.len());
    let mut unbroken = 0;
    for c in text.chars() {
        // A line may end at a space and beside a wide character.
        let breaks = c == ' ' || is_wide(c);
        if !breaks && unbroken == width.max(1) {
            cut.push(' ');
            unbroken = 0;
        }
        unbroken = if breaks { 0 } else { unbroken + 1 };
        cut.push(c);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_asked() {
        let lines = wrap("one two three four five", 9);
        assert_eq!(lines, ["one two", "three", "four five"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(break_long("an unbreakable one", 4), "an unbr eaka ble one");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            wrap("read 166 MB/s (5 %)", 9),
            ["read", "166 MB/s", "(5 %)"]
        );
        assert_eq!(wrap("at 15.5 k IOPS", 8), ["at", "15.5 k IOPS"]);
        assert_eq!(wrap("of 12 s trials", 5), ["of", "12 s", "trials"]);
    }

    #[test]
    fn a_script_without_spaces_is_broken_by_its_columns() {
        let lines = wrap("数据仍在设备的易失性缓存中，断电会丢失。", 20);
        assert_eq!(lines, ["数据仍在设备的易失性", "缓存中，断电会丢失。"]);
        assert_eq!(
            wrap("/dev/mapper/a-b 正在使用", 14),
            ["/dev/mapper/a-b", "正在使用"]
        );
    }

    #[test]
    fn what_is_wide_is_padded_by_its_columns() {
        assert_eq!(pad("中位数", 8), "中位数  ");
        assert_eq!(pad_left("p99", 5), "  p99");
        assert_eq!(beginning("中位数", 5), "中位");
        assert_eq!(shorten("中位数中位数", 7), "中位…数");
    }
}
