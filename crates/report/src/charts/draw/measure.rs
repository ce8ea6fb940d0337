//! Notation of values on an axis.

use crate::words::format::{bytes, quantity};
use assay_model::metric::Unit;
use assay_model::units::three_digits;

/// Notation of values on an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Unit of assay, with prefixes.
    Of(Unit),
    /// Seconds.
    Seconds,
    /// Degrees Celsius.
    Celsius,
    /// Bytes, as sizes of memory and of files are written.
    Size,
    /// A change in percent, with its sign.
    Change,
    /// Number with the unit of its source; empty without one.
    Foreign(String),
}

impl Measure {
    /// Returns the measure for a unit's name: assay's own units are recognized.
    pub fn of_symbol(symbol: &str) -> Self {
        let mut known = Unit::ALL.into_iter().filter(|unit| *unit != Unit::Count);
        let known = known.find(|unit| unit.name() == symbol);
        known.map_or_else(|| Self::Foreign(symbol.to_owned()), Self::Of)
    }

    /// Returns the symbol of the unit in which values are stored.
    pub fn symbol(&self) -> &str {
        match self {
            Self::Of(unit) => unit.name(),
            Self::Seconds => "s",
            Self::Celsius => "\u{b0}C",
            Self::Size => "B",
            Self::Change => "%",
            Self::Foreign(unit) => unit,
        }
    }

    /// Formats a value, the same in all outputs.
    pub fn write(&self, value: f64) -> String {
        match self {
            Self::Of(unit) => quantity(*unit, value),
            Self::Seconds => format!("{} s", three_digits(value)),
            Self::Celsius => format!("{value:.1} \u{b0}C"),
            Self::Size => bytes(value).to_string(),
            Self::Change => format!("{value:+.1} %"),
            Self::Foreign(unit) => {
                let text = format!("{} {unit}", three_digits(value));
                text.trim_end().to_owned()
            }
        }
    }

    /// Formats a tick of an axis, without trailing zeros.
    pub fn tick(&self, value: f64) -> String {
        if value == 0.0 {
            return match self {
                Self::Of(Unit::Ratio) | Self::Change => "0 %".to_owned(),
                Self::Celsius => "0 \u{b0}C".to_owned(),
                _ => "0".to_owned(),
            };
        }
        let text = match self {
            Self::Seconds => format!("{value:.3} s"),
            _ => self.write(value),
        };
        let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
        let short = match number.split_once('.') {
            Some(_) => number.trim_end_matches('0').trim_end_matches('.'),
            None => number,
        };
        format!("{short} {unit}").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_no_needless_decimals() {
        let rate = Measure::Of(Unit::BytesPerSec);
        assert_eq!(rate.tick(20e6), "20 MB/s");
        assert_eq!(rate.tick(0.0), "0");
        assert_eq!(rate.tick(2.5e6), "2.5 MB/s");
        assert_eq!(Measure::Seconds.tick(0.05), "0.05 s");
        assert_eq!(Measure::Change.tick(-5.0), "-5 %");
        assert_eq!(Measure::of_symbol("KB/s").tick(200.0), "200 KB/s");
    }
}
