//! Patterns: `0xdeadbeef`, `"text"`, `-1024`, `%o`, `'file'`, and sequences of
//! them.

use crate::fio::Environment;
use assay_model::load::content::ContentPattern;
use std::path::Path;

/// Longest accepted pattern, in bytes. (fio 3.33 accepts 512 bytes, fio 3.41
/// 128 MiB.)
const LONGEST: usize = 16 << 20;
/// Bytes that `%o` is replaced by.
const OFFSET_BYTES: usize = 8;

/// Parses a pattern. `formats`: `%o` is accepted.
pub(in crate::fio) fn pattern(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::tests::TestEnvironment;

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
}
