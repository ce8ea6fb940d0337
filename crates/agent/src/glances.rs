//! Temperature and dirty pages during the measurement. The thread that sends the progress
//! reads them, because it wakes up anyway: once a second, and less often in a long trial.

use assay_model::evidence::Glance;

/// Initial interval between glances, in nanoseconds.
const FIRST_STEP_NS: u64 = 1_000_000_000;
/// Glances that are kept, at most: as many as a chart can show.
const MOST: usize = 300;

/// Glances of one trial.
#[derive(Debug)]
pub(crate) struct Glances {
    taken: Vec<Glance>,
    step_ns: u64,
    /// Time of the next glance since the clock started, in nanoseconds.
    due_ns: u64,
}

impl Default for Glances {
    fn default() -> Self {
        Self {
            taken: Vec::new(),
            step_ns: FIRST_STEP_NS,
            due_ns: FIRST_STEP_NS,
        }
    }
}

impl Glances {
    /// Takes a glance if one is due, `elapsed_ns` after the clock started. When there are
    /// too many, every other one is dropped and the interval is doubled.
    pub(crate) fn look(&mut self, elapsed_ns: u64, look: impl FnOnce() -> Glance) {
        if elapsed_ns < self.due_ns {
            return;
        }
        self.taken.push(look());
        if self.taken.len() >= MOST {
            let mut keep = false;
            self.taken.retain(|_| {
                keep = !keep;
                !keep
            });
            self.step_ns *= 2;
        }
        // If the thread woke up late, missed glances are skipped.
        self.due_ns = elapsed_ns - elapsed_ns % self.step_ns + self.step_ns;
    }

    /// Returns the kept glances, in order.
    pub(crate) fn taken(&self) -> &[Glance] {
        &self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates progress four times a second; returns the times of the glances, in
    /// seconds.
    fn looked(seconds: u64) -> Vec<u64> {
        let mut glances = Glances::default();
        for quarter in 1..=4 * seconds {
            let elapsed_ns = quarter * 250_000_000;
            glances.look(elapsed_ns, || Glance {
                at_ns: elapsed_ns,
                ..Glance::default()
            });
        }
        let taken = glances.taken().iter();
        taken.map(|glance| glance.at_ns / 1_000_000_000).collect()
    }

    #[test]
    fn it_looks_once_a_second_and_not_at_all_in_a_short_trial() {
        assert!(looked(0).is_empty());
        assert_eq!(looked(3), [1, 2, 3]);
    }

    #[test]
    fn a_long_trial_is_looked_at_evenly_and_keeps_few() {
        for seconds in [299, 300, 301, 599, 3_600, 100_000] {
            let times = looked(seconds);
            assert!(times.len() < MOST, "{seconds} s: {}", times.len());
            let steps: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
            assert!(
                steps.iter().all(|step| *step == steps[0]),
                "{seconds} s: {steps:?}"
            );
            assert!(
                times[0] == steps[0] && times.len() > MOST / 3,
                "{seconds} s"
            );
        }
    }
}
