//! What is written: nothing that a controller could compress or find again,
//! and the same for the same seed.

use super::{Told, alone, engines, folder, job, zeros};
use assay_engine::{layout, measure};
use assay_model::job::{Content, Job, Rw};
use assay_model::units::{Bytes, KIB, MIB};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What a far-sighted compressor looks at together.
const WINDOW: usize = 1 << 20;

fn written(job: &Job, path: &Path, seed: u64) -> Vec<u8> {
    let never = AtomicBool::new(false);
    measure(job, path, seed, &never, &mut Told::default()).expect("the job can run");
    fs::read(path).expect("it can be read")
}

fn job_of(rw: Rw, block: u64, size: u64) -> Job {
    Job::new("t", rw, Bytes(block), Bytes(size))
}

/// Neither the entropy of its bytes nor a string that came before saves
/// anything. Deflate sees strings of the last 32 KiB; the words are looked for
/// in all of the mebibyte.
#[track_caller]
fn assert_incompressible(content: &[u8], what: &str) {
    for window in content.chunks(WINDOW) {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(window).expect("memory");
        let packed = encoder.finish().expect("memory").len();
        assert!(packed * 100 > window.len() * 99, "{what}: {packed} bytes");
        let (words, _) = window.as_chunks::<8>();
        let distinct: HashSet<&[u8; 8]> = words.iter().collect();
        assert_eq!(distinct.len(), words.len(), "{what}: words repeat");
    }
}

#[test]
fn what_jobs_write_does_not_compress() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 4 * MIB);
    for block in [512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB] {
        let job = job_of(Rw::Write, block, 4 * MIB);
        assert_incompressible(&written(&job, &path, 1), &format!("{block} in order"));
    }
    for block in [512, 4 * KIB, 8 * KIB, 16 * KIB] {
        let job = job_of(Rw::RandWrite, block, 4 * MIB);
        assert_incompressible(&written(&job, &path, 1), &format!("{block} at random"));
    }
    for (engine, depth) in engines() {
        let mut job = job_of(Rw::RandWrite, 4 * KIB, 4 * MIB);
        job.ioengine = engine;
        job.iodepth = depth;
        job.numjobs = 2;
        assert_incompressible(&written(&job, &path, 1), engine.name());
    }
}

#[test]
fn what_layout_writes_does_not_compress() {
    let _alone = alone();
    let folder = folder();
    let path = folder.join("data");
    let file = File::create_new(&path).unwrap();
    let stop = AtomicBool::new(false);
    layout::write(&file, &path, Bytes(5 * MIB + 5), 1, &stop, &mut |_| {}).unwrap();
    let content = fs::read(&path).unwrap();
    assert_eq!(content.len() as u64, 5 * MIB + 5);
    assert_incompressible(&content[..5 << 20], "layout");
    let sectors: HashSet<&[u8]> = content.chunks_exact(512).collect();
    assert_eq!(sectors.len(), 5 << 11, "no sector is there twice");
}

#[test]
fn zeros_are_zeros() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 0);
    let mut job = job(Rw::Write, 64);
    job.content = Content::Zero;
    let content = written(&job, &path, 1);
    assert_eq!(content.len() as u64, job.size.0);
    assert!(content.iter().all(|&byte| byte == 0));
}

/// With one I/O at a time, order and content follow from the seed.
#[test]
fn a_seed_names_order_and_content() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, MIB);
    for (engine, _) in engines() {
        let mut job = job(Rw::RandWrite, 256);
        job.ioengine = engine;
        let first = written(&job, &path, 7);
        assert_eq!(written(&job, &path, 7), first, "{engine}");
        assert_ne!(written(&job, &path, 8), first, "{engine}");
    }
}
