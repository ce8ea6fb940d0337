//! Values of options: numbers, times, patterns.
//!
//! With `kb_base=1024`, the default, `k` and `kb` are 1024 and `KiB` is 1000; with `kb_base=1000` it
//! is the reverse. Text that fio would ignore silently (`4q` is 4 in fio, `1.5G` is 1) is refused. A
//! time without a suffix is in the unit of its option.
//!
//! In a formula, a suffix multiplies the whole product before it, as in fio: `10/4k` is `(10/4)k`.
//! Order of precedence, lowest first: `+ -`, suffixes, `* /`, `^` (right-associative), `%`, the sign.

use crate::fio::Environment;
use assay_model::load::ContentPattern;
use assay_model::units::Nanos;
use std::path::Path;

/// Set of known suffixes: `m` is mega or minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// Sizes and counts.
    Size,
    /// Times; values with a suffix are in microseconds.
    Time,
}

/// Value of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FormulaValue {
    /// Exact value; `None` if a fraction was involved.
    whole: Option<i128>,
    /// Value as a floating-point number.
    pub(super) fraction: f64,
    /// Set if the formula contains a suffix.
    pub(super) has_unit: bool,
}

impl FormulaValue {
    fn whole(value: i128) -> Self {
        let fraction = value as f64;
        Self {
            whole: Some(value),
            fraction,
            has_unit: false,
        }
    }

    fn fraction(value: f64) -> Self {
        Self {
            whole: None,
            fraction: value,
            has_unit: false,
        }
    }

    /// Returns the value without its fraction.
    pub(super) fn integer(self) -> Result<i128, String> {
        match self.whole {
            Some(whole) => Ok(whole),
            None if self.fraction.abs() < 1e18 => {
                #[expect(clippy::cast_possible_truncation, reason = "checked, and meant")]
                let whole = self.fraction as i128;
                Ok(whole)
            }
            None => Err("the formula's value is too large".to_owned()),
        }
    }
}

/// Computes a formula.
pub(super) fn evaluate(text: &str, domain: Domain) -> Result<FormulaValue, String> {
    let mut reader = FormulaParser {
        rest: text,
        domain,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(c) => Err(format!("'{text}': '{c}' is not understood in a formula")),
    }
}

struct FormulaParser<'a> {
    rest: &'a str,
    domain: Domain,
    depth: u32,
}

/// Largest nesting depth of parentheses and signs, against stack overflow.
const DEEPEST: u32 = 100;

impl FormulaParser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn sum(&mut self) -> Result<FormulaValue, String> {
        let mut left = self.product()?;
        loop {
            if self.take('+') {
                left = combine(left, self.product()?, i128::checked_add, |a, b| a + b)?;
            } else if self.take('-') {
                left = combine(left, self.product()?, i128::checked_sub, |a, b| a - b)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<FormulaValue, String> {
        let mut left = self.power()?;
        loop {
            if self.take('*') {
                left = combine(left, self.power()?, i128::checked_mul, |a, b| a * b)?;
            } else if self.take('/') {
                left = combine(left, self.power()?, i128::checked_div, |a, b| a / b)?;
            } else if let Some(factor) = self.suffix()? {
                left = combine(
                    left,
                    FormulaValue::whole(factor),
                    i128::checked_mul,
                    |a, b| a * b,
                )?;
                left.has_unit = true;
            } else {
                return Ok(left);
            }
        }
    }

    fn power(&mut self) -> Result<FormulaValue, String> {
        let base = self.remainder()?;
        if !self.take('^') {
            return Ok(base);
        }
        self.descend()?;
        let exponent = self.power()?;
        self.depth -= 1;
        let exact = |a: i128, b: i128| a.checked_pow(u32::try_from(b).ok()?);
        combine(base, exponent, exact, f64::powf)
    }

    fn remainder(&mut self) -> Result<FormulaValue, String> {
        let mut left = self.signed()?;
        while self.take('%') {
            left = combine(left, self.signed()?, i128::checked_rem, |a, b| a % b)?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<FormulaValue, String> {
        self.descend()?;
        let value = if self.take('-') {
            let value = self.signed()?;
            combine(FormulaValue::whole(0), value, i128::checked_sub, |a, b| {
                a - b
            })
        } else if self.take('(') {
            let value = self.sum()?;
            if self.take(')') {
                Ok(value)
            } else {
                Err("a closing parenthesis is missing in the formula".to_owned())
            }
        } else {
            self.number()
        };
        self.depth -= 1;
        value
    }

    fn descend(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the formula is nested too deeply".to_owned());
        }
        Ok(())
    }

    fn number(&mut self) -> Result<FormulaValue, String> {
        self.peek();
        if let Some(hex) = self.rest.strip_prefix("0x") {
            let end = end_of(hex, |c| c.is_ascii_hexdigit());
            let value = i128::from_str_radix(&hex[..end], 16);
            self.rest = &hex[end..];
            return value.map(FormulaValue::whole).map_err(|_| missing());
        }
        let digits = end_of(self.rest, |c| c.is_ascii_digit() || c == '.');
        let end = digits + exponent(&self.rest[digits..]);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        match text.parse::<i128>() {
            Ok(whole) => Ok(FormulaValue::whole(whole)),
            Err(_) => text
                .parse::<f64>()
                .ok()
                .filter(|value| value.is_finite())
                .map(FormulaValue::fraction)
                .ok_or_else(missing),
        }
    }

    /// Parses a suffix, if one follows, and returns its factor.
    fn suffix(&mut self) -> Result<Option<i128>, String> {
        self.peek();
        let end = end_of(self.rest, |c| c.is_ascii_alphabetic());
        if end == 0 {
            return Ok(None);
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        factor(&word.to_ascii_lowercase(), self.domain)
            .map(Some)
            .ok_or_else(|| format!("'{word}' is not a suffix in a formula"))
    }
}

fn missing() -> String {
    "a number is missing in the formula".to_owned()
}

/// Length of the prefix of `text` that consists of matching characters.
fn end_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Length of an exponent such as `e-3` at the beginning of `text`.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    match end_of(digits, |c| c.is_ascii_digit()) {
        0 => 0,
        length => 1 + (rest.len() - digits.len()) + length,
    }
}

/// Returns the factor of a suffix. Times are in microseconds.
fn factor(word: &str, domain: Domain) -> Option<i128> {
    Some(match (word, domain) {
        ("us", _) => 1,
        ("ms", _) => 1_000,
        ("s", _) => 1_000_000,
        ("m", Domain::Time) => 60_000_000,
        ("h", _) => 3_600_000_000,
        ("d", _) => 86_400_000_000,
        ("k" | "kb", _) => 1 << 10,
        ("m" | "mb", _) => 1 << 20,
        ("g" | "gb", _) => 1 << 30,
        ("t" | "tb", _) => 1 << 40,
        ("p" | "pb", _) => 1 << 50,
        ("kib", _) => 1_000,
        ("mib", _) => 1_000_000,
        ("gib", _) => 1_000_000_000,
        ("tib", _) => 1_000_000_000_000,
        ("pib", _) => 1_000_000_000_000_000,
        _ => return None,
    })
}

/// Combines two values: exactly if both are exact, otherwise as floating-point
/// numbers.
fn combine(
    left: FormulaValue,
    right: FormulaValue,
    exact: impl Fn(i128, i128) -> Option<i128>,
    rough: impl Fn(f64, f64) -> f64,
) -> Result<FormulaValue, String> {
    let has_unit = left.has_unit || right.has_unit;
    let value = match (left.whole, right.whole) {
        (Some(a), Some(b)) => exact(a, b).map(FormulaValue::whole),
        _ => Some(rough(left.fraction, right.fraction))
            .filter(|value| value.is_finite())
            .map(FormulaValue::fraction),
    };
    value
        .map(|value| FormulaValue { has_unit, ..value })
        .ok_or_else(|| "the formula divides by zero or leaves the range of numbers".to_owned())
}

/// Longest accepted pattern, in bytes. (fio 3.33 accepts 512 bytes, fio 3.41
/// 128 MiB.)
const LONGEST: usize = 16 << 20;
/// Bytes that `%o` is replaced by.
const OFFSET_BYTES: usize = 8;

/// Parses a pattern. `formats`: `%o` is accepted. The forms are `0xdeadbeef`, `"text"`, `-1024`,
/// `%o`, `'file'`, and sequences of them.
pub(super) fn pattern(
    text: &str,
    formats: bool,
    env: &dyn Environment,
) -> Result<ContentPattern, String> {
    let mut pattern = ContentPattern::default();
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = part(rest, formats, env, &mut pattern)?;
        if pattern.bytes.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
    }
    if pattern.bytes.is_empty() {
        return Err("the pattern is empty: write as in 0xdeadbeef or \"text\"".to_owned());
    }
    Ok(pattern)
}

/// Adds the first part of `text` to the pattern and returns the rest.
fn part<'a>(
    text: &'a str,
    formats: bool,
    env: &dyn Environment,
    into: &mut ContentPattern,
) -> Result<&'a str, String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (inside, rest) = quoted
            .split_once('"')
            .ok_or("a closing \" is missing in the pattern")?;
        into.bytes.extend_from_slice(inside.as_bytes());
        return Ok(rest);
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let (path, rest) = quoted
            .split_once('\'')
            .ok_or("a closing ' is missing in the pattern")?;
        let bytes = env
            .read(Path::new(path))
            .map_err(|error| format!("cannot read the pattern's file '{path}': {error}"))?;
        into.bytes.extend(bytes);
        return Ok(rest);
    }
    if let Some(rest) = text.strip_prefix("%o") {
        if !formats {
            return Err("%o is understood in verify_pattern only".to_owned());
        }
        let at = u32::try_from(into.bytes.len()).map_err(|_| "the pattern is too long")?;
        into.offsets_at.push(at);
        into.bytes.extend([0; OFFSET_BYTES]);
        return Ok(rest);
    }
    match hex(text) {
        Some((digits, rest)) => {
            into.bytes.extend(hex_bytes(digits));
            Ok(rest)
        }
        None => decimal(text, &mut into.bytes),
    }
}

/// Splits the digits after `0x` from the rest. The digits of `0xff0x14` are
/// `ff`.
fn hex(text: &str) -> Option<(&str, &str)> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    let mut end = digits
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(digits.len());
    let next = digits[end..].chars().next();
    if matches!(next, Some('x' | 'X')) && digits[..end].ends_with('0') {
        end -= 1;
    }
    (end > 0).then(|| digits.split_at(end))
}

/// Converts digits to bytes: two digits are a byte, in the order written; an
/// odd number of digits is padded with a leading zero.
fn hex_bytes(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits
        .bytes()
        .filter_map(|digit| char::from(digit).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    let (first, pairs) = nibbles.split_at(nibbles.len() % 2);
    first
        .iter()
        .copied()
        .chain(pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1]))
        .collect()
}

/// Adds a 32-bit number as little-endian bytes, as many as it needs, and
/// returns the rest.
fn decimal<'a>(text: &'a str, into: &mut Vec<u8>) -> Result<&'a str, String> {
    let wrong = || format!("'{text}' is not a pattern: write as in 0xdeadbeef, \"text\" or 42");
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len() - sign);
    let mut end = sign + digits;
    if text[end..].starts_with(['x', 'X']) && text[..end].ends_with('0') {
        end -= 1;
    }
    let number: i32 = text[..end].parse().map_err(|_| wrong())?;
    let bytes = number.to_le_bytes();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    into.extend_from_slice(&bytes[..used]);
    Ok(&text[end..])
}

/// Number as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    /// Value with its suffix applied.
    pub(super) value: i128,
    /// Set if `%` follows.
    pub(super) percent: bool,
    /// Set if `KiB`, `MiB` … follow and mean powers of 1000.
    pub(super) surprising: bool,
}

/// Reads a number with an optional suffix, or a formula in parentheses.
pub(super) fn amount(text: &str, base_1000: bool) -> Result<Amount, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    if text.starts_with('(') {
        let value = evaluate(text, Domain::Size)?.integer()?;
        return Ok(without_suffix(value));
    }
    let (number, suffix) = split_number(text)?;
    let lower = suffix.trim().to_ascii_lowercase();
    if lower == "%" {
        return Ok(Amount {
            percent: true,
            ..without_suffix(number)
        });
    }
    let (factor, surprising) =
        size_factor(&lower, base_1000).ok_or_else(|| unknown_suffix(text, suffix))?;
    let value = number
        .checked_mul(factor)
        .ok_or_else(|| format!("'{text}' is too large"))?;
    Ok(Amount {
        value,
        percent: false,
        surprising,
    })
}

/// Makes the amount of a number without a suffix.
const fn without_suffix(value: i128) -> Amount {
    Amount {
        value,
        percent: false,
        surprising: false,
    }
}

fn unknown_suffix(text: &str, suffix: &str) -> String {
    let end = if suffix.starts_with('.') {
        "fractions are not understood: write a smaller unit".to_owned()
    } else if suffix == "z" {
        "zones of a zoned device are not supported".to_owned()
    } else {
        format!("'{suffix}' is not a suffix: use k, m, g, t or p")
    };
    format!("'{text}' is not a size; {end} (fio would cut it off in silence)")
}

/// Splits `4096`, `-4k`, `0x1000` into the number and the suffix.
fn split_number(text: &str) -> Result<(i128, &str), String> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let hex = rest.get(..2).is_some_and(|p| p.eq_ignore_ascii_case("0x"));
    let (digits, radix) = if hex { (&rest[2..], 16) } else { (rest, 10) };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    if digits.is_empty() {
        return Err(format!("'{text}' is not a number"));
    }
    let value =
        i128::from_str_radix(digits, radix).map_err(|_| format!("'{text}' is too large"))?;
    Ok((if negative { -value } else { value }, suffix))
}

/// Returns the factor of a suffix, and `true` if it is a surprising one.
fn size_factor(lower: &str, base_1000: bool) -> Option<(i128, bool)> {
    if matches!(lower, "" | "b") {
        return Some((1, false));
    }
    let power = match lower.as_bytes()[0] {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        _ => return None,
    };
    let binary = match &lower[1..] {
        "" | "b" | "i" => !base_1000,
        "ib" => base_1000,
        _ => return None,
    };
    let base: i128 = if binary { 1024 } else { 1000 };
    Some((base.pow(power), lower.ends_with("ib") && !base_1000))
}

/// Unit of a time without a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds: `runtime`, `ramp_time`, `startdelay`.
    Seconds,
    /// Milliseconds, for which no suffix is accepted: `log_avg_msec`,
    /// `rate_cycle`.
    Millis,
    /// Microseconds: `thinktime`, `latency_target`.
    Micros,
}

impl TimeUnit {
    /// Nanoseconds in one unit.
    const fn nanos(self) -> i128 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
        }
    }

    /// Name of the unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
        }
    }
}

/// Parses a time: a number with `d`, `h`, `m`, `s`, `ms` or `us`, or without a
/// suffix in `unit`, or a formula in parentheses.
pub(super) fn duration(text: &str, unit: TimeUnit) -> Result<Nanos, String> {
    let text = text.trim();
    if text.starts_with('(') {
        let value = evaluate(text, Domain::Time)?;
        let factor = if value.has_unit { 1_000 } else { unit.nanos() };
        return nanoseconds(text, value.integer()?.checked_mul(factor));
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let number: i128 = digits
        .parse()
        .map_err(|_| format!("'{text}' is not a time: write a number, as in 10s"))?;
    let factor = time_factor(suffix, unit).ok_or_else(|| match unit {
        TimeUnit::Millis => {
            format!("'{text}' is not a number of milliseconds, which has no suffix")
        }
        _ => format!("'{text}' has the unknown suffix '{suffix}': use d, h, m, s, ms or us"),
    })?;
    nanoseconds(text, number.checked_mul(factor))
}

/// Nanoseconds in one unit of `suffix`.
fn time_factor(suffix: &str, unit: TimeUnit) -> Option<i128> {
    Some(match suffix.trim().to_ascii_lowercase().as_str() {
        "" => unit.nanos(),
        _ if unit == TimeUnit::Millis => return None,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

fn nanoseconds(text: &str, nanos: Option<i128>) -> Result<Nanos, String> {
    nanos
        .and_then(|nanos| u64::try_from(nanos).ok())
        .map(Nanos)
        .ok_or_else(|| format!("'{text}' is not a time that can be waited for"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::tests::TestEnvironment;

    fn size(text: &str) -> Result<i128, String> {
        evaluate(text, Domain::Size)?.integer()
    }

    #[test]
    fn formulas_bind_as_fios_do() {
        for (text, expected) in [
            ("(1+2*3)", 7),
            ("(2^3^2)", 512),
            ("(7%4+1)", 4),
            ("(10/4k)", 2048),
            ("(2k*4)", 8192),
            ("((1+1)m)", 2 << 20),
            ("(1KiB)", 1000),
            ("(-3+5)", 2),
            ("(0x10)", 16),
            ("(1.5k)", 1536),
            ("(5e2)", 500),
            ("(4)*2", 8),
        ] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_formulas_are_errors() {
        for text in [
            "(", "(1", "(1/0)", "(1%0)", "()", "(2q)", "(9^999)", "(1)x", "(1e999)",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(size(&"(".repeat(100_000)).is_err());
        assert!(size(&format!("({}1)", "-".repeat(100_000))).is_err());
        assert!(size(&format!("(2{})", "^2".repeat(100_000))).is_err());
    }

    fn bytes(text: &str) -> Vec<u8> {
        let env = TestEnvironment::default().with_file("p.bin", b"xyz");
        pattern(text, true, &env).expect("a pattern").bytes
    }

    /// Compares with the bytes that fio 3.33 writes with `verify_pattern` or
    /// `buffer_pattern`.
    #[test]
    fn patterns_have_fios_bytes() {
        assert_eq!(bytes("0xdeadbeef"), [0xde, 0xad, 0xbe, 0xef]);
        assert_eq!(bytes("0xfff"), [0x0f, 0xff]);
        assert_eq!(bytes("0xff0x14"), [0xff, 0x14]);
        assert_eq!(bytes("\"abcd\""), b"abcd");
        assert_eq!(bytes("-1024"), [0x00, 0xfc, 0xff, 0xff]);
        assert_eq!(bytes("66"), [66]);
        assert_eq!(bytes("0"), [0]);
        assert_eq!(bytes("'p.bin'"), b"xyz");
        assert_eq!(
            bytes("-100xab\"1\"%o\"2\""),
            [
                0xf6, 0xff, 0xff, 0xff, 0xab, b'1', 0, 0, 0, 0, 0, 0, 0, 0, b'2'
            ]
        );
    }

    #[test]
    fn offsets_are_remembered() {
        let pattern = pattern("%o0xab%o", true, &TestEnvironment::default()).expect("a pattern");
        assert_eq!(pattern.offsets_at, [0, 9]);
    }

    #[test]
    fn bad_patterns_are_errors() {
        let env = TestEnvironment::default();
        for text in [
            "",
            "\"abc",
            "'nofile'",
            "zz",
            "%x",
            "0x",
            "99999999999",
            "é",
        ] {
            assert!(pattern(text, true, &env).is_err(), "{text}");
        }
        assert!(pattern("%o", false, &env).is_err());
        let text = format!("\"{}\"", "a".repeat(LONGEST));
        assert!(pattern(&text, true, &env).is_ok());
        assert!(pattern(&format!("{text}0xab"), true, &env).is_err());
    }

    fn value(text: &str, base_1000: bool) -> i128 {
        amount(text, base_1000).expect("a number").value
    }

    #[test]
    fn suffixes_follow_fios_rule() {
        assert_eq!(value("4096", false), 4096);
        assert_eq!(value("4k", false), 4096);
        assert_eq!(value("4KB", false), 4096);
        assert_eq!(value("4KiB", false), 4000);
        assert_eq!(value("1024mb", false), 1 << 30);
        assert_eq!(value("4k", true), 4000);
        assert_eq!(value("4kib", true), 4096);
        assert_eq!(value("0x1000", false), 4096);
        assert_eq!(value("-4k", false), -4096);
        assert_eq!(value("(4*1024)", false), 4096);
        assert!(amount("4KiB", false).expect("a size").surprising);
        assert!(!amount("4KiB", true).expect("a size").surprising);
        assert!(amount("50%", false).expect("a share").percent);
    }

    #[test]
    fn a_number_with_trailing_characters_is_refused() {
        for text in [
            "4q", "1.5G", "", "k", "4 k 4", "12.5%", "4z", "é", "-", "0x",
        ] {
            assert!(amount(text, false).is_err(), "{text}");
        }
        assert!(amount(&"9".repeat(60), false).is_err());
    }

    #[test]
    fn the_option_decides_what_a_bare_number_is() {
        let read = |text, unit| duration(text, unit).expect("a time").0;
        assert_eq!(read("60", TimeUnit::Seconds), 60_000_000_000);
        assert_eq!(read("60", TimeUnit::Micros), 60_000);
        assert_eq!(read("2m", TimeUnit::Micros), 120_000_000_000);
        assert_eq!(read("5ms", TimeUnit::Seconds), 5_000_000);
        assert_eq!(read("500", TimeUnit::Millis), 500_000_000);
        assert_eq!(read("(2*30)", TimeUnit::Seconds), 60_000_000_000);
        assert_eq!(read("(2*30s)", TimeUnit::Seconds), 60_000_000_000);
        assert_eq!(read("(100us)", TimeUnit::Seconds), 100_000);
    }

    #[test]
    fn unknown_suffixes_are_refused() {
        for text in ["10sec", "10ns", "-1", "", "1.5", "99999999999999d", "(1"] {
            assert!(duration(text, TimeUnit::Seconds).is_err(), "{text}");
        }
    }
}
