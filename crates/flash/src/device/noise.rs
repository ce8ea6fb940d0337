//! Random variation of a card's times.

use crate::time::Picos;
use assay_model::rng::SplitMix64;

/// Divisor of the variation that all times of a trial share, relative to that of single times.
/// It represents temperature and the location of the data in the flash.
const TRIAL_SHARE: u64 = 5;
/// Factor of one, in millionths.
const WHOLE: u64 = 1_000_000;

/// Varies times uniformly to both sides: each time independently, and all times of a trial
/// together.
#[derive(Clone, Debug)]
pub struct Noise {
    rng: SplitMix64,
    /// Maximum variation to each side, in millionths of a time.
    most: u64,
    /// Factor for all times of this trial, in millionths.
    trial: u64,
}

impl Noise {
    /// Creates a variation of `percent` to each side.
    pub fn new(percent: f64, seed: u64) -> Self {
        // Percent to millionths is a factor of ten thousand.
        let most = Picos::from_us(percent / 100.0).0;
        let mut rng = SplitMix64::new(seed);
        let trial = factor(&mut rng, most / TRIAL_SHARE);
        Self { rng, most, trial }
    }

    /// Varies a time at random.
    pub fn on(&mut self, time: Picos) -> Picos {
        if self.most == 0 {
            return time;
        }
        let own = factor(&mut self.rng, self.most);
        let varied = u128::from(time.0) * u128::from(own) / u128::from(WHOLE);
        let varied = varied * u128::from(self.trial) / u128::from(WHOLE);
        Picos(u64::try_from(varied).unwrap_or(u64::MAX))
    }
}

fn factor(rng: &mut SplitMix64, most: u64) -> u64 {
    WHOLE.saturating_sub(most) + rng.below(2 * most + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 20_000;

    /// The mean of many times of a microsecond, and the shortest and longest.
    fn of_trial(seed: u64) -> (f64, f64, f64) {
        let mut noise = Noise::new(5.0, seed);
        let times = (0..MANY).map(|_| noise.on(Picos::from_us(1.0)).as_us());
        let times: Vec<f64> = times.collect();
        let mean = times.iter().sum::<f64>() / MANY as f64;
        let least = times.iter().copied().fold(f64::MAX, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        (mean, least, most)
    }

    #[test]
    fn times_vary_by_themselves_and_trials_as_a_whole() {
        let trials: Vec<_> = (0..40).map(of_trial).collect();
        for (mean, least, most) in &trials {
            // All of a trial by up to 1 %, each time by up to 5 % more.
            assert!((0.989..1.011).contains(mean), "{mean}");
            assert!((least / mean - 0.95).abs() < 1e-3, "{least} of {mean}");
            assert!((most / mean - 1.05).abs() < 1e-3, "{most} of {mean}");
        }
        // Independent variation alone would leave hardly 0.05 % between trials.
        let shifted = trials.iter().filter(|(mean, ..)| (mean - 1.0).abs() > 2e-3);
        assert!(shifted.count() > 20);
        assert_eq!(of_trial(7), of_trial(7));
    }

    #[test]
    fn without_noise_nothing_varies() {
        let mut noise = Noise::new(0.0, 3);
        assert_eq!(noise.on(Picos(12_345)), Picos(12_345));
    }
}
