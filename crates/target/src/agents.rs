//! Static agent programs for other machines.

use crate::TargetError;
use assay_model::wire::Feature;
use std::env;
use std::path::{Path, PathBuf};

/// Environment variable for a folder with agents, which is searched first.
const VARIABLE: &str = "ASSAY_AGENTS";

/// Folders of agents, relative to the folder of the program: beside it in an archive, in cargo's
/// build folder, and where systems keep files that programs need.
const FOLDERS: [&str; 3] = ["agents", "../agents", "../lib/assay/agents"];

/// Outputs of `uname -m`, each with the agent for it. The output of a machine never becomes part of
/// a path.
const MACHINES: [(&str, &str); 12] = [
    ("x86_64", "assay-agent-x86_64"),
    ("amd64", "assay-agent-x86_64"),
    ("aarch64", "assay-agent-aarch64"),
    ("arm64", "assay-agent-aarch64"),
    // 32-bit user space on a 64-bit processor.
    ("armv8l", "assay-agent-armv7l"),
    ("armv7l", "assay-agent-armv7l"),
    ("armv7", "assay-agent-armv7l"),
    ("riscv64", "assay-agent-riscv64"),
    ("i386", "assay-agent-i686"),
    ("i486", "assay-agent-i686"),
    ("i586", "assay-agent-i686"),
    ("i686", "assay-agent-i686"),
];

/// Suffix in the name of an agent that has `SQLite`.
const SQLITE: &str = "-sqlite";

/// Agent programs of this installation, and the criteria to select one.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    /// Folders to search, in this order.
    pub(crate) folders: Vec<PathBuf>,
    /// Feature that the agent must have and the small agent lacks.
    pub(crate) needs: Option<Feature>,
    /// Folder name of the copied installed agent that did not work. That copy is killed, and only
    /// agents of this program are used from then on.
    pub(crate) given_up: Option<String>,
}

/// Returns the folder that the user set in the environment.
fn named() -> Option<PathBuf> {
    let named = env::var_os(VARIABLE).filter(|named| !named.is_empty());
    named.map(PathBuf::from)
}

/// Checks that the folder of agents that the user names can be read.
///
/// # Errors
/// [`TargetError::NoFolder`] if it cannot.
pub fn check_agents() -> Result<(), TargetError> {
    let Some(folder) = named() else {
        return Ok(());
    };
    folder.read_dir().map(drop).map_err(|source| {
        let variable = VARIABLE;
        TargetError::NoFolder {
            variable,
            folder,
            source,
        }
    })
}

/// Finds the agent for a machine in the first folder that has it.
///
/// # Errors
/// [`TargetError::NoAgent`], with the searched folders.
pub(crate) fn agent_for(
    target: &str,
    machine: &str,
    agents: &Agents,
) -> Result<PathBuf, TargetError> {
    find(machine, agents).map_err(|why| TargetError::NoAgent {
        target: target.to_owned(),
        machine: machine.to_owned(),
        why,
    })
}

fn find(machine: &str, agents: &Agents) -> Result<PathBuf, String> {
    let Some((_, small)) = MACHINES.iter().find(|(known, _)| *known == machine) else {
        return Err("assay is not built for this architecture".to_owned());
    };
    let large = format!("{small}{SQLITE}");
    let names: &[&str] = match agents.needs {
        Some(_) => &[&large],
        None => &[small, &large],
    };
    let places = |name| agents.folders.iter().map(move |folder| folder.join(name));
    let mut candidates = names.iter().flat_map(places);
    candidates.find(|path| path.is_file()).ok_or_else(|| {
        let folders = agents.folders.iter().map(|f| f.display().to_string());
        format!(
            "{} is not in {}; put it there, or name its folder in {VARIABLE} \
             (cargo xtask agents builds it)",
            names[0],
            folders.collect::<Vec<_>>().join(", ")
        )
    })
}

impl Agents {
    /// Returns the small agents of this installation.
    pub(crate) fn installed() -> Self {
        let program = env::current_exe().unwrap_or_default();
        let beside = program.parent().unwrap_or(Path::new("."));
        let own = FOLDERS.iter().map(|folder| beside.join(folder));
        Self {
            folders: named().into_iter().chain(own).collect(),
            needs: None,
            given_up: None,
        }
    }
}

/// Agents of one machine type that are installed with this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledAgent {
    /// Machine type, as `uname -m` prints it.
    pub machine: &'static str,
    /// File of the small agent.
    pub small: Option<PathBuf>,
    /// File of the agent that supports all works.
    pub larger: Option<PathBuf>,
}

/// Returns the agents of this installation; the list includes machine types without an agent.
pub fn installed_agents() -> Vec<InstalledAgent> {
    let folders = Agents::installed().folders;
    let find = |name: String| {
        let mut files = folders.iter().map(|folder| folder.join(&name));
        files.find(|file| file.is_file())
    };
    let own_names = MACHINES
        .iter()
        .filter(|(machine, name)| name.ends_with(machine));
    let agents = own_names.map(|(machine, name)| InstalledAgent {
        machine,
        small: find((*name).to_owned()),
        larger: find(format!("{name}{SQLITE}")),
    });
    agents.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::fs;

    fn agents_in(folders: &[PathBuf]) -> Agents {
        Agents {
            folders: folders.to_vec(),
            needs: None,
            given_up: None,
        }
    }

    #[test]
    fn a_machine_gets_its_own_agent_from_the_first_folder_that_has_it() {
        let scratch = Scratch::new().unwrap();
        let agents = agents_in(&["a", "b", "c"].map(|name| scratch.join(name)));
        for folder in &agents.folders[1..] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("assay-agent-i686"), "agent").unwrap();
        }
        let found = find("i586", &agents).unwrap();
        assert_eq!(found, scratch.join("b/assay-agent-i686"));
        let why = find("riscv64", &agents).unwrap_err();
        assert!(why.contains("assay-agent-riscv64 is not in"), "{why}");
        assert!(why.contains(VARIABLE), "{why}");
    }

    #[test]
    fn what_the_small_agent_leaves_out_gets_the_larger_one() {
        let scratch = Scratch::new().unwrap();
        let small = agents_in(&[scratch.path().to_owned()]);
        let large = Agents {
            needs: Some(Feature::Loads),
            ..small.clone()
        };
        fs::write(scratch.join("assay-agent-armv7l"), "").unwrap();
        let why = find("armv7l", &large).unwrap_err();
        assert!(why.contains("assay-agent-armv7l-sqlite is not in"), "{why}");
        let full = scratch.join("assay-agent-armv7l-sqlite");
        fs::write(&full, "").unwrap();
        assert_eq!(find("armv7l", &large), Ok(full.clone()));
        let without = scratch.join("assay-agent-armv7l");
        assert_eq!(find("armv7l", &small), Ok(without.clone()));
        fs::remove_file(without).unwrap();
        assert_eq!(find("armv7l", &small), Ok(full));
    }

    #[test]
    fn what_a_machine_calls_itself_is_no_path() {
        for machine in ["../../etc/passwd", "", "x86_64\n", "s390x"] {
            let agents = agents_in(&[PathBuf::from("/")]);
            assert!(find(machine, &agents).is_err(), "{machine}");
        }
    }
}
