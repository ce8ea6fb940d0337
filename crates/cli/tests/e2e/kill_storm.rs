//! SIGKILL at random moments, to the command, its agent or both, in every command that measures:
//! nothing that was announced is lost, the store is usable, and the next start leaves nothing behind.

use crate::assay::{Bed, Ended, Running, text, until, with_store};
use crate::kinds::{self, Kind, Stage};
use assay_model::rng::SplitMix64;
use assay_testkit::{needs, or_skip, signal_to};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Number of kills, if not those of a test.
const KILLS: &str = "ASSAY_TEST_KILLS";
/// Seed of the moments.
const SEED: &str = "ASSAY_TEST_SEED";
/// A loaded machine takes a second to start.
const LONGEST_MS: u64 = 4_000;

/// Files of their users, which commands keep, or overwrite.
const KEPT: [&str; 7] = [
    "lost+found",
    "a",
    "b",
    "run.out",
    "dd.out",
    "1.h2w",
    "iozone.tmp",
];

#[derive(Clone, Copy, Debug)]
enum Victim {
    Host,
    Agent,
    Both,
}

fn set(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Returns true if a line reports a step that ended.
fn is_step(line: &str) -> bool {
    line.contains(" #1: ") || line.starts_with('[')
}

/// The child of a process that is its agent.
fn agent_of(host: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{host}/task/{host}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn killed(running: Running, victim: Victim) -> Ended {
    let agent = agent_of(running.id());
    match (victim, agent) {
        (Victim::Agent, Some(agent)) => {
            signal_to(agent, Signal::KILL);
            running.end()
        }
        (Victim::Both, _) => {
            running.signal(Signal::STOP);
            running.kill(true)
        }
        (Victim::Host | Victim::Agent, _) => running.kill(false),
    }
}

/// Settings that sweeps vary.
fn settings(bed: &Bed, stage: &Stage) -> [String; 3] {
    let queue = format!(
        "/sys/block/{}/queue/read_ahead_kb",
        stage.volume.device().name()
    );
    let mounts = fs::read_to_string("/proc/self/mounts").expect("/proc");
    let point = text(stage.volume.point());
    let own = |line: &&str| line.split(' ').nth(1) == Some(point);
    let mount = mounts.lines().find(own).expect("it is mounted").to_owned();
    let read = |path: &Path| {
        fs::read_to_string(path)
            .expect("it is there")
            .trim()
            .to_owned()
    };
    [read(Path::new(&queue)), read(&bed.join("knob")), mount]
}

/// Entries of a folder that no user has put there.
fn leftovers(folder: &Path, kept: &[&str]) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !kept.contains(&&*name) && !name.ends_with(".area")
    };
    entries.map(|entry| entry.path()).filter(is_left).collect()
}

/// Processes of the bed that live.
fn processes(bed: &Bed) -> Vec<String> {
    let journals = bed.join("journals").display().to_string();
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let own = entries.filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&journals)
    });
    own.map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// The store opens by every command that reads all of it.
fn assert_usable(bed: &Bed, context: &str) {
    let store = bed.store().display().to_string();
    let second = bed.join("second.sqlite").display().to_string();
    let tables = bed.join("tables");
    let commands: [&[&str]; 6] = [
        &["series", "--all"],
        &["store", "rebuild"],
        &["store", "push", "--all", "--to", &second],
        &["store", "query", "SELECT count(*) FROM assay_figures"],
        &["store", "export", "--tidy", text(&tables)],
        &["list"],
    ];
    for words in commands {
        let ended = with_store(bed, &store, words);
        assert_eq!(
            ended.code,
            Some(0),
            "{words:?} after {context}: {:#?}",
            ended.err
        );
    }
    let _ = fs::remove_dir_all(tables);
}

/// Number of trials in the store.
fn stored(bed: &Bed) -> u64 {
    // A command that was killed while it made the store leaves an empty file.
    if fs::metadata(bed.store()).map_or(0, |file| file.len()) == 0 {
        return 0;
    }
    let listed = bed.run(&["list", "--all", "--json"]);
    listed.assert_code(0);
    let listed = listed.json();
    let runs = listed["runs"].as_array().expect("a list").iter();
    runs.filter_map(|run| run["trials_done"].as_u64()).sum()
}

/// Asserts that all announced steps are stored, and returns their number.
fn assert_kept(bed: &Bed, before: u64, ended: &Ended, context: &str) -> usize {
    let told = ended.err.iter().filter(|line| is_step(line)).count();
    let stored = stored(bed) - before;
    assert!(
        stored >= told as u64,
        "{context}: {told} told, {stored} stored"
    );
    told
}

/// The next start removes and restores everything; what it did not is named.
fn assert_cleared(bed: &Bed, stage: &Stage, before: &[String; 3], context: &str) {
    let folder = stage.volume.point();
    let next = bed.short_run(folder);
    let says = |word: &str| next.err.iter().any(|line| line.contains(word));
    assert!(!says("does not end"), "{context}: {:#?}", next.err);
    until(&format!("no process is left after {context}"), || {
        processes(bed).is_empty()
    });
    assert_eq!(&settings(bed, stage), before, "{context}: {:#?}", next.err);
    let left = || leftovers(folder, &KEPT);
    assert_eq!(left(), BTreeSet::new(), "{context}: {:#?}", next.err);
    assert_eq!(
        leftovers(&bed.join("journals"), &[]),
        BTreeSet::new(),
        "{context}"
    );
}

/// One kill of a command in its own bed.
fn strike(bed: &Bed, stage: &Stage, kind: &Kind, moment: Duration, victim: Victim) -> usize {
    let context = format!("{}, {victim:?} after {} ms", kind.name, moment.as_millis());
    let (before, kept) = (settings(bed, stage), stored(bed));
    let words = kind.endless();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let running = bed.start(&words);
    // A moment to kill at, not one to be in time for.
    sleep(moment);
    let ended = killed(running, victim);
    let told = assert_kept(bed, kept, &ended, &context);
    assert_cleared(bed, stage, &before, &context);
    assert_usable(bed, &context);
    told
}

#[expect(clippy::print_stdout, reason = "the figures of a test")]
fn storm(kills: u64, seed: u64) {
    let stage = or_skip!(Stage::new());
    // A store for each command: all of it is read after every kill.
    let count = kinds::all(&Bed::new(), &stage).len();
    let beds: Vec<Bed> = (0..count).map(|_| Bed::new()).collect();
    let mut rng = SplitMix64::new(seed);
    let (mut told, mut by_victim) = (0, [0; 3]);
    for (_, place) in (0..kills).zip((0..count).cycle()) {
        let bed = &beds[place];
        let kind = &kinds::all(bed, &stage)[place];
        let which = usize::try_from(rng.below(3)).unwrap_or_default();
        by_victim[which] += 1;
        let victim = [Victim::Host, Victim::Agent, Victim::Both][which];
        told += strike(
            bed,
            &stage,
            kind,
            Duration::from_millis(rng.below(LONGEST_MS)),
            victim,
        );
    }
    for bed in &beds {
        let own = [
            "runs.sqlite",
            "second.sqlite",
            "jobs.fio",
            "trace",
            "three.toml",
            "one.toml",
            "knob",
        ];
        let left = leftovers(&bed.join("."), &own);
        let left: Vec<&PathBuf> = left
            .iter()
            .filter(|path| !path.ends_with("journals"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    println!(
        "{kills} kills (host, agent, both: {by_victim:?}), seed {seed}: {told} steps announced, none lost"
    );
}

#[test]
fn a_kill_in_any_command_loses_nothing_and_leaves_nothing() {
    needs!(root, "mkfs.ext4", "mkfs.ext2");
    storm(set(KILLS).unwrap_or(25), set(SEED).unwrap_or(1));
}

#[test]
#[ignore = "three hundred kills take an hour"]
fn three_hundred_kills_lose_nothing_and_leave_nothing() {
    needs!(root, "mkfs.ext4", "mkfs.ext2");
    storm(set(KILLS).unwrap_or(300), set(SEED).unwrap_or(29));
}
