//! Host's side of a session with an agent.

pub mod announce;
pub mod host;
pub mod leftovers;
pub mod loads;
pub mod measuring;
pub mod notes;
pub mod plans;
pub mod reach;
pub mod runs;
pub mod step_progress;
pub mod trials;
pub mod works;
