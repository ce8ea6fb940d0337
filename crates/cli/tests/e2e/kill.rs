//! A kill without warning loses at most the trial under way, and the next
//! start says so and cleans up.

use crate::assay::{Bed, Ended, Running, lives, test_folders, text, until};
use crate::kinds;
use assay_model::rng::SplitMix64;
use assay_testkit::signal_to;
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// More than is ever finished.
const ENDLESS: [&str; 6] = [
    "--size",
    "8M",
    "--trials",
    "500",
    "--only",
    "ladder-dsync,seq-read-1m",
];

/// A run with a few trials behind it.
fn under_way(bed: &Bed, folder: &Path) -> Running {
    let mut running = bed.qualify(folder, &ENDLESS);
    running.await_trials(3);
    running
}

/// Every trial it told of is stored, whole, and not more than one besides.
fn assert_kept(bed: &Bed, killed: &Ended) {
    let id = killed.run_id().expect("it had begun");
    let run = bed.stored(id);
    let stored = run["trials"].as_array().expect("a list");
    let told = killed.trials_told();
    assert!(
        (told..=told + 1).contains(&stored.len()),
        "{told} told, {} stored",
        stored.len()
    );
    for trial in stored {
        assert_eq!(trial["outcome"], "completed");
        assert!(trial["elapsed_ns"].as_u64().is_some_and(|ns| ns > 0));
        assert!(trial["evidence"].is_object());
    }
}

#[test]
fn a_killed_host_keeps_its_trials_and_its_agent_cleans_up() {
    let bed = Bed::new();
    let folder = bed.folder();
    let running = under_way(&bed, &folder);
    let agent = running.agent();
    let killed = running.kill(false);
    assert_eq!(killed.code, None);
    until("the agent ends", || !lives(agent));
    assert!(test_folders(&folder).is_empty());
    assert_kept(&bed, &killed);

    let id = killed.run_id().unwrap();
    let next = bed.short_run(&folder);
    next.assert_says(&["run", id, "was cut off", "finished trials are kept"]);
    assert_eq!(bed.stored(id)["run"]["status"], "interrupted");
    assert!(!bed.short_run(&folder).says(&[id]), "told once");
}

#[test]
fn what_a_killed_host_and_agent_leave_is_removed_by_the_next_start() {
    let bed = Bed::new();
    let folder = bed.folder();
    let killed = under_way(&bed, &folder).kill(true);
    let id = killed.run_id().unwrap();
    let left = folder.join(format!(".assay-{id}"));
    assert_eq!(test_folders(&folder), std::slice::from_ref(&left));
    assert_kept(&bed, &killed);

    let next = bed.short_run(&folder);
    next.assert_says(&["run", id, "was cut off", "finished trials are kept"]);
    let shown = left.display().to_string();
    next.assert_says(&["removed the leftover test file", id, &shown]);
    assert!(test_folders(&folder).is_empty());
    assert_kept(&bed, &killed);
}

#[test]
fn another_start_elsewhere_cleans_up_too() {
    let bed = Bed::new();
    let folder = bed.folder();
    let killed = under_way(&bed, &folder).kill(true);
    let elsewhere = bed.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let next = bed.short_run(&elsewhere);
    let id = killed.run_id().unwrap();
    next.assert_says(&["removed the leftover test file", id]);
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn a_kill_at_any_moment_is_survived() {
    const ROUNDS: u64 = 10;
    const LONGEST_MS: u64 = 1_200;
    let bed = Bed::new();
    let folder = bed.folder();
    let mut rng = SplitMix64::new(2);
    let mut killed = Vec::new();
    for round in 0..ROUNDS {
        // Large enough to be hit while the test file is written.
        let jobs = "ladder-direct,seq-read-1m";
        let words = ["--size", "256M", "--trials", "500", "--only", jobs];
        let words = if round % 2 == 0 { ENDLESS } else { words };
        let running = bed.qualify(&folder, &words);
        // A moment to kill at, not one to be in time for.
        sleep(Duration::from_millis(rng.below(LONGEST_MS)));
        killed.push(running.kill(round % 3 != 0));
        let listed = bed.run(&["list"]);
        assert!([Some(0), Some(2)].contains(&listed.code), "{listed:?}");
    }
    bed.short_run(&folder);
    until("all is removed", || test_folders(&folder).is_empty());
    for ended in killed {
        // Killed between saying so and storing it, there is no run.
        if ended.trials_told() > 0 {
            assert_kept(&bed, &ended);
        }
    }
    let listed = bed.run(&["list"]);
    listed.assert_code(0);
    assert!(!listed.out.contains("running"), "{}", listed.out);
}

#[test]
fn a_lost_agent_is_told_and_nothing_else_is_lost() {
    let bed = Bed::new();
    let folder = bed.folder();
    let running = under_way(&bed, &folder);
    signal_to(running.agent(), Signal::KILL);
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", "agent"]);
    assert_kept(&bed, &ended);
    let id = ended.run_id().unwrap();
    assert_eq!(bed.stored(id)["run"]["status"], "failed");
    // A second agent does what the lost one could not.
    ended.assert_says(&["removed the leftover test file", id]);
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn a_living_run_is_left_alone() {
    let bed = Bed::new();
    let folder = bed.folder();
    let living = under_way(&bed, &folder);
    let next = bed.short_run(&folder);
    assert!(!next.says(&["cut off"]), "{:#?}", next.err);
    assert!(!next.says(&["leftover"]), "{:#?}", next.err);
    assert_eq!(test_folders(&folder).len(), 1);
    living.signal(Signal::INT);
    living.end().assert_code(130);
    assert!(test_folders(&folder).is_empty());
}

/// Somebody stops the agent in good order: the run is not complete, so the
/// command must not look successful.
#[test]
fn an_agent_asked_to_stop_makes_no_success() {
    let bed = Bed::new();
    let folder = bed.folder();
    let running = under_way(&bed, &folder);
    signal_to(running.agent(), Signal::TERM);
    let ended = running.end();
    ended.assert_code(1);
    assert_eq!(
        bed.stored(ended.run_id().unwrap())["run"]["status"],
        "interrupted"
    );
    assert!(test_folders(&folder).is_empty());
}

/// The first step of an act can be long, and the next start is elsewhere.
#[test]
fn a_work_that_is_killed_in_its_first_step_is_found_by_the_next_start() {
    let bed = Bed::new();
    let folder = bed.folder();
    let running = bed.start(&[
        "androbench",
        text(&folder),
        "--only",
        "sqlite-insert",
        "--transactions",
        "10000000",
    ]);
    let has_database = |folder: &PathBuf| folder.join("testing.db").exists();
    until("it has begun", || {
        test_folders(&folder).iter().any(has_database)
    });
    running.kill(true);
    let left = test_folders(&folder);
    assert_eq!(left.len(), 1);

    let next = bed.short_run(&bed.folder_named("elsewhere"));
    next.assert_says(&["was cut off", "its 0 finished trials are kept"]);
    next.assert_says(&["removed the leftover test file", text(&left[0])]);
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn the_folder_of_a_work_goes_although_its_agent_is_killed() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = [
        "disks",
        text(&folder),
        "--size",
        "8M",
        "--sample-size",
        "64K",
    ];
    let running = bed.start(&[&words[..], &["--trials", "1000"]].concat());
    until("it has begun", || !test_folders(&folder).is_empty());
    signal_to(running.agent(), Signal::KILL);
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["removed the leftover test file"]);
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn the_file_of_a_killed_replay_goes_with_the_next_start() {
    let bed = Bed::new();
    let folder = bed.folder();
    let trace = bed.join("trace");
    std::fs::write(&trace, kinds::trace()).unwrap();
    let started = || {
        let running = bed.start(&["replay", text(&trace), text(&folder), "--trials", "900"]);
        let has_file = |folder: &PathBuf| folder.join("data").exists();
        until("it has begun", || {
            test_folders(&folder).iter().any(has_file)
        });
        running
    };
    let entries = || std::fs::read_dir(&folder).unwrap().count();
    let running = started();
    running.signal(Signal::STOP);
    running.kill(true);
    let left = test_folders(&folder);
    assert_eq!((left.len(), entries()), (1, 1));
    let next = bed.short_run(&bed.folder_named("elsewhere"));
    next.assert_says(&["removed the leftover test file", text(&left[0])]);
    assert_eq!(entries(), 0);

    // Of an agent that is killed alone another one removes it.
    let running = started();
    signal_to(running.agent(), Signal::KILL);
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["removed the leftover test file"]);
    assert_eq!(entries(), 0);
    started().kill(false);
    until("its agent has removed it", || entries() == 0);
}

/// While an agent that outlives its host is waited for, what cannot be removed is found again and
/// again.
#[test]
fn what_cannot_be_removed_is_told_once() {
    let bed = Bed::new();
    let folder = bed.folder();
    let stays = folder.join(".assay-stays");
    std::fs::create_dir(&stays).unwrap();
    let owner = r#"{"about": "", "run_id": "stays"}"#;
    std::fs::write(stays.join("owner.json"), owner).unwrap();
    std::fs::create_dir(stays.join("data")).unwrap();
    std::fs::write(stays.join("data/foreign"), "").unwrap();
    let killed = under_way(&bed, &folder).kill(true);
    let left = folder.join(format!(".assay-{}", killed.run_id().unwrap()));
    // As its agent does while it ends.
    let owner = std::fs::File::open(left.join("owner.json")).unwrap();
    owner.lock().unwrap();
    let mut next = bed.qualify(&folder, &ENDLESS);
    sleep(Duration::from_secs(1));
    drop(owner);
    next.await_trials(1);
    next.signal(Signal::INT);
    let ended = next.end();
    ended.assert_says(&["removed the leftover test file", text(&left)]);
    let told = ended.err.iter().filter(|line| line.contains(text(&stays)));
    assert_eq!(told.count(), 1, "{:#?}", ended.err);
}
