//! Source of a stream's I/Os: an order of blocks, or a trace.

use super::pace::Pacing;
use super::sequence::{Sequence, Step};
use super::trace::{TraceReader, TraceStep};
use crate::EngineError;
use crate::extra::Loads;
use assay_model::evidence::LatencyRecord;
use assay_model::job::FlushCall;
use assay_model::load::{Ddir, Stream, Trace};
use assay_stats::histogram::Histogram;
use assay_trace::Action;
use std::path::{Path, PathBuf};

/// Source of a stream's I/Os.
pub(super) enum IoSource {
    /// Blocks in the order that the job describes.
    Order(Box<PacedSequence>),
    /// Recorded I/Os.
    Replay(Box<Replay>, Loads),
}

/// Next action from the source.
pub(super) enum Given {
    /// An I/O of this block.
    Step(Step),
    /// No action before this time.
    NotBefore(u64),
    /// A flush of this file.
    Flush(u32, FlushCall),
    /// The end of the pass.
    Over,
    /// A failure to read the next action.
    Failed(EngineError),
}

/// Remainder of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Goal {
    pub(super) bytes_left: u64,
    pub(super) ios_left: u64,
    /// True if the order of offsets starts over at its end.
    repeat: bool,
}

impl Goal {
    pub(super) fn of_pass(stream: &Stream, pass_bytes: u64, source: &IoSource) -> Self {
        let length = &stream.length;
        // As in fio, a trim and its write count as one I/O.
        let ios = length
            .number_ios
            .map(|ios| match stream.blocks.rw.trim_then_write {
                true => ios.saturating_mul(2),
                false => ios,
            });
        let endless = length.time_based || length.fill_device || source.is_replay();
        let repeat = !source.is_replay() && (length.time_based || length.io_size.is_some());
        Self {
            bytes_left: if endless { u64::MAX } else { pass_bytes },
            ios_left: ios.unwrap_or(u64::MAX),
            repeat,
        }
    }

    /// Returns true if the order of offsets starts over at its end.
    pub(super) const fn repeats(&self) -> bool {
        self.repeat
    }

    #[inline]
    pub(super) const fn is_reached(&self) -> bool {
        self.bytes_left == 0 || self.ios_left == 0
    }

    /// Sets the goal to one pass over the order of offsets, independent of the job's
    /// duration.
    pub(super) const fn take_one_pass(&mut self, pass_bytes: u64) {
        self.bytes_left = pass_bytes;
        self.repeat = false;
    }

    /// Ends the pass.
    pub(super) const fn give_up(&mut self) {
        self.ios_left = 0;
    }

    #[inline]
    pub(super) const fn take(&mut self, bytes: u32) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes as u64);
        self.ios_left = self.ios_left.saturating_sub(1);
    }
}

/// A sequence, and its next step while that waits.
pub(super) struct PacedSequence {
    sequence: Sequence,
    /// Direction of the next block, if it was drawn but must wait.
    drawn: Option<Ddir>,
    held: Option<Step>,
}

/// A trace, and the position in it.
pub(super) struct Replay {
    path: PathBuf,
    options: Trace,
    reader: TraceReader,
    held: Option<TraceStep>,
    /// Time at which the held step is due, relative to the first step.
    due_ns: u64,
    begun_ns: Option<u64>,
    /// Delay of the held step, in nanoseconds.
    late_ns: u64,
    /// Delays of the steps before it.
    lateness: Histogram,
}

impl IoSource {
    pub(super) fn order(sequence: Sequence) -> Self {
        Self::Order(Box::new(PacedSequence {
            sequence,
            drawn: None,
            held: None,
        }))
    }

    pub(super) fn replay(path: &Path, options: &Trace, reader: TraceReader, loads: Loads) -> Self {
        let replay = Box::new(Replay {
            path: path.to_owned(),
            options: options.clone(),
            reader,
            held: None,
            due_ns: 0,
            begun_ns: None,
            late_ns: 0,
            lateness: Histogram::new(),
        });
        Self::Replay(replay, loads)
    }

    pub(super) const fn is_replay(&self) -> bool {
        matches!(self, Self::Replay(..))
    }

    /// Returns the next block of an order, without checking rates.
    #[inline]
    pub(super) fn next(&mut self, goal: &Goal) -> Option<Step> {
        match self {
            Self::Order(order) => order.next(goal),
            Self::Replay(..) => None,
        }
    }

    /// Returns the next action, and repeats it until it is [taken](IoSource::taken).
    pub(super) fn peek(&mut self, goal: &Goal, pacing: Option<&Pacing>, now_ns: u64) -> Given {
        if goal.is_reached() {
            return Given::Over;
        }
        match self {
            Self::Order(order) => order.peek(goal, pacing, now_ns),
            Self::Replay(replay, _) => replay.peek(now_ns),
        }
    }

    /// Confirms that the action returned by [`IoSource::peek`] has been issued.
    pub(super) fn taken(&mut self) {
        match self {
            Self::Order(order) => order.held = None,
            Self::Replay(replay, _) => {
                replay.held = None;
                if !replay.options.no_stall {
                    replay.lateness.record(replay.late_ns);
                }
            }
        }
    }

    /// Returns the write that belongs to an issued trim, if it was not issued yet.
    pub(super) fn take_owed_write(&mut self) -> Option<Step> {
        let Self::Order(order) = self else {
            return None;
        };
        match order.held {
            Some(step) if step.ddir == Ddir::Trim => None,
            Some(_) => order.held.take(),
            None => order.sequence.take_owed_write(),
        }
    }

    /// Returns the delays with which the I/Os and flushes of a replay began, relative to the
    /// recording, if the replay keeps recorded times.
    pub(super) fn lateness(&self) -> Option<LatencyRecord> {
        match self {
            Self::Replay(replay, _) if !replay.options.no_stall => {
                Some(replay.lateness.to_record())
            }
            Self::Order(_) | Self::Replay(..) => None,
        }
    }

    /// Restarts from the beginning.
    pub(super) fn begin_again(&mut self) -> Result<(), EngineError> {
        match self {
            Self::Order(order) => {
                order.held = None;
                order.drawn = None;
                order.sequence.begin_again();
            }
            Self::Replay(replay, _) => {
                replay.reader = TraceReader::open(&replay.path, &replay.options)?;
                replay.held = None;
                replay.due_ns = 0;
                replay.begun_ns = None;
            }
        }
        Ok(())
    }
}

impl PacedSequence {
    fn peek(&mut self, goal: &Goal, pacing: Option<&Pacing>, now_ns: u64) -> Given {
        if let Some(step) = self.held {
            return Given::Step(step);
        }
        let drawn = match self.drawn.take() {
            Some(ddir) => ddir,
            None => self.sequence.draw(),
        };
        let mut ddir = drawn;
        if let Some(pacing) = pacing {
            let turn = pacing.steer(drawn, self.sequence.is_mixed(), now_ns);
            if turn.delay_ns > 0 {
                self.drawn = Some(drawn);
                return Given::NotBefore(now_ns.saturating_add(turn.delay_ns));
            }
            ddir = turn.ddir;
        }
        self.held = self.sequence.next_of(ddir);
        if self.held.is_none() && goal.repeats() {
            self.sequence.begin_again();
            let ddir = self.sequence.draw();
            self.held = self.sequence.next_of(ddir);
        }
        self.held.map_or(Given::Over, Given::Step)
    }

    #[inline]
    fn next(&mut self, goal: &Goal) -> Option<Step> {
        if let Some(step) = self.sequence.next() {
            return Some(step);
        }
        self.next_pass(goal)
    }

    #[cold]
    fn next_pass(&mut self, goal: &Goal) -> Option<Step> {
        if !goal.repeats() {
            return None;
        }
        self.sequence.begin_again();
        self.sequence.next()
    }
}

impl Replay {
    fn peek(&mut self, now_ns: u64) -> Given {
        let begun_ns = *self.begun_ns.get_or_insert(now_ns);
        loop {
            let step = match self.held {
                Some(step) => step,
                None => match self.reader.next() {
                    None => return Given::Over,
                    Some(Err(error)) => return Given::Failed(error),
                    Some(Ok(step)) => {
                        self.due_ns = self.due_ns.saturating_add(step.delay_ns);
                        self.held = Some(step);
                        step
                    }
                },
            };
            let due_ns = begun_ns.saturating_add(self.due_ns);
            if now_ns < due_ns {
                return Given::NotBefore(due_ns);
            }
            self.late_ns = now_ns - due_ns;
            let file = u32::try_from(step.file).unwrap_or(u32::MAX);
            let io = match step.action {
                Action::Io(io) => io,
                Action::Sync => return Given::Flush(file, FlushCall::Fsync),
                Action::Datasync => return Given::Flush(file, FlushCall::Fdatasync),
                // All files are open while the stream runs.
                Action::Open | Action::Close | Action::Done(_) => {
                    self.held = None;
                    continue;
                }
            };
            return Given::Step(Step {
                ddir: io.ddir,
                file,
                offset: io.offset,
                length: io.length,
            });
        }
    }
}

/// Returns the length of the longest block of a trace, in bytes.
pub(super) fn longest(reader: &TraceReader) -> u32 {
    let longest = &reader.summary().longest;
    longest.iter().map(|(_, length)| *length).max().unwrap_or(0)
}
