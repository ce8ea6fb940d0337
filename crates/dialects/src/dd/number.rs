//! Numbers with suffixes: `64k`, `1MiB`, `2x1M`, `100B`.

use super::DdError;
use assay_model::gnu::quoted_c;

/// Largest accepted number, the largest file offset.
pub(super) const MAX: u64 = i64::MAX.unsigned_abs();

/// Parses a number of at least `least` and at most `most`. Warnings about unusual
/// forms go to `warnings`.
pub(super) fn parse(
    text: &str,
    least: u64,
    most: u64,
    warnings: &mut Vec<String>,
) -> Result<u64, DdError> {
    match product(text, warnings) {
        Ok(number) if number < least => Err(invalid(text, false)),
        Ok(number) if number <= most => Ok(number),
        Ok(_) | Err(Invalid::TooLarge) => Err(invalid(text, true)),
        Err(Invalid::Words) => Err(invalid(text, false)),
    }
}

enum Invalid {
    TooLarge,
    Words,
}

fn invalid(text: &str, too_large: bool) -> DdError {
    let why = if too_large {
        ": Value too large for defined data type"
    } else {
        ""
    };
    DdError::new(format!("invalid number: {}{why}", quoted_c(text)))
}

fn product(text: &str, warnings: &mut Vec<String>) -> Result<u64, Invalid> {
    let (number, rest) = term(text)?;
    // A trailing B denotes bytes, or has no effect.
    let rest = match rest.strip_prefix('B') {
        Some(after) if !text[..text.len() - rest.len()].ends_with('B') => after,
        _ => rest,
    };
    if rest.is_empty() {
        return Ok(number);
    }
    let factor = rest.strip_prefix('x').ok_or(Invalid::Words)?;
    let factor = product(factor, warnings)?;
    if text.starts_with("0x") {
        warnings
            .push("warning: '0x' is a zero multiplier; use '00x' if that is intended".to_owned());
    }
    number.checked_mul(factor).ok_or(Invalid::TooLarge)
}

/// Parses a number with a suffix, or a suffix alone. Returns the remaining text, too.
fn term(text: &str) -> Result<(u64, &str), Invalid> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (signed, text) = match text.strip_prefix('+') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits);
    let suffix = suffix(rest);
    if digits.is_empty() {
        return match suffix {
            Some((factor, after)) if !signed => Ok((factor.ok_or(Invalid::TooLarge)?, after)),
            _ => Err(Invalid::Words),
        };
    }
    let number: Option<u64> = digits.parse().ok();
    let Some((factor, after)) = suffix else {
        return Ok((number.ok_or(Invalid::TooLarge)?, rest));
    };
    let product = number.zip(factor).and_then(|(n, f)| n.checked_mul(f));
    // Zero fits in any unit, even one that is too large.
    let product = if number == Some(0) { Some(0) } else { product };
    Ok((product.ok_or(Invalid::TooLarge)?, after))
}

/// Parses a suffix: returns its factor, `None` when too large, and the remaining text.
fn suffix(text: &str) -> Option<(Option<u64>, &str)> {
    let letter = text.chars().next()?;
    let after = &text[letter.len_utf8()..];
    let power = match letter {
        'c' => return Some((Some(1), after)),
        'w' => return Some((Some(2), after)),
        'b' => return Some((Some(512), after)),
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'E' => 6,
        'Z' => 7,
        'Y' => 8,
        _ => return None,
    };
    let (base, after) = if let Some(after) = after.strip_prefix("iB") {
        (1024_u64, after)
    } else if let Some(after) = after.strip_prefix('B') {
        (1000, after)
    } else {
        (1024, after)
    };
    Some((base.checked_pow(power), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<u64, String> {
        parse(text, 1, MAX, &mut Vec::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn suffixes_and_products_are_understood() {
        for (text, number) in [
            ("5", 5),
            ("+5", 5),
            (" 5", 5),
            ("1c", 1),
            ("3w", 6),
            ("2b", 1024),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1k", 1024),
            ("1KiB", 1024),
            ("2MB", 2_000_000),
            ("2M", 2 << 20),
            ("1G", 1 << 30),
            ("7E", 7 << 60),
            ("5B", 5),
            ("1bB", 512),
            ("2x1M", 2 << 20),
            ("2x3x4", 24),
            ("2x3B", 6),
            ("1xM", 1 << 20),
            ("M", 1 << 20),
        ] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_named() {
        let words = [
            "", "0", "0B", "-1", "x", "1x", "1xx", "B", "5BB", "5kb", "1Ki", "1KBB", "1Q", "bs",
            "1 ",
        ];
        for text in words {
            assert_eq!(
                read(text),
                Err(format!("invalid number: '{text}'")),
                "{text}"
            );
        }
        for text in [
            "9223372036854775808",
            "99999999999999999999",
            "8E",
            "1Z",
            "1Ex1E",
        ] {
            let why = "Value too large for defined data type";
            assert_eq!(read(text), Err(format!("invalid number: '{text}': {why}")));
        }
    }

    #[test]
    fn a_product_of_nothing_is_worth_a_warning() {
        let mut warnings = Vec::new();
        assert!(matches!(parse("0x10", 0, MAX, &mut warnings), Ok(0)));
        assert_eq!(warnings.len(), 1);
        assert!(matches!(parse("00x10", 0, MAX, &mut warnings), Ok(0)));
        assert_eq!(warnings.len(), 1);
    }
}
