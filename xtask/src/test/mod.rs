//! `cargo xtask test`: all tests that this machine can run, in one command.

mod programs;
mod stage;
mod tally;

use crate::{agents, board, labgrid, measure, prerequisites, python, servers};
use anyhow::{Result, bail};
use stage::{StageFailure, Stages, TestStage};

/// Stages in order. A failed stage does not prevent the others.
const STAGES: [TestStage; 11] = [
    TestStage {
        name: "programs",
        stages: Stages::All,
        failure: StageFailure::Skips("tests that need these programs"),
        run: |_| prerequisites::provide(),
    },
    TestStage {
        name: "Python packages",
        stages: Stages::All,
        failure: StageFailure::Skips("tests that need Python packages"),
        run: |_| python::provide(),
    },
    TestStage {
        name: "emulated board",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests on an emulated board"),
        run: |_| board::prepare(),
    },
    TestStage {
        name: "servers of adb and ssh",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests over adb and real links of ssh"),
        run: |_| servers::prepare(),
    },
    TestStage {
        name: "labgrid",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests with a lab of boards"),
        run: |_| labgrid::prepare(),
    },
    TestStage {
        name: "agents",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests of agents that are missing"),
        run: |asked| agents::provide(&agents::of_tests(asked.full)),
    },
    TestStage {
        name: "tests",
        stages: Stages::All,
        failure: StageFailure::Fails,
        run: programs::run,
    },
    TestStage {
        name: "labels against the kernel",
        stages: Stages::Workspace,
        failure: StageFailure::Fails,
        run: |_| measure(&["truth", "--subset"]),
    },
    TestStage {
        name: "calibration of verdicts",
        stages: Stages::Full,
        failure: StageFailure::Fails,
        run: |_| measure(&["calibrate"]),
    },
    TestStage {
        name: "calibration of traits",
        stages: Stages::Full,
        failure: StageFailure::Fails,
        run: |_| measure(&["calibrate", "--traits"]),
    },
    TestStage {
        name: "calibration of change points",
        stages: Stages::Full,
        failure: StageFailure::Fails,
        run: |_| measure(&["calibrate", "--changes"]),
    },
];

/// Command-line arguments.
#[derive(Debug, PartialEq, Eq)]
struct TestArgs<'a> {
    /// Set to include agents of all machines, long simulations and calibrations.
    full: bool,
    /// Arguments for cargo: packages, names of tests, and after `--` options of the test
    /// programs.
    words: Vec<&'a str>,
}

impl<'a> TestArgs<'a> {
    fn read(words: &[&'a str]) -> Self {
        let (ours, theirs): (Vec<&str>, Vec<&str>) =
            words.iter().partition(|word| **word == "--full");
        Self {
            full: !ours.is_empty(),
            words: theirs,
        }
    }

    /// Returns true if a package is named: `--workspace` would make cargo ignore it.
    fn names_a_package(&self) -> bool {
        let words = self.words.iter().take_while(|word| **word != "--");
        let mut words = words.copied();
        words.any(|word| word.starts_with("-p") || word.starts_with("--package"))
    }

    /// Returns true if packages or tests are named, or options of the test programs given.
    fn names_tests(&self) -> bool {
        let is_option = |word: &&str| word.starts_with('-') && *word != "--";
        self.names_a_package() || !self.words.iter().all(is_option)
    }

    fn has(&self, stages: Stages) -> bool {
        match stages {
            Stages::All => true,
            Stages::Workspace => !self.names_a_package(),
            Stages::Full => self.full && !self.names_a_package(),
        }
    }
}

/// Runs the requested stages and prints a line with the time of each. The error names those
/// that failed.
pub fn run(words: &[&str]) -> Result<()> {
    let asked = TestArgs::read(words);
    let mut report = stage::Report::default();
    for stage in STAGES.iter().filter(|stage| asked.has(stage.stages)) {
        report.run(stage, &asked);
    }
    println!("{report}");
    if let Some(closing) = programs::closing() {
        println!("{closing}");
    }
    match report.failed() {
        [] => Ok(()),
        failed => bail!("failed: {}", failed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_only_before_the_test_programs_own_options() {
        let names = |words: &[&str]| TestArgs::read(words).names_a_package();
        assert!(names(&["-p", "assay-store"]));
        assert!(names(&["--package=assay-store", "kill"]));
        assert!(!names(&["--release", "--", "-p"]));
        assert!(!names(&[]));
    }

    #[test]
    fn only_the_whole_is_run_in_two_processes() {
        let names = |words: &[&str]| TestArgs::read(words).names_tests();
        assert!(!names(&["--locked", "--release"]) && !names(&[]));
        assert!(names(&["kill"]) && names(&["--", "--ignored"]) && names(&["-p", "xtask"]));
    }

    #[test]
    fn full_is_no_word_for_cargo_and_adds_stages() {
        let asked = TestArgs::read(&["--full", "--locked"]);
        assert_eq!(
            (asked.full, asked.words.as_slice()),
            (true, &["--locked"][..])
        );
        assert!(asked.has(Stages::Full));
        assert!(!TestArgs::read(&["--locked"]).has(Stages::Full));
        let package = TestArgs::read(&["--full", "-p", "xtask"]);
        assert!(package.has(Stages::All) && !package.has(Stages::Full));
    }
}
