//! Thinning out long series, so that no dip and no peak is lost.

/// One stretch of a long series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// First value of it.
    pub start: usize,
    /// Number of values.
    pub len: usize,
    /// The smallest.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// Number of values that are 0.
    pub empty: usize,
}

/// At most `most` stretches that keep the smallest and the largest value of each
/// and the number of its zeros.
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
