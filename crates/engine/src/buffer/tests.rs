use super::*;
use assay_model::load::DedupeMode;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use std::collections::HashSet;
use std::io::Write;

#[test]
fn a_block_for_which_there_is_no_memory_is_an_error() {
    for block in [1 << 62, u64::MAX] {
        let refused = IoBuf::of(block).unwrap_err().to_string();
        assert!(refused.contains("no memory for a buffer of"), "{refused}");
    }
    assert_eq!(IoBuf::of(512).unwrap().block(), [0; 512]);
}

#[test]
fn every_window_is_aligned_and_holds_one_block() {
    for (block, siblings, windows) in [
        (1000, 1, 1),
        (CHANGED_WHOLE, 1, 1),
        (256 << 10, 1, 4),
        (256 << 10, 3, 2),
        (2 << 20, 1, 1),
    ] {
        let mut buf = IoBuf::to_write(block, siblings).unwrap();
        for number in 0..3 * windows {
            let before = buf.block_mut()[block - 1];
            assert_eq!(usize::from(before), number / windows, "{block}");
            buf.block_mut()[block - 1] += 1;
            assert_eq!(buf.block_mut().len(), block);
            assert_eq!(buf.block_mut().as_ptr() as usize % ALIGNMENT, 0);
            buf.next_window();
        }
    }
}

const BLOCK: usize = 4096;

fn blocks(filler: &mut Filler, number: usize, size: usize) -> Vec<Vec<u8>> {
    (0..number)
        .map(|i| {
            let mut block = vec![0xee; size];
            filler.fill(&mut block, (i * size) as u64);
            block
        })
        .collect()
}

/// Size after zlib, in percent of the size before.
fn compressed_percent(bytes: &[u8]) -> f64 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len() as f64 * 100.0 / bytes.len() as f64
}

fn duplicate_percent(blocks: &[Vec<u8>]) -> f64 {
    let distinct: HashSet<&Vec<u8>> = blocks.iter().collect();
    (blocks.len() - distinct.len()) as f64 * 100.0 / blocks.len() as f64
}

fn dedupe(percent: u8, mode: DedupeMode) -> WriteContent {
    WriteContent {
        dedupe_percent: percent,
        dedupe_mode: mode,
        ..WriteContent::default()
    }
}

/// In one buffer that is used again and again, as a worker does.
fn sectors_repeat(filler: &mut Filler, block: usize, times: usize) -> bool {
    let mut buffer = vec![0; block];
    let mut seen = HashSet::new();
    (0..times).any(|i| {
        filler.fill(&mut buffer, 0);
        if i % 3 == 2 {
            // A read came between.
            buffer.fill(0);
            filler.fill(&mut buffer, 0);
        }
        buffer
            .chunks(SECTOR)
            .any(|sector| !seen.insert(sector.to_vec()))
    })
}

#[test]
fn by_default_no_sector_ever_repeats_whatever_the_buffer_held() {
    for block in [512, BLOCK, CHANGED_WHOLE, 3 * CHANGED_WHOLE + 1000] {
        let mut filler = Filler::new(&WriteContent::default(), 1 << 20, 1);
        assert!(!sectors_repeat(&mut filler, block, 10), "{block}");
    }
}

/// Content of the first writes is made before the clock starts.
#[test]
fn a_prepared_buffer_only_gets_marks() {
    let mut filler = Filler::new(&WriteContent::default(), 1 << 20, 1);
    let mut buffer = vec![0; 1 << 20];
    filler.prepare(&mut buffer);
    let before = buffer.clone();
    filler.fill(&mut buffer, 0);
    let pairs = buffer.chunks(SECTOR).zip(before.chunks(SECTOR));
    for (sector, before) in pairs {
        assert_ne!(sector[..MARK], before[..MARK]);
        assert_eq!(sector[MARK..], before[MARK..]);
    }
}

#[test]
fn by_default_blocks_look_random_together() {
    let mut filler = Filler::new(&WriteContent::default(), 4096, 1);
    assert!(compressed_percent(&blocks(&mut filler, 64, BLOCK).concat()) > 99.0);
    let mut filler = Filler::new(&WriteContent::default(), 1 << 20, 1);
    assert!(compressed_percent(&blocks(&mut filler, 2, 1 << 20).concat()) > 99.0);
}

#[test]
fn odd_sizes_are_filled_to_the_last_byte() {
    for content in [
        WriteContent::default(),
        WriteContent {
            refill: true,
            ..WriteContent::default()
        },
    ] {
        for size in [1, 7, 513, 1001, CHANGED_WHOLE + 7] {
            let mut filler = Filler::new(&content, 1 << 20, 1);
            let mut ends = HashSet::new();
            for block in blocks(&mut filler, 20, size) {
                ends.insert(block[size - 1]);
            }
            assert!(ends.len() > 5, "{size}");
        }
    }
}

#[test]
fn without_scrambling_a_buffer_keeps_its_content() {
    let content = WriteContent {
        scramble: false,
        ..WriteContent::default()
    };
    let mut filler = Filler::new(&content, 4096, 1);
    let mut buffer = vec![0; BLOCK];
    filler.fill(&mut buffer, 0);
    let first = buffer.clone();
    assert!(compressed_percent(&first) > 99.0);
    filler.fill(&mut buffer, 4096);
    assert_eq!(buffer, first);
}

#[test]
fn zeros_are_zeros_and_patterns_patterns() {
    let zero = WriteContent {
        zero: true,
        ..WriteContent::default()
    };
    let mut filler = Filler::new(&zero, 4096, 1);
    assert_eq!(blocks(&mut filler, 1, 100)[0], vec![0; 100]);

    let pattern = WriteContent {
        pattern: ContentPattern {
            bytes: b"0123456789".to_vec(),
            offsets_at: vec![2],
            interval: 0,
        },
        ..WriteContent::default()
    };
    let mut filler = Filler::new(&pattern, 4096, 1);
    let written = blocks(&mut filler, 2, 16);
    assert_eq!(written[1], b"01\x10\0\0\0\0\0\0\x0001\x10\0\0\0");
}

#[test]
fn refilled_blocks_share_no_word() {
    let content = WriteContent {
        refill: true,
        ..WriteContent::default()
    };
    for (largest, number) in [(4096, 100), (1 << 20, 2)] {
        let mut filler = Filler::new(&content, largest, 1);
        let all = blocks(&mut filler, number, largest as usize).concat();
        let (words, _) = all.as_chunks::<8>();
        let distinct: HashSet<&[u8; 8]> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
    }
}

#[test]
fn blocks_compress_as_far_as_asked() {
    for percent in [0, 25, 50, 75, 90, 100] {
        for chunk in [0, 512, 1024, 4096] {
            let content = WriteContent {
                compress_percent: Some(percent),
                compress_chunk: chunk,
                ..WriteContent::default()
            };
            let mut filler = Filler::new(&content, 4096, 1);
            let all = blocks(&mut filler, 64, BLOCK).concat();
            let saved = 100.0 - compressed_percent(&all);
            let wanted = f64::from(percent);
            assert!(
                (saved - wanted).abs() < 3.0,
                "{wanted} in {chunk}: {saved:.1}"
            );
        }
    }
}

#[test]
fn the_compressible_part_is_the_pattern_if_there_is_one() {
    let content = WriteContent {
        compress_percent: Some(75),
        compress_chunk: 400,
        pattern: ContentPattern {
            bytes: b"xy".to_vec(),
            offsets_at: Vec::new(),
            interval: 0,
        },
        ..WriteContent::default()
    };
    let mut filler = Filler::new(&content, 4096, 1);
    for piece in blocks(&mut filler, 1, 4000)[0].chunks(400) {
        assert_eq!(&piece[100..], b"xy".repeat(150));
        assert_ne!(&piece[..100], b"xy".repeat(50));
    }
}

#[test]
fn as_many_blocks_come_again_as_asked() {
    for mode in [DedupeMode::Repeat, DedupeMode::WorkingSet] {
        for percent in [10, 50, 90] {
            let content = dedupe(percent, mode);
            let mut filler = Filler::new(&content, 4096, 7).with_working_set(10_000, &[]);
            let found = duplicate_percent(&blocks(&mut filler, 10_000, BLOCK));
            let wanted = f64::from(percent);
            assert!((found - wanted).abs() < 2.0, "{mode:?} {wanted}: {found}");
        }
    }
}

#[test]
fn all_blocks_are_one_when_all_are_duplicates() {
    let mut filler = Filler::new(&dedupe(100, DedupeMode::Repeat), 4096, 7);
    let all = blocks(&mut filler, 100, BLOCK);
    assert!(all.iter().all(|block| *block == all[0]));
}

#[test]
fn duplicates_of_the_repeat_mode_are_of_the_distinct_block_before() {
    let mut filler = Filler::new(&dedupe(50, DedupeMode::Repeat), 4096, 7);
    let mut seen = HashSet::new();
    let mut last = Vec::new();
    for block in blocks(&mut filler, 500, BLOCK) {
        assert!(seen.insert(block.clone()) || block == last);
        last = block;
    }
}

#[test]
fn a_working_set_bounds_what_comes_again() {
    let content = dedupe(80, DedupeMode::WorkingSet);
    // 5 percent of 200 blocks.
    let mut filler = Filler::new(&content, 4096, 7).with_working_set(200, &[]);
    let all = blocks(&mut filler, 5000, BLOCK);
    let mut seen = HashSet::new();
    let again: HashSet<_> = all.iter().filter(|block| !seen.insert(*block)).collect();
    assert_eq!(again.len(), 10);
}

#[test]
fn streams_that_share_duplicates_write_equal_blocks() {
    let content = WriteContent {
        dedupe_global: true,
        ..dedupe(50, DedupeMode::WorkingSet)
    };
    let written = |seed, streams: &[u64]| -> HashSet<Vec<u8>> {
        let mut filler = Filler::new(&content, 4096, seed).with_working_set(10_000, streams);
        blocks(&mut filler, 500, BLOCK).into_iter().collect()
    };
    assert!(
        written(1, &[1, 2])
            .intersection(&written(2, &[1, 2]))
            .count()
            > 20
    );
    assert_eq!(written(1, &[]).intersection(&written(2, &[])).count(), 0);
}

#[test]
fn a_duplicate_compresses_as_the_first_one() {
    let content = WriteContent {
        compress_percent: Some(50),
        ..dedupe(60, DedupeMode::WorkingSet)
    };
    let mut filler = Filler::new(&content, 4096, 7);
    let all = blocks(&mut filler, 2000, BLOCK);
    let found = duplicate_percent(&all);
    assert!((found - 60.0).abs() < 3.0, "{found}");
    assert!((compressed_percent(&all[0]) - 50.0).abs() < 3.0);
}

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
    fill_pattern(&mut block, &pattern(b"ab01234567", &[2]), 0x0102);
    assert_eq!(&block[..10], b"ab\x02\x01\0\0\0\0\0\0");
    assert_eq!(&block[10..20], b"ab\x02\x01\0\0\0\0\0\0");
    assert_eq!(&block[20..], b"ab\x02\x01\0");
}

#[test]
fn an_offset_that_does_not_fit_is_cut() {
    let mut block = [0; 3];
    fill_pattern(&mut block, &pattern(b"abc", &[1, 9]), 0x0403_0201);
    assert_eq!(&block, b"a\x01\x02");
}

#[test]
fn a_pattern_begins_anew_with_each_interval_and_carries_its_offset() {
    let mut block = [0; 12];
    let pattern = ContentPattern {
        interval: 5,
        ..pattern(b"ab\0", &[2])
    };
    fill_pattern(&mut block, &pattern, 0x40);
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
        fill_pattern(&mut block, &pattern, offset);
        let start = start % length;
        prop_assert_eq!(first_difference(&block[start..], start, &pattern, offset), None);
        let place = place % length;
        block[place] ^= 0x10;
        let difference = first_difference(&block[start..], start, &pattern, offset);
        prop_assert_eq!(difference.map(|d| d.at + start), (place >= start).then_some(place));
    }
}
