//! Verdicts: whether two or more conditions differ, by how much, and when no conclusion is
//! possible.
//!
//! All computations use y = ln(x), with the sign inverted where less is better, so that a positive
//! difference always means that B is better and is a ratio of speeds. A trial gives one value per
//! metric; values within a trial depend on each other, so intervals use one value per trial.

pub mod adjust;
pub mod arm;
pub mod between;
mod candidate;
mod combined;
pub mod compare;
pub mod composite;
pub mod estimate;
pub mod judge;
pub mod line;
pub mod margin;
pub mod moderation;
mod neighbours;
pub mod note;
pub mod order;
pub mod outlier;
pub mod power;
pub mod ranking;
pub mod sequential;
pub mod shift;
pub mod simulate;
pub mod trials;
pub mod units;

#[cfg(test)]
mod tests;
