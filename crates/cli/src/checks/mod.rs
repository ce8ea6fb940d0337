//! Checks before a measurement: admission of paths, estimates of time and space, and what
//! users name: files, bus modes, parts.

pub mod admission;
pub mod estimate;
pub mod input;
