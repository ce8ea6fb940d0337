//! I/O engines and the loop that drives them.
//!
//! [`load::run()`] runs the streams of a load and returns raw counters;
//! [`measure()`] does the same for one job. Around them stand the file helpers
//! that a trial needs: [`layout`] writes test files for real, [`page_cache`]
//! looks at and empties their cache.
//!
//! This is the only crate with `unsafe`: aligned buffers that the kernel
//! fills, and system calls that no safe wrapper offers. Each use says why it
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
mod inherited;
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
mod sandbox;
#[cfg(feature = "sim")]
pub mod sim;
mod start;
pub mod stdio;
mod sys;
mod verify;
mod wake;

pub use engines::trim::discard_range;
pub use engines::usable;
pub use error::{EngineError, goes_away};
pub use inherited::inherited;
pub use measure::{Observer, Progress, Start, measure};
pub use start::StartLine;
pub use sys::{own_file_table, thread_cpu_use};
pub use wake::{Waker, survive_wakes};
