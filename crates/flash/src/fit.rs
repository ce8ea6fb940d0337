//! Least squares for nonlinear models (Levenberg and Marquardt), with the standard errors of
//! the estimates.
//!
//! This is not taken from a linear algebra library, because those select their instructions by
//! processor: the last bits of the same fit would differ between machines.

/// Result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Estimated parameters.
    pub values: Vec<f64>,
    /// Standard errors of the parameters; `None` if the observations do not determine a
    /// parameter.
    pub errors: Vec<Option<f64>>,
    /// Standard errors for observations with a standard deviation of 1.
    pub errors_of_one: Vec<Option<f64>>,
    /// Residuals at the end.
    pub residuals: Vec<f64>,
}

/// Maximum number of steps; an unfinished fit is returned as it is.
const MOST_STEPS: usize = 200;
/// Relative step of the difference quotients, applied to values of at least 1: parameters are
/// microseconds or near 1, and virtual time has a resolution of picoseconds.
const DIFFERENCE: f64 = 1e-4;
/// Relative improvement of the sum of squares below which the fit ends.
const ENOUGH: f64 = 1e-12;
/// Limit on the factor by which other parameters inflate the variance of one; above it, the
/// parameter counts as undetermined.
const MOST_INFLATION: f64 = 1e7;

/// Estimates the parameters with the least sum of squared `residuals`, starting from `start`.
/// Parameters stay at 0 or above. `residuals` must always return the same number of values.
pub fn fit(start: &[f64], residuals: impl Fn(&[f64]) -> Vec<f64>) -> Fitted {
    let mut at = start.to_vec();
    let mut now = residuals(&at);
    let mut damping = 1e-3;
    for _ in 0..MOST_STEPS {
        let slopes = slopes(&at, &now, &residuals);
        let Some((next, then)) = step(&at, &now, &slopes, &mut damping, &residuals) else {
            break;
        };
        let gain = squares(&now) - squares(&then);
        let least = squares(&now) * ENOUGH;
        (at, now) = (next, then);
        if gain <= least {
            break;
        }
    }
    let errors_of_one = errors_of_one(&slopes(&at, &now, &residuals));
    let sigma = variance(&now, at.len()).map(f64::sqrt);
    let error = |one: &Option<f64>| Some((*one)? * sigma?);
    Fitted {
        errors: errors_of_one.iter().map(error).collect(),
        errors_of_one,
        values: at,
        residuals: now,
    }
}

fn squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

/// Returns the derivatives of all residuals for each parameter.
fn slopes(at: &[f64], now: &[f64], residuals: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
    let of = |parameter: usize| {
        let mut moved = at.to_vec();
        let difference = moved[parameter].abs().max(1.0) * DIFFERENCE;
        moved[parameter] += difference;
        let then = residuals(&moved);
        let changes = then
            .iter()
            .zip(now)
            .map(|(then, now)| (then - now) / difference);
        changes.collect()
    };
    (0..at.len()).map(of).collect()
}

/// Returns the next point with a smaller sum of squares, and its residuals; `None` if none is
/// found.
fn step(
    at: &[f64],
    now: &[f64],
    slopes: &[Vec<f64>],
    damping: &mut f64,
    residuals: impl Fn(&[f64]) -> Vec<f64>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let (matrix, scale) = normal(slopes);
    let gradient: Vec<f64> = (slopes.iter().zip(&scale))
        .map(|(slope, scale)| -dot(slope, now) / scale)
        .collect();
    while *damping < 1e12 {
        let mut damped = matrix.clone();
        for (i, row) in damped.iter_mut().enumerate() {
            row[i] += *damping;
        }
        let solved = factor(damped).map(|lower| solve(&lower, &gradient));
        if let Some(solved) = solved {
            let moves = at.iter().zip(solved.iter().zip(&scale));
            let next: Vec<f64> = moves
                .map(|(at, (by, scale))| (at + by / scale).max(0.0))
                .collect();
            let then = residuals(&next);
            if squares(&then) < squares(now) {
                *damping = (*damping / 10.0).max(1e-12);
                return Some((next, then));
            }
        }
        *damping *= 10.0;
    }
    None
}

/// Returns the matrix of the normal equations with ones on its diagonal, and the lengths of the
/// slopes by which it was divided. A length of 1e-300 means that nothing depends on the
/// parameter.
fn normal(slopes: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let lengths: Vec<f64> = slopes
        .iter()
        .map(|slope| squares(slope).sqrt().max(1e-300))
        .collect();
    let row = |i: usize| {
        let cells =
            (0..slopes.len()).map(|j| dot(&slopes[i], &slopes[j]) / lengths[i] / lengths[j]);
        cells.collect()
    };
    ((0..slopes.len()).map(row).collect(), lengths)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns Cholesky's lower triangle; `None` for a matrix that is not positive definite.
fn factor(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    for i in 0..a.len() {
        for j in 0..=i {
            let rest = a[i][j] - dot(&a[i][..j], &a[j][..j]);
            a[i][j] = if i == j { rest.sqrt() } else { rest / a[j][j] };
        }
        if !(a[i][i] > 0.0 && a[i][i].is_finite()) {
            return None;
        }
    }
    Some(a)
}

/// Solves the equations with a lower triangle and its transpose.
fn solve(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x = right.to_vec();
    for i in 0..x.len() {
        x[i] = (x[i] - dot(&lower[i][..i], &x[..i])) / lower[i][i];
    }
    for i in (0..x.len()).rev() {
        let known: f64 = (i + 1..x.len()).map(|j| lower[j][i] * x[j]).sum();
        x[i] = (x[i] - known) / lower[i][i];
    }
    x
}

/// Returns the residual variance, with `observations - parameters` degrees of freedom; `None`
/// if there are none.
fn variance(residuals: &[f64], parameters: usize) -> Option<f64> {
    let freedom = residuals.len().checked_sub(parameters)?;
    let freedom = (freedom > 0).then_some(freedom as f64)?;
    Some(squares(residuals) / freedom)
}

/// Returns the standard errors from the curvature at the end (Bates and Watts 1988, 2.3), for
/// observations with a standard deviation of 1: the square root of the diagonal of the inverse
/// of the normal equations.
fn errors_of_one(slopes: &[Vec<f64>]) -> Vec<Option<f64>> {
    let count = slopes.len();
    let (mut matrix, scale) = normal(slopes);
    // This term is too small to affect determined parameters.
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] += 1e-10;
    }
    let Some(lower) = factor(matrix) else {
        return vec![None; count];
    };
    let error = |i: usize| {
        let mut unit = vec![0.0; count];
        unit[i] = 1.0;
        let inflation = solve(&lower, &unit)[i];
        let told = scale[i] > 1e-290 && inflation < MOST_INFLATION;
        told.then(|| inflation.sqrt() / scale[i])
    };
    (0..count).map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a line with a slope of 2 and an intercept of 1, moved by these.
    fn line(noise: [f64; 4]) -> impl Fn(&[f64]) -> Vec<f64> {
        move |p| {
            let points = noise.iter().zip([0.0, 1.0, 2.0, 3.0]);
            points
                .map(|(noise, x)| p[0] + p[1] * x - (1.0 + 2.0 * x + noise))
                .collect()
        }
    }

    /// Against the textbook formulas of a straight line: s² = 0.02, Sxx = 5.
    #[test]
    fn a_line_is_found_with_its_errors() {
        let fitted = fit(&[5.0, 5.0], line([0.1, -0.1, -0.1, 0.1]));
        assert!((fitted.values[0] - 1.0).abs() < 1e-6, "{fitted:?}");
        assert!((fitted.values[1] - 2.0).abs() < 1e-6, "{fitted:?}");
        let slope = fitted.errors[1].expect("it is told");
        assert!((slope - (0.02_f64 / 5.0).sqrt()).abs() < 1e-6, "{slope}");
    }

    #[test]
    fn what_the_observations_do_not_tell_has_no_error() {
        let unused = fit(&[5.0, 5.0, 7.0], line([0.1, -0.1, -0.1, 0.1]));
        assert!(unused.errors[0].is_some() && unused.errors[2].is_none());
        assert!(
            (unused.values[2] - 7.0).abs() < 1e-9,
            "it stays: {unused:?}"
        );
        let sum = fit(&[1.0, 1.0], |p| {
            vec![p[0] + p[1] - 3.0, p[0] + p[1] - 3.1, 0.1]
        });
        assert_eq!(sum.errors, [None, None]);
    }

    #[test]
    fn parameters_do_not_become_negative() {
        let fitted = fit(&[1.0], |p| vec![p[0] + 2.0, p[0] + 2.1]);
        assert_eq!(fitted.values, [0.0]);
    }

    #[test]
    fn nonsense_ends() {
        let fitted = fit(&[1.0, 2.0], |_| vec![f64::NAN; 3]);
        assert_eq!(fitted.values, [1.0, 2.0]);
        assert_eq!(fit(&[], |_| vec![1.0]).errors, []);
    }
}
