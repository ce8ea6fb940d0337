//! Streams on files here: what was written is there, and what is taken away, torn or
//! changed is found and named.

use super::*;
use crate::observer::recording::Recording;
use assay_testkit::{Scratch, needs, text};
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, chown, symlink};
use std::sync::atomic::AtomicBool;

const WRITES: u64 = 300;

/// A folder with so many writes of each stream.
struct Bench {
    _scratch: Scratch,
    work: Powercut,
}

const SEED: u64 = 7;

impl Bench {
    fn new() -> Self {
        let scratch = Scratch::new().unwrap();
        let work = Powercut {
            path: scratch.path().to_owned(),
            device: false,
            kinds: DurabilityKind::ALL.to_vec(),
            mount: None,
            task: Task::Write,
        };
        let (writers, _made) = write::prepare(&work, SEED).unwrap();
        for mut writer in writers {
            (1..=WRITES).for_each(|sequence| writer.write(sequence).unwrap());
        }
        Self {
            _scratch: scratch,
            work,
        }
    }

    fn file(&self, kind: DurabilityKind) -> PathBuf {
        folder(&self.work).join(kind.name())
    }

    /// What is found when so many were acknowledged.
    fn found(&self, acknowledged: u64) -> Vec<StreamFound> {
        let known = KnownWrites {
            begun: acknowledged + 1,
            acknowledged,
        };
        let known = vec![known; DurabilityKind::ALL.len()];
        verify(&self.work, &known, 512, SEED).unwrap().streams
    }

    fn only(&self, kind: DurabilityKind) -> StreamFound {
        let found = self.found(WRITES);
        let bad: Vec<&StreamFound> = found.iter().filter(|stream| stream.is_bad()).collect();
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert_eq!(bad[0].kind, kind.name());
        bad[0].clone()
    }

    fn overwrite(&self, kind: DurabilityKind, at: u64, bytes: &[u8]) {
        let file = fs::OpenOptions::new().write(true).open(self.file(kind));
        file.unwrap().write_all_at(bytes, at).unwrap();
    }

    /// Bytes of a kind as a write left them in its slot.
    fn written(&self, kind: DurabilityKind, sequence: u64) -> (u64, Vec<u8>) {
        let number = DurabilityKind::ALL
            .iter()
            .position(|known| *known == kind)
            .unwrap();
        let stream = Stream {
            seed: SEED,
            number: u32::try_from(number).unwrap(),
        };
        let slot = stream.slot(kind, sequence);
        let mut bytes = vec![0; kind.bytes()];
        stream.fill(slot, sequence, &mut bytes);
        (slot, bytes)
    }
}

#[test]
fn acknowledged_writes_are_found_and_later_ones_are_allowed() {
    for acknowledged in [0, 1, WRITES - 5, WRITES] {
        for stream in Bench::new().found(acknowledged) {
            assert!(!stream.is_bad(), "{stream:?}");
            assert!(acknowledged == 0 || stream.checked > 0, "{stream:?}");
            let all_known = acknowledged == WRITES;
            assert_eq!(stream.beyond == 0, all_known, "{stream:?}");
        }
    }
}

#[test]
fn a_write_that_is_lost_is_named_and_so_is_a_broken_order() {
    let bench = Bench::new();
    let number = (1..WRITES)
        .rev()
        .find(|sequence| {
            let slot = bench.written(DurabilityKind::Fdatasync, *sequence).0;
            (*sequence + 1..=WRITES)
                .all(|later| bench.written(DurabilityKind::Fdatasync, later).0 != slot)
        })
        .unwrap();
    let (slot, _) = bench.written(DurabilityKind::Fdatasync, number);
    let stream = Stream {
        seed: SEED,
        number: 1,
    };
    let mut old = vec![0; 4096];
    stream.fill(slot, 0, &mut old);
    bench.overwrite(DurabilityKind::Fdatasync, slot * 4096, &old);
    let found = bench.only(DurabilityKind::Fdatasync);
    assert_eq!((found.lost, found.misordered, found.torn), (1, 1, 0));
    let example = &found.examples[0];
    assert!(example.contains(&format!("write {number} ")), "{example}");
    assert!(example.contains("holds write 0"), "{example}");
}

#[test]
fn half_a_sector_is_torn_and_what_nobody_wrote_is_garbage() {
    let bench = Bench::new();
    let (slot, _) = bench.written(DurabilityKind::Fua, WRITES);
    bench.overwrite(DurabilityKind::Fua, slot * 4096 + 100, &[1; 300]);
    assert_eq!(bench.only(DurabilityKind::Fua).torn, 1);
    let bench = Bench::new();
    bench.overwrite(DurabilityKind::Append, 5 * 1024, &[9; 512]);
    assert_eq!(bench.only(DurabilityKind::Append).garbage, 1);
}

#[test]
fn an_append_that_ends_early_is_lost_from_there() {
    let bench = Bench::new();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(bench.file(DurabilityKind::Append));
    file.unwrap().set_len((WRITES - 3) * 1024 + 512).unwrap();
    let found = bench.only(DurabilityKind::Append);
    assert_eq!((found.lost, found.misordered), (3, 0));
}

#[test]
fn a_renamed_file_is_one_of_both_as_a_whole() {
    let bench = Bench::new();
    let (_, before) = bench.written(DurabilityKind::Rename, WRITES - 1);
    bench.overwrite(DurabilityKind::Rename, 0, &before);
    assert_eq!(bench.only(DurabilityKind::Rename).lost, 1);
    let bench = Bench::new();
    bench.overwrite(DurabilityKind::Rename, 0, &before[..4096]);
    assert_eq!(bench.only(DurabilityKind::Rename).torn, 1);
}

#[test]
fn a_row_that_is_missing_or_a_database_that_is_broken_is_found() {
    let bench = Bench::new();
    let database = rusqlite::Connection::open(bench.file(DurabilityKind::Sqlite)).unwrap();
    database
        .execute("DELETE FROM writes WHERE sequence = 9", [])
        .unwrap();
    drop(database);
    let found = bench.only(DurabilityKind::Sqlite);
    assert_eq!((found.lost, found.misordered), (1, 1));
    let bench = Bench::new();
    fs::write(bench.file(DurabilityKind::Sqlite), vec![7; 100_000]).unwrap();
    assert!(bench.only(DurabilityKind::Sqlite).garbage > 0);
}

#[test]
fn streams_write_until_they_are_stopped() {
    let bench = Bench::new();
    let stop = AtomicBool::new(true);
    let mut recording = Recording::default();
    let mut context = Context {
        seed: 1,
        folder: None,
        stop: &stop,
        report_now: &AtomicBool::new(false),
        observer: &mut recording,
    };
    let ended = run(&bench.work, &mut context);
    assert!(matches!(ended, Err(ActError::Stopped)), "{ended:?}");
    let on_device = Powercut {
        device: true,
        ..bench.work.clone()
    };
    let refused = run(&on_device, &mut context).unwrap_err().to_string();
    assert!(refused.contains("rename"), "{refused}");
}

/// The bench's folder is moved away, and the files in it; another one is in its place.
fn replaced(bench: &Bench) -> (PathBuf, PathBuf) {
    let (folder, moved) = (folder(&bench.work), bench.work.path.join("moved"));
    fs::rename(&folder, &moved).unwrap();
    fs::create_dir(&folder).unwrap();
    (folder, moved)
}

#[test]
fn links_in_the_place_of_files_are_not_followed() {
    let bench = Bench::new();
    let (folder, moved) = replaced(&bench);
    let mut before = Vec::new();
    for kind in DurabilityKind::ALL {
        let there = moved.join(kind.name());
        before.push((there.clone(), fs::read(&there).unwrap()));
        symlink(there, folder.join(kind.name())).unwrap();
    }
    for stream in bench.found(WRITES) {
        assert!(stream.is_bad(), "{stream:?}");
    }
    for (path, content) in before {
        assert!(fs::read(&path).unwrap() == content, "{}", path.display());
    }
}

#[test]
fn the_folder_of_another_user_is_not_looked_into() {
    needs!(root);
    let bench = Bench::new();
    let (folder, _moved) = replaced(&bench);
    fs::write(folder.join("theirs"), "").unwrap();
    chown(&folder, Some(65_534), None).unwrap();
    let known = vec![KnownWrites::default(); DurabilityKind::ALL.len()];
    let report = verify(&bench.work, &known, 512, SEED).unwrap();
    let why = report.not_mounted.unwrap_or_default();
    assert!(why.contains("another user"), "{why}");
    assert!(folder.join("theirs").exists(), "it was left alone");
}

/// On a damaged file system a length is any number: only as much is read as can have been written.
#[test]
fn a_file_of_any_length_is_torn_and_not_read_to_its_end() {
    for kind in [DurabilityKind::Rename, DurabilityKind::Append] {
        let bench = Bench::new();
        let file = fs::OpenOptions::new().write(true).open(bench.file(kind));
        file.unwrap().set_len(8 << 40).unwrap();
        let found = bench.only(kind);
        assert_eq!((found.torn, found.lost), (1, 0), "{:?}", found.examples);
    }
}

#[test]
fn only_lines_that_name_the_device_are_its() {
    for (line, name, is) in [
        ("EXT4-fs (mmcblk0p1): recovery complete", "mmcblk0p1", true),
        ("EXT4-fs (mmcblk0p1): recovery complete", "mmcblk0", false),
        ("mmcblk0: error -110", "mmcblk0", true),
        ("I/O error, dev vda, sector 8", "vda", true),
        ("EXT4-fs (loop10): mounted", "loop1", false),
        ("JBD2: journal of sdaa", "sda", false),
    ] {
        assert_eq!(names_device(line, name), is, "{line} {name}");
    }
}

#[test]
fn a_damaged_file_system_is_told_from_a_sound_one() {
    needs!("mkfs.ext4", "e2fsck");
    let scratch = Scratch::new().unwrap();
    let image = scratch.image("ext4", 16).unwrap();
    assay_testkit::run(&["mkfs.ext4", "-q", "-F", text(&image)]).unwrap();
    let checked = || run_checker(&checker("ext4").unwrap(), text(&image)).unwrap();
    let sound = checked();
    assert_eq!((sound.exit_code, sound.damaged), (Some(0), false));
    // Damages the inode table or its neighbourhood.
    let file = OpenOptions::new().write(true).open(&image).unwrap();
    file.write_all_at(&[0xa5; 65_536], 64 << 10).unwrap();
    let broken = checked();
    assert!(broken.damaged && !broken.said.is_empty(), "{broken:?}");
}

#[test]
fn a_file_system_without_a_checker_is_not_checked() {
    assert!(checker("vfat").is_none());
    let missing = Checker {
        program: "fsck.of-nobody".to_owned(),
        flags: &[],
        damaged: |_| true,
    };
    assert_eq!(run_checker(&missing, "/dev/null"), None);
}
