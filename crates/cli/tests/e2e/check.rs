//! `assay check`: a probe of the capacity and the jobs of speed classes, as one run with one verdict.

use crate::assay::{Bed, Ended, Running, test_folders, text, trial};
use assay_testkit::{Fake, FakeDevice, KnownSpeed, Lie, Scratch, Volume, needs, or_skip, run};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Trials of a check with one trial of each job: a probe, and seven jobs.
const TRIALS: usize = 8;

/// The last section, on one line.
fn verdict(ended: &Ended) -> String {
    let (_, last) = ended.out.rsplit_once("Verdict\n").expect("a verdict");
    last.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_genuine_volume_gets_its_verdict_last() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 1024));
    let bed = Bed::new();
    let words = [
        "check",
        text(volume.point()),
        "--seconds",
        "1",
        "--trials",
        "1",
    ];
    let ended = bed.run(&words);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:#?}");
    let verdict = verdict(&ended);
    assert!(verdict.starts_with("No sign of a fake: "), "{verdict}");
    for class in ["A1 ", "A2 ", "V30 ", "good for a Pi"] {
        assert!(verdict.contains(class), "{class}: {verdict}");
    }
    assert!(ended.out.lines().count() <= 20, "{}", ended.out);
    assert!(test_folders(volume.point()).is_empty());
    let stored = bed.stored("last");
    assert_eq!(stored["trials"].as_array().map(Vec::len), Some(TRIALS));
    let probed = &trial(&stored, "probe")["detail"]["probed"];
    assert_eq!(probed["of_free_space"], true, "{probed}");
    assert_eq!(probed["kind"]["kind"], "good", "{probed}");
    let places = probed["blocks_written"].as_u64().unwrap_or(0);
    assert!(places > 2_000, "{probed}");
}

#[test]
fn a_probe_of_a_nearly_full_volume_says_that_it_knows_nothing() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    fs::write(volume.point().join("full"), vec![1; 150 << 20]).expect("room");
    let bed = Bed::new();
    let ended = bed.run(&["capacity", text(volume.point()), "--probe"]);
    ended.assert_code(0);
    assert!(ended.out.starts_with("Not known: "), "{}", ended.out);
    assert_eq!(
        fs::read(volume.point().join("full")).expect("kept").len(),
        150 << 20
    );
}

#[test]
fn a_fake_device_is_not_measured() {
    needs!(root, "nbdfuse");
    let scratch = or_skip!(Scratch::new());
    let lie = Lie::Wraparound(64 * MIB);
    let fake = or_skip!(FakeDevice::over(&scratch, Fake::new(128 * MIB, lie)));
    let bed = Bed::new();
    let node = text(fake.device().node());
    bed.run(&["check", node]).assert_code(2);
    let before = fake.memory();
    let ended = bed.run(&["check", node, "--destroy-data"]);
    ended.assert_code(4);
    let verdict = verdict(&ended);
    assert!(
        verdict.starts_with("Fake: holds 64 of 128 MiB"),
        "{verdict}"
    );
    assert!(!verdict.contains("good for"), "{verdict}");
    assert!(fake.memory() == before, "it was changed");
    let stored = bed.stored("last");
    assert_eq!(
        stored["trials"].as_array().map(Vec::len),
        Some(1),
        "jobs follow"
    );
}

#[test]
fn a_file_system_on_a_fake_is_found_out_by_its_free_space() {
    needs!(root, "nbdfuse", "mkfs.ext4");
    let scratch = or_skip!(Scratch::new());
    let lie = Lie::Limbo(320 * MIB);
    let fake = or_skip!(FakeDevice::over(&scratch, Fake::new(512 * MIB, lie)));
    let node = text(fake.device().node());
    or_skip!(run(&["mkfs.ext4", "-q", "-O", "^has_journal", node]));
    let point = scratch.path().join("mnt");
    fs::create_dir(&point).expect("a folder");
    or_skip!(run(&["mount", node, text(&point)]));
    let bed = Bed::new();
    let ended = bed.run(&["check", text(&point), "--seconds", "1", "--trials", "1"]);
    let unmounted = run(&["umount", text(&point)]);
    ended.assert_code(4);
    let verdict = verdict(&ended);
    assert!(verdict.starts_with("Fake"), "{verdict}");
    assert!(unmounted.is_ok());
}

#[test]
fn a_killed_check_is_resumed_from_the_jobs_that_are_missing() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 512));
    let bed = Bed::new();
    let words = [
        "check",
        text(volume.point()),
        "--seconds",
        "1",
        "--trials",
        "2",
    ];
    let mut running = Running::start(&mut bed.command(&words));
    running.await_trials(4);
    running.kill(true);
    let before = bed.stored("last");
    let trials = |run: &serde_json::Value| -> Vec<(String, u64, u64)> {
        let all = run["trials"].as_array().expect("trials").iter();
        let key = |trial: &serde_json::Value| {
            let name = trial["job"]["name"].as_str().unwrap_or_default();
            let number = |field: &str| trial[field].as_u64().unwrap_or(u64::MAX);
            (name.to_owned(), number("trial"), number("position"))
        };
        all.map(key).collect()
    };
    let done = trials(&before);
    assert!((4..15).contains(&done.len()), "{done:?}");
    bed.run(&["resume", "last"]).assert_code(0);
    let after = bed.stored("last");
    assert_eq!(after["run"]["status"], "finished");
    let all = trials(&after);
    assert_eq!(
        all[..done.len()],
        done,
        "the trials that were there are kept"
    );
    assert_eq!(all.len(), 15);
    let mut names: Vec<(&str, u64)> = all.iter().map(|(name, n, _)| (&**name, *n)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 15, "each job has trials 1 and 2");
    assert!(
        (0..)
            .zip(&all)
            .all(|(at, (_, _, position))| *position == at)
    );
    assert!(test_folders(volume.point()).is_empty());
    bed.run(&["resume", "last"])
        .assert_says(&["nothing is missing"]);
}

/// Arguments of a check of a device, with one short trial of each job.
fn short_check(node: &str) -> [&str; 7] {
    [
        "check",
        node,
        "--destroy-data",
        "--seconds",
        "1",
        "--trials",
        "1",
    ]
}

#[test]
fn a_device_with_broken_blocks_and_one_that_stalls_are_not_good() {
    needs!(root, "nbdfuse", "losetup");
    let (one, other) = (or_skip!(Scratch::new()), or_skip!(Scratch::new()));
    let mut broken = Fake::new(128 * MIB, Lie::None);
    broken.broken.push(40 * MIB..128 * MIB);
    let broken = or_skip!(FakeDevice::over(&one, broken));
    let bed = Bed::new();
    let ended = bed.run(&short_check(text(broken.device().node())));
    assert_ne!(ended.code, Some(0), "{ended:#?}");
    assert!(!ended.out.contains("· good for a Pi"), "{}", ended.out);
    // Now and then an I/O takes 1.4 s.
    let percent = other.join("percent");
    fs::write(&percent, "100\n").expect("room");
    let mut stalling = Fake::new(128 * MIB, Lie::None);
    stalling.speed = Some(KnownSpeed::new(percent.clone(), 5000.0));
    let stalling = or_skip!(FakeDevice::over(&other, stalling));
    let words = short_check(text(stalling.device().node()));
    let mut running = Running::start(&mut bed.command(&words));
    running.await_trials(1);
    let over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // Percent of 5,000 I/Os per second: one I/O takes 1.4 s.
                fs::write(&percent, "0.0143\n").expect("room");
                sleep(Duration::from_millis(50));
                fs::write(&percent, "100\n").expect("room");
                sleep(Duration::from_millis(1500));
            }
        });
        let ended = running.end();
        over.store(true, Ordering::Relaxed);
        ended
    });
    let verdict = verdict(&ended);
    assert!(verdict.contains("stalls for "), "{verdict}");
    assert!(verdict.starts_with("No sign of a fake"), "{verdict}");
}
