//! Within one trial: where it warmed up, whether it was steady, which
//! percentiles its I/Os can carry. Diagnostics only: samples of a trial depend
//! on each other, so verdicts come from trials.

pub mod quantiles;
pub mod steady;
pub mod warmup;
