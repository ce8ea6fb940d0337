//! Host's side of a session with an agent.

pub mod acts;
pub mod announce;
pub mod host;
pub mod leftovers;
pub mod measuring;
pub mod notes;
pub mod plans;
pub mod reach;
pub mod records;
pub mod runs;
pub mod slot_talk;
pub mod step_progress;
pub mod trials;
