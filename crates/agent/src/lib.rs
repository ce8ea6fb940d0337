//! The part of assay that runs on the machine with the storage: it inspects a path, runs
//! a plan trial by trial, a load wave by wave or an act step by step, collects evidence
//! for each, and streams records.
//!
//! [`serve()`] exchanges the messages of `assay_model::wire` over any pair of byte
//! streams; the same code serves this machine, and boards through a link.

#![cfg_attr(
    not(feature = "works"),
    expect(dead_code, reason = "what only loads and works use is not linked")
)]

#[cfg(feature = "works")]
mod act;
mod conditions;
mod exit_watchdog;
pub mod frame;
mod inspect;
#[cfg(feature = "works")]
mod load;
mod messages;
mod permission;
mod plan;
mod pushed;
mod serve;
mod siblings;
mod trial;
#[cfg(feature = "works")]
mod watching;
mod window;
mod workspace;

pub use assay_engine::held::HeldFolder;
pub use messages::is_ignored;
pub use permission::admit_output;
pub use pushed::run;
pub use serve::{serve, serve_in_foreground};
