//! The commands, in the groups of the help.

pub mod dropin;
pub mod judge;
pub mod machines;
pub mod measure;
pub mod results;
