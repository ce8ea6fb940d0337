//! Steps that are told are stored, and a run whose store goes away is not lost.

use crate::assay::{Bed, Ended, start_with_store, text};
use assay_testkit::{Mount, needs, or_skip};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Whether a line tells of a step that ended.
fn is_step(line: &str) -> bool {
    line.contains(" #1: ") || line.starts_with('[')
}

/// Kills the whole command at the moment at which it tells of so many steps.
fn killed_after(bed: &Bed, words: &[&str], steps: usize) -> usize {
    let mut running = bed.start(words);
    running.await_lines("steps", steps, is_step);
    let killed = running.kill(false);
    killed.err.iter().filter(|line| is_step(line)).count()
}

#[test]
fn a_step_that_is_told_survives_a_kill_at_that_moment() {
    let bed = Bed::new();
    let folder = bed.folder();
    let folder = text(&folder);
    let databases = "sqlite-insert,sqlite-update,sqlite-delete";
    let small = ["--transactions", "20", "--trials", "50"];
    let androbench = [&["androbench", folder, "--only", databases], &small[..]].concat();
    let size = ["--size", "4M", "--sample-size", "64K", "--trials", "50"];
    let disks = [&["disks", folder], &size[..]].concat();
    let soak = [
        "lab",
        "soak",
        folder,
        "--size",
        "4M",
        "--passes",
        "20000",
        "--checkpoint",
        "1s",
    ];
    for (round, words) in [&androbench[..], &disks, &soak]
        .iter()
        .cycle()
        .take(9)
        .enumerate()
    {
        let told = killed_after(&bed, words, 1 + round % 3);
        let run = bed.stored("last");
        let stored = run["trials"].as_array().expect("a list").len();
        assert!(stored >= told, "{}: {told} told, {stored} stored", words[0]);
    }
}

/// A job file of one job that takes a second or two.
fn job_file(bed: &Bed, folder: &Path) -> PathBuf {
    let file = bed.join("job.fio");
    let target = folder.join("f").display().to_string();
    let lines =
        format!("[j]\nrw=write\nbs=4k\nsize=1m\ntime_based=1\nruntime=2\nfilename={target}\n");
    fs::write(&file, lines).expect("a file");
    file
}

/// The run in the store that the last line names.
fn rescued(bed: &Bed, ended: &Ended) -> Value {
    ended.assert_code(1);
    let line = ended.err.last().expect("a reason");
    assert!(line.contains("was removed or replaced"), "{line}");
    let (_, command) = line.split_once("assay report ").expect("a remedy");
    let words: Vec<&str> = command.split(' ').collect();
    let shown = [&["report"], &words[..], &["--json"]].concat();
    let mut command = bed.command_without_store(&shown);
    let output = command.output().expect("it runs");
    serde_json::from_slice(&output.stdout).expect("a run")
}

/// Runs the commands, and takes their store away meanwhile.
fn without_its_store(take: impl Fn(&Bed)) {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = job_file(&bed, &folder);
    let plan = ["qualify", text(&folder), "--quick", "--only", "read-cached"];
    let plan = [&plan[..], &["--size", "1M", "--trials", "200"]].concat();
    let work = [
        "disks",
        text(&folder),
        "--size",
        "4M",
        "--sample-size",
        "64K",
        "--trials",
        "50",
    ];
    let load = ["run", text(&file), "--trials", "1"];
    for (words, said) in [
        (&plan[..], "1/200]"),
        (&work, " #1: "),
        (&load, "Laying out"),
    ] {
        let mut running = bed.start(words);
        running.await_words(said);
        take(&bed);
        let ended = running.end();
        let run = rescued(&bed, &ended);
        let trials = run["trials"].as_array().expect("a list");
        assert!(!trials.is_empty(), "{words:?}: {:#?}", ended.err);
        let _ = fs::remove_file(bed.store());
        let _ = fs::remove_file(folder.join("f"));
    }
}

#[test]
fn a_run_whose_store_is_removed_is_kept_beside_it() {
    without_its_store(|bed| fs::remove_file(bed.store()).unwrap());
}

#[test]
fn a_run_whose_store_is_replaced_is_kept_beside_it() {
    without_its_store(|bed| {
        let copy = bed.join("copy");
        fs::copy(bed.store(), &copy).unwrap();
        fs::rename(&copy, bed.store()).unwrap();
    });
}

#[test]
fn a_store_behind_another_link_is_another_store() {
    without_its_store(|bed| {
        let held = bed.join("held");
        fs::rename(bed.store(), &held).unwrap();
        let other = bed.join("other");
        fs::copy(&held, &other).unwrap();
        symlink(&other, bed.store()).unwrap();
    });
}

#[test]
fn a_full_file_system_keeps_no_part_of_a_run_beside_its_store() {
    needs!(root);
    let bed = Bed::new();
    let folder = bed.folder();
    let memory = or_skip!(Mount::tmpfs(2, &bed.join("memory")));
    let store = memory.point().join("s.sqlite");
    let words = ["qualify", text(&folder), "--quick", "--only", "read-cached"];
    let words = [&words[..], &["--size", "1M", "--trials", "200"]].concat();
    let mut running = start_with_store(&bed, text(&store), &words);
    running.await_words("1/200]");
    // To the last byte.
    let filled = fs::write(memory.point().join("full"), vec![1; 4 << 20]);
    assert!(filled.is_err(), "there was room");
    let ended = running.end();
    ended.assert_code(1);
    let line = ended.err.last().expect("a reason");
    assert!(line.contains("no space left"), "{line}");
    let (_, kept) = line.split_once("--store ").expect("it is kept elsewhere");
    assert!(!Path::new(kept).starts_with(memory.point()), "{line}");
    let entries = fs::read_dir(memory.point()).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["full", "s.sqlite"]);
    fs::remove_dir_all(Path::new(kept).parent().expect("a folder of its own")).expect("ours");
}
