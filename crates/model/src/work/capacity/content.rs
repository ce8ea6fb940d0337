//! Content of H2testw and f3: every sector contains its offset, and all its words follow from it.
//!
//! Word 0 of a sector is its offset in the sequence of all written data, in bytes; each further
//! word is `4294967311` times the previous one, plus 17. Words have 64 bits in native byte order,
//! as in f3.

use super::{SECTOR, SECTOR_BYTES};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();
/// Most wrong words of a sector that is "changed"; a sector with more is "corrupted" (f3read's
/// tolerance).
const TOLERANCE: usize = 2;

/// Content of a sector, in the classes of f3read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The data written there.
    Ok,
    /// The data written there, except for one or two words.
    Changed,
    /// Data written elsewhere, except for at most two words: a sign of storage that wraps around.
    Overwritten {
        /// Offset that it was written to.
        belongs_to: u64,
    },
    /// Any other content.
    Corrupted,
}

/// Returns the word after `word`.
const fn following(word: u64) -> u64 {
    word.wrapping_mul(4_294_967_311).wrapping_add(17)
}

/// Fills whole sectors, the first of which has this offset. The remainder of `buffer` is unchanged.
pub fn fill(buffer: &mut [u8], offset: u64) {
    let mut at = offset;
    for sector in buffer.chunks_exact_mut(SECTOR) {
        let mut value = at;
        for word in sector.chunks_exact_mut(WORD) {
            word.copy_from_slice(&value.to_ne_bytes());
            value = following(value);
        }
        at = at.wrapping_add(SECTOR_BYTES);
    }
}

/// Returns the class of the sector that was written to this offset.
pub fn classify(sector: &[u8], offset: u64) -> Class {
    let mut words = sector
        .chunks_exact(WORD)
        .filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
    let Some(said) = words.next() else {
        return Class::Corrupted;
    };
    let mut expected = said;
    let wrong = words
        .filter(|&word| {
            expected = following(expected);
            word != expected
        })
        .take(TOLERANCE + 1)
        .count();
    match wrong {
        0 if said == offset => Class::Ok,
        0..=TOLERANCE if said == offset => Class::Changed,
        0..=TOLERANCE => Class::Overwritten { belongs_to: said },
        _ => Class::Corrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(offset: u64) -> Vec<u8> {
        let mut sector = vec![0; SECTOR];
        fill(&mut sector, offset);
        sector
    }

    #[test]
    fn the_words_are_those_of_f3write() {
        let words = |bytes: &[u8]| -> Vec<u64> {
            let words = bytes.chunks_exact(WORD);
            words
                .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
                .collect()
        };
        let mut two = vec![0; 2 * SECTOR];
        fill(&mut two, 0);
        let found = words(&two);
        assert_eq!(found[..4], [0, 0x11, 0x11_0000_0110, 0x020f_0000_1001]);
        assert_eq!(found[64], 512);
        assert_eq!(found[65], 0x0200_0000_1e11);
        assert_eq!(two[SECTOR..], sector(512)[..]);
    }

    #[test]
    fn up_to_two_wrong_words_are_a_change() {
        let mut spoilt = sector(4_096);
        assert_eq!(classify(&spoilt, 4_096), Class::Ok);
        for (word, class) in [
            (63, Class::Changed),
            (7, Class::Changed),
            (1, Class::Corrupted),
        ] {
            spoilt[word * WORD] ^= 1;
            assert_eq!(classify(&spoilt, 4_096), class, "word {word}");
        }
    }

    #[test]
    fn what_belongs_elsewhere_says_where() {
        let mut other = sector(1 << 30);
        let overwritten = Class::Overwritten {
            belongs_to: 1 << 30,
        };
        assert_eq!(classify(&other, 0), overwritten);
        other[WORD] ^= 1;
        other[9 * WORD] ^= 1;
        assert_eq!(classify(&other, 0), overwritten);
        other[20 * WORD] ^= 1;
        assert_eq!(classify(&other, 0), Class::Corrupted);
        assert_eq!(classify(&[0; SECTOR], 0), Class::Corrupted);
        assert_eq!(classify(&[], 0), Class::Corrupted);
    }

    #[test]
    fn a_wrong_first_word_leaves_nothing_that_follows() {
        let mut spoilt = sector(512);
        spoilt[1] ^= 1;
        assert_eq!(classify(&spoilt, 512), Class::Corrupted);
    }
}
