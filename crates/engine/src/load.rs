//! Running a load: the streams of a job file, their files, their schedule.

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
    /// End all streams now.
    pub stop: AtomicBool,
    /// Report how it stands, once; cleared when done.
    pub report_now: AtomicBool,
}

/// Whoever follows a load. Called on the thread that runs it.
pub trait LoadObserver {
    /// Something to tell the user, one line.
    fn note(&mut self, note: &Note);
    /// The streams of a wave are ready and start when this returns. `files`
    /// are the paths of each stream (by its index in the load), with the part
    /// of each that it works on.
    fn wave_starts(&mut self, wave: u32, files: &[(u32, Vec<(PathBuf, FilePart)>)]);
    /// Called when every stream of the wave has finished its ramp, by the clock, and is measured.
    /// It is called only if a stream has a ramp and did not end before.
    fn ramp_ended(&mut self, _wave: u32) {}
    /// The clocks that give the rates of these streams have just stopped, or are about to go
    /// on with another pass. They wait for the answer before anything else is done: what was
    /// written is read back, files are closed or removed, a command of the user runs. Only
    /// called for streams to which that happens.
    fn clocks_turn(&mut self, _wave: u32, _turn: Turn, _streams: &[u32]) {}
    /// Called when every stream of the wave has just ended.
    fn wave_ended(&mut self, wave: u32);
    /// A few times a second.
    fn progress(&mut self, progress: &LoadProgress);
    /// A whole report, when one was asked for or is due. Evidence and disks
    /// are the observer's to fill in.
    fn interim(&mut self, report: LoadReport);
}

/// Action of a clock that is stopped between the passes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has just stopped.
    Stops,
    /// It goes on.
    GoesOn,
}

/// A line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// For information.
    Info(String),
    /// Something may not be as the user thinks.
    Warning(String),
    /// Why a stream failed.
    Error(String),
}
