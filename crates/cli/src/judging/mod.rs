//! Verdicts on stored figures: two sides compared, conditions ranked.

pub mod args;
pub mod circumstances;
pub mod comparison;
pub mod ranking;
pub mod units;
pub mod written;
