//! Names and sizes in the format of GNU's tools in the C locale, so that messages can be compared
//! with theirs and names can be pasted into a shell.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Bytes with a meaning for a shell at any position.
const SPECIAL: &[u8] = b" !\"#$&'()*:;<=>?[\\^`|~";

/// Quotes a name.
///
/// ```
/// use assay_model::gnu::quoted;
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
/// use assay_model::gnu::quoted_if_needed;
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
/// use assay_model::gnu::quoted_c;
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
/// use assay_model::gnu::{Base, size};
/// assert_eq!(size(104_857_600, Base::Decimal), "105 MB");
/// assert_eq!(size(104_857_600, Base::Binary), "100 MiB");
/// assert_eq!(size(1000, Base::Binary), "1000 B");
/// assert_eq!(size(9_960, Base::Decimal), "10 kB");
/// ```
pub fn size(bytes: u64, base: Base) -> String {
    scaled(bytes.into(), 1, base, 0, 100)
}

/// Formats bytes per second, in kB or more, with one decimal below 100: GNU's tools use a lower
/// precision for rates than for sizes.
///
/// ```
/// use assay_model::gnu::rate;
/// assert_eq!(rate(104_857_600, 259_118_000), "405 MB/s");
/// assert_eq!(rate(2000, 87_363), "22.9 MB/s");
/// assert_eq!(rate(1, 3_000_000_000), "0.0 kB/s");
/// ```
pub fn rate(bytes: u64, elapsed_ns: u64) -> String {
    if elapsed_ns == 0 {
        return "Infinity B/s".to_owned();
    }
    let bytes = u128::from(bytes) * 1_000_000_000;
    let rate = scaled(bytes, elapsed_ns.into(), Base::Decimal, 1, 1000);
    format!("{rate}/s")
}

/// Formats a quotient in the largest unit that fits, at least the `least`th (0: bytes), with one
/// decimal below `tenths_below` tenths.
fn scaled(bytes: u128, divisor: u128, base: Base, least: usize, tenths_below: u128) -> String {
    let units = base.units();
    let mut unit = least;
    let mut whole = divisor.saturating_mul(base.factor().pow(u32::from(least > 0)));
    while unit + 1 < units.len() && bytes >= whole.saturating_mul(base.factor()) {
        whole = whole.saturating_mul(base.factor());
        unit += 1;
    }
    let tenths = rounded(bytes.saturating_mul(10), whole);
    if unit > 0 && tenths < tenths_below {
        return format!("{}.{} {}", tenths / 10, tenths % 10, units[unit]);
    }
    match rounded(bytes, whole) {
        all if all == base.factor() && unit + 1 < units.len() => {
            format!("1.0 {}", units[unit + 1])
        }
        number => format!("{number} {}", units[unit]),
    }
}

/// Divides and rounds to nearest, half to even.
const fn rounded(dividend: u128, divisor: u128) -> u128 {
    let (down, rest) = (dividend / divisor, dividend % divisor);
    let twice = rest.saturating_mul(2);
    if twice > divisor || (twice == divisor && down % 2 == 1) {
        down + 1
    } else {
        down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let decimal = |bytes| size(bytes, Base::Decimal);
        assert_eq!(decimal(999), "999 B");
        assert_eq!(decimal(9_949), "9.9 kB");
        assert_eq!(decimal(9_950), "10 kB");
        assert_eq!(decimal(999_499), "999 kB");
        assert_eq!(decimal(999_500), "1.0 MB");
        assert_eq!(decimal(1_250), "1.2 kB");
        assert_eq!(decimal(1_350), "1.4 kB");
        assert_eq!(size(1 << 40, Base::Binary), "1.0 TiB");
        assert_eq!(size(1_048_575, Base::Binary), "1.0 MiB");
    }

    #[test]
    fn a_rate_has_three_digits_at_most() {
        assert_eq!(rate(100, 159_507), "627 kB/s");
        assert_eq!(rate(3000, 3_000_000_000), "1.0 kB/s");
        assert_eq!(rate(99_949, 1_000_000_000), "99.9 kB/s");
        assert_eq!(rate(99_960, 1_000_000_000), "100 kB/s");
        assert_eq!(rate(1, 0), "Infinity B/s");
    }
}
