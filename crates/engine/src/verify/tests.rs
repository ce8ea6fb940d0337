mod fio;

use super::*;
use assay_model::load::ContentPattern;
use assay_model::load::blocks::{Verify, VerifyKind};
use proptest::prelude::*;
use std::fs;

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
    write_checksum(VerifyKind::Crc64, data, &mut head[40..]);
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

fn sum(kind: VerifyKind, data: &[u8]) -> String {
    let mut sum = vec![0; checksum_bytes(kind)];
    write_checksum(kind, data, &mut sum);
    hex(&sum)
}

/// The check values of the CRC catalogue (reveng.sourceforge.io) and the
/// digests of coreutils and Python's hashlib for the same nine bytes.
#[test]
fn checksums_are_the_published_ones() {
    let data = b"123456789";
    for (kind, expected) in [
        (VerifyKind::Crc7, "75"),
        // CRC-16/ARC bb3d, lowest byte first.
        (VerifyKind::Crc16, "3dbb"),
        // CRC-32/CKSUM 765e7680, inverted, lowest byte first.
        (VerifyKind::Crc32, "7f89a189"),
        // CRC-32/ISCSI e3069283, inverted, lowest byte first.
        (VerifyKind::Crc32c, "7c6df91c"),
        // CRC-64/REDIS e9c6d914c4b8d9ca, lowest byte first.
        (VerifyKind::Crc64, "cad9b8c414d9c6e9"),
        (VerifyKind::Md5, "25f9e794323b453885f5181f1b624d0b"),
        // SHA-1 f7c3bc1d 808e0473 2adf6799 65ccc34c a7ae3441.
        (VerifyKind::Sha1, "1dbcc3f773048e809967df2a4cc3cc654134aea7"),
        (
            VerifyKind::Sha3224,
            "5795c3d628fd638c9835a4c79a55809f265068c88729a1a3fcdf8522",
        ),
        (
            VerifyKind::Sha3256,
            "87cd084d190e436f147322b90e7384f6a8e0676c99d21ef519ea718e51d45f9c",
        ),
        (
            VerifyKind::Sha3384,
            "8b90ede4d095409f1a12492c2520599683a9478dc70b7566d23b3e41ece8538c6cde92382a5e38786490375c54672abf",
        ),
        (
            VerifyKind::Sha3512,
            "e1e44d20556e97a180b6dd3ed7ae5c465cafd553fa8747dca038fb95635b77a37318f7ddf7aec1f6c3c14bb160ba2497007decf38dd361cab199e3b8c8fe1f5c",
        ),
        (
            VerifyKind::Sha512,
            "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274ad27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe8500000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
        ),
        (VerifyKind::Xxhash, "8c9161f2"),
    ] {
        assert_eq!(sum(kind, data), expected, "{kind:?}");
    }
}

/// The length of nothing is the same in both byte orders, so that fio's
/// result is the published one here.
#[test]
fn of_sha256_the_lowest_byte_of_each_word_is_stored() {
    // SHA-256 of nothing: e3b0c442 98fc1c14 9afbf4c8 996fb924 27ae41e4
    // 649b934c a495991b 7852b855.
    let stored = sum(VerifyKind::Sha256, b"");
    assert_eq!(&stored[..16], "4214c824e44c1b55");
}

#[test]
fn what_fio_stores_for_sha512_is_accepted() {
    for length in [128, 129, 1000, 4096] {
        let data: Vec<u8> = (0..251).cycle().take(length).collect();
        let mut stored = [0; SHA512_BLOCK];
        stored.copy_from_slice(&data[..SHA512_BLOCK]);
        let rest = data.len() % SHA512_BLOCK;
        stored[..rest].copy_from_slice(&data[data.len() - rest..]);
        assert_eq!(check_checksum(VerifyKind::Sha512, &data, &stored), Ok(()));
        stored[0] ^= 1;
        assert!(check_checksum(VerifyKind::Sha512, &data, &stored).is_err());
    }
}

const DUMPED_MARK: BlockMark = BlockMark {
    offset: 8192,
    seed: 5,
    number: 3,
    time: (1, 2),
};

/// Returns the dumps of a block after changing a byte at each of its places.
fn dumped(spec: &Verify, place: usize, expected: Expected) -> (Vec<u8>, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let verifier = Verifier::new(spec, 0);
    let mut block = vec![0; 4096];
    verifier.stamp(&mut block, DUMPED_MARK);
    let written = block.clone();
    block[place] ^= 1;
    let mismatch = verifier.check(&mut block, expected).unwrap_err();
    let paths = verifier
        .dump(
            folder.path(),
            Path::new("/x/disk"),
            &block,
            expected,
            &mismatch,
        )
        .unwrap();
    let skip = usize::try_from(mismatch.offset - DUMPED_MARK.offset).unwrap();
    let interval = skip..skip + mismatch.length as usize;
    let received = format!("disk.{}.received", mismatch.offset);
    assert_eq!(paths[0].file_name().unwrap().to_str(), Some(&*received));
    assert_eq!(fs::read(&paths[0]).unwrap(), block[interval.clone()]);
    let files = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    (written[interval].to_vec(), files)
}

#[test]
fn damaged_data_is_dumped_next_to_what_it_was() {
    for offset in [0, 1024] {
        let spec = Verify {
            interval: 2048,
            offset,
            ..Verify::new(VerifyKind::Crc32c)
        };
        let expected = Expected {
            offset: DUMPED_MARK.offset,
            ..Expected::default()
        };
        let (written, files) = dumped(&spec, 3000, expected);
        assert_eq!(files[1..], [written]);
    }
}

#[test]
fn a_dump_replaces_a_link_and_leaves_what_it_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let (precious, link) = (folder.path().join("precious"), folder.path().join("link"));
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    save(&link, b"dumped").unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert!(!link.is_symlink());
    assert_eq!(fs::read(&link).unwrap(), b"dumped");
}

#[test]
fn a_damaged_header_leaves_what_was_there_unknown() {
    let expected = Expected {
        offset: DUMPED_MARK.offset,
        ..Expected::default()
    };
    let (_, files) = dumped(&Verify::new(VerifyKind::Md5), 20, expected);
    assert_eq!(files.len(), 1);
    let known = Expected {
        seed: Some(DUMPED_MARK.seed),
        ..expected
    };
    let (written, files) = dumped(&Verify::new(VerifyKind::Md5), 20, known);
    assert_eq!(files[1][56..], written[56..]);
}

#[test]
fn patterns_are_always_known() {
    let spec = Verify {
        pattern: ContentPattern {
            bytes: b"abc".to_vec(),
            offsets_at: Vec::new(),
            interval: 0,
        },
        ..Verify::new(VerifyKind::Pattern)
    };
    let expected = Expected {
        offset: DUMPED_MARK.offset,
        ..Expected::default()
    };
    let (written, files) = dumped(&spec, 20, expected);
    assert_eq!(files[1..], [written]);
}

fn verifier() -> Arc<Verifier> {
    Arc::new(Verifier::new(&Verify::new(VerifyKind::Crc32c), 0))
}

/// A block whose mark is its tag; every tenth one is damaged.
fn check(verifier: &Verifier, tag: u64) -> Check {
    let mut buf = IoBuf::zeroed(8192);
    let mark = BlockMark {
        offset: tag * 4096,
        seed: tag,
        ..BlockMark::default()
    };
    let block = &mut buf.block_mut()[..4096];
    verifier.stamp(block, mark);
    if tag % 10 == 3 {
        block[100] ^= 1;
    }
    Check {
        buf,
        length: 4096,
        expected: Expected {
            offset: mark.offset,
            ..Expected::default()
        },
        tag,
    }
}

#[test]
fn every_block_comes_back_with_its_own_answer_and_few_are_inside() {
    let verifier = verifier();
    let pool = CheckPool::new(3, &[0], &verifier).unwrap();
    let mut seen = vec![false; 1000];
    let mut inside = 0;
    let mut take = |done: Vec<Checked>, inside: &mut usize| {
        for Checked { check, result } in done {
            *inside -= 1;
            assert_eq!(result.is_err(), check.tag % 10 == 3, "{}", check.tag);
            let slot = &mut seen[usize::try_from(check.tag).unwrap()];
            assert!(!std::mem::replace(slot, true));
        }
    };
    for tag in 0..1000 {
        let mut waiting = Some(check(&verifier, tag));
        while let Some(check) = waiting.take() {
            match pool.submit(check) {
                Ok(()) => inside += 1,
                Err(check) => {
                    assert_eq!(inside, 3 * BLOCKS_PER_THREAD);
                    waiting = Some(check);
                    take(pool.wait_done(), &mut inside);
                }
            }
        }
        take(pool.take_done(), &mut inside);
    }
    while inside > 0 {
        take(pool.wait_done(), &mut inside);
    }
    assert!(pool.wait_done().is_empty());
    assert!(seen.iter().all(|&seen| seen));
}

#[test]
fn a_pool_that_is_dropped_with_work_inside_ends() {
    let verifier = verifier();
    let pool = CheckPool::new(1, &[], &verifier).unwrap();
    for tag in 0..5 {
        assert!(pool.submit(check(&verifier, tag)).is_ok());
    }
}

#[test]
fn processors_that_do_not_exist_are_refused() {
    for cpu in [1000, 5000] {
        let error = CheckPool::new(1, &[cpu], &verifier()).unwrap_err();
        assert!(matches!(error, EngineError::Threads { .. }), "{error}");
    }
}
