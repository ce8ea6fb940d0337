//! Forecast of a run's remaining time: a job's trials take as long as its last one, and jobs that
//! have not run yet deviate from the plan as the others did.

use assay_model::number::as_u64;
use assay_model::units::Nanos;

/// Forecast from the planned and the actual durations of trials.
pub struct Forecast {
    /// Job and planned time of each trial, in the plan's order.
    trials: Vec<(usize, Nanos)>,
    /// Duration of each job's last trial.
    last: Vec<Option<Nanos>>,
    /// Sums over the trials that have ended.
    planned: Nanos,
    spent: Nanos,
}

/// Share of the plan, as one part in this many, that counts as if it had gone as planned, so that
/// the first trials do not dominate.
const TRUST_IN_PLAN: u64 = 10;

impl Forecast {
    /// Makes a forecast; `jobs` and `expected` are in the plan's order.
    pub fn new(jobs: &[usize], expected: &[Nanos]) -> Self {
        let count = jobs.iter().max().map_or(0, |last| last + 1);
        Self {
            trials: jobs.iter().copied().zip(expected.iter().copied()).collect(),
            last: vec![None; count],
            planned: Nanos(0),
            spent: Nanos(0),
        }
    }

    /// Notes the duration of a trial that has ended, including its overhead.
    pub fn took(&mut self, position: usize, spent: Nanos) {
        if let Some((job, planned)) = self.trials.get(position) {
            self.last[*job] = Some(spent);
            self.planned.0 += planned.0;
            self.spent.0 += spent.0;
        }
    }

    /// Returns the remaining time if the trial at `position` has been running for `spent`.
    pub fn left(&self, position: usize, spent: Nanos) -> Nanos {
        let mut rest = self
            .trials
            .iter()
            .skip(position)
            .map(|trial| self.guess(trial));
        let current = rest.next().unwrap_or_default();
        let later: u64 = rest.map(|guess| guess.0).sum();
        Nanos(later + current.0.saturating_sub(spent.0))
    }

    fn guess(&self, (job, planned): &(usize, Nanos)) -> Nanos {
        if let Some(last) = self.last[*job] {
            return last;
        }
        let whole: u64 = self.trials.iter().map(|(_, planned)| planned.0).sum();
        let trust = (whole / TRUST_IN_PLAN).max(1);
        let pace = (self.spent.0 + trust) as f64 / (self.planned.0 + trust) as f64;
        Nanos(as_u64(planned.0 as f64 * pace))
    }

    /// Returns the remaining time at the mean pace so far; `done` and `total` are in any unit.
    pub fn rest(done: u64, total: u64, spent: Nanos) -> Nanos {
        let rest = u128::from(total.saturating_sub(done));
        let left = rest * u128::from(spent.0) / u128::from(done.max(1));
        Nanos(u64::try_from(left).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> Forecast {
        Forecast::new(&[0, 1, 0, 1], &[Nanos::secs(10); 4])
    }

    #[test]
    fn at_first_the_plan_is_all_there_is() {
        assert_eq!(forecast().left(0, Nanos(0)), Nanos::secs(40));
        assert_eq!(forecast().left(0, Nanos::secs(3)), Nanos::secs(37));
        assert_eq!(forecast().left(3, Nanos::secs(99)), Nanos(0));
        assert_eq!(forecast().left(9, Nanos(0)), Nanos(0));
    }

    #[test]
    fn a_job_takes_as_long_as_its_last_trial() {
        let mut forecast = forecast();
        forecast.took(0, Nanos::secs(2));
        forecast.took(1, Nanos::secs(30));
        assert_eq!(forecast.left(2, Nanos(0)), Nanos::secs(32));
    }

    #[test]
    fn slow_trials_make_the_unknown_ones_slow_too() {
        let mut forecast = forecast();
        forecast.took(0, Nanos::secs(80));
        // (80 + 4) / (10 + 4) = 6 times the plan.
        assert_eq!(forecast.left(1, Nanos(0)), Nanos::secs(60 + 80 + 60));
    }

    #[test]
    fn a_file_is_written_on_at_the_pace_so_far() {
        let rest = Forecast::rest(64 << 20, 256 << 20, Nanos::secs(2));
        assert_eq!(rest, Nanos::secs(6));
    }
}
