//! Words and progress on the terminal, and parsing of the command line.

pub mod announce;
pub mod language;
pub mod progress;
pub mod step_progress;
pub mod usage;
