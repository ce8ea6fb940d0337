//! Over the system's adb, to Debian's adbd in a network of its own.

use crate::assay::{Bed, Ended, Running, test_folders, text, until};
use assay_testkit::{Neighbour, or_skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A neighbour with an agent: this program.
pub struct Machine {
    pub bed: Bed,
    pub neighbour: Neighbour,
    agents: PathBuf,
}

impl Machine {
    pub fn new(neighbour: Neighbour) -> Self {
        let bed = Bed::new();
        let agents = bed.folder_named("agents");
        let machine = rustix::system::uname();
        let machine = machine.machine().to_string_lossy();
        let program = env!("CARGO_BIN_EXE_assay");
        let script = format!("#!/bin/sh\nexec '{program}' --serve-as-assay-agent \"$@\"\n");
        for flavour in ["", "-sqlite"] {
            let agent = agents.join(format!("assay-agent-{machine}{flavour}"));
            assay_testkit::write_program(&agent, &script).expect("a program");
        }
        Self {
            bed,
            neighbour,
            agents,
        }
    }

    pub fn start(&self, words: &[&str]) -> Running {
        let mut command: Command = self.bed.command(words);
        command.env("ASSAY_AGENTS", &self.agents);
        Running::start(&mut self.neighbour.near(&command))
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        self.start(words).end()
    }

    /// A run of so many short trials.
    pub fn qualify(&self, on: &str, when_lost: &str, folder: &Path, trials: &str) -> Running {
        let on = ["--on", on, "--when-lost", when_lost, "--trials", trials];
        let words = ["qualify", text(folder), "--quick", "--size", "1M"];
        self.start(&[&words[..], &["--only", "read-cached"], &on].concat())
    }

    /// Nothing is left in a folder that was measured, nor where agents are put.
    pub fn assert_clean(&self, folder: &Path) {
        let memory = self.neighbour.memory();
        until("the neighbour is clean", || {
            test_folders(folder).is_empty()
                && fs::read_dir(&memory).expect("a folder").next().is_none()
        });
    }
}

#[test]
fn a_device_is_qualified_over_adb() {
    let machine = Machine::new(or_skip!(Neighbour::new()));
    let folder = machine.bed.folder();
    let on = machine.neighbour.adb();
    // The only device is found by itself, and called by its name.
    for named in [on.as_str(), "adb:"] {
        let words = ["--size", "4M", "--trials", "1", "--json"];
        let words = [
            &["qualify", text(&folder), "--on", named, "--quick"],
            &words[..],
        ]
        .concat();
        let ended = machine.run(&words);
        ended.assert_code(0);
        let run = ended.json();
        assert_eq!(run["run"]["status"], "finished");
        assert_eq!(run["run"]["target"], on.as_str());
        machine.assert_clean(&folder);
    }
}

#[test]
fn a_cable_that_is_pulled_out_of_a_device_keeps_what_ended_and_leaves_nothing_there() {
    let mut machine = Machine::new(or_skip!(Neighbour::new()));
    let folder = machine.bed.folder();
    let on = machine.neighbour.adb();
    let mut running = machine.qualify(&on, "stop", &folder, "500");
    running.await_trials(2);
    machine.neighbour.kill_adbd();
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", &on]);
    let run = machine.bed.stored(ended.run_id().unwrap());
    assert_eq!(run["run"]["status"], "failed");
    assert!(run["trials"].as_array().unwrap().len() >= 2);
    machine.assert_clean(&folder);

    machine.neighbour.start_adbd();
    let mut running = machine.qualify(&on, "stop", &folder, "500");
    running.await_trials(1);
    running.kill(false);
    machine.assert_clean(&folder);
}

#[test]
fn a_device_that_is_not_there_is_lost_with_one_line() {
    let machine = Machine::new(or_skip!(Neighbour::new()));
    for (on, code, expected) in [
        ("adb:0123", 5, "adb devices lists"),
        ("adb:a;b", 2, "that is not a serial"),
        ("adb:-a", 2, "that is not a serial"),
    ] {
        let ended = machine.run(&["qualify", "/", "--on", on]);
        ended.assert_code(code);
        assert_eq!(ended.err.len(), 1, "{:#?}", ended.err);
        ended.assert_says(&["assay: ", expected]);
    }
    assert!(!machine.bed.store().exists());
}
