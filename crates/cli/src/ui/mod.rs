//! Words and progress on the terminal, and parsing of the command line.

pub mod address;
pub mod destination;
pub mod progress;
pub mod since;
pub mod values;
