//! Dependence between the trials of a session.

use assay_model::rng::SplitMix64;

/// Deviation of a trial, in standard deviations of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Each trial is independent.
    Independent,
    /// Each trial is correlated with the one before it (AR(1)), for example by heat or other work
    /// of the machine.
    Neighbours(f64),
    /// The level wanders by up to one standard deviation within the session.
    Walk,
    /// The level falls by three standard deviations at some point of the session, as with a full
    /// cache.
    Step,
    /// The first of every two trials is better by this much, as after a pause.
    FirstOfTwo(f64),
    /// Each trial takes this share of its deviation from the next one (a moving average), as with
    /// pending writes.
    Owed(f64),
}

impl Noise {
    /// Returns the deviations of `n` consecutive trials.
    pub(super) fn of_session(self, n: usize, normal: &mut Normal) -> Vec<f64> {
        let mut own: Vec<f64> = (0..n).map(|_| normal.next()).collect();
        let places = 0..n;
        match self {
            Self::Independent => {}
            Self::Neighbours(share) => {
                let rest = (1.0 - share * share).sqrt();
                let kept = |before: &mut f64, new: &f64| {
                    *before = share * *before + rest * new;
                    Some(*before)
                };
                own = own.iter().scan(normal.next(), kept).collect();
            }
            Self::Walk => {
                let step = (6.0 / n as f64).sqrt();
                let walked = |at: &mut f64, new: &f64| {
                    *at += step * new;
                    Some(*at)
                };
                own = own.iter().scan(0.0, walked).collect();
            }
            Self::Step => {
                let at = normal.rng.fraction() * n as f64;
                let after = places.filter(|place| *place as f64 >= at);
                after.for_each(|place| own[place] -= 3.0);
            }
            Self::FirstOfTwo(gain) => places.step_by(2).for_each(|place| own[place] += gain),
            Self::Owed(share) => {
                let owed = |before: &mut f64, new: &f64| {
                    let left = new - share * *before;
                    *before = *new;
                    Some(left)
                };
                own = own.iter().scan(normal.next(), owed).collect();
            }
        }
        own
    }
}

/// Normal random values from a seed, by Box and Muller (1958).
pub(crate) struct Normal {
    pub(crate) rng: SplitMix64,
    spare: Option<f64>,
}

impl Normal {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: SplitMix64::new(seed),
            spare: None,
        }
    }

    pub(crate) fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.rng.fraction()).ln()).sqrt();
        let (sin, cos) = (2.0 * std::f64::consts::PI * self.rng.fraction()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
}
