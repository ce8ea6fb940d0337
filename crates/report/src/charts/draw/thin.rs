//! Thins out long series without losing dips and peaks.

/// Stretch of a long series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Index of the first value.
    pub start: usize,
    /// Number of values.
    pub len: usize,
    /// Smallest value.
    pub min: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values that are 0.
    pub empty: usize,
}

/// Divides a series into at most `most` stretches. Each has the smallest and the largest of its
/// values and the number of zeros.
pub fn thin_out(values: &[f64], most: usize) -> Vec<Stretch> {
    let len = values.len().div_ceil(most.max(1)).max(1);
    values
        .chunks(len)
        .enumerate()
        .map(|(number, chunk)| Stretch {
            start: number * len,
            len: chunk.len(),
            min: chunk.iter().copied().fold(f64::INFINITY, f64::min),
            mean: chunk.iter().sum::<f64>() / chunk.len() as f64,
            max: chunk.iter().copied().fold(0.0, f64::max),
            empty: chunk.iter().filter(|value| **value <= 0.0).count(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_out_keeps_extremes_and_every_zero() {
        let mut values = vec![50.0; 10_000];
        values[7_777] = 0.0;
        values[1_234] = 99.0;
        let stretches = thin_out(&values, 100);
        assert!(stretches.len() <= 100);
        assert_eq!(stretches.iter().map(|s| s.empty).sum::<usize>(), 1);
        assert!(stretches.iter().any(|s| s.min <= 0.0));
        assert!(stretches.iter().any(|s| (s.max - 99.0).abs() < 1e-9));
        assert_eq!(stretches.iter().map(|s| s.len).sum::<usize>(), 10_000);
        assert_eq!(stretches[3].start, 300);
    }
}
