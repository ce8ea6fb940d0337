//! Detection of outliers among trials. They are reported, never dropped.

use crate::summary::median;

/// Distance from the median beyond which a value is an outlier, in robust standard deviations.
const FAR: f64 = 5.0;

/// Fewest values for the detection of an outlier.
const MIN_VALUES: usize = 5;

/// Ratios of a normal standard deviation to the median absolute deviation, and to the mean one,
/// which is used if the median one is 0.
const FROM_MEDIAN: f64 = 1.4826;
const FROM_MEAN: f64 = 1.2533;

/// Returns the indices of values with |x - median| > 5 * 1.4826 * MAD; none below five values.
pub fn flagged(values: &[f64]) -> Vec<usize> {
    if values.len() < MIN_VALUES {
        return Vec::new();
    }
    let centre = median(values).unwrap_or(f64::NAN);
    let off: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    let mut scale = FROM_MEDIAN * median(&off).unwrap_or(f64::NAN);
    if scale == 0.0 {
        scale = FROM_MEAN * off.iter().sum::<f64>() / off.len() as f64;
    }
    (0..values.len())
        .filter(|&i| off[i] > FAR * scale)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_off_is_found() {
        assert_eq!(flagged(&[1.0, 1.1, 0.9, 1.05, 0.95]), Vec::<usize>::new());
        assert_eq!(flagged(&[1.0, 1.1, 0.9, 3.0, 0.95]), [3]);
        assert_eq!(flagged(&[1.0, 9.0, 1.0, 1.1]), Vec::<usize>::new());
        assert_eq!(flagged(&[1.0; 6]), Vec::<usize>::new());
        let mut rounded = [10.0; 12];
        rounded[4] = 12.0;
        assert_eq!(flagged(&rounded), [4]);
    }
}
