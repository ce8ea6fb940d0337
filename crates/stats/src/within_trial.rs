//! Analysis within one trial: warm-up, steadiness, and the precision of percentiles. Diagnostics
//! only: samples of a trial depend on each other, so verdicts use one value per trial.

pub mod quantiles;
pub mod steady;
pub mod warmup;
