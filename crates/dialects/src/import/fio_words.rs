//! Names and notes for fio's jobs in any output format.

use assay_stats::derive::BANDWIDTH_FROM_BYTES;
use std::collections::HashMap;

pub(super) const UNLABELLED: &str = "What was measured, device or page cache, is not recorded.";

/// Counts of job names, which are equal for copies without `group_reporting`.
#[derive(Debug, Default)]
pub(super) struct Copies(HashMap<String, usize>);

impl Copies {
    /// Returns a unique name for the next job of that name.
    pub(super) fn name(&mut self, name: &str) -> String {
        let count = self.0.entry(name.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => name.to_owned(),
            copy => format!("{name} #{copy}"),
        }
    }
}

/// Returns the note on a job that ended with an error.
pub(super) fn ended_with(name: &str, error: impl std::fmt::Display) -> String {
    format!("{name} ended with error {error}: its figures may be those of a part of it.")
}

/// Returns the note on interim reports of a run.
pub(super) fn interim(reports: usize) -> String {
    format!("{reports} interim of the same run left out (--status-interval, SIGUSR1).")
}

/// Returns the name of the deciding rate, as for assay's own jobs: IOPS for small I/Os.
pub(super) fn deciding_rate(bytes_per_s: Option<f64>, iops: Option<f64>) -> &'static str {
    // Rates are rounded and block sizes are powers of two, hence the margin.
    let least = 0.75 * BANDWIDTH_FROM_BYTES as f64;
    let block = bytes_per_s.zip(iops).map(|(rate, iops)| rate / iops);
    if block.is_some_and(|block| block < least) {
        "iops"
    } else {
        "bw"
    }
}
