//! Parses the values of options.

use crate::fio::Environment;
use crate::fio::job::Each;
use crate::fio::value::number;
use assay_model::load::Extent;
use assay_model::load::pace::Range;

/// Parser of values under a job's settings.
pub(in crate::fio) struct OptionReader<'a> {
    /// Set with `kb_base=1000`.
    pub(in crate::fio) base_1000: bool,
    /// Access to the machine.
    pub(in crate::fio) env: &'a dyn Environment,
    /// Notes made while reading.
    pub(in crate::fio) notes: Vec<String>,
}

impl OptionReader<'_> {
    /// Parses a whole number, with or without a suffix.
    ///
    /// An unmatched closing parenthesis is ignored, because fio's own test
    /// programs contain some.
    pub(in crate::fio) fn signed(&mut self, text: &str) -> Result<i64, String> {
        let text = match text.strip_suffix(')') {
            Some(number) if !number.contains('(') => {
                self.notes.push(format!("the ')' of '{text}' is left out"));
                number
            }
            _ => text,
        };
        let amount = number::amount(text, self.base_1000)?;
        if amount.percent {
            return Err(format!("'{text}': percent is not understood here"));
        }
        self.note(text, amount.surprising, amount.value);
        i64::try_from(amount.value).map_err(|_| format!("'{text}' is too large"))
    }

    /// Parses a whole number that is not negative.
    pub(in crate::fio) fn count(&mut self, text: &str) -> Result<u64, String> {
        u64::try_from(self.signed(text)?).map_err(|_| format!("'{text}' may not be negative"))
    }

    /// Parses bytes or percent.
    pub(in crate::fio) fn extent(&mut self, text: &str) -> Result<Extent, String> {
        let amount = number::amount(text, self.base_1000)?;
        if !amount.percent {
            return self.count(text).map(Extent::Bytes);
        }
        match u8::try_from(amount.value) {
            Ok(percent) if percent <= 100 => Ok(Extent::Percent(f64::from(percent))),
            _ => Err(format!("'{text}' is not within 0% and 100%")),
        }
    }

    /// Parses `4k`, `4k-8k` or `4k:8k`.
    pub(in crate::fio) fn range(&mut self, text: &str) -> Result<Range, String> {
        let (low, high) = text.split_once(['-', ':', ',']).unwrap_or((text, text));
        let (low, high) = (self.count(low)?, self.count(high)?);
        Ok(Range {
            min: low.min(high),
            max: low.max(high),
        })
    }

    /// Parses `4k`, `4k,8k` or `4k,8k,16k`: reads, writes, trims. An empty part
    /// sets nothing; a single value applies to all; of two, trims get that of
    /// writes.
    pub(in crate::fio) fn each<T: Copy>(
        &mut self,
        text: &str,
        read: impl Fn(&mut Self, &str) -> Result<T, String>,
    ) -> Result<Each<T>, String> {
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 || parts.iter().all(|part| part.trim().is_empty()) {
            return Err(format!(
                "'{text}': write one to three values, for reads, writes and trims"
            ));
        }
        let mut values = [None; 3];
        for (value, part) in values.iter_mut().zip(&parts) {
            if !part.trim().is_empty() {
                *value = Some(read(self, part)?);
            }
        }
        match parts.len() {
            1 => values = [values[0]; 3],
            2 => values[2] = values[1],
            _ => {}
        }
        Ok(values)
    }

    /// Parses a number with a fraction.
    pub(in crate::fio) fn float(&mut self, text: &str) -> Result<f64, String> {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("'{text}' is not a number"))
    }

    fn note(&mut self, text: &str, surprising: bool, value: i128) {
        if surprising {
            self.notes.push(format!(
                "'{text}' is {value} by fio's rule: with kb_base=1024, KiB, MiB … are powers of 1000 and k, m … are powers of 1024"
            ));
        }
    }
}

/// Returns the message for a value that is not in `names`.
pub(in crate::fio) fn not_one_of<'a>(
    value: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let all: Vec<&str> = names.collect();
    format!("'{value}' is not known; use one of {}", all.join(", "))
}
