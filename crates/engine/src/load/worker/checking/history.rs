//! History of writes not yet read back.

use crate::load::sequence::Step;
use assay_model::load::Ddir;
use assay_model::load::verify::{TrimOptions, Verify};
use assay_model::rng::SplitMix64;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// File and offset of a block.
type BlockAddress = (u32, u64);

/// Information about a written block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    length: u32,
    /// Number of the write in the stream; `None` if an earlier run wrote it.
    pub(super) number: Option<u64>,
    pub(super) trimmed: bool,
}

/// Writes not yet read back, and the steps that are due.
#[derive(Debug)]
pub(super) struct History {
    backlog: u64,
    /// Number of blocks in one check; 0 means all.
    batch: u64,
    by_offset: bool,
    trims: TrimOptions,
    rng: SplitMix64,
    blocks: BTreeMap<BlockAddress, Written>,
    /// Blocks in the order of writing, if there is a backlog.
    order: Queue,
    since_check: u64,
    /// Steps to be done next: trims or reads.
    due: VecDeque<Step>,
    to_trim: Queue,
}

/// Blocks in order, each at most once, so that a block that is written
/// repeatedly needs no more memory.
#[derive(Debug, Default)]
struct Queue {
    places: VecDeque<BlockAddress>,
    inside: HashSet<BlockAddress>,
}

impl Queue {
    fn push(&mut self, place: BlockAddress) {
        if self.inside.insert(place) {
            self.places.push_back(place);
        }
    }

    fn pop(&mut self) -> Option<BlockAddress> {
        let place = self.places.pop_front()?;
        self.inside.remove(&place);
        Some(place)
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn clear(&mut self) {
        self.places.clear();
        self.inside.clear();
    }
}

impl History {
    pub(super) fn new(spec: &Verify, trims: TrimOptions, seed: u64) -> Self {
        Self {
            backlog: spec.backlog,
            batch: spec.backlog_batch,
            by_offset: spec.sort,
            trims,
            rng: SplitMix64::new(!seed),
            blocks: BTreeMap::new(),
            order: Queue::default(),
            since_check: 0,
            due: VecDeque::new(),
            to_trim: Queue::default(),
        }
    }

    /// Records a written block, which replaces all earlier blocks that it
    /// overlaps.
    pub(super) fn wrote(&mut self, step: &Step, number: Option<u64>) {
        let place = (step.file, step.offset);
        self.forget(step);
        self.blocks.insert(
            place,
            Written {
                length: step.length,
                number,
                trimmed: false,
            },
        );
        if self.backlog > 0 && number.is_some() {
            self.order.push(place);
            self.since_check += 1;
        }
        let percent = u64::from(self.trims.percent);
        if self.trims.backlog > 0 && self.rng.next_u64() % 100 < percent {
            self.to_trim.push(place);
        }
        self.look_at_backlogs();
    }

    /// Records a trimmed block. Its content is zeros, or unknown.
    pub(super) fn trimmed(&mut self, step: &Step, for_check: bool) {
        if for_check && self.trims.verify_zero {
            if let Some(written) = self.blocks.get_mut(&(step.file, step.offset)) {
                written.trimmed = true;
            }
        } else {
            self.forget(step);
        }
    }

    pub(super) fn forget_all(&mut self) {
        self.blocks.clear();
        self.order.clear();
        self.due.clear();
        self.to_trim.clear();
    }

    /// Removes all recorded blocks that overlap a step.
    pub(super) fn forget(&mut self, step: &Step) {
        let (file, from) = (step.file, step.offset);
        let to = from + u64::from(step.length);
        let before = self.blocks.range((file, 0)..(file, from)).next_back();
        let reaches_in =
            before.filter(|((_, offset), written)| offset + u64::from(written.length) > from);
        if let Some((&place, _)) = reaches_in {
            self.blocks.remove(&place);
        }
        while let Some((&place, _)) = self.blocks.range((file, from)..(file, to)).next() {
            self.blocks.remove(&place);
        }
    }

    /// Plans trims or a check if enough was written.
    fn look_at_backlogs(&mut self) {
        if self.trims.backlog > 0 && self.to_trim.len() as u64 >= self.trims.backlog {
            self.plan_trims();
        }
        if self.backlog > 0 && self.since_check >= self.backlog {
            self.since_check = 0;
            self.plan_backlog();
        }
    }

    fn plan_backlog(&mut self) {
        let mut left = match self.batch {
            0 => u64::MAX,
            batch => batch,
        };
        while left > 0
            && let Some(place) = self.order.pop()
        {
            if let Some(written) = self.blocks.get(&place) {
                self.due.push_back(step(Ddir::Read, place, written.length));
                left -= 1;
            }
        }
    }

    fn plan_trims(&mut self) {
        let batch = match self.trims.backlog_batch {
            0 => self.to_trim.len(),
            batch => usize::try_from(batch).unwrap_or(usize::MAX),
        };
        let batch = batch.min(self.to_trim.len());
        for _ in 0..batch {
            let Some(place) = self.to_trim.pop() else {
                break;
            };
            if let Some(written) = self.blocks.get(&place) {
                self.due.push_back(step(Ddir::Trim, place, written.length));
            }
        }
    }

    /// Makes all remaining blocks due.
    pub(super) fn plan_all(&mut self) {
        self.order.clear();
        self.to_trim.clear();
        self.since_check = 0;
        let mut blocks: Vec<_> = self.blocks.iter().collect();
        if !self.by_offset {
            blocks.sort_by_key(|(_, written)| written.number);
        }
        self.due = blocks
            .into_iter()
            .map(|(place, written)| step(Ddir::Read, *place, written.length))
            .collect();
    }

    /// Returns the next step that is due.
    pub(super) fn due(&self) -> Option<Step> {
        self.due.front().copied()
    }

    /// Removes the due step and returns the information about its block, unless
    /// the block was overwritten since the step became due. Blocks that are
    /// read back are removed from the history.
    pub(super) fn take_due(&mut self) -> Option<Written> {
        let step = self.due.pop_front()?;
        let place = (step.file, step.offset);
        let known = *self.blocks.get(&place)?;
        if known.length != step.length {
            return None;
        }
        if step.ddir == Ddir::Read {
            self.blocks.remove(&place);
        }
        Some(known)
    }
}

const fn step(ddir: Ddir, (file, offset): BlockAddress, length: u32) -> Step {
    Step {
        ddir,
        file,
        offset,
        length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::verify::VerifyKind;

    fn write(offset: u64, length: u32) -> Step {
        step(Ddir::Write, (0, offset), length)
    }

    fn due(history: &mut History) -> Vec<(u64, u32, Option<u64>)> {
        let mut found = Vec::new();
        while let Some(step) = history.due() {
            if let Some(known) = history.take_due() {
                found.push((step.offset, step.length, known.number));
            }
        }
        found
    }

    #[test]
    fn what_was_overwritten_is_not_expected_any_more() {
        let spec = Verify::new(VerifyKind::Md5);
        let mut history = History::new(&spec, TrimOptions::default(), 1);
        history.wrote(&write(0, 4096), Some(0));
        history.wrote(&write(4096, 4096), Some(1));
        history.wrote(&write(8192, 512), Some(2));
        history.wrote(&write(2048, 4096), Some(3));
        history.wrote(&write(8192, 512), Some(4));
        history.plan_all();
        assert_eq!(
            due(&mut history),
            [(2048, 4096, Some(3)), (8192, 512, Some(4))]
        );
        history.plan_all();
        assert_eq!(due(&mut history), [], "each is read back once");
    }

    #[test]
    fn a_backlog_is_checked_in_the_order_of_writing() {
        let mut spec = Verify::new(VerifyKind::Md5);
        spec.backlog = 3;
        spec.backlog_batch = 2;
        let mut history = History::new(&spec, TrimOptions::default(), 1);
        for (number, offset) in [(0, 8192), (1, 0)] {
            history.wrote(&write(offset, 512), Some(number));
            assert_eq!(history.due(), None);
        }
        history.wrote(&write(4096, 512), Some(2));
        assert_eq!(due(&mut history), [(8192, 512, Some(0)), (0, 512, Some(1))]);
        history.plan_all();
        assert_eq!(due(&mut history), [(4096, 512, Some(2))]);
    }

    #[test]
    fn trimmed_blocks_are_expected_to_be_zero_or_forgotten() {
        let spec = Verify::new(VerifyKind::Md5);
        for verify_zero in [true, false] {
            let trims = TrimOptions {
                percent: 100,
                verify_zero,
                backlog: 2,
                backlog_batch: 1,
            };
            let mut history = History::new(&spec, trims, 1);
            history.wrote(&write(0, 512), Some(0));
            history.wrote(&write(512, 512), Some(1));
            let trim = history.due().unwrap();
            assert_eq!((trim.ddir, trim.offset), (Ddir::Trim, 0));
            history.take_due().unwrap();
            assert_eq!(history.due(), None, "a batch of one");
            history.trimmed(&trim, true);
            history.plan_all();
            assert_eq!(history.due().unwrap().offset == 0, verify_zero);
            assert_eq!(history.take_due().unwrap().trimmed, verify_zero);
        }
    }
}
