//! The static agents that can be put onto other machines.

use crate::TargetError;
use std::env;
use std::path::{Path, PathBuf};

/// Names a folder with agents, before all others.
const VARIABLE: &str = "ASSAY_AGENTS";

/// Where agents are, from the folder of the program on: beside it in an archive,
/// in cargo's build folder, and where systems keep what programs need.
const FOLDERS: [&str; 3] = ["agents", "../agents", "../lib/assay/agents"];

/// What `uname -m` says, and the agent that runs there. What a machine says is
/// never made a part of a path.
const MACHINES: [(&str, &str); 12] = [
    ("x86_64", "assay-agent-x86_64"),
    ("amd64", "assay-agent-x86_64"),
    ("aarch64", "assay-agent-aarch64"),
    ("arm64", "assay-agent-aarch64"),
    // 32 bit programs on a processor of 64 bits.
    ("armv8l", "assay-agent-armv7l"),
    ("armv7l", "assay-agent-armv7l"),
    ("armv7", "assay-agent-armv7l"),
    ("riscv64", "assay-agent-riscv64"),
    ("i386", "assay-agent-i686"),
    ("i486", "assay-agent-i686"),
    ("i586", "assay-agent-i686"),
    ("i686", "assay-agent-i686"),
];

/// The agent for a machine, from the first of the folders that has it.
///
/// # Errors
/// [`TargetError::NoAgent`], with where it was looked for.
pub(crate) fn agent_for(
    target: &str,
    machine: &str,
    folders: &[PathBuf],
) -> Result<PathBuf, TargetError> {
    find(machine, folders).map_err(|why| TargetError::NoAgent {
        target: target.to_owned(),
        machine: machine.to_owned(),
        why,
    })
}

fn find(machine: &str, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let Some((_, name)) = MACHINES.iter().find(|(known, _)| *known == machine) else {
        return Err("none is made for such a machine".to_owned());
    };
    let mut candidates = folders.iter().map(|folder| folder.join(name));
    candidates.find(|path| path.is_file()).ok_or_else(|| {
        let folders: Vec<_> = folders.iter().map(|f| f.display().to_string()).collect();
        format!(
            "{name} is not in {}; put it there, or name its folder in {VARIABLE} \
             (cargo xtask agents builds it)",
            folders.join(", ")
        )
    })
}

/// Where agents are looked for, in this order.
pub(crate) fn folders() -> Vec<PathBuf> {
    let named = env::var_os(VARIABLE).map(PathBuf::from);
    let program = env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    let own = FOLDERS.iter().map(|folder| beside.join(folder));
    named.into_iter().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::fs;

    #[test]
    fn a_machine_gets_its_own_agent_from_the_first_folder_that_has_it() {
        let scratch = Scratch::new().unwrap();
        let folders = ["a", "b", "c"].map(|name| scratch.join(name));
        for folder in &folders[1..] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("assay-agent-i686"), "agent").unwrap();
        }
        let found = find("i586", &folders).unwrap();
        assert_eq!(found, folders[1].join("assay-agent-i686"));
        let why = find("riscv64", &folders).unwrap_err();
        assert!(why.contains("assay-agent-riscv64 is not in"), "{why}");
        assert!(why.contains(VARIABLE), "{why}");
    }

    #[test]
    fn what_a_machine_calls_itself_is_no_path() {
        for machine in ["../../etc/passwd", "", "x86_64\n", "s390x"] {
            assert!(find(machine, &[PathBuf::from("/")]).is_err(), "{machine}");
        }
    }
}
