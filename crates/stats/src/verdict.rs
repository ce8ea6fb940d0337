//! Verdicts: whether two or more conditions differ, by how much, and when
//! nothing can be said.
//!
//! Everything is done on y = ln(x), with its sign turned where less is better,
//! so that a positive difference always means that B is better and is a ratio
//! of speeds. One trial gives one value per metric; within a trial values
//! depend on each other, so intervals come from trials alone.

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
