//! Agents that stay on a machine, and folders that broken links left there.

use super::{Program, Remote};
use crate::installed::{self, Installed};
use crate::{AgentOrder, AgentState, AgentThere, TargetError, boot};
use assay_model::wire::Feature;
use std::path::PathBuf;

/// Script that lists agents, and removes them if `$1` is the word `remove`. Installed agents
/// are always removed, since a running program does not need its file. A folder of a
/// transferred agent is removed only if no process runs from it and none can be about to.
///
/// Folders of transferred agents have names that other programs do not use, with 16
/// hexadecimal digits. A base folder may be a link to another one, so they are listed by
/// their physical paths. Folders of other users are ignored.
const LISTING: &str = "\
    gone() { \
    case $1 in */.assay-agent/*) if [ -f \"$1\" ] && rm -f \"$1\"; then echo assay-boot removed \"$1\"; fi;; esac; \
    }; \
    if [ \"$1\" = remove ]; then \
    installed gone; rm -rf \"${HOME:-/root}/.assay-agent\" /data/local/tmp/.assay-agent; \
    fi; \
    installed about; \
    h=[0-9a-f]; h=$h$h$h$h; \
    for base in \"${TMPDIR:-/dev/shm}\" /dev/shm /tmp /var/tmp \"${HOME:-/root}\" /data/local/tmp; do \
    for dir in \"$base\"/assay-agent-$h$h$h$h; do \
    dir=$(cd \"$dir\" 2>/dev/null && pwd -P) || continue; \
    [ -O \"$dir\" ] || continue; \
    state=left; \
    for exe in /proc/[0-9]*/exe; do \
    [ \"$(readlink \"$exe\" 2>/dev/null)\" = \"$dir/agent\" ] && state=running; \
    done; \
    [ -x \"$dir/agent\" ] || [ -n \"$(find \"$dir\" -prune -mmin +10 2>/dev/null)\" ] || state=running; \
    if [ $state = left ] && [ \"$1\" = remove ] && rm -rf \"$dir\"; then state=removed; fi; \
    echo assay-boot $state \"$dir\"; \
    done; done; \
    echo assay-boot end";

/// Executes an order.
pub(crate) fn carry_out<P: Program>(
    remote: &Remote<P>,
    order: AgentOrder,
) -> Result<Vec<AgentThere>, TargetError> {
    let word = match order {
        AgentOrder::Push => return push(remote),
        AgentOrder::List => "list",
        AgentOrder::Remove => "remove",
    };
    let functions = installed::FUNCTIONS;
    let command = format!("exec sh -c '{functions}{LISTING}' sh {word}");
    let own = hashes(&remote.agents.folders);
    let lines = remote.talk(&command, |boot| boot.listing())?;
    let mut all: Vec<AgentThere> = Vec::new();
    for found in lines.iter().filter_map(|line| read(line, &own)) {
        // A folder may be found under several names.
        if !all.iter().any(|known| known.path == found.path) {
            all.push(found);
        }
    }
    Ok(all)
}

/// Installs the small and the larger agent; only the small one if there is no larger one.
fn push<P: Program>(remote: &Remote<P>) -> Result<Vec<AgentThere>, TargetError> {
    let mut pushed: Vec<AgentThere> = Vec::new();
    for needs in [None, Some(Feature::Sqlite)] {
        let mut remote = remote.clone();
        remote.agents.needs = needs;
        match remote.talk(&boot::command(), |boot| boot.stay()) {
            // If the small agent is missing, the larger one is installed in its place.
            Ok((path, _)) if pushed.iter().any(|known| known.path == path) => {}
            Ok((path, is_new)) => pushed.push(AgentThere {
                path,
                state: match is_new {
                    true => AgentState::Pushed,
                    false => AgentState::Kept,
                },
                greeting: None,
            }),
            Err(TargetError::NoAgent { .. }) if needs.is_some() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pushed)
}

/// Returns the hashes of this program's agents.
fn hashes(folders: &[PathBuf]) -> Vec<String> {
    let folders = folders.iter().filter_map(|folder| folder.read_dir().ok());
    let files = folders
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let agents = files.filter(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("assay-agent-")
    });
    agents
        .filter_map(|path| Some(boot::hash(&std::fs::read(path).ok()?)))
        .collect()
}

/// Parses a line of the listing: one about an installed agent, or `left PATH`, `running
/// PATH`, `removed PATH`.
fn read(line: &str, own: &[String]) -> Option<AgentThere> {
    if let Some(agent) = Installed::read(line) {
        let state = match (own.contains(&agent.hash), agent.trusted) {
            (true, _) => AgentState::Kept,
            (false, true) => AgentState::Other,
            (false, false) => AgentState::Foreign,
        };
        return Some(AgentThere {
            path: agent.path,
            state,
            greeting: agent.greeting,
        });
    }
    let (word, path) = line.split_once(' ')?;
    let state = match word {
        "left" => AgentState::Left,
        "running" => AgentState::Running,
        "removed" => AgentState::Removed,
        _ => return None,
    };
    Some(AgentThere {
        path: path.to_owned(),
        state,
        greeting: None,
    })
}
