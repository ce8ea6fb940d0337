//! Content of each sector of each write: a head that identifies the sector, and bytes derived from
//! it. This exposes a sector that was half written or never written.

use assay_model::rng::SplitMix64;
use assay_model::work::powercut::DurabilityKind;

/// Smallest unit that any device writes.
pub(super) const SECTOR: usize = 512;
/// Slots of a stream: few enough that most are overwritten, so that old and new contents differ,
/// and enough that many are checked.
pub(super) const SLOTS: u64 = 128;
/// Begin of each sector.
const MAGIC: u64 = u64::from_le_bytes(*b"assaycut");
/// Bytes of the head: magic, seed, stream, index in the write, slot, sequence.
const HEAD: usize = 40;

/// Identity of a stream's writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Seed of the cycle.
    pub(super) seed: u64,
    /// Index among the streams.
    pub(super) number: u32,
}

/// Content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sector {
    /// Content of this write; 0 for the initial content.
    Of(u64),
    /// Zeros: never written.
    Zero,
    /// Begin of this write's content, followed by something else.
    Torn(u64),
    /// Content that was never written there.
    Garbage,
}

impl Stream {
    /// Returns the slot of a write of a kind that overwrites.
    pub(super) fn slot(self, kind: DurabilityKind, sequence: u64) -> u64 {
        match kind {
            DurabilityKind::Rename => 0,
            DurabilityKind::Append | DurabilityKind::Sqlite => sequence,
            _ => self.random(sequence, u64::MAX).below(SLOTS),
        }
    }

    /// Fills `bytes`, which are whole sectors, with the content of a write.
    pub(super) fn fill(self, slot: u64, sequence: u64, bytes: &mut [u8]) {
        for (index, sector) in (0_u32..).zip(bytes.chunks_mut(SECTOR)) {
            self.sector(slot, sequence, index, sector);
        }
    }

    fn sector(self, slot: u64, sequence: u64, index: u32, sector: &mut [u8]) {
        let place = u64::from(self.number) << 32 | u64::from(index);
        let words = [MAGIC, self.seed, place, slot, sequence];
        let (head, rest) = sector.split_at_mut(HEAD);
        for (bytes, word) in head.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut rng = self.random(sequence, slot << 16 | u64::from(index));
        for chunk in rest.chunks_mut(8) {
            let word = rng.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    fn random(self, sequence: u64, place: u64) -> SplitMix64 {
        let mut rng = SplitMix64::new(self.seed ^ u64::from(self.number).rotate_left(40));
        let first = rng.next_u64() ^ sequence;
        let mut rng = SplitMix64::new(first);
        let second = rng.next_u64() ^ place;
        SplitMix64::new(second)
    }

    /// Identifies the content of a slot's sector.
    pub(super) fn look(self, kind: DurabilityKind, slot: u64, index: u32, sector: &[u8]) -> Sector {
        if sector.iter().all(|byte| *byte == 0) {
            return Sector::Zero;
        }
        let word = |at: usize| {
            let bytes = sector.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let Some(sequence) = word(32) else {
            return Sector::Garbage;
        };
        let mut expected = [0; SECTOR];
        self.sector(slot, sequence, index, &mut expected);
        let same = expected.iter().zip(sector).take_while(|(a, b)| a == b);
        match same.count() {
            SECTOR if sequence == 0 || self.slot(kind, sequence) == slot => Sector::Of(sequence),
            // An equal head alone may be left from an old sector; equal bytes after it are
            // conclusive.
            same if same > HEAD && same < SECTOR => Sector::Torn(sequence),
            _ => Sector::Garbage,
        }
    }
}
