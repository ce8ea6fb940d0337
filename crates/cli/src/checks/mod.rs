//! Checks before a measurement: admission of paths, free space, the medium, estimates.

pub mod admission;
pub mod estimate;
pub mod free_space;
pub mod input;
pub mod part;
pub mod toml_file;
