//! The page cache of a file, looked at from several sides.

use super::{BLOCK, alone, folder, job, run, zeros};
use assay_engine::{layout, page_cache};
use assay_model::job::Rw;
use assay_model::units::{Bytes, MIB};
use assay_testkit::{LoopDevice, Scratch, needs, or_skip, skip};
use std::fs::File;
use std::sync::atomic::AtomicBool;

#[test]
fn evicting_and_warming_show_in_what_is_cached() {
    let _alone = alone();
    let folder = folder();
    let path = folder.join("data");
    let file = File::create_new(&path).unwrap();
    let stop = AtomicBool::new(false);
    let mut told = Vec::new();
    let mut tell = |done: Bytes| told.push(done.0);
    layout::write(&file, &path, Bytes(40 * MIB), 1, &stop, &mut tell).unwrap();
    assert_eq!(told, [32 * MIB, 40 * MIB]);

    let file = File::open(&path).unwrap();
    let Some(cold) = page_cache::cached_pages(&file) else {
        return skip("neither cachestat nor mincore works here");
    };
    if cold.cached_bytes > 0 {
        return skip("this file system evicts nothing");
    }
    page_cache::warm(&file, &path, 8 * MIB, 16 * MIB).unwrap();
    let warm = page_cache::cached_pages(&file).unwrap().cached_bytes;
    // The kernel reads ahead of what it is asked for.
    assert!((16 * MIB..40 * MIB).contains(&warm), "{warm}");
    page_cache::evict(&file, &path).unwrap();
    assert_eq!(page_cache::cached_pages(&file).unwrap().cached_bytes, 0);

    // What a buffered job writes is dirty until it is evicted.
    run(&job(Rw::Write, 64), &path);
    let written = page_cache::cached_pages(&file).unwrap();
    assert_eq!(written.cached_bytes, 64 * BLOCK);
    if let (Some(dirty), Some(under_way)) = (written.dirty_bytes, written.writeback_bytes) {
        assert!(dirty + under_way <= 64 * BLOCK);
    }
    page_cache::evict(&file, &path).unwrap();
    let clean = page_cache::cached_pages(&file).unwrap();
    assert_eq!(clean.dirty_bytes.unwrap_or(0), 0);
    assert_eq!(clean.cached_bytes, 0);

    // What a direct job writes is never there.
    let mut direct = job(Rw::Write, 64);
    direct.direct = true;
    if super::run_if_direct_works(&direct, &path).is_some() {
        assert_eq!(page_cache::cached_pages(&file).unwrap().cached_bytes, 0);
    }
}

#[test]
fn a_block_device_has_cached_pages_too() {
    let _alone = alone();
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 8));
    let file = File::open(device.node()).unwrap();
    page_cache::evict(&file, device.node()).unwrap();
    page_cache::warm(&file, device.node(), 0, 4 * MIB).unwrap();
    let cached = page_cache::cached_pages(&file).unwrap().cached_bytes;
    assert!((4 * MIB..=8 * MIB).contains(&cached), "{cached}");
}

#[test]
fn a_file_is_written_only_where_it_really_was() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 4 * MIB);
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let Some(sparse) = layout::is_written(&file) else {
        return skip("this file system does not tell holes");
    };
    assert!(!sparse, "a hole is not written");

    let reserve = || rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 4 * MIB);
    match reserve() {
        Ok(()) => assert_eq!(layout::is_written(&file), Some(false), "fallocated"),
        Err(errno) => skip(&format!("fallocate: {errno}")),
    }

    let (stop, size) = (AtomicBool::new(false), Bytes(4 * MIB - 1000));
    layout::write(&file, &path, size, 1, &stop, &mut |_| {}).unwrap();
    let cache = page_cache::cached_pages(&file);
    assert_eq!(cache.and_then(|cache| cache.dirty_bytes).unwrap_or(0), 0);
    // The page that holds the last byte was written as a whole.
    file.set_len(size.0).unwrap();
    assert_eq!(layout::is_written(&file), Some(true));
}

#[test]
fn an_empty_file_has_no_hole() {
    let _alone = alone();
    let folder = folder();
    let file = File::open(zeros(&folder, 0)).unwrap();
    assert_ne!(layout::is_written(&file), Some(false));
}

#[test]
fn layout_stops_when_told_to() {
    let _alone = alone();
    let folder = folder();
    let path = folder.join("data");
    let file = File::create_new(&path).unwrap();
    let stop = AtomicBool::new(true);
    let end = layout::write(&file, &path, Bytes(MIB), 1, &stop, &mut |_| {});
    assert!(matches!(end, Err(assay_engine::EngineError::Stopped)));
    assert_eq!(file.metadata().unwrap().len(), 0);
}
