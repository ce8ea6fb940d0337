//! `cargo xtask bench`: ratios, measured in one run on the same work.

mod bare;
mod fio;
mod overhead;
mod scratch;

pub use overhead::{measure_child, overhead};
