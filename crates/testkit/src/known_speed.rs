//! A speed that is known: what a comparison is to find.

use std::f64::consts::TAU;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A pause of this length ends a trial; they have to be so far apart.
pub const BETWEEN_TRIALS: Duration = Duration::from_millis(300);

/// A machine that is late by this or less makes up for it. What it is later by is
/// lost, else I/Os after a short pause would come at any speed.
const MADE_UP_FOR: Duration = Duration::from_millis(60);

/// I/Os per second of a trial, one at a time.
#[derive(Debug)]
pub struct KnownSpeed {
    /// Holds the speed in percent; read for each I/O.
    pub percent: PathBuf,
    /// I/Os per second at 100 %, before any drift.
    pub iops: f64,
    /// Standard deviation of a trial, of logarithms.
    pub noise: f64,
    /// What each trial is faster than the one before it, of logarithms.
    pub drift: f64,
    /// Decides the noise.
    pub seed: u64,
    trial: Option<Trial>,
    trials: u32,
    latest: f64,
}

#[derive(Debug)]
struct Trial {
    /// When the latest I/O came.
    came: Instant,
    /// When it was to be done.
    done: Instant,
    /// I/Os per second at 100 %.
    iops: f64,
}

impl KnownSpeed {
    /// Without noise or drift.
    #[must_use]
    pub fn new(percent: PathBuf, iops: f64) -> Self {
        Self {
            percent,
            iops,
            noise: 0.0,
            drift: 0.0,
            seed: 1,
            trial: None,
            trials: 0,
            latest: 100.0,
        }
    }

    /// When an I/O that came `now` is done.
    pub fn done_at(&mut self, now: Instant) -> Instant {
        let same = self.trial.take();
        let is_same = |trial: &Trial| now.saturating_duration_since(trial.came) < BETWEEN_TRIALS;
        let mut trial = same.filter(is_same).unwrap_or_else(|| self.begin(now));
        let earliest = now.checked_sub(MADE_UP_FOR).unwrap_or(now);
        let each = 100.0 / (trial.iops * self.percent());
        let done = trial.done.max(earliest) + Duration::from_secs_f64(each);
        (trial.came, trial.done) = (now, done);
        self.trial = Some(trial);
        done
    }

    /// While the file is being written it may be empty: then the speed stays.
    fn percent(&mut self) -> f64 {
        let text = fs::read_to_string(&self.percent).unwrap_or_default();
        self.latest = text.trim().parse().unwrap_or(self.latest);
        self.latest
    }

    fn begin(&mut self, now: Instant) -> Trial {
        let drift = self.drift * f64::from(self.trials);
        let noise = self.noise * self.normal();
        self.trials += 1;
        Trial {
            came: now,
            done: now,
            iops: self.iops * (drift + noise).exp(),
        }
    }

    /// Box and Muller, with uniform numbers of Knuth's generator.
    fn normal(&mut self) -> f64 {
        let mut uniform = || {
            self.seed = self
                .seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (f64::from((self.seed >> 32) as u32) + 0.5) / 2_f64.powi(32)
        };
        (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn each_trial_has_one_speed() {
        let scratch = Scratch::new().unwrap();
        let percent = scratch.join("percent");
        fs::write(&percent, "100\n").unwrap();
        let mut speed = KnownSpeed::new(percent.clone(), 1_000.0);
        speed.drift = 2_f64.ln();
        let start = Instant::now();
        let ms = |n: u64| Duration::from_millis(n);
        assert_eq!(speed.done_at(start), start + ms(1));
        assert_eq!(speed.done_at(start + ms(1)), start + ms(2));
        // One that comes late does not slow down the others.
        assert_eq!(speed.done_at(start + ms(10)), start + ms(3));
        assert_eq!(speed.done_at(start + ms(11)), start + ms(4));
        assert_eq!(speed.done_at(start + ms(81)), start + ms(22), "too late");
        fs::write(&percent, "50\n").unwrap();
        assert_eq!(speed.done_at(start + ms(82)), start + ms(24));
        fs::write(&percent, "").unwrap();
        assert_eq!(speed.done_at(start + ms(83)), start + ms(26));
        // The next trial: half the speed, and twice the one before it.
        let next = start + ms(900);
        assert_eq!(speed.done_at(next), next + ms(1));
        assert_eq!(speed.done_at(next + ms(1)), next + ms(2));
    }
}
