//! Laying out: what is made, and what is left alone.

use super::*;
use crate::layout;
use assay_model::job::EngineKind;
use assay_model::load::blocks::Fallocate;
use assay_testkit::{Volume, needs, or_skip};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn info(text: &str) -> Note {
    Note::Info(text.to_owned())
}

#[test]
fn what_is_read_is_written_first_and_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a/b/new");
    let reads = sized(stream([&path]), 3 * MIB);
    let shared = SharedFiles::default();
    let (_, notes) = made(&reads, &shared);
    assert_eq!(notes, [info("job: Laying out IO file (1 file / 3MiB)")]);
    let content = fs::read(&path).unwrap();
    assert_eq!(content.len() as u64, 3 * MIB);
    for page in content.chunks(4096) {
        assert!(page.iter().any(|&byte| byte != 0));
    }
    let parent = fs::metadata(folder.path().join("a")).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o700);
    assert_eq!(made(&reads, &shared).1, []);
}

#[test]
fn several_files_are_announced_together() {
    let folder = TempDir::new().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let (_, notes) = made(&sized(stream(&paths), 4 * MIB), &SharedFiles::default());
    assert_eq!(
        notes,
        [info("job: Laying out IO files (2 files / total 4MiB)")]
    );
    assert_ne!(fs::read(&paths[0]).unwrap(), fs::read(&paths[1]).unwrap());
}

#[test]
fn a_file_that_is_too_short_keeps_what_it_holds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, b"kept").unwrap();
    made(&sized(stream([&path]), MIB), &SharedFiles::default());
    let content = fs::read(&path).unwrap();
    assert_eq!((content.len() as u64, &content[..4]), (MIB, &b"kept"[..]));
    assert!(content[4..4096].iter().any(|&byte| byte != 0));
}

#[test]
fn what_is_only_written_is_only_made() {
    let folder = TempDir::new().unwrap();
    let size_after = |name: &str, mode: Fallocate| {
        let path = folder.path().join(name);
        let mut writes = sized(writer([&path]), MIB);
        writes.files.fallocate = mode;
        made(&writes, &SharedFiles::default());
        fs::metadata(path).unwrap().len()
    };
    assert_eq!(size_after("none", Fallocate::None), 0);
    assert_eq!(size_after("truncate", Fallocate::Truncate), MIB);
    assert_eq!(size_after("posix", Fallocate::Posix), MIB);
}

#[test]
fn fallocate_gives_blocks_with_and_without_a_size() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 32));
    for (mode, size) in [(Fallocate::Native, MIB), (Fallocate::Keep, 0)] {
        let path = volume.point().join(format!("{mode:?}"));
        let mut writes = sized(writer([&path]), MIB);
        writes.files.fallocate = mode;
        made(&writes, &SharedFiles::default());
        let what = fs::metadata(&path).unwrap();
        assert_eq!((what.len(), what.blocks() * 512), (size, MIB), "{mode:?}");
    }
}

#[test]
fn overwrites_and_memory_maps_need_content() {
    let folder = TempDir::new().unwrap();
    let has_content = |stream: &Stream| {
        made(stream, &SharedFiles::default());
        let content = fs::read(&stream.files.paths[0]).unwrap();
        content.iter().any(|&byte| byte != 0)
    };
    let mut overwrite = sized(writer([folder.path().join("overwrite")]), MIB);
    overwrite.files.overwrite = true;
    assert!(has_content(&overwrite));
    let mut mapped = sized(writer([folder.path().join("mapped")]), MIB);
    mapped.engine.kind = EngineKind::Mmap;
    assert!(has_content(&mapped));
    let plain = sized(writer([folder.path().join("plain")]), MIB);
    assert!(!has_content(&plain));
}

/// fio would let the reader read what the writer has not written yet.
#[test]
fn what_another_stream_of_the_wave_has_only_reserved_is_written_for_a_reader() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 32));
    let shared = SharedFiles::default();
    let path = volume.point().join("shared");
    made(&sized(writer([&path]), 2 * MIB), &shared);
    let file = File::open(&path).unwrap();
    assert_eq!(layout::is_written(&file), Some(false));

    let mut later = sized(stream([&path]), MIB);
    later.wave = 1;
    assert_eq!(
        made(&later, &shared).1,
        [],
        "the writer has been there by then"
    );
    assert_eq!(layout::is_written(&file), Some(false));

    let (_, notes) = made(&sized(stream([&path]), 2 * MIB), &shared);
    assert_eq!(notes, [info("job: Laying out IO file (1 file / 2MiB)")]);
    assert_eq!(layout::is_written(&file), Some(true));
}

#[test]
fn a_file_shared_by_streams_grows_to_the_largest() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shared");
    let shared = SharedFiles::default();
    made(&sized(stream([&path]), MIB), &shared);
    let before = fs::read(&path).unwrap();
    let (_, notes) = made(&sized(stream([&path]), 3 * MIB), &shared);
    assert_eq!(notes, [info("job: Laying out IO file (1 file / 2MiB)")]);
    let after = fs::read(&path).unwrap();
    assert_eq!(after.len() as u64, 3 * MIB);
    assert_eq!(after[..before.len()], before);
    // One that gives no size takes it as it is.
    let (plan, _) = made(&stream([&path]), &shared);
    assert_eq!(plan.total_bytes, 3 * MIB);
}

#[test]
fn nothing_is_made_for_a_stream_that_makes_its_files_itself() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sub/new");
    let mut on_open = sized(writer([&path]), MIB);
    on_open.files.create_on_open = true;
    assert_eq!(made(&on_open, &SharedFiles::default()).1, []);
    assert!(!path.exists() && path.parent().unwrap().exists());
    let nowhere = folder.path().join("nowhere/x");
    let mut null = sized(writer([&nowhere]), MIB);
    null.engine.kind = EngineKind::Null;
    made(&null, &SharedFiles::default());
    assert!(!nowhere.parent().unwrap().exists());
}

#[test]
fn a_stopped_layout_leaves_nothing_half_done() {
    let folder = TempDir::new().unwrap();
    let (new, old) = (folder.path().join("new"), file(&folder, "old", 5000));
    let reads = sized(stream([&new]), MIB);
    let longer = sized(stream([&old]), MIB);
    for stream in [&reads, &longer] {
        let mut plan = resolve(stream).unwrap();
        let stop = AtomicBool::new(true);
        let end = plan.lay_out(stream, &SharedFiles::default(), &stop, &mut |_| {});
        assert!(matches!(end, Err(EngineError::Stopped)), "{end:?}");
    }
    assert!(!new.exists());
    assert_eq!(fs::metadata(&old).unwrap().len(), 5000);
}

#[test]
fn reading_a_filled_device_finds_its_size() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 16));
    let path = volume.point().join("all");
    let mut fill = stream([&path]);
    fill.length.fill_device = true;
    let (plan, _) = made(&fill, &SharedFiles::default());
    let size = fs::metadata(&path).unwrap().len();
    assert!(size > 4 * MIB);
    assert_eq!(plan.files[0].file_size, size);
    assert_eq!(plan.total_bytes, size - size % 4096);
}

#[test]
fn an_offset_in_percent_of_nothing_is_told() {
    let folder = TempDir::new().unwrap();
    let mut half = sized(stream([folder.path().join("new")]), MIB);
    half.region.offset = Extent::Percent(50.0);
    let (plan, notes) = made(&half, &SharedFiles::default());
    assert_eq!(spans(&plan), [(0, MIB)]);
    assert!(
        matches!(&notes[0], Note::Warning(text) if text.contains("percent")),
        "{notes:?}"
    );
}
