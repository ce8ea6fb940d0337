//! Counts as percentages of their total.

/// Shares in percent. What is not zero is shown as at least `least`, so that
/// one slow I/O among a million does not look like none.
pub(super) fn percent<const N: usize>(counts: &[u64; N], total: u64, least: f64) -> [f64; N] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (100.0 * count as f64 / total as f64).max(least),
    })
}

/// Shares of queue depths, in percent of everything that was counted.
pub(super) fn of_depths(counts: &[u64; 7]) -> [f64; 7] {
    percent(counts, counts.iter().sum(), 0.1)
}

/// Shares of latency classes, in percent of all I/Os.
pub(super) fn of_latencies<const N: usize>(counts: &[u64; N], ios: u64) -> [f64; N] {
    percent(counts, ios, 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_case_is_not_shown_as_none() {
        assert_eq!(
            of_latencies(&[0, 1, 999_999], 1_000_000),
            [0.0, 0.01, 99.9999]
        );
        assert_eq!(of_depths(&[1, 9_999, 0, 0, 0, 0, 0])[0], 0.1);
        assert_eq!(of_latencies(&[0, 0], 0), [0.0, 0.0]);
    }
}
