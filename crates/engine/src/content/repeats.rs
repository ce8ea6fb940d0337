//! Which blocks come again (`dedupe_percentage`).

use assay_model::load::content::{DedupeMode, WriteContent};
use assay_model::rng::SplitMix64;

/// Names the content of block after block by seeds: a seed that comes again is
/// a block that comes again. Nothing is kept of earlier blocks, since the seed
/// of the n-th one is computed from n.
#[derive(Debug)]
pub(super) struct Repeats {
    percent: u64,
    mode: DedupeMode,
    /// Seeds of the streams that duplicates may come from.
    streams: Vec<u64>,
    own: u64,
    /// Distinct blocks in the working set.
    set: u64,
    set_percent: u64,
    /// Distinct blocks made so far.
    made: u64,
    choices: SplitMix64,
}

impl Repeats {
    pub(super) fn new(content: &WriteContent, seed: u64) -> Self {
        Self {
            percent: content.dedupe_percent.into(),
            mode: content.dedupe_mode,
            streams: vec![seed],
            own: seed,
            set: u64::MAX,
            set_percent: content.dedupe_set_percent.into(),
            made: 0,
            choices: SplitMix64::new(!seed),
        }
    }

    /// See [`super::Filler::with_working_set`].
    pub(super) fn set_working_set(&mut self, blocks: u64, streams: &[u64]) {
        let set = u128::from(blocks) * u128::from(self.set_percent) / 100;
        self.set = u64::try_from(set).unwrap_or(u64::MAX).max(1);
        if !streams.is_empty() {
            self.streams = streams.to_vec();
        }
    }

    /// The seed of the next block.
    pub(super) fn next_seed(&mut self) -> u64 {
        if self.made == 0 || self.choices.below(100) >= self.percent {
            self.made += 1;
            return seed_of(self.own, self.made - 1);
        }
        match self.mode {
            DedupeMode::Repeat => seed_of(self.own, self.made - 1),
            DedupeMode::WorkingSet => {
                let stream = self.choices.below(self.streams.len() as u64);
                let stream = usize::try_from(stream).map_or(self.own, |i| self.streams[i]);
                seed_of(stream, self.choices.below(self.made.min(self.set)))
            }
        }
    }
}

/// The seed of a stream's distinct block `number`: all different, as the
/// generator's first number is a bijection of its state.
fn seed_of(stream: u64, number: u64) -> u64 {
    let stream = SplitMix64::new(stream).next_u64();
    SplitMix64::new(stream.wrapping_add(number)).next_u64()
}
