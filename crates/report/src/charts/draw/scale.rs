//! Scales that map values to pixels, and round values for labels.

use super::{Axis, Scale};
use crate::words::{bytes, quantity};
use assay_model::figures::Unit;
use assay_model::units::three_digits;

/// Linear scale from `low` at pixel `from` to `high` at pixel `to`.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// Value at `from`.
    pub low: f64,
    /// Value at `to`.
    pub high: f64,
    /// First pixel.
    pub from: f64,
    /// Last pixel.
    pub to: f64,
}

impl Linear {
    /// Returns the pixel of a value; the middle if the scale has no extent.
    pub fn px(self, value: f64) -> f64 {
        let span = self.high - self.low;
        let share = if span > 0.0 {
            (value - self.low) / span
        } else {
            0.5
        };
        self.from + share * (self.to - self.from)
    }

    /// Returns at most `most` + 1 round values within the scale: multiples of 1, 2 or 5 times a
    /// power of ten.
    pub fn ticks(self, most: u32) -> Vec<f64> {
        self.ticks_by(round_step, most)
    }

    /// Returns round values in steps of a power of two, for sizes.
    pub fn binary_ticks(self, most: u32) -> Vec<f64> {
        self.ticks_by(|at_least| at_least.log2().ceil().exp2(), most)
    }

    fn ticks_by(self, round: fn(f64) -> f64, most: u32) -> Vec<f64> {
        let step = round((self.high - self.low) / f64::from(most.max(1)));
        if !step.is_finite() || step <= 0.0 {
            return vec![self.low];
        }
        let first = (self.low / step).ceil();
        (0..=most)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|tick| *tick <= self.high * (1.0 + 1e-9))
            .collect()
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
pub fn round_step(at_least: f64) -> f64 {
    let power = 10f64.powf(at_least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= at_least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Logarithmic scale between two round values (1, 2 or 5 times a power of ten) around both
/// extremes.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// Value at `from`.
    low: f64,
    /// Value at `to`.
    high: f64,
    from: f64,
    to: f64,
}

/// Span in powers of ten up to which every 1, 2 and 5 is marked; beyond it only powers of ten are.
const FINE_DECADES: f64 = 1.5;

impl Log {
    /// Returns a scale around both extremes; values below 1 count as 1.
    pub fn around(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = round_down(low.max(1.0));
        let high = round_step(high.max(1.0));
        let high = if high > low { high } else { low * 10.0 };
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// Returns the pixel of a value.
    pub fn px(self, value: f64) -> f64 {
        let share = (value.max(1.0) / self.low).log10() / (self.high / self.low).log10();
        self.from + share * (self.to - self.from)
    }

    /// Returns round values to mark.
    pub fn marks(self) -> Vec<f64> {
        let fine = (self.high / self.low).log10() <= FINE_DECADES;
        let factors: &[f64] = if fine { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first = 10f64.powf(self.low.log10().floor());
        let decades = std::iter::successors(Some(first), |decade| Some(decade * 10.0));
        decades
            .take_while(|decade| *decade <= self.high * (1.0 + 1e-9))
            .flat_map(|decade| factors.iter().map(move |factor| decade * factor))
            .filter(|mark| (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(mark))
            .collect()
    }
}

/// Rounds down to 1, 2 or 5 times a power of ten.
fn round_down(at_most: f64) -> f64 {
    let power = 10f64.powf(at_most.log10().floor());
    let factor = [5.0, 2.0]
        .into_iter()
        .find(|factor| factor * power <= at_most * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * power
}

/// Axis with a position: maps values of any scale to pixels, and selects the values to mark.
#[derive(Clone, Debug)]
pub struct Ruler<'a> {
    axis: &'a Axis,
    kind: ScaleKind,
}

#[derive(Clone, Copy, Debug)]
enum ScaleKind {
    Even(Linear),
    Log(Log),
    /// Number of nines, linear: 90 % is 1, 99 % is 2.
    Nines(Linear),
    Names(Linear),
}

/// Marked shares of a scale of nines.
pub const NINES: [(f64, &str); 7] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.999_99, "99.999 %"),
];

impl<'a> Ruler<'a> {
    /// Returns the ruler of an axis with these extremes, between two pixels.
    pub fn new(axis: &'a Axis, (low, high): (f64, f64), from: f64, to: f64) -> Self {
        let even = |low, high| Linear {
            low,
            high,
            from,
            to,
        };
        let kind = match &axis.scale {
            Scale::Linear => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                let room = (high - low) * 0.05;
                let below = if low < 0.0 { low - room } else { 0.0 };
                let above = if high > 0.0 {
                    high + room
                } else {
                    room.max(0.0)
                };
                ScaleKind::Even(even(below, if above > below { above } else { 1.0 }))
            }
            Scale::Close => {
                let room = if high > low {
                    0.05 * (high - low)
                } else {
                    (0.01 * high).abs().max(1e-9)
                };
                ScaleKind::Even(even(low - room, high + room))
            }
            Scale::Span => ScaleKind::Even(even(low, if high > low { high } else { low + 1.0 })),
            Scale::Log => ScaleKind::Log(Log::around(low, high, from, to)),
            Scale::Nines => ScaleKind::Nines(even(0.0, nines(high).max(1.0))),
            Scale::Names(names) => {
                let count = names.len().max(1) as f64;
                ScaleKind::Names(even(-0.5, count - 0.5))
            }
        };
        Self { axis, kind }
    }

    /// Returns the pixel of a value.
    pub fn px(&self, value: f64) -> f64 {
        match self.kind {
            ScaleKind::Even(scale) | ScaleKind::Names(scale) => scale.px(value),
            ScaleKind::Log(scale) => scale.px(value),
            ScaleKind::Nines(scale) => scale.px(nines(value)),
        }
    }

    /// Returns the pixel at which bars begin: that of 0, or the lower end if the scale has no 0.
    pub fn base(&self) -> f64 {
        match self.kind {
            ScaleKind::Even(scale) => scale.px(0.0_f64.clamp(scale.low, scale.high)),
            ScaleKind::Names(scale) | ScaleKind::Nines(scale) => scale.from,
            ScaleKind::Log(scale) => scale.from,
        }
    }

    /// Returns about `most` values to mark, with their labels.
    pub fn marks(&self, most: u32) -> Vec<(f64, String)> {
        let measure = &self.axis.measure;
        let written = |values: Vec<f64>| {
            let values = values.into_iter();
            values.map(|value| (value, measure.tick(value))).collect()
        };
        match self.kind {
            ScaleKind::Even(scale) if *measure == Measure::Size => {
                written(scale.binary_ticks(most))
            }
            ScaleKind::Even(scale) => written(scale.ticks(most)),
            ScaleKind::Log(scale) => written(scale.marks()),
            ScaleKind::Nines(scale) => {
                let shown = NINES
                    .iter()
                    .filter(|(share, _)| nines(*share) <= scale.high);
                shown
                    .map(|(share, name)| (*share, (*name).to_owned()))
                    .collect()
            }
            ScaleKind::Names(_) => match &self.axis.scale {
                Scale::Names(names) => (0..)
                    .zip(names)
                    .map(|(i, n): (usize, _)| (i as f64, n.clone()))
                    .collect(),
                _ => Vec::new(),
            },
        }
    }
}

/// Returns the number of nines: 90 % is 1, 99 % is 2, 99.9 % is 3. 100 % has no position on such an
/// axis: the caller replaces it by the share `1 - 1 / (n + 1)`.
pub fn nines(share: f64) -> f64 {
    -(1.0 - share.min(1.0 - 1e-9)).log10()
}

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
    fn ticks_are_round_and_within_the_scale() {
        let scale = Linear {
            low: 0.0,
            high: 93.0,
            from: 0.0,
            to: 100.0,
        };
        assert_eq!(scale.ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let flat = Linear {
            low: 3.0,
            high: 3.0,
            ..scale
        };
        assert_eq!(flat.ticks(5), [3.0]);
        assert!((flat.px(3.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn steps_are_one_two_or_five() {
        assert!((round_step(0.3) - 0.5).abs() < 1e-12);
        assert!((round_step(1.0) - 1.0).abs() < 1e-12);
        assert!((round_step(61.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_logarithmic_scale_holds_both_extremes() {
        let wide = Log::around(3_000.0, 45_000_000.0, 0.0, 100.0);
        assert_eq!(wide.marks(), [1e4, 1e5, 1e6, 1e7]);
        assert!(wide.px(3_000.0) > 0.0 && wide.px(45e6) < 100.0);
        let narrow = Log::around(160_000.0, 205_000.0, 0.0, 100.0);
        assert_eq!(narrow.marks(), [1e5, 2e5, 5e5]);
    }

    #[test]
    fn a_logarithmic_scale_without_extent_has_one() {
        for value in [0.0, 1.0, 1e9] {
            let scale = Log::around(value, value, 0.0, 10.0);
            assert!((0.0..=10.0).contains(&scale.px(value)), "{value}");
        }
    }

    #[test]
    fn sizes_are_marked_by_powers_of_two() {
        let gib = f64::from(1 << 30);
        let scale = Linear {
            low: 0.0,
            high: 7.3 * gib,
            from: 0.0,
            to: 100.0,
        };
        assert_eq!(
            scale.binary_ticks(4),
            [0.0, 2.0 * gib, 4.0 * gib, 6.0 * gib]
        );
    }

    #[test]
    fn every_nine_is_as_wide_as_the_one_before() {
        let axis = Axis {
            label: String::new(),
            measure: Measure::Seconds,
            scale: Scale::Nines,
        };
        let ruler = Ruler::new(&axis, (0.0, 0.999), 0.0, 300.0);
        let names: Vec<String> = ruler.marks(6).into_iter().map(|mark| mark.1).collect();
        assert_eq!(names, ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert!((ruler.px(0.99) - ruler.px(0.9) - 100.0).abs() < 1e-6);
    }

    #[test]
    fn bars_begin_at_zero_also_between_gains_and_losses() {
        let axis = Axis {
            label: String::new(),
            measure: Measure::Change,
            scale: Scale::Linear,
        };
        let ruler = Ruler::new(&axis, (-10.0, 30.0), 0.0, 440.0);
        assert!((ruler.base() - ruler.px(0.0)).abs() < 1e-9);
        assert!(ruler.px(-10.0) < ruler.base());
    }

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
