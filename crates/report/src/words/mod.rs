//! Numbers, names and registers as text, and the style of terminal output. Colour only repeats what
//! the words express.
//!
//! All numbers for readers use the `Display` of `assay_model::units`, so that all outputs show the
//! same digits.

pub mod labels;
pub mod registers;

pub use assay_lang::enumerate;
pub use assay_model::text::clean;

use assay_lang::tr;
use assay_model::figures::Unit;
use assay_model::units::{Bytes, BytesPerSec, Iops, Nanos, as_u64, three_digits};
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Columns of a mail: RFC 2822 recommends 78, and quoting needs some of them.
pub(crate) const MAIL_COLUMNS: usize = 72;

/// Name with a value, safe to display.
pub type NameValue = (&'static str, String);

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

/// Splits a line into pieces that must not be broken: at spaces, and beside wide characters where
/// UAX 14 permits a break. A path is never broken at its slashes.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    // Without wide characters split at spaces only: UAX 14 would forbid a break after some spaces.
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

/// Appends the full stop of the language.
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

/// Appearance of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// True if escape sequences for colour may be used.
    pub color: bool,
    /// Width in columns; at least 40 are used.
    pub width: usize,
    /// True if curves are drawn with ASCII only.
    pub ascii: bool,
}

/// Meaning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Heading.
    Strong,
    /// Minor detail.
    Soft,
    /// Good result.
    Good,
    /// Result with reservations.
    Care,
    /// Misleading or bad result.
    Bad,
}

impl Tone {
    /// Returns the tone of a label.
    pub(crate) fn of_label(label: Option<&str>) -> Self {
        match label {
            Some("device" | "memory") => Self::Good,
            Some("page-cache" | "simulated") => Self::Bad,
            _ => Self::Care,
        }
    }

    /// Returns the SGR parameters (ECMA-48): the 16 colours that the terminal's user can configure.
    const fn sgr(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Soft => "2",
            Self::Good => "32",
            Self::Care => "33",
            Self::Bad => "31",
        }
    }
}

impl Style {
    /// Returns the text in a tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.sgr())
        } else {
            text.to_owned()
        }
    }

    /// Returns the text as a heading.
    pub(crate) fn strong(self, text: &str) -> String {
        self.paint(Tone::Strong, text)
    }

    /// Paints text of lesser importance.
    pub(crate) fn soft(self, text: &str) -> String {
        self.paint(Tone::Soft, text)
    }

    /// Returns the number of columns to use.
    pub(crate) fn columns(self) -> usize {
        self.width.max(40)
    }
}

/// Formats a value with its unit: `88.2 MB/s`, `2430 IOPS`, `1.20 ms`, `42.0 %`.
pub fn quantity(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSec => BytesPerSec(value).to_string(),
        Unit::Iops => Iops(value).to_string(),
        // Loads from a processor cache take a few nanoseconds: keep the fraction.
        Unit::Nanos if value > 0.0 && value < 100.0 && value.fract() != 0.0 => {
            format!("{} ns", three_digits(value))
        }
        Unit::Nanos => nanos(value).to_string(),
        Unit::Tps => tps(value),
        Unit::Bytes => bytes(value).to_string(),
        Unit::Ratio => percent(value),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => three_digits(value),
    }
}

/// Returns the lowest and the highest value; `None` without any.
pub fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Formats a value with the unit of its source; assay's own units are formatted for readers.
pub fn value(unit: &str, value: f64) -> String {
    let mut own = Unit::ALL.into_iter();
    // Counts of other programs are shown with their unit.
    match own.find(|own| own.name() == unit && *own != Unit::Count) {
        Some(own) => quantity(own, value),
        None => format!("{} {unit}", three_digits(value))
            .trim_end()
            .to_owned(),
    }
}

/// Formats a change: `-3.9 %`.
pub fn change(percent: f64) -> String {
    // The sum converts -0.0 to +0.0.
    format!("{:+.1} %", (10.0 * percent).round() / 10.0 + 0.0)
}

/// Formats two values with a common unit: `87.9 .. 88.4 MB/s`, `550 .. 6230 MB/s`. Both units are
/// shown if one would need too many digits, and a single value if both look the same.
pub fn range(unit: Unit, low: f64, high: f64) -> String {
    let (first, last) = (quantity(unit, low), quantity(unit, high));
    if first == last {
        return last;
    }
    match (first.split_once(' '), last.split_once(' ')) {
        (Some((number, low_unit)), Some((_, high_unit))) if low_unit == high_unit => {
            format!("{number} .. {last}")
        }
        (Some((number, prefixed)), _) => match number_as(unit, high, prefixed) {
            Some(high) => format!("{number} .. {high} {prefixed}"),
            None => format!("{first} .. {last}"),
        },
        _ => format!("{first} .. {last}"),
    }
}

/// Formats the lowest and the highest value without a unit, in the unit of their median: `817 ..
/// 3280` for 981 MB/s, `4.17 .. 44.8` for 15.5 k IOPS.
pub fn spread(unit: Unit, median: f64, low: f64, high: f64) -> String {
    let shown = quantity(unit, median);
    let number = |value| number_as(unit, value, shown.split_once(' ')?.1);
    match (number(low), number(high)) {
        (Some(low), Some(high)) if low == high => low,
        (Some(low), Some(high)) => format!("{low} .. {high}"),
        _ => range(unit, low, high),
    }
}

/// Formats values without their unit and returns the unit, in the prefix of the largest one. If they
/// have no common prefix, each keeps its unit, and the returned one is empty. Unknown values are `-`.
pub fn numbers(unit: &str, values: &[Option<f64>]) -> (Vec<String>, String) {
    let own = Unit::ALL.into_iter().find(|own| own.name() == unit);
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    let shown = value(unit, largest);
    let prefixed = shown.split_once(' ').map_or("", |(_, prefixed)| prefixed);
    let numbers = values.iter().map(|value| match (value, own) {
        (None, _) => Some("-".to_owned()),
        (Some(value), Some(own)) if own != Unit::Count => number_as(own, *value, prefixed),
        (Some(value), _) => Some(three_digits(*value)),
    });
    match numbers.collect::<Option<Vec<String>>>() {
        Some(numbers) => (numbers, prefixed.to_owned()),
        None => {
            let own = values.iter();
            let own = own.map(|known| known.map_or_else(|| "-".to_owned(), |one| value(unit, one)));
            (own.collect(), String::new())
        }
    }
}

/// Formats the number of a value in a unit with that prefix, like `Display` of
/// `assay_model::units`. Returns `None` if it would lose digits or need too many, or if the unit
/// has no prefixes.
fn number_as(unit: Unit, value: f64, prefixed: &str) -> Option<String> {
    let scale = match (unit, prefixed) {
        (Unit::BytesPerSec, "B/s")
        | (Unit::Iops, "IOPS")
        | (Unit::Tps, "TPS")
        | (Unit::Nanos, "ns") => 1.0,
        (Unit::BytesPerSec, "kB/s") | (Unit::Iops, "k IOPS") | (Unit::Nanos, "µs") => 1e3,
        (Unit::BytesPerSec, "MB/s") | (Unit::Iops, "M IOPS") | (Unit::Nanos, "ms") => 1e6,
        (Unit::BytesPerSec, "GB/s") | (Unit::Nanos, "s") => 1e9,
        _ => return None,
    };
    let number = value / scale;
    let range = 0.095..99_999.5;
    range.contains(&number).then(|| three_digits(number))
}

/// Formats a share as a percentage with as few digits as are exact: `97 %`, `0.4 %`. Only 1 gives
/// `100 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if v > 99.0 && v < 99.95 => format!("{v:.1} %"),
        v if (99.95..100.0).contains(&v) => ">99.9 %".to_owned(),
        v if v > 0.0 && v < 0.05 => "<0.1 %".to_owned(),
        v if v > 0.0 && v < 9.95 => format!("{v:.1} %"),
        v => format!("{v:.0} %"),
    }
}

/// Formats transactions per second, with three digits for small numbers: `86.4 TPS`.
fn tps(value: f64) -> String {
    format!("{} TPS", three_digits(value))
}

/// Converts a computed number of bytes.
pub(crate) fn bytes(value: f64) -> Bytes {
    Bytes(as_u64(value.round()))
}

/// Converts a computed duration.
pub fn nanos(value_ns: f64) -> Nanos {
    Nanos(as_u64(value_ns.round()))
}

/// Formats a share in percent without the sign and without trailing zeros: `5`, `2.5`.
pub fn percent_points(share: f64) -> String {
    format!("{:.1}", share * 100.0)
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// Formats a temperature in thousandths of a degree: `51.2 °C`.
pub fn celsius(millicelsius: i64) -> String {
    let degrees = millicelsius as f64 / 1e3;
    format!("{degrees:.1} °C")
}

/// Formats a time: `2026-11-03 14:05 UTC`.
pub fn utc(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    let (year, month, day) = civil_from_days(minutes / (24 * 60));
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Returns year, month and day of a day counted from 1970-01-01 (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`), for days from 1970 on.
pub(crate) fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
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

    #[test]
    fn a_range_names_a_common_unit_once() {
        assert_eq!(
            range(Unit::BytesPerSec, 87.9e6, 88.4e6),
            "87.9 .. 88.4 MB/s"
        );
        assert_eq!(range(Unit::Iops, 9_000.0, 23_400.0), "9000 .. 23400 IOPS");
        assert_eq!(range(Unit::BytesPerSec, 550e6, 6.23e9), "550 .. 6230 MB/s");
        assert_eq!(range(Unit::Nanos, 870.0, 12_300.0), "870 .. 12300 ns");
        assert_eq!(range(Unit::Nanos, 1.2e6, 1.2e6), "1.20 ms");
    }

    #[test]
    fn a_range_that_no_single_unit_can_tell_names_both() {
        assert_eq!(
            range(Unit::BytesPerSec, 2e3, 1.1e9),
            "2.00 kB/s .. 1.10 GB/s"
        );
        assert_eq!(range(Unit::Nanos, 870.0, 200e9), "870 ns .. 3 min 20 s");
        assert_eq!(range(Unit::Ratio, 0.4, 0.6), "40 .. 60 %");
    }

    #[test]
    fn a_spread_is_in_the_unit_of_its_median() {
        let rates = |median, low, high| spread(Unit::BytesPerSec, median, low, high);
        assert_eq!(rates(1.03e9, 406e6, 1.22e9), "0.41 .. 1.22");
        assert_eq!(rates(981e6, 550e6, 6.23e9), "550 .. 6230");
        assert_eq!(rates(1.03e9, 2e6, 1.22e9), "2.00 .. 1220 MB/s");
        assert_eq!(rates(88.2e6, 88.2e6, 88.2e6), "88.2");
        assert_eq!(spread(Unit::Iops, 3941.0, 525.0, 33.3e3), "525 .. 33300");
        assert_eq!(spread(Unit::Ratio, 0.5, 0.4, 0.6), "40 .. 60 %");
    }

    #[test]
    fn a_ratio_is_a_percentage_by_its_unit_and_by_its_name() {
        assert_eq!(quantity(Unit::Ratio, 2.3), "230 %");
        assert_eq!(value("ratio", 2.3), "230 %");
        assert_eq!(value("count", 3.0), "3.00 count");
    }

    #[test]
    fn a_percentage_never_rounds_up_to_all_or_down_to_nothing() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.9999), ">99.9 %");
        assert_eq!(percent(0.994), "99.4 %");
        assert_eq!(percent(0.42), "42 %");
        assert_eq!(percent(0.0001), "<0.1 %");
        assert_eq!(percent(0.0), "0 %");
    }

    #[test]
    fn moments_are_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_827_696_000), "2000-02-29 12:34 UTC");
        assert_eq!(utc(1_795_000_000_000), "2026-11-18 11:06 UTC");
    }
}
