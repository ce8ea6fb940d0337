//! Data types of assay: units, jobs, plans, trials, evidence, identities and the messages between
//! host and agent.
//!
//! This crate does no I/O and reads no clock, so every rule in it can be tested with values alone.
//! See `docs/architecture.md` for its use by the other crates.

pub mod act;
pub mod annotation;
pub mod checkup;
pub mod condition;
mod defaults;
pub mod device;
pub mod evidence;
pub mod figures;
pub mod gnu;
pub mod inspection;
pub mod job;
pub mod limits;
pub mod load;
pub mod measurement;
mod names;
pub mod number;
pub mod plan;
pub mod rng;
pub mod run;
pub mod storage;
pub mod system;
pub mod text;
pub mod trial;
pub mod unit;
pub mod units;
#[cfg(not(feature = "works"))]
pub mod unread;
pub mod verdict;
pub mod wire;
