//! `cargo xtask test`: everything that can be tested here, in one command.

use crate::agents;
use crate::board;
use crate::labgrid;
use crate::prerequisites;
use crate::python;
use crate::run::{cargo, replace_by};
use crate::servers;
use anyhow::Result;

/// Provides what the tests need and becomes `cargo test`, so that its closing
/// lines come last and its exit code is the command's. `rest` goes to cargo:
/// packages, names of tests, and after `--` options of the test programs.
pub fn run(rest: &[&str]) -> Result<()> {
    prerequisites::provide();
    python::provide();
    let mut command = cargo();
    command.arg("test");
    if !names_a_package(rest) {
        board::provide();
        servers::provide();
        labgrid::provide();
        provide_agents();
        command.arg("--workspace");
    }
    replace_by(command.args(rest))
}

/// Agents that tests run on this machine, beside the board's.
const AGENTS: [&str; 8] = [
    "x86_64",
    "x86_64-sqlite",
    "armv7l",
    "armv7l-sqlite",
    "riscv64",
    "riscv64-sqlite",
    "i686",
    "i686-sqlite",
];

/// Builds them. Without one, the tests that need it are skipped.
fn provide_agents() {
    if let Err(error) = agents::provide(&AGENTS) {
        eprintln!("xtask: {error:#}\nxtask: tests of agents that are missing are skipped");
    }
}

/// `--workspace` would make cargo ignore it.
fn names_a_package(rest: &[&str]) -> bool {
    rest.iter()
        .take_while(|word| **word != "--")
        .any(|word| word.starts_with("-p") || word.starts_with("--package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_only_before_the_test_programs_own_options() {
        assert!(names_a_package(&["-p", "assay-store"]));
        assert!(names_a_package(&["--package=assay-store", "kill"]));
        assert!(!names_a_package(&["--release", "--", "-p"]));
        assert!(!names_a_package(&[]));
    }
}
