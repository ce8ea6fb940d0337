//! `assay capacity`, beside f3: what one writes the other accepts, and both see
//! the same fakes.

use crate::assay::{Bed, Ended, assert_label, figure, pattern, text, trial};
use assay_testkit::{Fake, FakeDevice, Lie, LoopDevice, Scratch, Volume, needs, or_skip, run};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Sectors that are ok, corrupted, changed and overwritten, as f3read says.
/// Its exit code says nothing of them.
fn f3read(folder: &Path) -> [u64; 4] {
    let output = assay_testkit::command("f3read")
        .arg(folder)
        .output()
        .expect("it is there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = [0; 4];
    for line in said.lines().filter(|line| line.starts_with("Validating")) {
        // A progress line is drawn over: what comes last counts.
        let line = line.rsplit(['\r', '\u{8}']).next().unwrap_or_default();
        let figures = line.split("...").nth(1).unwrap_or(line);
        let figures: Vec<u64> = figures
            .split('/')
            .map(|figure| figure.trim().parse().unwrap_or_else(|_| panic!("{said}")))
            .collect();
        for (sum, figure) in found.iter_mut().zip(figures) {
            *sum += figure;
        }
    }
    found
}

/// The same of the only check of a run.
fn sectors(run: &Value) -> [u64; 4] {
    ["ok", "corrupted", "changed", "overwritten"].map(|class| {
        let value = figure(run, "verify", &format!("sectors_{class}"));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let value = value as u64;
        value
    })
}

fn capacity(path: &Path, words: &[&str], code: i32) -> Ended {
    let mut all = vec!["capacity", text(path)];
    all.extend_from_slice(words);
    let ended = Bed::new().run(&all);
    ended.assert_code(code);
    ended
}

/// What was said, however its lines are wrapped.
fn words_of(ended: &Ended) -> String {
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    words.join(" ")
}

fn as_json(path: &Path, words: &[&str], code: i32) -> Value {
    capacity(path, &[words, &["--json"]].concat(), code).json()
}

#[test]
fn f3read_accepts_what_was_written_and_the_device_was_read() {
    needs!(root, "mkfs.ext4", "f3read");
    let volume = or_skip!(Volume::new("ext4", 48));
    let run = as_json(volume.point(), &[], 0);
    assert_label(&run, "write", "write", "device");
    assert_label(&run, "verify", "read", "device");
    let found = sectors(&run);
    assert!(found[0] * 512 > 30 * MIB, "{found:?}");
    assert_eq!(found[1..], [0; 3]);
    assert_eq!(f3read(volume.point()), found);
}

#[test]
fn what_f3write_wrote_is_accepted() {
    needs!(root, "mkfs.ext4", "f3write", "f3read");
    let volume = or_skip!(Volume::new("ext4", 48));
    or_skip!(run(&["f3write", text(volume.point())]));
    let run = as_json(volume.point(), &["--verify-only"], 0);
    assert_eq!(sectors(&run), f3read(volume.point()));
    assert!(sectors(&run)[0] > 0);
}

#[test]
fn differences_are_in_the_classes_of_f3read() {
    needs!("f3read");
    let bed = Bed::new();
    let folder = bed.folder();
    let path = folder.join("1.h2w");
    capacity(&folder, &["--limit", "2M"], 0);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    // One to three wrong words, a wrong offset, another sector, nothing.
    for (sector, words) in [(3, 1), (4, 2), (5, 3), (6, 40)] {
        for word in 1..=words {
            file.write_all_at(b"!", sector * 512 + word * 8 + 3)
                .unwrap();
        }
    }
    file.write_all_at(b"!", 7 * 512).unwrap();
    let mut other = vec![0; 1_536];
    file.read_exact_at(&mut other, 20 * 512).unwrap();
    file.write_all_at(&other, 9 * 512).unwrap();
    file.write_all_at(b"!", 10 * 512 + 80).unwrap();
    file.write_all_at(&[0; 512], 30 * 512).unwrap();
    let run = as_json(&folder, &["--verify-only"], 4);
    assert_eq!(sectors(&run), f3read(&folder));
    assert_eq!(sectors(&run), [4_096 - 9, 4, 2, 3]);
    let said = capacity(&folder, &["--verify-only"], 4);
    for words in [
        "DATA LOST: 3 sectors overwritten, 4 corrupted, 2 changed",
        "the first difference is at offset 1536",
        "offset 4608 holds the data of offset 10240",
    ] {
        assert!(
            words_of(&said).contains(words),
            "no '{words}': {}",
            said.out
        );
    }
}

#[test]
fn lost_data_is_no_good_run_anywhere() {
    let bed = Bed::new();
    let folder = bed.folder();
    bed.run(&["capacity", text(&folder), "--limit", "1M"])
        .assert_code(0);
    assert!(!bed.run(&["list"]).out.contains("DATA LOST"));
    let file = OpenOptions::new()
        .write(true)
        .open(folder.join("1.h2w"))
        .unwrap();
    file.write_all_at(b"!", 7 * 512).unwrap();
    let said = bed.run(&["capacity", text(&folder), "--verify-only"]);
    said.assert_code(4);
    for words in ["Data kept? no: ", "! data was not kept in verify (1x)"] {
        assert!(
            words_of(&said).contains(words),
            "no '{words}': {}",
            said.out
        );
    }
    assert!(bed.run(&["list"]).out.contains("finished, DATA LOST"));
    for (format, word) in [
        ("tap", "not ok"),
        ("junit", "<failure"),
        ("lava", "RESULT=fail"),
        ("kcidb", "\"FAIL\""),
        ("text", "DATA LOST"),
    ] {
        let report = bed.run(&["report", "last", "--format", format]);
        assert!(report.out.contains(word), "{format}: {}", report.out);
    }
}

#[test]
fn files_are_kept_unless_removal_is_asked_for_and_all_is_well() {
    let bed = Bed::new();
    let folder = bed.folder();
    let count = || fs::read_dir(&folder).unwrap().count();
    capacity(&folder, &["--limit", "1M", "--remove"], 0);
    assert_eq!(count(), 0);
    capacity(&folder, &["--limit", "1M"], 0);
    assert_eq!(count(), 1);
    capacity(&folder, &["--verify-only", "--trials", "2"], 0);
    assert_eq!(count(), 1);
}

#[test]
fn files_asked_for_by_number_are_written_and_others_left() {
    let bed = Bed::new();
    let folder = bed.folder();
    fs::write(folder.join("1.h2w"), "mine").unwrap();
    let words = ["--start", "3", "--end", "3", "--limit", "1M"];
    let run = as_json(&folder, &words, 0);
    let parts = &trial(&run, "write")["detail"]["parts"];
    assert_eq!(parts[0]["name"], "3.h2w", "{parts}");
    assert_eq!(parts[0]["offset"], 2_u64 << 30, "{parts}");
    assert_eq!(fs::read(folder.join("1.h2w")).unwrap(), b"mine");
}

#[test]
fn a_stop_keeps_the_files_and_they_can_be_checked_later() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut running = bed.start(&["capacity", text(&folder), "--limit", "2G"]);
    let file = folder.join("1.h2w");
    crate::assay::until("something is written", || {
        running.has_ended() || fs::metadata(&file).is_ok_and(|file| file.len() > 4 * MIB)
    });
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    ended.assert_says(&["kept 1.h2w", "--verify-only"]);
    let stored = bed.stored("last");
    assert_eq!(trial(&stored, "write")["outcome"], "interrupted");
    let run = as_json(&folder, &["--verify-only"], 0);
    assert!(sectors(&run)[0] * 512 >= 4 * MIB);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = bed.join("file");
    fs::write(&file, "x").unwrap();
    let refused = |path: &Path, words: &[&str]| {
        let mut all = vec!["capacity", text(path)];
        all.extend_from_slice(words);
        bed.refused(&all)
    };
    for (path, words, expected) in [
        (
            &Path::new("/dev/shm").to_owned(),
            &["--probe"][..],
            "does not allocate space without writing it",
        ),
        (
            &folder,
            &["--probe", "--limit", "1M"],
            "cannot be used together",
        ),
        (&folder, &["--verify-only"], "no files to check (1.h2w"),
        (&folder, &["--start", "0"], "'0'"),
        (&file, &[], "is a file"),
        (
            &Path::new("/proc").to_owned(),
            &[],
            "which exists only in the kernel",
        ),
        (
            &Path::new("/proc").to_owned(),
            &["--verify-only"],
            "which exists only in the kernel",
        ),
    ] {
        let line = refused(path, words);
        assert!(line.contains(expected), "{words:?}: {line}");
    }
}

#[test]
fn a_device_is_written_only_with_leave_and_only_when_free() {
    needs!(root, "mkfs.ext4");
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    fs::write(&image, pattern(8 << 20)).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let node = text(device.node());
    let bed = Bed::new();
    for words in [&[][..], &["--probe"], &["--write-only"]] {
        let line = bed.refused(&[&["capacity", node], words].concat());
        assert!(line.contains("--destroy-data"), "{line}");
    }
    let line = bed.refused(&["capacity", node, "--destroy-data", "--start", "2"]);
    assert!(line.contains("--start is for the files"), "{line}");
    assert!(fs::read(&image).unwrap() == pattern(8 << 20));
    drop(device);
    let volume = or_skip!(Volume::new("ext4", 16));
    for words in [&[][..], &["--probe"]] {
        let node = text(volume.device().node());
        let words = [&["capacity", node, "--destroy-data"], words].concat();
        let line = bed.refused(&words);
        assert!(line.contains("in use"), "{line}");
    }
}

#[test]
fn a_good_device_is_good_and_is_left_as_it_was() {
    needs!(root, "f3probe");
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    fs::write(&image, pattern(64 << 20)).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let said = or_skip!(run(&["f3probe", text(device.node())]));
    assert!(said.contains("the real thing"), "{said}");
    let run = as_json(device.node(), &["--probe", "--destroy-data"], 0);
    let probed = &trial(&run, "probe")["detail"]["probed"];
    assert_eq!(probed["kind"]["kind"], "good", "{probed}");
    assert_eq!(probed["not_restored"], Value::Array(Vec::new()));
    device.detach().unwrap();
    assert!(
        fs::read(&image).unwrap() == pattern(64 << 20),
        "it was changed"
    );
}

#[test]
fn a_whole_device_is_filled_and_checked() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 8));
    let run = as_json(device.node(), &["--destroy-data"], 0);
    assert_eq!(sectors(&run), [16_384, 0, 0, 0]);
    assert_label(&run, "write", "write", "device");
    assert_label(&run, "verify", "read", "device");
}

/// The kind that f3probe names, and ours with its figures. What the fake holds
/// must come out as it went in.
fn probed_by_both(bytes: u64, lie: Lie) -> Result<(String, Value), assay_testkit::Unavailable> {
    let scratch = Scratch::new()?;
    let fake = FakeDevice::over(&scratch, Fake::new(bytes, lie))?;
    let node = fake.device().node();
    // Its exit code is the kind.
    let output = assay_testkit::command("f3probe")
        .arg(node)
        .output()
        .expect("it is there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let kind = said.split("counterfeit of type ").nth(1);
    let kind = kind.and_then(|kind| kind.lines().next());
    let kind = kind.map_or_else(|| said.clone(), str::to_owned);
    let before = fake.memory();
    let run = as_json(node, &["--probe", "--destroy-data"], 4);
    assert!(fake.memory() == before, "{lie:?}: it was changed");
    let probed = trial(&run, "probe")["detail"]["probed"].clone();
    Ok((kind, probed["kind"].clone()))
}

#[test]
fn f3probe_and_the_probe_agree_on_a_wrapped_fake() {
    needs!(root, "nbdfuse", "f3probe");
    // f3probe takes one that is much smaller than it says for damaged.
    let (announced, real) = (128 * MIB, 64 * MIB);
    let (theirs, ours) = or_skip!(probed_by_both(announced, Lie::Wraparound(real)));
    assert_eq!(ours["kind"], "wraparound");
    assert_eq!(ours["real_bytes"], real);
    assert!(theirs.contains("wraparound"), "{theirs}");
}

#[test]
fn f3probe_and_the_probe_agree_on_a_limbo() {
    needs!(root, "nbdfuse", "f3probe");
    let real = 20 * MIB;
    let (theirs, ours) = or_skip!(probed_by_both(64 * MIB, Lie::Limbo(real)));
    assert_eq!(ours["kind"], "limbo");
    assert_eq!(ours["real_bytes"], real);
    assert!(theirs.contains("limbo"), "{theirs}");
}

#[test]
fn f3probe_and_the_probe_agree_on_a_chain() {
    needs!(root, "nbdfuse", "f3probe");
    let (theirs, ours) = or_skip!(probed_by_both(64 * MIB, Lie::Chain(12 * MIB, 16 * MIB)));
    assert_eq!(ours["kind"], "chain");
    assert_eq!(ours["real_bytes"], 12 * MIB);
    assert_eq!(ours["wraps_at"], 16 * MIB);
    assert!(theirs.contains("chain"), "{theirs}");
}

#[test]
fn filling_a_wrapped_fake_finds_what_is_left() {
    needs!(root, "nbdfuse");
    let scratch = or_skip!(Scratch::new());
    let fake = or_skip!(FakeDevice::over(
        &scratch,
        Fake::new(16 * MIB, Lie::Wraparound(8 * MIB))
    ));
    let ended = capacity(fake.device().node(), &["--destroy-data"], 4);
    assert!(
        ended.out.starts_with("Fake: holds 8 of 16 MiB"),
        "{}",
        ended.out
    );
    for words in [
        "8 MiB OK, 8 MiB DATA LOST",
        "the first difference is at offset 0",
        "offset 0 holds the data of offset 8388608, for 8 MiB",
        "repeats itself every 8 MiB",
    ] {
        assert!(
            words_of(&ended).contains(words),
            "no '{words}': {}",
            ended.out
        );
    }
}

#[test]
fn bad_blocks_are_told_from_a_fake() {
    needs!(root, "nbdfuse");
    let scratch = or_skip!(Scratch::new());
    let mut good = Fake::new(64 * MIB, Lie::None);
    good.broken.push(20 * MIB..21 * MIB);
    let fake = or_skip!(FakeDevice::over(&scratch, good));
    let node = fake.device().node();
    let run = as_json(node, &["--probe", "--destroy-data"], 4);
    let probed = &trial(&run, "probe")["detail"]["probed"];
    assert_eq!(probed["kind"]["kind"], "damaged", "{probed}");
    let run = as_json(node, &["--destroy-data"], 4);
    let total = 64 * MIB / 512;
    assert_eq!(sectors(&run), [total - 2_048, 0, 0, 0]);
    assert_eq!(figure(&run, "verify", "sectors_unreadable"), 2_048.0);
}

#[test]
fn a_device_that_cannot_take_its_data_is_found_out() {
    needs!(root, "mkfs.ext4");
    // A sparse file on a file system that is too small for it.
    let volume = or_skip!(Volume::new("ext4", 32));
    let image = volume.point().join("disk.img");
    File::create(&image).unwrap().set_len(64 * MIB).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let ended = capacity(device.node(), &["--destroy-data"], 4);
    assert!(ended.out.contains("DATA LOST"), "{}", ended.out);
}

#[test]
fn the_run_is_shown_again_and_reported() {
    let bed = Bed::new();
    let folder = bed.folder();
    bed.run(&["capacity", text(&folder), "--limit", "1M"])
        .assert_code(0);
    let shown = bed.run(&["report", "last"]);
    assert!(
        shown.out.contains("all of 1 MiB is as it was written"),
        "{}",
        shown.out
    );
    assert!(
        shown.out.starts_with("Not known: all 1 MiB"),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains("--trials 3 or"), "{}", shown.out);
    let page = bed.join("page.html");
    bed.run(&["report", "last", "-o", text(&page)])
        .assert_code(0);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("all of 1 MiB is as it was written"));
}

/// f3read counts what is left of it, and is content.
#[test]
fn a_file_that_was_shortened_is_no_good_one() {
    let bed = Bed::new();
    let folder = bed.folder();
    capacity(&folder, &["--limit", "1M"], 0);
    let file = |name: &str| {
        let path = folder.join(name);
        OpenOptions::new().write(true).open(path).unwrap()
    };
    file("1.h2w").set_len(MIB - 700).unwrap();
    let said = capacity(&folder, &["--verify-only"], 4);
    let cut = "1.h2w is too short: 1047876 bytes of 1048064 or more";
    assert!(words_of(&said).contains(cut), "{}", said.out);
    file("1.h2w").set_len(0).unwrap();
    let said = capacity(&folder, &["--verify-only"], 4);
    assert!(
        words_of(&said).contains("1.h2w is too short"),
        "{}",
        said.out
    );
    // A file with others behind it has been full.
    let words = ["--start", "2", "--end", "2", "--limit", "1M"];
    capacity(&folder, &words, 0);
    file("1.h2w").set_len(512).unwrap();
    let run = as_json(&folder, &["--verify-only"], 4);
    let short = &trial(&run, "verify")["detail"]["short"];
    assert_eq!(short[0]["name"], "1.h2w", "{short}");
    assert_eq!(short[0]["least_bytes"], 1_u64 << 30, "{short}");
    // What is left of a last file cannot be told from one that was so long.
    capacity(&folder, &["--verify-only", "--start", "2"], 0);
}
