//! A load that does not end by itself is ended, and nothing of it stays behind.

use crate::assay::{Bed, Running, lives, until};
use assay_testkit::signal_to;
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// A job whose command waits for a minute, and says which process does.
const STUCK: &str = "sleep 60 & echo $! > sleeper; wait";
/// The same, and it does not listen to anybody.
const DEAF: &str = "trap '' TERM; sleep 60 & echo $! > sleeper; while :; do wait; done";

/// The load while it waits for that command, and the process that it waits for.
fn stuck(folder: &Path, command: &str) -> (Running, u32) {
    let prerun = format!("--exec_prerun={command}");
    let words = ["fio", "--name=a", "--rw=read", "--size=1M", &prerun];
    let mut assay = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
    let running = Running::start(assay.args(words).current_dir(folder));
    let file = folder.join("sleeper");
    let mut sleeper = None;
    until("the command runs", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        sleeper = text.trim().parse().ok();
        sleeper.is_some()
    });
    (running, sleeper.expect("a number"))
}

#[test]
fn a_command_that_waits_ends_with_the_first_signal() {
    let bed = Bed::new();
    for signal in [Signal::INT, Signal::TERM] {
        let folder = bed.folder_named(&format!("{signal:?}"));
        let (running, sleeper) = stuck(&folder, STUCK);
        let agent = running.agent();
        running.signal(signal);
        let ended = running.end();
        ended.assert_code(128);
        until("the command is gone", || !lives(sleeper));
        assert!(!lives(agent), "the agent outlived its host");
    }
}

#[test]
fn a_second_signal_ends_what_the_first_did_not() {
    let bed = Bed::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = bed.folder_named(&format!("{signal:?}"));
        let (mut running, sleeper) = stuck(&folder, DEAF);
        let agent = running.agent();
        // The shell and what it waits for are deaf.
        running.signal(signal);
        running.await_words("stopping");
        until("the host ends", || {
            running.signal(signal);
            running.has_ended()
        });
        // 128: the first one was enough.
        let ended = running.end();
        assert!([Some(code), Some(128)].contains(&ended.code), "{ended:?}");
        until("the agent ends", || !lives(agent));
        until("the command is gone", || !lives(sleeper));
    }
}

#[test]
fn an_agent_without_its_host_does_not_wait_for_ever() {
    let bed = Bed::new();
    let folder = bed.folder();
    let (running, sleeper) = stuck(&folder, DEAF);
    let agent = running.agent();
    running.kill(false);
    until("the agent ends", || !lives(agent));
    until("the command is gone", || !lives(sleeper));
}

#[test]
fn an_agent_obeys_the_signal_that_comes_again() {
    let bed = Bed::new();
    let folder = bed.folder();
    let (running, sleeper) = stuck(&folder, DEAF);
    let agent = running.agent();
    until("the agent ends", || {
        if lives(agent) {
            signal_to(agent, Signal::TERM);
        }
        !lives(agent)
    });
    running.end();
    until("the command is gone", || !lives(sleeper));
}
