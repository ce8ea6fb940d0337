//! Which blocks are touched, by every engine.

use super::{BLOCK, alone, can_be_direct, engines, folder, job, run, run_if_direct_works, zeros};
use assay_model::job::{Job, Rw};
use assay_model::trial::Measurement;
use assay_model::units::Bytes;
use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;

const BLOCKS: u64 = 300;
/// Blocks of the file before the region, and behind it.
const AROUND: u64 = 16;

/// Each engine, buffered and direct.
fn each_way(rw: Rw, path: &Path, mut look: impl FnMut(&Job, &Measurement)) {
    for (engine, depth) in engines() {
        let ways = [false, true].into_iter();
        for direct in ways.filter(|direct| !direct || can_be_direct(engine)) {
            let mut job = job(rw, BLOCKS);
            job.ioengine = engine;
            job.iodepth = depth;
            job.direct = direct;
            job.offset = Bytes(AROUND * BLOCK);
            empty(path);
            if let Some(measured) = run_if_direct_works(&job, path) {
                look(&job, &measured);
            }
        }
    }
}

/// Makes the file one of zeros, with room around the region.
fn empty(path: &Path) {
    let file = File::create(path).expect("it can be emptied");
    file.set_len((BLOCKS + 2 * AROUND) * BLOCK).expect("room");
}

fn blocks_of(path: &Path) -> Vec<Vec<u8>> {
    let content = fs::read(path).expect("it can be read");
    let (blocks, []) = content.as_chunks::<4096>() else {
        panic!("{} bytes are not whole blocks", content.len());
    };
    blocks.iter().map(|block| block.to_vec()).collect()
}

#[test]
fn a_pass_writes_every_block_of_the_region_once_and_nothing_else() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 0);
    for rw in [Rw::RandWrite, Rw::Write] {
        each_way(rw, &path, |job, measured| {
            let context = format!("{} direct={} {rw}", job.ioengine, job.direct);
            assert_eq!(measured.write.ios, BLOCKS, "{context}");
            assert_eq!(measured.write.bytes, BLOCKS * BLOCK, "{context}");
            assert_eq!(measured.write.latency.count, BLOCKS, "{context}");
            assert_eq!(measured.errors.count, 0, "{context}");
            let blocks = blocks_of(&path);
            assert_eq!(blocks.len() as u64, BLOCKS + 2 * AROUND);
            let is_zero = |block: &Vec<u8>| block.iter().all(|&byte| byte == 0);
            for (at, block) in (0..).zip(&blocks) {
                let inside = (AROUND..AROUND + BLOCKS).contains(&at);
                assert_eq!(is_zero(block), !inside, "{context}: block {at}");
            }
            let distinct: HashSet<&Vec<u8>> = blocks.iter().collect();
            assert_eq!(distinct.len() as u64, BLOCKS + 1, "{context}");
        });
    }
}

#[test]
fn reads_leave_the_file_alone_and_count_all_bytes() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 0);
    for rw in [Rw::RandRead, Rw::Read] {
        each_way(rw, &path, |job, measured| {
            assert_eq!(measured.read.bytes, BLOCKS * BLOCK, "{}", job.ioengine);
            assert_eq!(measured.write.ios, 0);
            assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 0));
        });
    }
}

#[test]
fn each_worker_does_the_whole_job() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, BLOCKS * BLOCK);
    for (engine, depth) in engines() {
        let mut job = job(Rw::RandWrite, BLOCKS);
        job.ioengine = engine;
        job.iodepth = depth;
        job.numjobs = 3;
        let measured = run(&job, &path);
        assert_eq!(measured.write.ios, 3 * BLOCKS, "{engine}");
        let in_series: u64 = measured.series.points.iter().map(|p| p.write_ios).sum();
        assert_eq!(in_series, 3 * BLOCKS, "{engine}");
        let distinct: HashSet<Vec<u8>> = blocks_of(&path).into_iter().collect();
        assert_eq!(distinct.len() as u64, BLOCKS, "{engine}");
    }
}

#[test]
fn mixed_jobs_keep_their_share_of_reads() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, BLOCKS * BLOCK);
    for (engine, depth) in engines() {
        let mut job = job(Rw::RandRw, BLOCKS);
        job.ioengine = engine;
        job.iodepth = depth;
        job.read_percent = 70;
        job.io_size = Some(Bytes(3_000 * BLOCK));
        let measured = run(&job, &path);
        assert_eq!(measured.read.ios + measured.write.ios, 3_000, "{engine}");
        // Binomial: 2100 with a standard deviation of 25; the seed is fixed.
        assert!((2_000..2_200).contains(&measured.read.ios), "{engine}");
        let (read, write) = (&measured.read.latency, &measured.write.latency);
        assert_eq!(
            (read.count, write.count),
            (measured.read.ios, measured.write.ios)
        );
    }
}

#[test]
fn asynchronous_engines_tell_submission_apart() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, BLOCKS * BLOCK);
    for (engine, depth) in engines() {
        let mut job = job(Rw::RandRead, BLOCKS);
        job.ioengine = engine;
        job.iodepth = depth;
        let measured = run(&job, &path);
        let submissions = measured.read.submission.map(|record| record.count);
        let expected = (depth > 1).then_some(BLOCKS);
        assert_eq!(submissions, expected, "{engine}");
    }
}

#[test]
fn large_blocks_are_moved_whole() {
    let _alone = alone();
    let folder = folder();
    let length = 32 << 20;
    let path = zeros(&folder, length);
    for (engine, depth) in engines() {
        let mut job = job(Rw::Write, 1);
        job.ioengine = engine;
        job.iodepth = depth.min(2);
        job.bs = Bytes::mib(8);
        job.size = Bytes(length);
        assert_eq!(run(&job, &path).write.bytes, length, "{engine}");
    }
}
