//! Patterns that are repeated over a block.

use assay_model::load::content::ContentPattern;

/// A byte that differs from the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Offset within the compared data.
    pub(crate) at: usize,
    pub(crate) found: u8,
    pub(crate) expected: u8,
}

/// Fills a block at `offset` with the pattern, which must not be empty. Every
/// repetition contains the offset of the block, or of the pattern's interval.
pub(crate) fn fill(block: &mut [u8], pattern: &ContentPattern, offset: u64) {
    let interval = interval_of(pattern, block.len());
    let starts = (offset..).step_by(interval);
    for (piece, offset) in block.chunks_mut(interval).zip(starts) {
        fill_interval(piece, pattern, offset);
    }
}

/// Returns the distance in bytes after which the pattern restarts.
fn interval_of(pattern: &ContentPattern, length: usize) -> usize {
    match pattern.interval as usize {
        0 => length.max(1),
        interval => interval,
    }
}

fn fill_interval(block: &mut [u8], pattern: &ContentPattern, offset: u64) {
    let mut done = pattern.bytes.len().min(block.len());
    block[..done].copy_from_slice(&pattern.bytes[..done]);
    put_offset(&mut block[..done], pattern, offset);
    // Doubling the copied part needs few, long copies.
    while done > 0 && done < block.len() {
        let more = done.min(block.len() - done);
        block.copy_within(..more, done);
        done += more;
    }
}

/// Returns the first byte of `bytes` that differs from the pattern. `bytes`
/// begins `skip` bytes after the start of a block at `offset`. An empty pattern
/// matches everything.
pub(crate) fn first_difference(
    bytes: &[u8],
    skip: usize,
    pattern: &ContentPattern,
    offset: u64,
) -> Option<Difference> {
    if pattern.bytes.is_empty() {
        return None;
    }
    let interval = interval_of(pattern, skip + bytes.len());
    let mut done = 0;
    while done < bytes.len() {
        let (number, skip) = ((skip + done) / interval, (skip + done) % interval);
        let end = bytes.len().min(done + interval - skip);
        let offset = offset + (number * interval) as u64;
        let found = first_difference_in(&bytes[done..end], skip, pattern, offset);
        if let Some(difference) = found {
            let at = done + difference.at;
            return Some(Difference { at, ..difference });
        }
        done = end;
    }
    None
}

/// Returns the first difference within one interval.
fn first_difference_in(
    bytes: &[u8],
    skip: usize,
    pattern: &ContentPattern,
    offset: u64,
) -> Option<Difference> {
    // The block holds only the beginning of a long pattern.
    let period = pattern.bytes.len().min(skip + bytes.len());
    let mut wanted = pattern.bytes[..period].to_vec();
    put_offset(&mut wanted, pattern, offset);
    wanted.rotate_left(skip % period);
    let first = period.min(bytes.len());
    // If the first period matches and every later byte equals the one a period
    // earlier, all bytes match.
    if bytes[..first] == wanted[..first] && bytes[first..] == bytes[..bytes.len() - first] {
        return None;
    }
    let mut pairs = bytes.iter().zip(wanted.iter().cycle()).enumerate();
    pairs
        .find(|(_, (found, expected))| found != expected)
        .map(|(at, (&found, &expected))| Difference {
            at,
            found,
            expected,
        })
}

fn put_offset(unit: &mut [u8], pattern: &ContentPattern, offset: u64) {
    let offset = offset.to_le_bytes();
    for &at in &pattern.offsets_at {
        let Some(place) = unit.get_mut(at as usize..) else {
            continue;
        };
        let length = place.len().min(offset.len());
        place[..length].copy_from_slice(&offset[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(bytes: &[u8], offsets_at: &[u32]) -> ContentPattern {
        ContentPattern {
            bytes: bytes.to_vec(),
            offsets_at: offsets_at.to_vec(),
            interval: 0,
        }
    }

    #[test]
    fn a_pattern_is_repeated_and_carries_the_offset() {
        let mut block = [0; 25];
        fill(&mut block, &pattern(b"ab01234567", &[2]), 0x0102);
        assert_eq!(&block[..10], b"ab\x02\x01\0\0\0\0\0\0");
        assert_eq!(&block[10..20], b"ab\x02\x01\0\0\0\0\0\0");
        assert_eq!(&block[20..], b"ab\x02\x01\0");
    }

    #[test]
    fn an_offset_that_does_not_fit_is_cut() {
        let mut block = [0; 3];
        fill(&mut block, &pattern(b"abc", &[1, 9]), 0x0403_0201);
        assert_eq!(&block, b"a\x01\x02");
    }

    #[test]
    fn a_pattern_begins_anew_with_each_interval_and_carries_its_offset() {
        let mut block = [0; 12];
        let pattern = ContentPattern {
            interval: 5,
            ..pattern(b"ab\0", &[2])
        };
        fill(&mut block, &pattern, 0x40);
        assert_eq!(&block, b"ab\x40abab\x45abab\x4a"[..12].as_array().unwrap());
    }

    proptest! {
        #[test]
        fn what_was_filled_has_no_difference_and_any_change_is_found(
            bytes in prop::collection::vec(any::<u8>(), 1..20),
            at in 0u32..25,
            interval in 0u32..50,
            offset in 0..u64::MAX / 2,
            length in 1usize..200,
            start in 0usize..200,
            place in 0usize..200,
        ) {
            let pattern = ContentPattern { interval, ..pattern(&bytes, &[at]) };
            let mut block = vec![0; length];
            fill(&mut block, &pattern, offset);
            let start = start % length;
            prop_assert_eq!(first_difference(&block[start..], start, &pattern, offset), None);
            let place = place % length;
            block[place] ^= 0x10;
            let difference = first_difference(&block[start..], start, &pattern, offset);
            prop_assert_eq!(difference.map(|d| d.at + start), (place >= start).then_some(place));
        }
    }
}
