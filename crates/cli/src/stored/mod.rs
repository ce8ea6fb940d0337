//! Stored runs and figures: finding, reading, output formats.

pub mod ended;
pub mod files;
pub mod formats;
pub mod guard;
pub mod keep;
pub mod lookup;
pub mod opinions;
pub mod owner;
pub mod series;
pub mod sources;
