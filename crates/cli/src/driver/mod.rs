//! The host side of a session with an agent.

pub mod host;
pub mod interrupt;
pub mod leftovers;
pub mod loads;
pub mod owner;
pub mod plans;
pub mod resume;
pub mod rounds;
pub mod runs;
pub mod works;
