//! Formulas in parentheses, as in `size=(4*1024*1024)` or `bs=(2^12)`.
//!
//! A suffix multiplies the whole product before it, as in fio: `10/4k` is
//! `(10/4)k`. Order of precedence, lowest first: `+ -`, suffixes, `* /`, `^`
//! (right-associative), `%`, the sign.

/// Set of known suffixes: `m` is mega or minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fio) enum Domain {
    /// Sizes and counts.
    Size,
    /// Times; values with a suffix are in microseconds.
    Time,
}

/// Value of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::fio) struct FormulaValue {
    /// Exact value; `None` if a fraction was involved.
    whole: Option<i128>,
    /// Value as a floating-point number.
    pub(in crate::fio) fraction: f64,
    /// Set if the formula contains a suffix.
    pub(in crate::fio) has_unit: bool,
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
    pub(in crate::fio) fn integer(self) -> Result<i128, String> {
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
pub(in crate::fio) fn evaluate(text: &str, domain: Domain) -> Result<FormulaValue, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
