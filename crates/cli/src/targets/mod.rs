//! Targets of `--on`, and the processes that measure on several at once.

pub mod child;
pub mod lab;
pub mod on;
pub mod pool;
pub mod several;
