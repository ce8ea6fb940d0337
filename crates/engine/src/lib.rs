//! I/O engines and the loop that drives them.
//!
//! [`load::run()`] runs the streams of a load and returns raw counters;
//! [`measure()`] does the same for one job. The file helpers that a trial needs
//! are here too: [`layout`] writes test files, [`page_cache`] inspects and
//! empties their cache.
//!
//! This is the only crate with `unsafe`: for aligned buffers that the kernel
//! fills, and for system calls without a safe wrapper. Each use states why it
//! is sound.

#![allow(
    unsafe_code,
    reason = "the one crate that talks to the kernel below the safe wrappers"
)]

pub mod buffer;
mod clock;
mod content;
mod engines;
mod error;
mod extra;
mod gaps;
pub mod held;
mod io;
pub mod layout;
pub mod load;
pub mod mapped;
mod measure;
pub mod memory;
pub mod page_cache;
mod permutation;
mod recorder;
pub mod registers;
#[cfg(feature = "sim")]
pub mod sim;
pub mod stdio;
mod sys;
mod verify;

pub use engines::{discard_range, usable};
pub use error::{EngineError, goes_away};
pub use measure::{Observer, Progress, Start, measure};
pub use sys::{StartLine, Waker, inherited, own_file_table, survive_wakes, thread_cpu_use};
