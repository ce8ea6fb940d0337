//! The general case: several directions, sizes, files, zones.

use super::rules::{Directions, Rules};
use super::service::Service;
use super::walk::Walk;
use super::{FilePart, Step};
use crate::error::EngineError;
use assay_model::load::{Ddir, Stream};
use assay_model::rng::SplitMix64;

/// Sequence over any block sizes, files and directions.
#[derive(Clone, Debug)]
pub(super) struct Mixed {
    rules: Rules,
    service: Service,
    walks: Vec<Walk>,
    rng: SplitMix64,
    /// Number of I/Os until the next new random offset.
    until_new: u32,
    /// Bytes of a pass; `None` if it ends when all files are done.
    pass_bytes: Option<u64>,
    /// Bytes issued in this pass.
    given: u64,
    /// Write that belongs to the previous trim.
    pub(super) pending: Option<Step>,
}

impl Mixed {
    /// Creates the sequence of a stream that follows `rules`.
    pub(super) fn new(
        rules: Rules,
        stream: &Stream,
        spans: &[FilePart],
        seed: u64,
    ) -> Result<Self, EngineError> {
        let mut rng = SplitMix64::new(seed);
        let walks = spans
            .iter()
            .map(|&span| Walk::new(span, &rules, &mut rng))
            .collect::<Result<Vec<_>, _>>()?;
        let smallest = rules.smallest();
        let whole: u64 = spans
            .iter()
            .map(|span| span.length / smallest * smallest)
            .sum();
        let files = u32::try_from(spans.len()).unwrap_or(u32::MAX);
        let mut mixed = Self {
            service: Service::new(&stream.files, files),
            pass_bytes: (!rules.endless).then_some(whole),
            rules,
            walks,
            rng,
            until_new: 0,
            given: 0,
            pending: None,
        };
        mixed.begin_again(seed);
        Ok(mixed)
    }

    /// Restarts the sequence with random numbers from `seed`.
    pub(super) fn begin_again(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        (self.until_new, self.given, self.pending) = (0, 0, None);
        self.begin_files_again();
    }

    fn begin_files_again(&mut self) {
        self.service.begin_again();
        for walk in &mut self.walks {
            walk.begin_again(&self.rules, &mut self.rng);
        }
    }

    pub(super) fn draw(&mut self) -> Ddir {
        match &self.pending {
            Some(step) => step.ddir,
            None => self.rules.directions.draw(&mut self.rng),
        }
    }

    pub(super) const fn is_mixed(&self) -> bool {
        self.rules.directions.is_mixed()
    }

    /// Returns the next block of direction `ddir`, or the pending write of a
    /// trimmed block.
    pub(super) fn next_of(&mut self, ddir: Ddir) -> Option<Step> {
        if let Some(write) = self.pending.take() {
            return Some(write);
        }
        if self.pass_bytes.is_some_and(|bytes| self.given >= bytes) {
            return None;
        }
        let anew = self.until_new == 0;
        self.until_new = if anew {
            self.rules.every
        } else {
            self.until_new
        } - 1;
        let step = self.block(ddir, anew)?;
        self.given += u64::from(step.length);
        if self.rules.directions == Directions::TrimThenWrite {
            self.pending = Some(Step {
                ddir: Ddir::Write,
                ..step
            });
        }
        Some(step)
    }

    fn block(&mut self, ddir: Ddir, anew: bool) -> Option<Step> {
        let mut ends = !self.rules.endless;
        loop {
            let Some(file) = self.service.next(&mut self.rng) else {
                if std::mem::replace(&mut ends, true) {
                    return None;
                }
                self.begin_files_again();
                continue;
            };
            let walk = &mut self.walks[file as usize];
            if self.service.replaces_files() && walk.has_all_bytes(&self.rules) {
                self.service.is_done();
                continue;
            }
            let mut block = walk.step(ddir, anew, &self.rules, &mut self.rng);
            if block.is_none() && self.service.is_skewed() {
                walk.begin_again(&self.rules, &mut self.rng);
                block = walk.step(ddir, anew, &self.rules, &mut self.rng);
            }
            if let Some((offset, length)) = block {
                return Some(Step {
                    ddir,
                    file,
                    offset,
                    length,
                });
            }
            self.service.is_done();
        }
    }
}
