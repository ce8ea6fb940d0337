mod fio;

use super::*;
use proptest::prelude::*;

const KINDS: [VerifyKind; 18] = [
    VerifyKind::Crc7,
    VerifyKind::Crc16,
    VerifyKind::Crc32,
    VerifyKind::Crc32c,
    VerifyKind::Crc64,
    VerifyKind::Md5,
    VerifyKind::Sha1,
    VerifyKind::Sha256,
    VerifyKind::Sha512,
    VerifyKind::Sha3224,
    VerifyKind::Sha3256,
    VerifyKind::Sha3384,
    VerifyKind::Sha3512,
    VerifyKind::Xxhash,
    VerifyKind::Header,
    VerifyKind::Pattern,
    VerifyKind::PatternHeader,
    VerifyKind::Null,
];
const MARK: BlockMark = BlockMark {
    offset: 8192,
    seed: 0x0123_4567_89ab_cdef,
    number: 70_000,
    time: (1000, 999_999_999),
};
const EXPECTED: Expected = Expected {
    offset: MARK.offset,
    number: Some(MARK.number),
    seed: Some(MARK.seed),
};

/// With a pattern where the kind needs one.
fn spec(kind: VerifyKind) -> Verify {
    let mut spec = Verify::new(kind);
    if matches!(
        kind,
        VerifyKind::Header | VerifyKind::Pattern | VerifyKind::PatternHeader
    ) {
        spec.pattern = ContentPattern {
            bytes: b"\xde\xad--------".to_vec(),
            offsets_at: vec![2],
            interval: 0,
        };
    }
    spec
}

fn stamped(verifier: &Verifier, length: usize) -> Vec<u8> {
    let mut block = vec![0; length];
    verifier.stamp(&mut block, MARK);
    block
}

#[test]
fn every_changed_byte_is_found_by_every_kind() {
    for kind in KINDS {
        if kind == VerifyKind::Null {
            continue;
        }
        for (interval, offset) in [(0, 0), (384, 0), (384, 200)] {
            let spec = Verify {
                interval,
                offset,
                ..spec(kind)
            };
            let verifier = Verifier::new(&spec, 1);
            let mut block = stamped(&verifier, 768);
            assert_eq!(verifier.check(&mut block, EXPECTED), Ok(()), "{kind:?}");
            let good = block.clone();
            for i in 0..block.len() {
                block[i] ^= 0x40;
                let damaged = block.clone();
                let mismatch = verifier.check(&mut block, EXPECTED);
                let mismatch = mismatch.expect_err("a changed byte must be found");
                assert_eq!(block, damaged, "a check leaves the block as it was");
                let found = mismatch.offset..mismatch.offset + u64::from(mismatch.length);
                assert!(found.contains(&(MARK.offset + i as u64)), "{kind:?} {i}");
                block[i] ^= 0x40;
            }
            assert_eq!(block, good);
        }
    }
}

#[test]
fn headers_alone_say_nothing_of_random_content() {
    let verifier = Verifier::new(&Verify::new(VerifyKind::Header), 1);
    let mut block = stamped(&verifier, 1024);
    block[500] ^= 1;
    assert_eq!(verifier.check(&mut block, EXPECTED), Ok(()));
}

#[test]
fn null_neither_writes_nor_finds_anything() {
    let verifier = Verifier::new(&Verify::new(VerifyKind::Null), 1);
    let mut block = stamped(&verifier, 1024);
    assert_eq!(block, vec![0; 1024]);
    assert_eq!(verifier.check(&mut block, EXPECTED), Ok(()));
}

/// What is wrong, if another block stands where this one was expected.
fn complaint(kind: VerifyKind, expected: Expected) -> String {
    let verifier = Verifier::new(&spec(kind), 1);
    let mut block = stamped(&verifier, 1024);
    verifier
        .check(&mut block, expected)
        .unwrap_err()
        .to_string()
}

#[test]
fn misplaced_and_stale_blocks_are_named() {
    let elsewhere = Expected {
        offset: 4096,
        ..EXPECTED
    };
    assert_eq!(
        complaint(VerifyKind::Md5, elsewhere),
        "1024 bytes at offset 4096: the header is of a block at another offset: \
         found 8192, expected 4096"
    );
    let later = Expected {
        number: Some(70_001),
        ..EXPECTED
    };
    assert_eq!(
        complaint(VerifyKind::Md5, later),
        "1024 bytes at offset 8192: the header is of another write: \
         found number 4464, expected 4465"
    );
    let other = Expected {
        seed: Some(1),
        ..EXPECTED
    };
    assert_eq!(
        complaint(VerifyKind::Md5, other),
        "1024 bytes at offset 8192: the header is of another write: \
         found seed 0123456789abcdef, expected 0000000000000001"
    );
}

#[test]
fn damage_is_described_in_one_line() {
    let verifier = Verifier::new(&spec(VerifyKind::Crc16), 1);
    let mut block = stamped(&verifier, 1024);
    block[1000] ^= 1;
    let told = verifier
        .check(&mut block, EXPECTED)
        .unwrap_err()
        .to_string();
    let (head, _) = told.split_once("found ").unwrap();
    assert_eq!(
        head,
        "1024 bytes at offset 8192: crc16 of the 982 bytes behind the header differs: "
    );

    let verifier = Verifier::new(&spec(VerifyKind::Pattern), 1);
    let mut block = stamped(&verifier, 1024);
    block[1000] = 0;
    assert_eq!(
        verifier
            .check(&mut block, EXPECTED)
            .unwrap_err()
            .to_string(),
        "1024 bytes at offset 8192: byte 1000 of the block differs from the pattern: \
         found 00, expected de"
    );

    let told = verifier_of_zeros(VerifyKind::Sha1);
    assert_eq!(
        told,
        "1024 bytes at offset 8192: there is no header: found 0000, expected acca"
    );
}

fn verifier_of_zeros(kind: VerifyKind) -> String {
    let verifier = Verifier::new(&spec(kind), 1);
    let told = verifier.check(&mut [0; 1024], EXPECTED);
    told.unwrap_err().to_string()
}

#[test]
fn the_kind_and_the_length_of_the_header_must_be_right() {
    let mut block = stamped(&Verifier::new(&spec(VerifyKind::Crc32), 1), 1024);
    let told = Verifier::new(&spec(VerifyKind::Xxhash), 1)
        .check(&mut block, EXPECTED)
        .unwrap_err();
    assert_eq!(
        told.what,
        "the header is of another kind of check: found 4, expected 15 (xxhash)"
    );
    let told = Verifier::new(&spec(VerifyKind::Crc32), 1)
        .check(&mut block[..512], EXPECTED)
        .unwrap_err();
    assert_eq!(
        told.what,
        "the header is of a block of another length: found 1024, expected 512"
    );
}

#[test]
fn blocks_without_room_for_a_header_are_refused_and_harm_nobody() {
    for kind in KINDS {
        for offset in [0, 300] {
            let verifier = Verifier::new(
                &Verify {
                    offset,
                    ..spec(kind)
                },
                1,
            );
            for length in 0..verifier.header_bytes() as usize {
                let mut block = stamped(&verifier, length);
                let told = verifier.check(&mut block, EXPECTED);
                assert_eq!(told.is_err(), length > 0, "{kind:?} {length}: {told:?}");
            }
            let smallest = usize::try_from(verifier.smallest_interval()).unwrap();
            let mut block = stamped(&verifier, smallest);
            assert_eq!(verifier.check(&mut block, EXPECTED), Ok(()), "{kind:?}");
        }
    }
}

#[test]
fn a_header_is_put_where_it_is_asked_for() {
    let plain = stamped(&Verifier::new(&spec(VerifyKind::Md5), 1), 1024);
    let moved = Verify {
        offset: 100,
        ..spec(VerifyKind::Md5)
    };
    let moved = stamped(&Verifier::new(&moved, 1), 1024);
    assert_eq!(moved[100..156], plain[..56]);
    assert_eq!(moved[..56], plain[100..156]);
    assert_eq!(moved[156..], plain[156..]);
}

#[test]
fn a_checksum_covers_content_that_another_program_made() {
    let verifier = Verifier::new(&spec(VerifyKind::Crc64), 1);
    let mut block = stamped(&verifier, 1024);
    let (head, data) = block.split_at_mut(48);
    data.fill(7);
    checksum::write(VerifyKind::Crc64, data, &mut head[40..]);
    assert_eq!(verifier.check(&mut block, EXPECTED), Ok(()));
}

#[test]
fn blocks_to_be_checked_can_be_compressible() {
    let half = WriteContent {
        compress_percent: Some(50),
        compress_chunk: 512,
        ..WriteContent::default()
    };
    let verifier = Verifier::new(&spec(VerifyKind::Crc32c), 1).with_content(&half);
    let mut block = stamped(&verifier, 4096);
    assert_eq!(verifier.check(&mut block, EXPECTED), Ok(()));
    assert!(block.chunks(512).all(|chunk| chunk[256..] == [0; 256]));
    assert!(block.chunks(512).all(|chunk| chunk[..256] != [0; 256]));
}

#[test]
fn a_trimmed_block_must_be_zero() {
    let mut block = [0; 1024];
    assert_eq!(check_zero(&block, 4096), Ok(()));
    block[1023] = 0xab;
    assert_eq!(
        check_zero(&block, 4096).unwrap_err().to_string(),
        "1024 bytes at offset 4096: byte 1023 of the trimmed block is not zero: found ab"
    );
}

proptest! {
    #[test]
    fn what_was_stamped_is_found_to_be_right(
        kind in 0..KINDS.len(),
        interval in 0u32..6,
        offset in 0u32..400,
        blocks in 1usize..6,
        at: u64,
        seed: u64,
        number: u64,
    ) {
        let spec = Verify { interval: interval * 512, offset, ..spec(KINDS[kind]) };
        let verifier = Verifier::new(&spec, 9);
        let at = at / 2;
        let mark = BlockMark { offset: at, seed, number, time: (1, 2) };
        let mut block = vec![0; blocks * 1024];
        verifier.stamp(&mut block, mark);
        let expected = Expected { offset: at, number: Some(number), seed: Some(seed) };
        prop_assert_eq!(verifier.check(&mut block, expected), Ok(()));
    }
}
