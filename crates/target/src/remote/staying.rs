//! Agents that stay on a machine, and what killed links left there.

use super::{Program, Remote};
use crate::{AgentOrder, AgentState, AgentThere, TargetError, boot};
use std::path::PathBuf;

/// Tells of agents, and removes them: what stays is always removed, since a program
/// that runs needs no name; a folder of a push is only when no process runs from it and
/// none can be about to. `$1` is the word `remove`.
///
/// Folders of pushes have names that nobody else gives: 16 hexadecimal digits. A base may
/// be a link to another one, so they are looked at by their own paths; those of other users
/// are none of this one's.
const LISTING: &str = "\
    one() { set -- \"$1\" $(sha256sum <\"$1\" 2>/dev/null); echo assay-boot kept ${2:--} \"$1\"; }; \
    for base in \"${HOME:-/root}\" /data/local/tmp; do \
    kept=$base/.assay-agent; \
    for name in agent larger; do \
    [ -f \"$kept/$name\" ] || continue; \
    if [ \"$1\" = remove ] && rm -f \"$kept/$name\"; then echo assay-boot removed \"$kept/$name\"; continue; fi; \
    one \"$kept/$name\"; \
    done; \
    [ \"$1\" = remove ] && rm -rf \"$kept\"; \
    done; \
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

/// Carries an order out.
pub(crate) fn carry_out<P: Program>(
    remote: &Remote<P>,
    order: AgentOrder,
) -> Result<Vec<AgentThere>, TargetError> {
    let word = match order {
        AgentOrder::Push => return push(remote),
        AgentOrder::List => "list",
        AgentOrder::Remove => "remove",
    };
    let command = format!("exec sh -c '{LISTING}' sh {word}");
    let own = hashes(&remote.agents.folders);
    let lines = remote.talk(&command, |boot| boot.listing())?;
    let mut all: Vec<AgentThere> = Vec::new();
    for found in lines.iter().filter_map(|line| read(line, &own)) {
        // Folders may have several names.
        if !all.iter().any(|known| known.path == found.path) {
            all.push(found);
        }
    }
    Ok(all)
}

/// Puts both flavours there to stay; the small one alone where there is no larger one.
fn push<P: Program>(remote: &Remote<P>) -> Result<Vec<AgentThere>, TargetError> {
    let mut pushed: Vec<AgentThere> = Vec::new();
    for larger in [false, true] {
        let mut remote = remote.clone();
        remote.agents.larger = larger;
        match remote.talk(&boot::command(), |boot| boot.stay()) {
            // Where the small one is missing, the larger one stays in its place.
            Ok(agent) if pushed.iter().any(|known| known.path == agent.path) => {}
            Ok(agent) => pushed.push(agent),
            Err(TargetError::NoAgent { .. }) if larger => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pushed)
}

/// Returns the hashes of the agents that this program has.
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

/// `kept SUM PATH`, `left PATH`, `running PATH`, `removed PATH`.
fn read(line: &str, own: &[String]) -> Option<AgentThere> {
    let (word, rest) = line.split_once(' ')?;
    let (state, path) = match word {
        "kept" => {
            let (sum, path) = rest.split_once(' ')?;
            let is_own = own.iter().any(|own| own == sum);
            let state = if is_own {
                AgentState::Kept
            } else {
                AgentState::Other
            };
            (state, path)
        }
        "left" => (AgentState::Left, rest),
        "running" => (AgentState::Running, rest),
        "removed" => (AgentState::Removed, rest),
        _ => return None,
    };
    Some(AgentThere {
        path: path.to_owned(),
        state,
    })
}
