//! A course in windows of equal bytes, to see whether it is steady: a slow window
//! then counts no more than a fast one.

/// Most windows: enough for any trend.
const MOST: usize = 30;

/// Fewest intervals that a window should have.
const INTERVALS: usize = 3;

/// Bytes per interval of each of at most [`MOST`] windows, which all hold as many
/// bytes; where a window ends within an interval, its bytes are spread over it.
/// Empty when there are none.
pub(super) fn of_equal_bytes(intervals: &[f64]) -> Vec<f64> {
    let windows = (intervals.len() / INTERVALS).min(MOST);
    let each = intervals.iter().sum::<f64>() / windows as f64;
    let mut rates = Vec::new();
    if !each.is_finite() || each <= 0.0 {
        return rates;
    }
    let (mut moved, mut began) = (0.0, 0.0);
    for (start, bytes) in intervals.iter().enumerate() {
        let mut end = (rates.len() + 1) as f64 * each;
        // The last one ends with the course, whatever rounding says.
        while moved + bytes >= end && rates.len() + 1 < windows {
            let now = start as f64 + (end - moved) / bytes;
            rates.push(each / (now - began));
            began = now;
            end += each;
        }
        moved += bytes;
    }
    rates.push(each / (intervals.len() as f64 - began));
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn each_window_holds_as_much() {
        near(&of_equal_bytes(&[6.0; 9]), &[6.0; 3]);
        // 54 bytes in two windows: the first one ends 9 bytes into the 24.
        near(
            &of_equal_bytes(&[6.0, 6.0, 6.0, 24.0, 6.0, 0.0, 6.0]),
            &[27.0 / 3.375, 27.0 / 3.625],
        );
        assert_eq!(of_equal_bytes(&[1.0; 900]).len(), MOST);
    }

    #[test]
    fn nothing_moved_has_no_windows() {
        assert!(of_equal_bytes(&[0.0; 90]).is_empty());
        assert!(of_equal_bytes(&[]).is_empty());
        assert!(of_equal_bytes(&[1.0, 1.0]).is_empty());
    }

    #[test]
    fn a_burst_of_one_interval_does_not_divide_by_nothing() {
        let mut intervals = vec![0.0; 60];
        intervals[0] = 1e9;
        let rates = of_equal_bytes(&intervals);
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
    }
}
