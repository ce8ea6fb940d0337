//! Values and addresses of the command line, and progress on the terminal.

pub mod address;
pub mod destination;
pub mod progress;
pub mod since;
pub mod values;
