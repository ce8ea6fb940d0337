//! The sequence of I/Os: direction, file, offset, length.
//!
//! One pass covers the regions of all files once, by fio's rules: each
//! sequential direction starts from the beginning, each random offset occurs
//! once (unless requested otherwise), and a mix of directions shares the bytes
//! of one pass. Offsets come from assay's own generators.

mod draw;
mod free_map;
mod lengths;
mod mixed;
#[cfg(feature = "patterns")]
mod patterned;
mod plain;
mod rules;
mod service;
mod skewed;
mod walk;

use crate::error::EngineError;
use assay_model::load::report::FilePart;
use assay_model::load::{Ddir, Stream};
use assay_model::rng::SplitMix64;
use mixed::Mixed;
#[cfg(feature = "patterns")]
use patterned::Patterned;
use plain::Plain;
use rules::Rules;

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) ddir: Ddir,
    /// Number of the file among the stream's files.
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// The I/Os of a stream, in order. A clone repeats the sequence from the point
/// where it was cloned (which reproduces the written offsets for checking).
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    kind: SequenceKind,
    seed: u64,
    /// True if each pass has the same order (fio's `randrepeat`).
    repeat: bool,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per stream, and in the hot loop: no detour over the heap"
)]
enum SequenceKind {
    Plain(Plain),
    Mixed(Box<Mixed>),
    #[cfg(feature = "patterns")]
    Patterned(Patterned),
}

impl Sequence {
    /// Creates the sequence of `stream` over `spans`, the regions of its files
    /// by number. `seed` determines all random choices.
    ///
    /// # Errors
    /// If no block fits into any region, zones are longer than a region, or
    /// memory for a map of blocks is exhausted.
    pub(crate) fn new(stream: &Stream, spans: &[FilePart], seed: u64) -> Result<Self, EngineError> {
        let rules = Rules::new(stream);
        let longest = spans.iter().map(|span| span.length).max().unwrap_or(0);
        let room = rules
            .zones
            .map_or(longest, |zones| zones.range.min(longest));
        if room < rules.smallest() {
            return Err(EngineError::Job {
                job: stream.name.clone(),
                problem: format!(
                    "its smallest block ({} bytes) does not fit into the region or zone of any file (at most {room} bytes): lower bs or raise size",
                    rules.smallest()
                ),
            });
        }
        let kind = match Plain::new(&rules, spans, seed) {
            _ if stream.blocks.pattern.is_some() => patterned(stream, spans, seed)?,
            Some(plain) => SequenceKind::Plain(plain),
            None => SequenceKind::Mixed(Box::new(Mixed::new(rules, stream, spans, seed)?)),
        };
        Ok(Self {
            kind,
            seed,
            repeat: stream.blocks.repeat,
        })
    }

    /// Returns the next I/O; `None` at the end of the pass. (An endless
    /// sequence starts over instead, except where several files are processed
    /// one after the other.)
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Step> {
        match &mut self.kind {
            SequenceKind::Plain(plain) => {
                let ddir = plain.draw();
                plain.next_of(ddir)
            }
            SequenceKind::Mixed(mixed) => {
                let ddir = mixed.draw();
                mixed.next_of(ddir)
            }
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => Some(patterned.next()),
        }
    }

    /// Draws the direction of the next I/O. The caller may change it
    /// ([`Pacing::steer`](super::pace::Pacing::steer)) before it takes the I/O
    /// with [`next_of`](Self::next_of).
    pub(crate) fn draw(&mut self) -> Ddir {
        match &mut self.kind {
            SequenceKind::Plain(plain) => plain.draw(),
            SequenceKind::Mixed(mixed) => mixed.draw(),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => patterned.draw(),
        }
    }

    /// Returns the next I/O in direction `ddir`: in a mix either direction,
    /// else the one that was drawn.
    pub(crate) fn next_of(&mut self, ddir: Ddir) -> Option<Step> {
        match &mut self.kind {
            SequenceKind::Plain(plain) => plain.next_of(ddir),
            SequenceKind::Mixed(mixed) => mixed.next_of(ddir),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => Some(patterned.next()),
        }
    }

    /// Returns the write that belongs to the last trim, if it was not returned
    /// yet.
    pub(crate) fn take_owed_write(&mut self) -> Option<Step> {
        match &mut self.kind {
            SequenceKind::Mixed(mixed) => mixed.pending.take(),
            _ => None,
        }
    }

    /// Returns true if reads and writes are mixed, so that a drawn direction
    /// may be changed.
    pub(crate) const fn is_mixed(&self) -> bool {
        match &self.kind {
            SequenceKind::Plain(plain) => plain.is_mixed(),
            SequenceKind::Mixed(mixed) => mixed.is_mixed(),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(_) => false,
        }
    }

    /// Starts the next pass (for fio's loops and a large `io_size`), in the
    /// same order with `randrepeat`, else in another.
    pub(crate) fn begin_again(&mut self) {
        if !self.repeat {
            self.seed = SplitMix64::new(self.seed).next_u64();
        }
        match &mut self.kind {
            SequenceKind::Plain(plain) => plain.begin_again(self.seed),
            SequenceKind::Mixed(mixed) => mixed.begin_again(self.seed),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => patterned.begin_again(self.seed),
        }
    }
}

#[cfg(feature = "patterns")]
fn patterned(stream: &Stream, spans: &[FilePart], seed: u64) -> Result<SequenceKind, EngineError> {
    let made = Patterned::new(stream, spans, seed);
    made.unwrap_or_else(|| Err(no_patterns(stream)))
        .map(SequenceKind::Patterned)
}

#[cfg(not(feature = "patterns"))]
fn patterned(
    stream: &Stream,
    _spans: &[FilePart],
    _seed: u64,
) -> Result<SequenceKind, EngineError> {
    Err(no_patterns(stream))
}

fn no_patterns(stream: &Stream) -> EngineError {
    EngineError::Job {
        job: stream.name.clone(),
        problem: "this agent has no patterns: it is the small one".to_owned(),
    }
}

#[cfg(test)]
mod tests;
