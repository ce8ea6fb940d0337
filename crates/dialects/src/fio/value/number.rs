//! Numbers and sizes by fio's rules.
//!
//! With `kb_base=1024`, the default, `k` and `kb` are 1024 and `KiB` is 1000;
//! with `kb_base=1000` it is the reverse. Text that fio would ignore silently
//! (`4q` is 4 in fio, `1.5G` is 1) is refused.

use super::Domain;

/// Number as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fio) struct Amount {
    /// Value with its suffix applied.
    pub(in crate::fio) value: i128,
    /// Set if `%` follows.
    pub(in crate::fio) percent: bool,
    /// Set if `KiB`, `MiB` … follow and mean powers of 1000.
    pub(in crate::fio) surprising: bool,
}

/// Reads a number with an optional suffix, or a formula in parentheses.
pub(in crate::fio) fn amount(text: &str, base_1000: bool) -> Result<Amount, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    if text.starts_with('(') {
        let value = super::evaluate(text, Domain::Size)?.integer()?;
        return Ok(plain(value));
    }
    let (number, suffix) = split(text)?;
    let lower = suffix.trim().to_ascii_lowercase();
    if lower == "%" {
        return Ok(Amount {
            percent: true,
            ..plain(number)
        });
    }
    let (factor, surprising) = factor(&lower, base_1000).ok_or_else(|| unknown(text, suffix))?;
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
const fn plain(value: i128) -> Amount {
    Amount {
        value,
        percent: false,
        surprising: false,
    }
}

fn unknown(text: &str, suffix: &str) -> String {
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
fn split(text: &str) -> Result<(i128, &str), String> {
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
fn factor(lower: &str, base_1000: bool) -> Option<(i128, bool)> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_fio_cuts_off_is_refused() {
        for text in [
            "4q", "1.5G", "", "k", "4 k 4", "12.5%", "4z", "é", "-", "0x",
        ] {
            assert!(amount(text, false).is_err(), "{text}");
        }
        assert!(amount(&"9".repeat(60), false).is_err());
    }
}
