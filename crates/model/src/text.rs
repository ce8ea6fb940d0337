//! Text from a device, a path or a person, made safe to display; and names and sizes in the format
//! of GNU's tools in the C locale, so that messages can be compared with theirs and names can be
//! pasted into a shell.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Escapes control characters and characters that reorder or hide text (U+202E and the like), so
/// that a device name can neither control a terminal nor disguise itself.
///
/// ```
/// use assay_model::text::clean;
/// assert_eq!(clean("Card\u{1b}[31m"), "Card\\u{1b}[31m");
/// assert_eq!(clean("eMMC 5.1 µ"), "eMMC 5.1 µ");
/// ```
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// `true` for zero-width characters, line separators and bidirectional controls.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}

/// Shortens to at most `width` characters, with an ellipsis in the middle: both ends of a path are
/// more informative than its beginning alone.
pub fn shorten(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width || width < 3 {
        return text.to_owned();
    }
    let tail = (width - 1) / 2;
    let head = width - 1 - tail;
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    format!("{first}…{last}")
}

/// Adds a remedy to the kernel's error that a thread could not be started.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn no_thread(source: io::Error) -> io::Error {
    let words = format!(
        "cannot start a thread: {source}: allow more (ulimit -u, ulimit -v, the pids limit of the cgroup)"
    );
    io::Error::new(source.kind(), words)
}

/// Bytes with a meaning for a shell at any position.
const SPECIAL: &[u8] = b" !\"#$&'()*:;<=>?[\\^`|~";

/// Quotes a name.
///
/// ```
/// use assay_model::text::quoted;
/// assert_eq!(quoted("a b".as_ref()), "'a b'");
/// assert_eq!(quoted("it's".as_ref()), "\"it's\"");
/// assert_eq!(quoted("a\nb".as_ref()), r"'a'$'\n''b'");
/// ```
pub fn quoted(name: &OsStr) -> String {
    let bytes = name.as_bytes();
    let plain = |byte: &u8| matches!(byte, b' '..=b'~');
    let within_double = |byte: &u8| plain(byte) && !b"\"$`\\!".contains(byte);
    if bytes.contains(&b'\'') && bytes.iter().all(within_double) {
        return format!("\"{}\"", String::from_utf8_lossy(bytes));
    }
    let mut text = String::from("'");
    let mut escaped = false;
    for &byte in bytes {
        match byte {
            b'\'' => {
                close_escape(&mut text, &mut escaped);
                text.push_str("'\\''");
            }
            b' '..=b'~' => {
                close_escape(&mut text, &mut escaped);
                text.push(char::from(byte));
            }
            _ => {
                if !escaped {
                    text.push_str("'$'");
                    escaped = true;
                }
                push_escape(&mut text, byte);
            }
        }
    }
    text.push('\'');
    text
}

/// Quotes a name if a shell requires it.
///
/// ```
/// use assay_model::text::quoted_if_needed;
/// assert_eq!(quoted_if_needed("disk.img".as_ref()), "disk.img");
/// assert_eq!(quoted_if_needed("standard input".as_ref()), "'standard input'");
/// ```
pub fn quoted_if_needed(name: &OsStr) -> String {
    let bytes = name.as_bytes();
    let plain = |byte: &u8| matches!(byte, b'!'..=b'~') && !SPECIAL.contains(byte);
    // These two only have a meaning at the beginning.
    let tame = |byte: &u8| plain(byte) || b"#~".contains(byte);
    let begins = bytes.first().is_some_and(plain);
    let brace = matches!(bytes, b"{" | b"}");
    if begins && !brace && bytes.iter().all(tame) {
        String::from_utf8_lossy(bytes).into_owned()
    } else {
        quoted(name)
    }
}

/// Quotes a word that was not understood, with the escapes of C.
///
/// ```
/// use assay_model::text::quoted_c;
/// assert_eq!(quoted_c("it's\n"), r"'it\'s\n'");
/// ```
pub fn quoted_c(word: &str) -> String {
    let mut text = String::from("'");
    for byte in word.bytes() {
        match byte {
            b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b' '..=b'~' => text.push(char::from(byte)),
            _ => push_escape(&mut text, byte),
        }
    }
    text.push('\'');
    text
}

fn close_escape(text: &mut String, escaped: &mut bool) {
    if std::mem::take(escaped) {
        text.push_str("''");
    }
}

fn push_escape(text: &mut String, byte: u8) {
    let letter = match byte {
        7 => 'a',
        8 => 'b',
        9 => 't',
        10 => 'n',
        11 => 'v',
        12 => 'f',
        13 => 'r',
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\{byte:03o}");
            return;
        }
    };
    text.push('\\');
    text.push(letter);
}

/// Base of the powers that a size prefix denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Powers of 1000: `kB`, `MB`.
    Decimal,
    /// Powers of 1024: `KiB`, `MiB`.
    Binary,
}

impl Base {
    const fn factor(self) -> u128 {
        match self {
            Self::Decimal => 1000,
            Self::Binary => 1024,
        }
    }

    const fn units(self) -> [&'static str; 9] {
        match self {
            Self::Decimal => ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"],
            Self::Binary => ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"],
        }
    }
}

/// Formats a number of bytes in the largest unit that fits, rounded to nearest (half to even), with
/// one decimal below 10.
///
/// ```
/// use assay_model::text::{Base, gnu_size};
/// assert_eq!(gnu_size(104_857_600, Base::Decimal), "105 MB");
/// assert_eq!(gnu_size(104_857_600, Base::Binary), "100 MiB");
/// assert_eq!(gnu_size(1000, Base::Binary), "1000 B");
/// assert_eq!(gnu_size(9_960, Base::Decimal), "10 kB");
/// ```
pub fn gnu_size(bytes: u64, base: Base) -> String {
    scaled_quotient(bytes.into(), 1, base, 0, 100)
}

/// Formats bytes per second, in kB or more, with one decimal below 100: GNU's tools use a lower
/// precision for rates than for sizes.
///
/// ```
/// use assay_model::text::gnu_rate;
/// assert_eq!(gnu_rate(104_857_600, 259_118_000), "405 MB/s");
/// assert_eq!(gnu_rate(2000, 87_363), "22.9 MB/s");
/// assert_eq!(gnu_rate(1, 3_000_000_000), "0.0 kB/s");
/// ```
pub fn gnu_rate(bytes: u64, elapsed_ns: u64) -> String {
    if elapsed_ns == 0 {
        return "Infinity B/s".to_owned();
    }
    let bytes = u128::from(bytes) * 1_000_000_000;
    let rate = scaled_quotient(bytes, elapsed_ns.into(), Base::Decimal, 1, 1000);
    format!("{rate}/s")
}

/// Formats a quotient in the largest unit that fits, at least the `least`th (0: bytes), with one
/// decimal below `tenths_below` tenths.
fn scaled_quotient(
    bytes: u128,
    divisor: u128,
    base: Base,
    least: usize,
    tenths_below: u128,
) -> String {
    let units = base.units();
    let mut unit = least;
    let mut whole = divisor.saturating_mul(base.factor().pow(u32::from(least > 0)));
    while unit + 1 < units.len() && bytes >= whole.saturating_mul(base.factor()) {
        whole = whole.saturating_mul(base.factor());
        unit += 1;
    }
    let tenths = divide_to_nearest(bytes.saturating_mul(10), whole);
    if unit > 0 && tenths < tenths_below {
        return format!("{}.{} {}", tenths / 10, tenths % 10, units[unit]);
    }
    match divide_to_nearest(bytes, whole) {
        all if all == base.factor() && unit + 1 < units.len() => {
            format!("1.0 {}", units[unit + 1])
        }
        number => format!("{number} {}", units[unit]),
    }
}

/// Divides and rounds to nearest, half to even.
const fn divide_to_nearest(dividend: u128, divisor: u128) -> u128 {
    let (down, rest) = (dividend / divisor, dividend % divisor);
    let twice = rest.saturating_mul(2);
    if twice > divisor || (twice == divisor && down % 2 == 1) {
        down + 1
    } else {
        down
    }
}

/// Length to which longer words are cut before the comparison.
const LONGEST_WORD: usize = 64;

/// Returns the known word that was probably intended: the one with the fewest typing mistakes, if
/// they are at most one in three letters. Leading dashes are not letters.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(LONGEST_WORD).collect();
    let letters = word.iter().skip_while(|letter| **letter == '-').count();
    known
        .into_iter()
        .map(|known| (mistakes(&word, &known.chars().collect::<Vec<_>>()), known))
        .min()
        .filter(|(mistakes, _)| *mistakes <= (letters / 3).max(1) && *mistakes < letters)
        .map(|(_, known)| known)
}

/// Returns a question with the nearest known word; empty if none is near.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |known| {
        format!(" (did you mean {}?)", clean(known))
    })
}

/// Returns the number of typing mistakes between two words: letters that are missing, added,
/// replaced or swapped with their neighbour.
fn mistakes(a: &[char], b: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_with_few_mistakes_is_offered() {
        let known = ["read_ahead_kb", "scheduler", "size", "--trials"];
        for (word, expected) in [
            ("read_ahaed_kb", Some("read_ahead_kb")),
            ("read_kb", None),
            ("header", None),
            ("s", None),
            ("sice", Some("size")),
            ("side", Some("size")),
            ("time", None),
            ("--trails", Some("--trials")),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("size", []), None);
    }

    #[test]
    fn control_and_reordering_characters_are_spelled_out() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("a\r\nb\tc"), "a\\u{d}\\nb\\tc");
        assert_eq!(clean("gpj.\u{202e}exe"), "gpj.\\u{202e}exe");
        assert_eq!(clean("\u{9b}31m"), "\\u{9b}31m");
    }

    #[test]
    fn both_ends_of_a_path_survive() {
        assert_eq!(shorten("/mnt/very/long/path", 11), "/mnt/…/path");
        assert_eq!(shorten("short", 11), "short");
    }

    #[test]
    fn bytes_that_are_no_letters_are_escaped() {
        assert_eq!(quoted("é".as_ref()), r"''$'\303\251'");
        assert_eq!(quoted("a\x07".as_ref()), r"'a'$'\a'");
        assert_eq!(quoted("".as_ref()), "''");
        assert_eq!(quoted("it's $5".as_ref()), r"'it'\''s $5'");
    }

    #[test]
    fn quotes_come_only_where_a_shell_wants_them() {
        let same = ["a", "/dev/sda1", "a-b_c.d,e@g%h+i]", "a#b", "a~", "a{b"];
        for name in same {
            assert_eq!(quoted_if_needed(name.as_ref()), name);
        }
        for name in ["", "~a", "#a", "a b", "a*", "a=b", "a:b", "{", "a\n"] {
            assert_eq!(quoted_if_needed(name.as_ref()), quoted(name.as_ref()));
        }
    }

    #[test]
    fn rounding_may_lead_to_the_next_unit() {
        let decimal = |bytes| gnu_size(bytes, Base::Decimal);
        assert_eq!(decimal(999), "999 B");
        assert_eq!(decimal(9_949), "9.9 kB");
        assert_eq!(decimal(9_950), "10 kB");
        assert_eq!(decimal(999_499), "999 kB");
        assert_eq!(decimal(999_500), "1.0 MB");
        assert_eq!(decimal(1_250), "1.2 kB");
        assert_eq!(decimal(1_350), "1.4 kB");
        assert_eq!(gnu_size(1 << 40, Base::Binary), "1.0 TiB");
        assert_eq!(gnu_size(1_048_575, Base::Binary), "1.0 MiB");
    }

    #[test]
    fn a_rate_has_three_digits_at_most() {
        assert_eq!(gnu_rate(100, 159_507), "627 kB/s");
        assert_eq!(gnu_rate(3000, 3_000_000_000), "1.0 kB/s");
        assert_eq!(gnu_rate(99_949, 1_000_000_000), "99.9 kB/s");
        assert_eq!(gnu_rate(99_960, 1_000_000_000), "100 kB/s");
        assert_eq!(gnu_rate(1, 0), "Infinity B/s");
    }
}
