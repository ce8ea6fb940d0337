//! Ctrl-C and its kin end a run in good order.

use crate::assay::{Bed, Running, lives, test_folders, text, until};
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// Stopped by `signal`: the code, and that nothing but the trials is left.
fn assert_stops(signal: Signal, code: i32) {
    let bed = Bed::new();
    let folder = bed.folder();
    let jobs = "ladder-dsync,seq-read-1m";
    let words = ["--size", "8M", "--trials", "500", "--only", jobs];
    let mut running = bed.qualify(&folder, &words);
    running.await_trials(2);
    let agent = running.agent();
    running.signal(signal);
    let ended = running.end();
    ended.assert_code(code);
    ended.assert_says(&["stopping", "finished trials are kept"]);
    assert!(!lives(agent), "the agent outlived its host");
    assert!(test_folders(&folder).is_empty());

    let run = bed.stored("last");
    assert_eq!(run["run"]["status"], "interrupted");
    assert!(run["run"]["finished"].is_string());
    let trials = run["trials"].as_array().expect("a list").iter();
    let outcomes = trials.map(|trial| trial["outcome"].as_str().expect("a word"));
    let (cut, whole): (Vec<_>, Vec<_>) = outcomes.partition(|word| *word == "interrupted");
    assert!(cut.len() <= 1, "at most the one under way");
    assert!(whole.len() >= 2 && whole.iter().all(|word| *word == "completed"));
    // The summary is there all the same.
    let id = run["run"]["id"].as_str().expect("an id");
    assert!(ended.out.contains(id));
    assert!(!bed.short_run(&folder).says(&["cut off"]), "it was no kill");
}

#[test]
fn ctrl_c_ends_with_130() {
    assert_stops(Signal::INT, 130);
}

#[test]
fn sigterm_ends_with_143() {
    assert_stops(Signal::TERM, 143);
}

#[test]
fn a_closed_terminal_ends_with_129() {
    assert_stops(Signal::HUP, 129);
}

/// `nohup` is for host and agent.
#[test]
fn a_run_under_nohup_survives_a_closed_terminal() {
    let bed = Bed::new();
    let folder = bed.folder();
    let size = ["--size", "8M", "--trials", "30", "--only", "ladder-dsync"];
    let words = [&["qualify", text(&folder), "--quick"][..], &size].concat();
    let command = bed.command(&words);
    let mut nohup = assay_testkit::command("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    nohup.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        nohup.env(name, value.expect("a value"));
    }
    let mut running = Running::start(&mut nohup);
    running.await_trials(1);
    assay_testkit::signal_to(running.agent(), Signal::HUP);
    running.signal(Signal::HUP);
    running.end().assert_code(0);
    assert_eq!(bed.stored("last")["run"]["status"], "finished");
}

/// While the test file is being written.
fn preparing(bed: &Bed, folder: &Path) -> Running {
    let words = ["--size", "1G", "--trials", "1", "--only", "seq-read-1m"];
    let running = bed.qualify(folder, &words);
    until("the test file grows", || {
        let folders = test_folders(folder);
        let data = folders.first().map(|folder| folder.join("data"));
        data.is_some_and(|data| fs::metadata(data).is_ok_and(|meta| meta.len() > 0))
    });
    running
}

#[test]
fn ctrl_c_while_the_test_file_is_written() {
    let bed = Bed::new();
    let folder = bed.folder();
    let running = preparing(&bed, &folder);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    assert!(test_folders(&folder).is_empty());
    let run = bed.stored("last");
    assert_eq!(run["run"]["status"], "interrupted");
    assert_eq!(run["trials"].as_array().unwrap().len(), 0);
}

#[test]
fn a_second_ctrl_c_does_not_wait() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut running = preparing(&bed, &folder);
    let agent = running.agent();
    // Without the agent's answer only the second one can end the host.
    assay_testkit::signal_to(agent, Signal::STOP);
    running.signal(Signal::INT);
    running.await_words("stopping");
    // One right behind the first counts as the same.
    until("the host ends", || {
        running.signal(Signal::INT);
        running.has_ended()
    });
    assay_testkit::signal_to(agent, Signal::CONT);
    running.end().assert_code(130);
    until("the agent ends", || !lives(agent));
    assert!(test_folders(&folder).is_empty());
    let next = bed.short_run(&folder);
    next.assert_says(&["was cut off", "its 0 finished trials"]);
}
