//! Copying runs to and from stores of others, at the end of a measurement and by command.

pub mod ahead;
pub mod connection;
pub mod outcome;
pub mod queue;
mod silence;
