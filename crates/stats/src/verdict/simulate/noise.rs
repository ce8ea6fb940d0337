//! Dependence between the trials of a session.

use assay_model::rng::SplitMix64;

/// Deviation of a trial, in standard deviations of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Each trial on its own.
    Independent,
    /// Each is like the one before it, with this correlation (AR(1)): heat, what
    /// else the machine does.
    Neighbours(f64),
    /// It wanders, as far as one standard deviation within the session.
    Walk,
    /// It falls by three standard deviations somewhere in the session: a full
    /// cache.
    Step,
    /// The first of every two trials is better by this much: a rest in between.
    FirstOfTwo(f64),
    /// Each takes this share of its deviation from the next one (a moving
    /// average): writes left to be done.
    Owed(f64),
}

impl Noise {
    /// The deviations of `n` trials in a row.
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

/// Normal values of a seed, by Box and Muller (1958).
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
