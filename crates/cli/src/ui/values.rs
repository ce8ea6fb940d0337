//! Values of flags: sizes, times, percentages, names.

use assay_model::text::clean;
use assay_model::units::{Nanos, as_u64};
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Returns a parser that accepts only the names of these values.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    word: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(all.iter().map(|value| word(*value)));
    words.try_map(move |text| {
        let mut values = all.iter().copied();
        values
            .find(|value| word(*value) == text)
            .ok_or("no such word")
    })
}

/// Parses a time with its unit; a bare number is seconds.
pub fn parse_time(text: &str) -> Result<Nanos, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale = match unit.trim() {
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => {
            return Err(format!(
                "{text} is not a time: use for example 500ms, 1s or 2min"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{text} is not a time: use for example 500ms, 1s or 2min"))?;
    Ok(Nanos(as_u64((number * scale).round())))
}

/// Parses a margin such as `5`, `3%` or `2.5`, in percent; returns a share.
pub fn parse_margin(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("give a number of percent between 0 and 100, such as 5 or 2.5".to_owned()),
    }
}

/// Parses the name of a unit.
pub fn parse_unit(text: &str) -> Result<String, String> {
    match clean(text.trim()) {
        name if name.is_empty() => Err("a name has at least one letter".to_owned()),
        name => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let time = |text| parse_time(text).map(|time| time.0);
        assert_eq!(time("1"), Ok(1_000_000_000));
        assert_eq!(time("0.5s"), Ok(500_000_000));
        assert_eq!(time("250ms"), Ok(250_000_000));
        assert_eq!(time("2min"), Ok(120_000_000_000));
        for text in ["", "s", "1x", "-1s", "1.2.3"] {
            assert!(time(text).is_err(), "{text:?}");
        }
    }
}
