//! Actions before each trial, so that it does not inherit the state left by the previous one.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Subject of the temperature among the values in force before a trial ([`super::InForce`]); its
/// value is in degrees Celsius.
pub const TEMPERATURE: &str = "temperature";

/// Actions before each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// Idle time.
    pub idle: Nanos,
    /// The page cache of the whole system is emptied (`vm.drop_caches`).
    pub drop_caches: bool,
    /// Free blocks of the file system are discarded (`fstrim`).
    pub trim: bool,
    /// Allowed difference from the temperature before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<TemperatureWindow>,
}

/// Range of temperatures at which a trial may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemperatureWindow {
    /// Half width of the range, in thousandths of a kelvin.
    pub width_mk: u32,
    /// Longest time to wait for it.
    pub limit: Nanos,
    /// Temperature before the first trial, in thousandths of a degree Celsius; `None` before the
    /// first trial.
    pub around: Option<i64>,
}

impl Restore {
    /// `true` if there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl TemperatureWindow {
    /// Checks that a trial may begin at a temperature (thousandths of a degree Celsius).
    pub fn holds(&self, millicelsius: i64) -> bool {
        self.around
            .is_none_or(|around| around.abs_diff(millicelsius) <= self.width_mk.into())
    }
}

/// Prints `3 K around 41.2 °C`.
impl fmt::Display for TemperatureWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} K around ", f64::from(self.width_mk) / 1e3)?;
        match self.around {
            Some(around) => write!(f, "{} °C", celsius(around)),
            None => f.write_str("that before the first trial"),
        }
    }
}

/// Formats thousandths of a degree as degrees, with all digits.
pub fn celsius(millicelsius: i64) -> String {
    let sign = if millicelsius < 0 { "-" } else { "" };
    let size = millicelsius.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

pub(crate) fn parse_celsius(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.')?;
    let thousandths: i64 = part.parse().ok().filter(|_| part.len() == 3)?;
    let size = whole.trim_start_matches('-').parse::<i64>().ok()? * 1000 + thousandths;
    Some(if whole.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperatures_are_read_as_they_are_written() {
        for millicelsius in [0, 41_250, -5_001, -7, 99_999] {
            assert_eq!(parse_celsius(&celsius(millicelsius)), Some(millicelsius));
        }
        assert_eq!(celsius(-7), "-0.007");
        assert_eq!(parse_celsius("41"), None);
    }

    #[test]
    fn a_window_is_around_the_first_temperature() {
        let mut window = TemperatureWindow {
            width_mk: 3000,
            limit: Nanos::secs(1),
            around: None,
        };
        assert!(window.holds(90_000), "the first one");
        window.around = Some(40_000);
        assert!(window.holds(43_000) && window.holds(37_000));
        assert!(!window.holds(43_001) && !window.holds(36_999));
        assert_eq!(window.to_string(), "3 K around 40.000 °C");
    }
}
