//! Numbers in programs' output.

/// Parses a number at the beginning of a text, after blanks, and returns the
/// rest. Accepts NaN and infinities, so that the caller can refuse them with a
/// message.
pub(super) fn leading(text: &str) -> Option<(f64, &str)> {
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
pub(super) fn with_suffix(text: &str) -> Option<(f64, &str)> {
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
pub(super) fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_their_unit_begins() {
        assert_eq!(leading(" 275MiB/s (1"), Some((275.0, "MiB/s (1")));
        assert_eq!(leading("3.6067e-05 s"), Some((3.6067e-5, " s")));
        assert_eq!(leading("5e"), Some((5.0, "e")));
        assert_eq!(leading("-1,"), Some((-1.0, ",")));
        assert!(leading("nan").is_some_and(|(value, _)| value.is_nan()));
        assert_eq!(leading("x"), None);
        assert_eq!(leading("."), None);
        assert_eq!(with_suffix("19.1k,"), Some((19_100.0, ",")));
    }

    #[test]
    fn keys_are_whole_words() {
        let line = "read: IOPS=275, bw=1, max_bw = 3";
        assert_eq!(after(line, "IOPS"), Some("275, bw=1, max_bw = 3"));
        assert_eq!(after(line, "max_bw"), Some(" 3"));
        assert_eq!(after("xbw=1", "bw"), None);
    }
}
