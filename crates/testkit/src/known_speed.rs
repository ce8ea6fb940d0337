//! Simulated speed with known noise and drift, for tests of comparisons.

use std::f64::consts::TAU;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Pause that separates two trials.
pub const BETWEEN_TRIALS: Duration = Duration::from_millis(300);

/// Longest lateness that later I/Os make up for. Any further lateness is lost;
/// otherwise I/Os after a short pause would complete at any speed.
const MADE_UP_FOR: Duration = Duration::from_millis(60);

/// Model of I/Os per second, with one I/O in flight; each trial draws its own
/// noise.
#[derive(Debug)]
pub struct KnownSpeed {
    /// File with the speed in percent, read for each I/O.
    pub percent: PathBuf,
    /// I/Os per second at 100 %, before any drift.
    pub iops: f64,
    /// Standard deviation between trials, of logarithms.
    pub noise: f64,
    /// Increase of the speed from trial to trial, of logarithms.
    pub drift: f64,
    /// Time from the start of a stall to that of the next, and length of a stall, in which nothing
    /// completes; the first starts with the trial.
    pub stalls: Option<(Duration, Duration)>,
    /// Seed of the noise.
    pub seed: u64,
    trial: Option<Trial>,
    trials: u32,
    latest: f64,
}

#[derive(Debug)]
struct Trial {
    /// Arrival of the first I/O.
    began: Instant,
    /// Arrival of the latest I/O.
    came: Instant,
    /// Time at which the latest I/O completes.
    done: Instant,
    /// I/Os per second at 100 %.
    iops: f64,
}

impl KnownSpeed {
    /// Makes a speed without noise or drift.
    #[must_use]
    pub fn new(percent: PathBuf, iops: f64) -> Self {
        Self {
            percent,
            iops,
            noise: 0.0,
            drift: 0.0,
            stalls: None,
            seed: 1,
            trial: None,
            trials: 0,
            latest: 100.0,
        }
    }

    /// Returns the completion time of an I/O that arrives `now`.
    pub fn done_at(&mut self, now: Instant) -> Instant {
        let same = self.trial.take();
        let is_same = |trial: &Trial| now.saturating_duration_since(trial.came) < BETWEEN_TRIALS;
        let mut trial = same.filter(is_same).unwrap_or_else(|| self.begin(now));
        let earliest = now.checked_sub(MADE_UP_FOR).unwrap_or(now);
        let each = 100.0 / (trial.iops * self.percent());
        let mut done = trial.done.max(earliest) + Duration::from_secs_f64(each);
        if let Some((every, length)) = self.stalls {
            let at = done.max(now);
            let since = at.saturating_duration_since(trial.began).as_nanos() % every.as_nanos();
            let left = length.as_nanos().saturating_sub(since);
            if left > 0 {
                done = at + Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX));
            }
        }
        (trial.came, trial.done) = (now, done);
        self.trial = Some(trial);
        done
    }

    /// Reads the speed. The file may be empty while it is written; the previous
    /// speed then applies.
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
            began: now,
            came: now,
            done: now,
            iops: self.iops * (drift + noise).exp(),
        }
    }

    /// Draws a standard normal number by Box and Muller, from uniform numbers of
    /// Knuth's generator.
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
