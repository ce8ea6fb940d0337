//! Links that are lost and come back, or do not.

use crate::assay::{Ended, Running, test_folders, text, until};
use crate::over_adb::Machine as Reached;
use crate::over_ssh::Machine;
use crate::sweep::{Knob, journals};
use assay_testkit::{Neighbour, or_skip};
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::time::Duration;

const TRIALS: usize = 6;
/// The same, as a word.
const ROUNDS: &str = "6";

/// A run of some short trials on a machine.
fn qualify(machine: &Machine, when_lost: &str, folder: &Path, trials: &str) -> Running {
    let on = ["--on", "ssh://board", "--when-lost", when_lost];
    let words = ["--size", "1M", "--quick", "--only", "read-cached"];
    let words = [&["qualify", text(folder)], &on[..], &words].concat();
    Running::start(&mut machine.command(&[&words[..], &["--trials", trials]].concat()))
}

/// Kills all that is between the host and the machine.
fn cut(running: &Running) {
    let link = i32::try_from(running.agent()).ok().and_then(Pid::from_raw);
    kill_process_group(link.expect("its process is known"), Signal::KILL).expect("it is there");
}

/// The run is as if nothing had happened: each trial is there once.
fn assert_whole(bed: &crate::assay::Bed, ended: &Ended) {
    ended.assert_code(0);
    let run = bed.stored(ended.run_id().expect("a run began"));
    assert_eq!(run["run"]["status"], "finished");
    let trials = run["trials"].as_array().expect("trials");
    let positions: Vec<u64> = trials
        .iter()
        .map(|t| t["position"].as_u64().expect("a number"))
        .collect();
    assert_eq!(positions, (0..TRIALS as u64).collect::<Vec<_>>());
    assert!(trials.iter().all(|trial| trial["outcome"] == "completed"));
}

#[test]
fn a_run_goes_on_when_its_link_comes_back() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let mut running = qualify(&machine, "wait", &folder, ROUNDS);
    for trials in [1, 3] {
        running.await_trials(trials);
        cut(&running);
    }
    let ended = running.end();
    assert_whole(&machine.bed, &ended);
    ended.assert_says(&["ssh://board", "connection lost", "at most 120 s"]);
    ended.assert_says(&["ssh://board", "connected again"]);
    assert!(test_folders(&folder).is_empty());
    machine.assert_clean();
}

#[test]
fn a_run_whose_link_does_not_come_back_ends_there_too() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let mut running = qualify(&machine, "wait=10s", &folder, "500");
    running.await_trials(2);
    machine.shut();
    cut(&running);
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&[
        "assay: ssh://board",
        "no new connection within 10 s",
        "ssh ended",
    ]);
    let run = machine.bed.stored(ended.run_id().unwrap());
    assert_eq!(run["run"]["status"], "failed");
    assert!(run["trials"].as_array().unwrap().len() >= 2);
    until("the agent has cleaned up", || {
        test_folders(&folder).is_empty()
    });
    machine.assert_clean();
}

#[test]
fn who_insists_need_not_wait_for_a_link() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let mut running = qualify(&machine, "wait=10s", &folder, "500");
    running.await_trials(1);
    machine.shut();
    cut(&running);
    running.await_words("connection lost");
    running.signal(Signal::INT);
    // Closer together they would be one wish.
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::INT);
    running.end().assert_code(130);
    until("the agent has cleaned up", || {
        test_folders(&folder).is_empty()
    });
    machine.assert_clean();
}

#[test]
fn what_an_agent_had_set_is_put_back_when_nobody_comes() {
    let machine = Machine::with_honest_agent();
    let knob = Knob::new(&machine.bed);
    let folder = machine.bed.folder();
    let on = ["--on", "ssh://board", "--when-lost", "wait=10s"];
    let words = [
        "--only",
        "read-cached",
        "--size",
        "1M",
        "--quick",
        "--rounds",
        "500",
    ];
    let words = [
        &["sweep", text(&folder), "--vary", &knob.vary],
        &on[..],
        &words,
    ]
    .concat();
    let mut running = Running::start(&mut machine.command(&words));
    running.await_trials(2);
    running.kill(false);
    until("the agent has cleaned up", || {
        test_folders(&folder).is_empty()
    });
    machine.assert_clean();
    assert_eq!((knob.value().as_str(), journals(&machine.bed)), ("1", 0));
}

/// It would measure under the settings of the other, and beside its last trial.
#[test]
fn an_agent_that_lost_its_host_is_ended_by_the_next_run() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let mut running = qualify(&machine, "wait=1h", &folder, "500");
    running.await_trials(1);
    running.kill(false);
    assert_eq!(machine.agents(), 1);
    for when_lost in ["stop", "wait"] {
        let next = qualify(
            &machine,
            when_lost,
            &machine.bed.folder_named(when_lost),
            "1",
        );
        let next = next.end();
        next.assert_code(0);
        let ended = next.says(&["an agent there had lost its host; it was ended"]);
        assert_eq!(ended, when_lost == "stop", "{:#?}", next.err);
        assert!(test_folders(&folder).is_empty());
        machine.assert_clean();
    }
}

#[test]
fn an_agent_that_has_a_host_is_left_alone() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let mut running = qualify(&machine, "wait", &folder, "500");
    running.await_trials(1);
    let next = qualify(
        &machine,
        "wait",
        &machine.bed.folder_named("elsewhere"),
        "1",
    )
    .end();
    next.assert_code(0);
    assert!(!next.says(&["an agent there"]), "{:#?}", next.err);
    running.await_trials(4);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    assert!(test_folders(&folder).is_empty());
    machine.assert_clean();
}

#[test]
fn who_is_no_agent_to_go_back_to_is_told_so_in_one_line() {
    for (agent, expected) in [
        ("exit 0", "the agent there has ended"),
        ("yes", "a stream of another version"),
        ("cat /dev/zero", "a stream of another version"),
        (
            "while :; do printf 'S\\377\\377\\0\\0\\0\\0\\0\\0'; done",
            "a stream of another version",
        ),
        (
            "printf 'D\\377\\377\\377\\377\\377\\377\\377\\0'; sleep 1",
            "a stream of another version",
        ),
    ] {
        let machine = Machine::new(agent);
        let ended = qualify(&machine, "wait=10s", &machine.bed.folder(), "1").end();
        ended.assert_code(5);
        ended.assert_says(&["assay: ", expected]);
        assert!(!machine.bed.store().exists(), "{agent}");
        machine.assert_clean();
    }
}

/// Nobody tells either side: the cable is out, and in again.
#[test]
fn a_run_over_a_real_ssh_goes_on_when_the_cable_is_in_again() {
    let mut machine = Reached::new(or_skip!(Neighbour::new()));
    let folder = machine.bed.folder();
    let on = machine.neighbour.ssh();
    let mut running = machine.qualify(&on, "wait=60s", &folder, ROUNDS);
    running.await_trials(2);
    machine.neighbour.unplug();
    running.await_words("connection lost");
    machine.neighbour.plug();
    let ended = running.end();
    assert_whole(&machine.bed, &ended);
    ended.assert_says(&[&on, "connected again"]);
    machine.assert_clean(&folder);
}

#[test]
fn a_run_over_adb_goes_on_when_its_daemon_is_back() {
    let mut machine = Reached::new(or_skip!(Neighbour::new()));
    let folder = machine.bed.folder();
    let on = machine.neighbour.adb();
    let mut running = machine.qualify(&on, "wait", &folder, ROUNDS);
    running.await_trials(2);
    machine.neighbour.kill_adbd();
    machine.neighbour.start_adbd();
    let ended = running.end();
    assert_whole(&machine.bed, &ended);
    ended.assert_says(&[&on, "connected again"]);
    machine.assert_clean(&folder);
}
