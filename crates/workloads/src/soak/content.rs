//! Content of a block: sectors that each name their write, block and position.

use assay_model::act::soak::{HeldContent, SECTOR};
use assay_model::rng::SplitMix64;

/// Words of a sector.
const WORDS: usize = SECTOR / 8;
/// First word of every sector, mixed with the seed.
const MAGIC: u64 = 0x4153_5341_5953_4f4b;

/// Fills a block: the first words of each sector are the mark, the number of the write, the block
/// and the position in it; the others are random, derived from all of these.
pub(super) fn fill(bytes: &mut [u8], seed: u64, number: u64, block: u64) {
    for (place, sector) in (0_u64..).zip(bytes.chunks_exact_mut(SECTOR)) {
        fill_sector(sector, seed, number, block, place);
    }
}

fn fill_sector(sector: &mut [u8], seed: u64, number: u64, block: u64, place: u64) {
    let (words, _) = sector.as_chunks_mut::<8>();
    let mix = SplitMix64::mix;
    let mut rng = SplitMix64::new(mix(seed ^ mix(number) ^ mix(block ^ place << 48)));
    for (index, word) in words.iter_mut().enumerate() {
        let value = match index {
            0 => MAGIC ^ seed,
            1 => number,
            2 => block,
            3 => place,
            _ => rng.next_u64(),
        };
        *word = value.to_le_bytes();
    }
}

/// Identity stored in a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SectorHead {
    number: u64,
    block: u64,
    place: u64,
    /// True if all bytes of the sector are intact.
    whole: bool,
}

fn said(sector: &[u8], seed: u64) -> Option<SectorHead> {
    let (words, _) = sector.as_chunks::<8>();
    let word = |index: usize| words.get(index).map(|bytes| u64::from_le_bytes(*bytes));
    if word(0)? != MAGIC ^ seed {
        return None;
    }
    let (number, block, place) = (word(1)?, word(2)?, word(3)?);
    let mut same = [0; 8 * WORDS];
    fill_sector(&mut same, seed, number, block, place);
    Some(SectorHead {
        number,
        block,
        place,
        whole: same == sector,
    })
}

/// Classifies the content of a block that differs from its last write.
pub(super) fn held(
    found: &[u8],
    expected: &[u8],
    seed: u64,
    number: u64,
    block: u64,
) -> HeldContent {
    if found.iter().all(|byte| *byte == 0) {
        return HeldContent::Zeros;
    }
    let sectors = found.chunks_exact(SECTOR);
    let all: Vec<Option<SectorHead>> = sectors.map(|sector| said(sector, seed)).collect();
    let is_new = |said: &&Option<SectorHead>| {
        said.is_some_and(|s| s.whole && s.number == number && s.block == block)
    };
    let new_sectors = all.iter().filter(is_new).count() as u64;
    let whole = |said: &Option<SectorHead>| said.is_some_and(|said| said.whole);
    let Some(first) = all
        .first()
        .copied()
        .flatten()
        .filter(|_| all.iter().all(whole))
    else {
        return flipped(found, expected, &all, number, block);
    };
    let same_block = |said: &Option<SectorHead>| said.is_some_and(|said| said.block == first.block);
    let same_write =
        |said: &Option<SectorHead>| said.is_some_and(|said| said.number == first.number);
    if first.block != block && all.iter().all(same_block) {
        HeldContent::Misplaced { block: first.block }
    } else if all.iter().all(same_write) && first.block == block && new_sectors == 0 {
        HeldContent::Stale {
            number: first.number,
        }
    } else {
        HeldContent::Torn {
            new_sectors,
            sectors: all.len() as u64,
        }
    }
}

/// Classifies a block that does not consist of intact sectors of assay: bits of the expected write
/// differ, other writes overwrote parts, or everything is foreign.
fn flipped(
    found: &[u8],
    expected: &[u8],
    all: &[Option<SectorHead>],
    number: u64,
    block: u64,
) -> HeldContent {
    let own =
        |said: &&Option<SectorHead>| said.is_some_and(|s| s.number == number && s.block == block);
    let known = all.iter().flatten().count();
    let bits: u64 = (found.iter().zip(expected))
        .map(|(a, b)| u64::from((a ^ b).count_ones()))
        .sum();
    // Unrelated random data differs in half of its bits.
    let differing = found.iter().zip(expected).filter(|(a, b)| a != b).count() as u64;
    if known == 0 && bits * 4 > found.len() as u64 * 8 {
        return HeldContent::Foreign;
    }
    if differing < SECTOR as u64 && bits < 8 * SECTOR as u64 / 4 {
        return HeldContent::Flipped { bits };
    }
    HeldContent::Torn {
        new_sectors: all.iter().filter(own).count() as u64,
        sectors: all.len() as u64,
    }
}

/// Returns true if every sector is an intact sector of a write to this block, or was never written,
/// as after an interrupted write. Any other sector means damage.
pub(super) fn is_interrupted(found: &[u8], seed: u64, block: u64) -> bool {
    let mut sectors = found.chunks_exact(SECTOR);
    sectors.all(|sector| {
        let own = said(sector, seed).is_some_and(|said| said.whole && said.block == block);
        own || sector.iter().all(|byte| *byte == 0)
    })
}

/// Returns the highest number of a write of which the block contains an intact sector.
pub(super) fn newest(found: &[u8], seed: u64, block: u64) -> Option<u64> {
    let sectors = found.chunks_exact(SECTOR);
    let whole = sectors.filter_map(|sector| said(sector, seed));
    let own = whole.filter(|said| said.whole && said.block == block);
    own.map(|said| said.number).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 8 * SECTOR;

    fn block(number: u64, block: u64) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        fill(&mut bytes, 7, number, block);
        bytes
    }

    fn classified(found: &[u8]) -> HeldContent {
        held(found, &block(9, 3), 7, 9, 3)
    }

    #[test]
    fn each_way_to_lose_a_block_has_its_name() {
        assert_eq!(classified(&[0; BYTES]), HeldContent::Zeros);
        assert_eq!(classified(&block(4, 3)), HeldContent::Stale { number: 4 });
        assert_eq!(
            classified(&block(9, 5)),
            HeldContent::Misplaced { block: 5 }
        );
        assert_eq!(classified(&[0xab; BYTES]), HeldContent::Foreign);
        let mut torn = block(4, 3);
        torn[..3 * SECTOR].copy_from_slice(&block(9, 3)[..3 * SECTOR]);
        let expected = HeldContent::Torn {
            new_sectors: 3,
            sectors: 8,
        };
        assert_eq!(classified(&torn), expected);
        let mut flip = block(9, 3);
        flip[5 * SECTOR + 100] ^= 0x11;
        assert_eq!(classified(&flip), HeldContent::Flipped { bits: 2 });
        let mut part = block(9, 3);
        part[..SECTOR].fill(0);
        let expected = HeldContent::Torn {
            new_sectors: 7,
            sectors: 8,
        };
        assert_eq!(classified(&part), expected);
    }

    #[test]
    fn a_damaged_block_is_no_interrupted_write() {
        let mut torn = block(4, 3);
        torn[..SECTOR].copy_from_slice(&block(9, 3)[..SECTOR]);
        assert!(is_interrupted(&torn, 7, 3));
        torn[SECTOR + 77] ^= 1;
        assert!(!is_interrupted(&torn, 7, 3));
        assert!(!is_interrupted(&block(9, 5), 7, 3), "another block");
    }

    #[test]
    fn the_newest_write_of_a_torn_block_is_found() {
        let mut torn = block(4, 3);
        torn[..SECTOR].copy_from_slice(&block(9, 3)[..SECTOR]);
        assert_eq!(newest(&torn, 7, 3), Some(9));
        assert_eq!(newest(&[0; BYTES], 7, 3), None);
        assert_eq!(newest(&block(4, 3), 8, 3), None, "of another run");
    }
}
