//! `assay androbench`: phases, what transactions cost the device, and what is
//! left behind.

use crate::assay::{Bed, is_pure, label, test_folders, text, trial, trials, undisturbed, until};
use assay_testkit::{
    Fake, FakeDevice, Lie, Mount, Scratch, Volume, make_file_system, needs, or_skip,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// `assay androbench FOLDER WORDS`, once, as JSON.
fn measure(bed: &Bed, folder: &Path, words: &[&str]) -> Value {
    let mut all = vec!["androbench", text(folder), "--trials", "1", "--json"];
    all.extend_from_slice(words);
    let ended = bed.run(&all);
    ended.assert_code(0);
    assert!(test_folders(folder).is_empty(), "nothing is left");
    ended.json()
}

fn metric(run: &Value, step: &str, name: &str) -> f64 {
    let metrics = trial(run, step)["metrics"].as_array().expect("a list");
    let found = metrics.iter().find(|metric| metric["name"] == name);
    let found = found.unwrap_or_else(|| panic!("{step} has no {name}: {metrics:?}"));
    found["value"].as_f64().expect("a number")
}

/// Flushes of the device for each transaction.
fn flushes(run: &Value, step: &str) -> f64 {
    metric(run, step, "commit_flushes")
}

const STEPS: [&str; 3] = ["sqlite-insert", "sqlite-update", "sqlite-delete"];

#[test]
fn flushes_of_a_transaction_rank_as_the_journal_says() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let bed = Bed::new();
    let with = |journal: &str, synchronous: &str| {
        let words = ["--only", "sqlite-*", "--transactions", "60"];
        let modes = ["--journal", journal, "--synchronous", synchronous];
        measure(&bed, volume.point(), &[words, modes].concat())
    };
    let delete = with("delete", "full");
    let (wal, off) = (with("wal", "full"), with("off", "full"));
    let relaxed = with("wal", "normal");
    let never = undisturbed(
        || with("delete", "off"),
        |run| {
            STEPS
                .iter()
                .all(|step| is_pure(&trial(run, step)["evidence"]["write"]))
        },
    );
    for step in STEPS {
        let all = [&delete, &wal, &off, &relaxed, &never].map(|run| flushes(run, step));
        let [delete_each, wal_each, off_each, relaxed_each, never_each] = all;
        // The journal twice, its folder, the database.
        assert!(delete_each >= 3.0, "{step}: {all:?}");
        assert!(wal_each >= 1.0 && wal_each < delete_each, "{step}: {all:?}");
        assert!(off_each >= 1.0 && off_each < delete_each, "{step}: {all:?}");
        assert!(relaxed_each < 0.5, "{step}: {all:?}");
        assert!(never_each < 0.5, "{step}: {all:?}");
        for run in [&delete, &wal, &off] {
            let (word, because) = label(run, step, "write");
            assert_eq!(word, "device", "{step}: {because}");
        }
        let (word, because) = label(&never, step, "write");
        assert_eq!(word, "page-cache", "{step}: {because}");
        let detail = &trial(&delete, step)["detail"];
        assert_eq!(
            (&detail["journal"], &detail["transactions"]),
            (&"delete".into(), &60.into())
        );
    }
}

/// On a device whose flush takes 20 ms nothing else counts.
#[test]
fn transactions_per_second_rank_as_their_flushes_do() {
    const FLUSH: Duration = Duration::from_millis(20);
    needs!(root, "mkfs.ext4", "nbdfuse", "losetup");
    let scratch = or_skip!(Scratch::new());
    let mut slow = Fake::new(64 << 20, Lie::None);
    slow.flush_takes = FLUSH;
    let slow = or_skip!(FakeDevice::over(&scratch, slow));
    or_skip!(make_file_system("ext4", slow.device().node()));
    let node = text(slow.device().node());
    let mount = or_skip!(Mount::new(&[], node, &scratch.join("mnt")));
    let bed = Bed::new();
    let with = |journal: &str| {
        let words = ["--only", "sqlite-insert", "--transactions", "20"];
        let run = measure(
            &bed,
            mount.point(),
            &[&words[..], &["--journal", journal]].concat(),
        );
        let each = flushes(&run, "sqlite-insert");
        let tps = metric(&run, "sqlite-insert", "commit_tps");
        let most = 1.0 / (each * FLUSH.as_secs_f64());
        assert!(tps <= most * 1.01, "{journal}: {tps} TPS, {each} flushes");
        (tps, each)
    };
    let (delete, wal, off) = (with("delete"), with("wal"), with("off"));
    let all = (delete, wal, off);
    assert!(delete.1 > 1.5 * wal.1 && delete.1 > 1.5 * off.1, "{all:?}");
    assert!(delete.0 < wal.0 && delete.0 < off.0, "{all:?}");
}

#[test]
fn a_file_system_that_does_not_flush_is_found_out() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::with("ext4", 128, &["-o", "nobarrier"], |_| Ok(())));
    let words = ["--only", "sqlite-insert", "--transactions", "30"];
    let run = measure(&Bed::new(), volume.point(), &words);
    let (word, because) = label(&run, "sqlite-insert", "write");
    assert_eq!(word, "device-unflushed", "{because}");
    assert!(because.contains("nobarrier"), "{because}");
    assert!(flushes(&run, "sqlite-insert") < 1.0);
}

#[test]
fn both_generations_measure_the_device() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let bed = Bed::new();
    for like in ["modern", "3", "4"] {
        let words = ["--like", like, "--size", "8M", "--transactions", "20"];
        let run = measure(&bed, volume.point(), &words);
        let names: Vec<&str> = run["trials"]
            .as_array()
            .unwrap()
            .iter()
            .map(|trial| trial["job"]["name"].as_str().unwrap())
            .collect();
        let files = ["seq-read", "seq-write", "rand-read", "rand-write"];
        assert_eq!(names, [&files[..], &STEPS[..]].concat());
        for (step, direction) in [
            ("seq-read", "read"),
            ("rand-read", "read"),
            ("rand-write", "write"),
        ] {
            let (word, because) = label(&run, step, direction);
            assert_eq!(word, "device", "--like {like}, {step}: {because}");
        }
        let threads = &trial(&run, "rand-write")["job"]["numjobs"];
        assert_eq!(*threads, Value::from(if like == "3" { 1 } else { 8 }));
    }
}

#[test]
fn the_screen_has_a_line_for_each_step_with_what_was_measured() {
    let bed = Bed::new();
    let folder = bed.folder();
    let memory = or_skip!(Mount::tmpfs(64, &folder));
    let words = [
        "--like",
        "mobibench",
        "--trials",
        "2",
        "--journal",
        "persist",
    ];
    let ended = bed.run(&[&["androbench", text(memory.point())], &words[..]].concat());
    ended.assert_code(0);
    for line in ["Sequential Read", "Random Write", "Append", "SQLite Delete"] {
        let found = ended
            .out
            .lines()
            .find(|found| found.trim_start().starts_with(line));
        let found = found.unwrap_or_else(|| panic!("no {line}: {}", ended.out));
        assert!(found.contains("page-cache"), "memory is no device: {found}");
    }
    assert!(
        ended.out.contains("journal persist, synchronous full"),
        "{}",
        ended.out
    );
    assert!(test_folders(memory.point()).is_empty());
    let run = bed.stored("last");
    assert_eq!(trials(&run, "append").len(), 2);
    let shown = bed.run(&["report", "last"]);
    assert!(shown.out.contains("TPS"), "{}", shown.out);
}

#[test]
fn what_cannot_be_measured_is_refused_by_name() {
    let bed = Bed::new();
    let folder = bed.folder();
    let refused = |words: &[&str]| bed.refused(&[&["androbench", text(&folder)], words].concat());
    assert!(refused(&["--tables", "2"]).contains("--tables is Mobibench's"));
    assert!(refused(&["--only", "seq-red"]).contains("seq-red"));
    assert!(refused(&["--size", "0"]).contains("--size"));
    assert!(refused(&["--like", "mobibench", "--record", "0"]).contains("--record"));
    let file = folder.join("file");
    std::fs::write(&file, "x").unwrap();
    let said = bed.refused(&["androbench", text(&file)]);
    assert!(said.contains("is not a folder"), "{said}");
    let ended = bed.run(&["androbench", text(&folder), "--size", "100T"]);
    ended.assert_code(2);
    ended.assert_says(&["would take", "are free"]);
    assert!(test_folders(&folder).is_empty());
    let ended = bed.run(&["androbench", text(&folder), "--journal", "wall"]);
    ended.assert_code(2);
    ended.assert_says(&["wall"]);
}

/// A run that has measured something and goes on.
fn endless(folder: &Path) -> [&str; 8] {
    let path = text(folder);
    let words = [
        "--only",
        "sqlite-*",
        "--transactions",
        "50",
        "--trials",
        "1000",
    ];
    let [a, b, c, d, e, f] = words;
    ["androbench", path, a, b, c, d, e, f]
}

#[test]
fn what_a_killed_run_leaves_is_named_and_removed_by_the_next_start() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut words = endless(&folder);
    words[5] = "2000";
    let mut running = bed.start(&words);
    running.await_lines("finished steps", 3, |line| line.contains(" #"));
    // Steps are told once they are stored, when their folder goes: wait for the next.
    let begun = || {
        let there = || {
            let folders = test_folders(&folder);
            folders.iter().any(|left| left.join("testing.db").exists())
        };
        there() && {
            sleep(Duration::from_millis(100));
            there()
        }
    };
    until("the next database", begun);
    running.kill(true);
    let left = test_folders(&folder);
    assert_eq!(left.len(), 1);
    assert!(left[0].join("testing.db").exists());
    let words = [
        "--only",
        "sqlite-insert",
        "--transactions",
        "5",
        "--trials",
        "1",
    ];
    let next = bed.run(&[&["androbench", text(&folder)], &words[..]].concat());
    next.assert_code(0);
    next.assert_says(&["was cut off", "finished trials are kept"]);
    next.assert_says(&["removed the leftover test file", text(&left[0])]);
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn a_stopped_run_keeps_its_steps_and_leaves_nothing() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut running = bed.start(&endless(&folder));
    running.await_lines("finished steps", 4, |line| line.contains(" #"));
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    until("all is removed", || test_folders(&folder).is_empty());
    let run = bed.stored("last");
    assert!(trials(&run, "sqlite-insert").len() >= 2);
    assert_eq!(run["run"]["status"], "interrupted");
}

#[test]
fn what_holds_for_all_figures_of_a_loop_device_is_said_below_them() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let bed = Bed::new();
    let words = ["--size", "1M", "--trials", "1", "--only", "seq-read"];
    let ended = bed.run(&[&["androbench", text(volume.point())], &words[..]].concat());
    ended.assert_code(0);
    let caveat = format!("{} is a loop device over", volume.device().name());
    assert!(ended.out.contains(&caveat), "{}", ended.out);
}
