use super::*;
use crate::observer::recording::recorded;
use assay_model::act::soak::{Fault, HeldContent};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

struct Mute;

impl DeviceHealth for Mute {
    fn health(&self) -> Option<Health> {
        None
    }
}

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 16;

fn work(path: &Path, last: u64, from: Option<Checkpoint>) -> Soak {
    Soak {
        path: path.to_owned(),
        own_file: true,
        block_bytes: BLOCK,
        blocks: BLOCKS,
        seed: 7,
        last: Some(last),
        limit_ns: None,
        checkpoint_ns: u64::MAX,
        memory_bytes: None,
        keep: true,
        from,
    }
}

fn soaked(work: &Soak) -> (Result<ActReport, ActError>, Vec<SoakStep>) {
    let (ended, details) = recorded(|context| run(work, &Mute, context));
    let steps = details.into_iter().filter_map(|detail| match detail {
        StepDetail::Soak(step) => Some(*step),
        _ => None,
    });
    (ended, steps.collect())
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn everything_is_checked_before_it_is_written_anew_and_at_the_end() {
    let folder = folder();
    let path = folder.path().join("area");
    let (ended, steps) = soaked(&work(&path, 3 * BLOCKS, None));
    ended.unwrap();
    let last = &steps.last().unwrap().checkpoint;
    assert_eq!(last.written_bytes, 3 * BLOCKS * BLOCK);
    assert_eq!(
        last.verified_bytes,
        3 * BLOCKS * BLOCK,
        "two passes and the check"
    );
    assert_eq!((last.faults, last.errors), (0, 0));
    assert_eq!(steps.last().unwrap().of, Stretch::Checking);
}

#[test]
fn a_file_goes_unless_it_is_kept() {
    let folder = folder();
    let path = folder.path().join("area");
    let kept = work(&path, BLOCKS, None);
    soaked(&Soak {
        keep: false,
        ..kept
    })
    .0
    .unwrap();
    assert!(!path.exists());
}

#[test]
fn writes_after_the_checkpoint_of_a_killed_soak_count_and_are_no_fault() {
    let folder = folder();
    let path = folder.path().join("area");
    let (_, steps) = soaked(&work(&path, 24, None));
    // As if the checkpoint were older: eight writes of the second pass came after it.
    let old = Checkpoint {
        next: 16,
        written_bytes: 16 * BLOCK,
        ..Checkpoint::default()
    };
    assert_eq!(steps[0].checkpoint.next, 24);
    let (ended, steps) = soaked(&work(&path, 40, Some(old)));
    ended.unwrap();
    let expected = Stretch::Resuming {
        newer_writes: 8,
        interrupted_blocks: 0,
    };
    assert_eq!(steps[0].of, expected);
    assert_eq!(
        steps[0].checkpoint.written_bytes,
        24 * BLOCK,
        "none is lost"
    );
    let last = &steps.last().unwrap().checkpoint;
    assert_eq!((last.faults, last.next), (0, 40));
    assert_eq!(
        last.written_bytes,
        (24 + 24) * BLOCK,
        "eight were written again"
    );
}

#[test]
fn a_write_that_was_under_way_is_no_fault() {
    let folder = folder();
    let path = folder.path().join("area");
    soaked(&work(&path, 16, None)).0.unwrap();
    let order = SoakOrder::new(BLOCKS, 7);
    let block = order.block_of(16);
    let mut half = vec![0; 4096];
    fill_block(&mut half, 7, 16, block);
    overwrite(&path, block * BLOCK, &half[..1024]);
    let at = Checkpoint {
        next: 16,
        ..Checkpoint::default()
    };
    let (ended, steps) = soaked(&work(&path, 32, Some(at)));
    ended.unwrap();
    let expected = Stretch::Resuming {
        newer_writes: 0,
        interrupted_blocks: 1,
    };
    assert_eq!(steps[0].of, expected);
    assert_eq!(steps.last().unwrap().checkpoint.faults, 0);
}

#[test]
fn damage_to_a_write_after_the_checkpoint_is_a_fault_too() {
    let folder = folder();
    let path = folder.path().join("area");
    soaked(&work(&path, 24, None)).0.unwrap();
    let order = SoakOrder::new(BLOCKS, 7);
    let block = order.block_of(20);
    overwrite(&path, block * BLOCK + 1234, &[0xee]);
    let at = Checkpoint {
        next: 16,
        ..Checkpoint::default()
    };
    let (ended, steps) = soaked(&work(&path, 32, Some(at)));
    ended.unwrap();
    let faults = &steps[0].faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!((faults[0].block, faults[0].expected), (block, 20));
    assert_eq!(faults[0].first_byte, block * BLOCK + 1234);
}

#[test]
fn a_block_that_was_changed_behind_its_back_is_located() {
    let folder = folder();
    let path = folder.path().join("area");
    soaked(&work(&path, 16, None)).0.unwrap();
    overwrite(&path, 5 * BLOCK + 77, &[0xee]);
    let at = Checkpoint {
        next: 16,
        ..Checkpoint::default()
    };
    let (ended, steps) = soaked(&work(&path, 32, Some(at)));
    ended.unwrap();
    let faults: Vec<&Fault> = steps.iter().flat_map(|step| &step.faults).collect();
    // Once when it went on, and once more before it was written anew.
    assert_eq!(faults.len(), 2, "{faults:?}");
    let fault = faults[0];
    assert_eq!((fault.block, fault.offset), (5, 5 * BLOCK));
    assert_eq!(
        (fault.first_byte, fault.differing_bytes),
        (5 * BLOCK + 77, 1)
    );
    assert_eq!(fault.expected, 5);
    assert!(
        matches!(fault.found, HeldContent::Flipped { .. }),
        "{fault:?}"
    );
}

#[test]
fn a_file_that_is_gone_or_too_short_is_refused() {
    let folder = folder();
    let path = folder.path().join("area");
    let from = Some(Checkpoint::default());
    assert!(soaked(&work(&path, 16, from.clone())).0.is_err());
    fs::write(&path, "short").unwrap();
    let (ended, _) = soaked(&work(&path, 16, from));
    assert!(matches!(ended, Err(ActError::Refused(why)) if why.contains("since the run began")));
}

const BYTES: usize = 8 * SECTOR;

fn block(number: u64, block: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    fill_block(&mut bytes, 7, number, block);
    bytes
}

fn classified(found: &[u8]) -> HeldContent {
    held_content(found, &block(9, 3), 7, 9, 3)
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
    assert!(is_interrupted_write(&torn, 7, 3));
    torn[SECTOR + 77] ^= 1;
    assert!(!is_interrupted_write(&torn, 7, 3));
    assert!(!is_interrupted_write(&block(9, 5), 7, 3), "another block");
}

#[test]
fn the_newest_write_of_a_torn_block_is_found() {
    let mut torn = block(4, 3);
    torn[..SECTOR].copy_from_slice(&block(9, 3)[..SECTOR]);
    assert_eq!(newest_write(&torn, 7, 3), Some(9));
    assert_eq!(newest_write(&[0; BYTES], 7, 3), None);
    assert_eq!(newest_write(&block(4, 3), 8, 3), None, "of another run");
}
