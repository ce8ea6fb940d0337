//! Progress and remaining time: by bytes, because files differ in size far more than tests in
//! speed.

use crate::ui::progress::{Forecast, Voice, time_left};
use assay_model::units::Nanos;
use assay_model::work::WorkProgress;
use assay_model::work::iozone::{Iozone, IozoneStep};
use std::time::Instant;

/// Cost of opening and flushing files in a step, in bytes of I/O.
const AROUND_A_STEP: u64 = 1 << 20;

/// Progress of a work, weighted by bytes.
pub(super) struct WorkPace {
    start: Instant,
    steps: usize,
    done: usize,
    weight: u64,
    weight_done: u64,
}

impl WorkPace {
    pub(super) fn new(work: &Iozone, trials: u32) -> Self {
        let counts: Vec<u64> = match work.children.as_slice() {
            [] => vec![1],
            counts => counts.iter().map(|&count| u64::from(count)).collect(),
        };
        let tests = work.tests.len() as u64;
        let of_rows = work
            .rows
            .iter()
            .flat_map(|row| counts.iter().map(|&count| weight(row.file_kib, count)));
        let weight = of_rows.fold(0, u64::saturating_add);
        let steps = work.rows.len() * counts.len() * work.tests.len();
        Self {
            start: Instant::now(),
            steps: steps * usize::try_from(trials).unwrap_or(1),
            done: 0,
            weight: weight
                .saturating_mul(tests)
                .saturating_mul(u64::from(trials)),
            weight_done: 0,
        }
    }

    /// Counts a step that ended.
    pub(super) fn did(&mut self, step: &IozoneStep) {
        self.done += 1;
        let weight = weight(step.file_kib, step.children.len() as u64);
        self.weight_done = self.weight_done.saturating_add(weight);
    }

    /// Returns the remaining time; `None` before anything is done.
    fn left(&self, under_way: u64) -> Option<Nanos> {
        let done = self.weight_done.saturating_add(under_way);
        let spent = u64::try_from(self.start.elapsed().as_nanos()).ok()?;
        (done > 0).then(|| Forecast::rest(done, self.weight, Nanos(spent)))
    }

    /// Draws the live line, if there is one.
    pub(super) fn show(&self, voice: &Voice, progress: Option<&WorkProgress>) {
        if !voice.is_live() {
            return;
        }
        let left = self.left(progress.map_or(0, |progress| progress.done));
        let left = left.map_or_else(String::new, time_left);
        let text = match progress {
            Some(progress) => format!("{left}, {}", progress.step),
            None => left,
        };
        voice.show(self.done, self.steps, text.trim_start_matches(", "));
    }
}

/// Returns the weight of a step, in bytes. It saturates: sizes that no storage has are refused later,
/// by name.
fn weight(file_kib: u64, children: u64) -> u64 {
    let bytes = file_kib.saturating_mul(1024).saturating_mul(children);
    bytes.saturating_add(AROUND_A_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::iozone::{IozoneRow, Test};

    #[test]
    fn the_largest_sizes_have_a_weight() {
        let row = IozoneRow {
            file_kib: 1 << 52,
            record_kib: 4,
        };
        let work = Iozone {
            rows: vec![row, row],
            children: vec![1024],
            tests: vec![Test::Write],
            ..Iozone::default()
        };
        let pace = WorkPace::new(&work, 1000);
        assert_eq!(pace.weight, u64::MAX);
    }
}
