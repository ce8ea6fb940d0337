//! Static agent programs for other machines.
//!
//! An installed agent does not block a machine: if it fails before both sides agree on a protocol
//! and settings are undone, it is given up, and the next shell ends it and receives this program's
//! own agent.

use crate::TargetError;
use assay_model::wire::{Feature, Greeting};
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

/// Shell functions for the machine. `installed COMMAND` calls a command with the path of each agent that may
/// be installed, and `about PATH` prints a line about an installed one, see [`Installed::read`].
///
/// An agent prints its version only when it is started. Therefore only an agent that no one but root and this
/// user can replace is started: neither the file nor any folder above it may belong to others or be writable
/// for them. In a sticky folder of root, such as /tmp, others cannot replace it either.
pub(crate) const FUNCTIONS: &str = "\
    uid=$(id -u); \
    safe() { \
    p=$1; \
    while :; do \
    set -- $(ls -ldn \"$p\" 2>/dev/null); \
    case $1 in d????????[tT]*) [ \"$3\" = 0 ] || return 1;; \"\" | ?????w* | ????????w*) return 1;; esac; \
    [ \"$3\" = 0 ] || [ \"$3\" = \"$uid\" ] || return 1; \
    [ \"$p\" = / ] && return 0; \
    p=${p%/*}; p=${p:-/}; \
    done; \
    }; \
    installed() { \
    for base in \"${HOME:-/root}\" /data/local/tmp; do \
    \"$1\" \"$base/.assay-agent/agent\"; \"$1\" \"$base/.assay-agent/larger\"; \
    done; \
    \"$1\" /usr/libexec/assay/assay-agent; \
    \"$1\" \"$(command -v assay-agent || echo /usr/bin/assay-agent)\"; \
    }; \
    about() { \
    at=$(readlink -f \"$1\" 2>/dev/null); \
    [ -f \"$at\" ] && [ -x \"$at\" ] || return 0; \
    set -- $(sha256sum <\"$at\" 2>/dev/null); \
    limit=; command -v timeout >/dev/null && limit=\"timeout 5\"; \
    if safe \"$at\"; \
    then echo assay-boot stays ${1:--} \"$at|$($limit \"$at\" --version </dev/null 2>/dev/null | { read -r said; echo \"$said\"; })\"; \
    else echo assay-boot foreign ${1:--} \"$at\"; \
    fi; \
    }; ";

/// An agent that is installed on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    /// SHA-256, or `-` if the machine has no sha256sum.
    pub(crate) hash: String,
    pub(crate) path: String,
    /// Only root and the remote user can replace it.
    pub(crate) trusted: bool,
    /// Greeting that the agent prints; agents older than protocol 1 print none.
    pub(crate) greeting: Option<Greeting>,
}

impl Installed {
    /// Parses `stays SUM PATH|GREETING`, or `foreign SUM PATH` for an agent that others can replace.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        let (hash, rest) = rest.split_once(' ')?;
        let (path, said) = match word {
            "stays" => rest.split_once('|')?,
            "foreign" => (rest, ""),
            _ => return None,
        };
        Some(Self {
            hash: hash.to_owned(),
            path: path.to_owned(),
            trusted: word == "stays",
            greeting: said.parse().ok(),
        })
    }

    /// Returns `true` if the agent has the feature that a command needs.
    fn is_able(&self, needs: Option<Feature>) -> bool {
        let greeting = self.greeting.as_ref();
        greeting.is_some_and(|greeting| {
            let speaks = greeting.common(&Greeting::of_host()).is_some();
            speaks && needs.is_none_or(|feature| greeting.has(feature))
        })
    }

    /// Returns `true` if the agent reports the build of this program.
    fn is_of_this_build(&self) -> bool {
        let greeting = self.greeting.as_ref();
        greeting.is_some_and(|greeting| greeting.build == Greeting::of_host().build)
    }
}

/// Chooses the agent to use, in this order: the agent with the hash `own` of this program's agent; an agent
/// of another build with the needed feature, which is noted in the record of the run. An agent that reports
/// this build but has another hash is modified, so this program's agent is sent instead. If this program has
/// no agent for the machine, any trusted agent is used: its greeting reports missing features.
pub(crate) fn choose<'i>(
    installed: &'i [Installed],
    own: Option<&str>,
    needs: Option<Feature>,
) -> Option<&'i Installed> {
    let first = |fits: &dyn Fn(&Installed) -> bool| installed.iter().find(|agent| fits(agent));
    first(&|agent| own == Some(&agent.hash))
        .or_else(|| first(&|agent| agent.is_able(needs) && !agent.is_of_this_build()))
        .or_else(|| first(&|agent| own.is_none() && agent.is_able(needs)))
        .or_else(|| first(&|agent| own.is_none() && agent.trusted))
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

    fn read(line: &str) -> Installed {
        Installed::read(line).unwrap()
    }

    #[test]
    fn the_own_agent_comes_first_then_an_able_one_then_any() {
        let here = Greeting::with([Feature::Works]);
        let later = format!("{here}").replacen(&here.build, "9.0.0", 1);
        let silent = read("stays 1 /old|");
        let able = read(&format!("stays 2 /able|{later}"));
        let altered = read(&format!("stays 4 /altered|{here}"));
        let foreign = read("foreign 3 /a b|c");
        assert_eq!(foreign.path, "/a b|c");
        let all = [silent.clone(), foreign.clone(), able.clone()];
        let works = Some(Feature::Works);
        for (own, needs, expected) in [
            (Some("3"), works, Some(&foreign)),
            (Some("9"), works, Some(&able)),
            (Some("9"), Some(Feature::Loads), None),
            (None, works, Some(&able)),
            (None, Some(Feature::Loads), Some(&silent)),
        ] {
            assert_eq!(choose(&all, own, needs), expected, "{own:?} {needs:?}");
        }
        let altered = [altered];
        assert_eq!(choose(&altered, Some("9"), works), None);
        assert_eq!(choose(&altered, None, works), Some(&altered[0]));
        assert_eq!(
            choose(&[foreign], None, None),
            None,
            "others can replace it"
        );
        for line in ["", "stays 1", "stays 1 /a", "left /a"] {
            assert_eq!(Installed::read(line), None, "{line}");
        }
    }
}
