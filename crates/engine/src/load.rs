//! Running a load: the streams of a job file, their files, their schedule.
//!
//! Modules, in the order of a load:
//!
//! - `run` makes the files of all streams, then starts, follows and ends one wave after the other.
//! - `crew` is the thread of a stream: its processor and priority, its engine, its report.
//! - `worker` is the loop of a stream.
//! - `source` provides its I/Os: `sequence` (direction, file, offset and length of the next I/O) or
//!   `trace` (recording and replay).
//! - `pace` computes when an I/O may start; it reads no clock.
//! - `files` turns names and sizes into open files.
//! - `logs` keeps an entry for each I/O, and writes the text files afterwards.
//! - `priorities`, `steady`, `tally`: priorities of single I/Os, steady states, depths and times.
//!
//! The I/O of a stream follows from its description and its seed, not from the time. Only files
//! that the load names for removal are removed.

mod crew;
mod files;
mod logs;
#[cfg(feature = "loads")]
mod outputs;
mod pace;
mod priorities;
mod run;
mod sequence;
mod shared;
mod source;
mod steady;
mod tally;
mod trace;
mod turns;
mod worker;

pub use files::sync_flags;
#[cfg(feature = "loads")]
pub use outputs::{laid_out, outputs};
pub(crate) use run::{LoadOutcome, Signals, conduct};
#[cfg(feature = "loads")]
pub use run::{adopt, run, run_until};
pub use trace::traced_files;

use assay_model::load::report::{FilePart, LoadProgress, LoadReport};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Controls of a load under way, usable from any thread.
#[derive(Debug, Default)]
pub struct Controls {
    /// Set to end all streams now.
    pub stop: AtomicBool,
    /// Set to request one interim report; cleared when it was made.
    pub report_now: AtomicBool,
}

/// Receives the events of a load, on the thread that runs it.
pub trait LoadObserver {
    /// Receives a message for the user, one line long.
    fn note(&mut self, note: &Note);
    /// Called when the streams of a wave are ready; they start when this returns. `files` holds
    /// the paths of each stream (by its index in the load) and the part of each file that the
    /// stream uses.
    fn wave_starts(&mut self, wave: u32, files: &[(u32, Vec<(PathBuf, FilePart)>)]);
    /// Called when every stream of the wave has finished its ramp, by the clock, and is measured.
    /// It is called only if a stream has a ramp and did not end before.
    fn ramp_ended(&mut self, _wave: u32) {}
    /// Called when the clocks that give the rates of these streams have just stopped, or are
    /// about to resume with another pass. The streams wait until this returns before they read
    /// back their writes, close or remove files, or run a command of the user. Called only for
    /// streams that stop their clock.
    fn clocks_turn(&mut self, _wave: u32, _turn: Turn, _streams: &[u32]) {}
    /// Called when every stream of the wave has just ended.
    fn wave_ended(&mut self, wave: u32);
    /// Receives the progress, a few times a second.
    fn progress(&mut self, progress: &LoadProgress);
    /// Receives an interim report, when one was requested or is due. The observer adds evidence
    /// and disk statistics.
    fn interim(&mut self, report: LoadReport);
}

/// Change of a clock that is stopped between the passes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The clock has just stopped.
    Stops,
    /// The clock is about to resume.
    GoesOn,
}

/// A line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// For information.
    Info(String),
    /// A setting may not have the effect that the user expects.
    Warning(String),
    /// Reason why a stream failed.
    Error(String),
}
