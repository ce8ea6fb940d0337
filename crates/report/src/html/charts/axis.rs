//! Scales that turn values into pixels, and round values to label them with.

/// A straight scale from `low` at pixel `from` to `high` at pixel `to`.
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
    /// The pixel of a value; a scale without extent puts all at its middle.
    #[must_use]
    pub fn px(self, value: f64) -> f64 {
        let span = self.high - self.low;
        let share = if span > 0.0 {
            (value - self.low) / span
        } else {
            0.5
        };
        self.from + share * (self.to - self.from)
    }

    /// At most `most` + 1 round values (1, 2 or 5 times a power of ten apart)
    /// within the scale.
    #[must_use]
    pub fn ticks(self, most: u32) -> Vec<f64> {
        let step = round_step((self.high - self.low) / f64::from(most.max(1)));
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

/// The next larger of 1, 2, 5 times a power of ten.
#[must_use]
pub fn round_step(at_least: f64) -> f64 {
    let power = 10f64.powf(at_least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= at_least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A logarithmic scale between two round values (1, 2 or 5 times a power of
/// ten) that hold both extremes.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// Value at `from`.
    low: f64,
    /// Value at `to`.
    high: f64,
    from: f64,
    to: f64,
}

/// Up to this span every 1, 2 and 5 is marked, beyond it powers of ten.
const FINE_DECADES: f64 = 1.5;

impl Log {
    /// A scale around both extremes; values below 1 count as 1.
    #[must_use]
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

    /// The pixel of a value.
    #[must_use]
    pub fn px(self, value: f64) -> f64 {
        let share = (value.max(1.0) / self.low).log10() / (self.high / self.low).log10();
        self.from + share * (self.to - self.from)
    }

    /// Round values to mark.
    #[must_use]
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

/// The next smaller of 1, 2, 5 times a power of ten.
fn round_down(at_most: f64) -> f64 {
    let power = 10f64.powf(at_most.log10().floor());
    let factor = [5.0, 2.0]
        .into_iter()
        .find(|factor| factor * power <= at_most * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * power
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
}
