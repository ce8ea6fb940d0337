//! Stored runs and figures: finding, reading, output formats.

pub mod formats;
pub mod guard;
pub mod lookup;
pub mod sources;
