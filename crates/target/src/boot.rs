//! Transfer of the agent to a machine, and its removal: a dialogue, line by line, with a shell
//! on that machine.
//!
//! ```text
//!  host                             shell
//!                               <-  assay-boot 3 MACHINE
//!                               <-  assay-boot stays SHA256 PATH|GREETING, for each that is installed
//!                               <-  assay-boot which
//!  NAME SIZE, or NAME use PATH  ->  makes a private folder of that name, where
//!                                   programs may run
//!                               <-  assay-boot made
//!  SIZE bytes, unless PATH      ->
//!                               <-  assay-boot got SIZE SHA256
//!  run ROLE SECONDS             ->  becomes the agent's, until that ends; then the
//!                                   folder is removed
//! ```
//!
//! An agent that is kept (`keep` in the place of `serve`) outlives this shell, which then is only a
//! relay to it and leaves the folder to the agent unless the agent has ended. A later shell is started
//! with the argument `again`, skips the installed agents, and finds the folder:
//!
//! ```text
//!                               <-  assay-boot 3 MACHINE
//!                               <-  assay-boot which
//!  NAME                         ->  looks for the folder of that name
//!                               <-  assay-boot there, or: gone
//! ```
//!
//! An installed agent is copied into the folder, and the copy is run. After `stay NAME` in the place
//! of `run` the agent is installed under that name: `assay-boot at PATH`.
//!
//! After `NAME SIZE OTHER` the shell first kills processes that run from the folder named OTHER, and
//! removes that folder: otherwise an installed agent that hangs would remain forever.
//!
//! Each side waits for a request before it sends: a tool on the machine may read more input than its
//! share.

use crate::agents::{Agents, Installed, agent_for, choose};
use crate::{AgentSession, GivenUpAgent, TargetError, Watchdog, agents};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{Read, Write};
use std::time::Duration;

/// Prefix of every line of the shell.
const MARK: &str = "assay-boot ";
/// Version of the dialogue.
const HELLO: &str = "3 ";
/// Bytes that login scripts may print before the dialogue, at most.
const MOST_CHATTER: usize = 64 << 10;
/// Bytes of the agent that are sent at once. The link must accept each chunk within the time limit for
/// silence.
const CHUNK: usize = 16 << 10;
/// Slowest supported link, in bytes per second. It gives the time for data that is still in buffers
/// after the last chunk was written.
const SLOWEST_BYTES_PER_S: u64 = 10 << 10;
/// Bytes of a line of the dialogue, at most; a line may contain a path.
const LONGEST_LINE: usize = 8 << 10;
/// Lines about installed agents, at most.
const MOST_INSTALLED: usize = 32;

/// Script that the shell on the machine runs. It has no single quote and is one line, so that every
/// login shell takes it unchanged in single quotes.
///
/// Folders in memory come first: this script must not write to the storage under test. An empty
/// program shows if programs may run in a folder. The shell outlives a broken link, and so does its
/// cleanup. It leaves the folder to an agent that continues: the agent or its relay then exits with
/// status 3, or was killed by a signal.
const SCRIPT: &str = "\
    umask 077; \
    echo assay-boot 3 $(uname -m); \
    [ \"$1\" = again ] || installed about; \
    echo assay-boot which; \
    read -r name what at || exit 1; \
    dir=; \
    find() { \
    for base in \"${TMPDIR:-/dev/shm}\" /dev/shm /tmp /var/tmp \"${HOME:-/root}\" /data/local/tmp; do \
    if \"$1\" \"$base/$2\"; then dir=$base/$2; return 0; fi; \
    done; \
    return 1; \
    }; \
    drop() { [ -O \"$1\" ] && rm -rf \"$1\"; }; \
    end() { \
    for process in /proc/[0-9]*; do \
    words=; read -r words <\"$process/cmdline\"; \
    case $words in *\"$1\"*) kill -9 \"${process#/proc/}\";; esac; \
    done 2>/dev/null; \
    find drop \"$1\"; dir=; \
    }; \
    make() { \
    mkdir \"$1\" 2>/dev/null || return 1; \
    : >\"$1/try\"; chmod 700 \"$1/try\"; \
    \"$1/try\" 2>/dev/null && return 0; \
    rm -rf \"$1\"; return 1; \
    }; \
    here() { [ -O \"$1\" ] && [ -x \"$1/agent\" ]; }; \
    stay() { \
    for base in \"${HOME:-/root}\" /data/local/tmp; do \
    at=$base/.assay-agent; \
    mkdir \"$at\" 2>/dev/null; \
    chmod 700 \"$at\" 2>/dev/null || continue; \
    true >\"$at/try\" && chmod 700 \"$at/try\" && \"$at/try\" 2>/dev/null && \
    cp \"$dir/agent\" \"$at/new\" && chmod 700 \"$at/new\" && mv -f \"$at/new\" \"$at/$role\" && \
    rm -f \"$at/try\" && echo assay-boot at \"$at/$role\" && return 0; \
    rm -rf \"$at\"; \
    done; \
    return 1; \
    }; \
    leave() { cd /; [ -z \"$dir\" ] || rm -rf \"$dir\"; }; \
    trap leave EXIT; \
    trap : HUP INT TERM PIPE; \
    if [ \"$1\" = again ]; then \
    role=relay; seconds=0; \
    find here \"$name\" || { echo assay-boot gone; exit 1; }; \
    echo assay-boot there; \
    else \
    [ \"$what\" = use ] || [ -z \"$at\" ] || end \"$at\"; \
    find make \"$name\" || { echo assay-boot nowhere; exit 1; }; \
    echo assay-boot made; \
    if [ \"$what\" = use ]; \
    then cp \"$at\" \"$dir/agent\" 2>/dev/null; \
    else head -c \"$what\" >\"$dir/agent\"; \
    fi; \
    set -- $(sha256sum <\"$dir/agent\" 2>/dev/null); \
    echo assay-boot got $(wc -c <\"$dir/agent\" 2>/dev/null) $1; \
    read -r word role seconds; \
    chmod 700 \"$dir/agent\"; \
    [ \"$word\" = stay ] && { stay || echo assay-boot nowhere; }; \
    [ \"$word\" = run ] || exit 1; \
    fi; \
    \"$dir/agent\" \"$role\" \"$dir\" \"$seconds\"; \
    case $role$? in serve*) ;; keep3 | relay3 | *129 | *130 | *137 | *143) dir=;; esac";

/// Returns the command for the program that reaches the machine.
pub(crate) fn command() -> String {
    let functions = agents::FUNCTIONS;
    format!("exec sh -c '{functions}{SCRIPT}'")
}

/// Returns the command that reconnects to an agent that is kept.
pub(crate) fn command_again() -> String {
    command() + " sh again"
}

/// Reason why no agent runs.
pub(crate) enum Fault {
    /// The shell printed nothing.
    NotReached,
    /// This program has no agent for the machine, or the connecting program could not be started.
    NoAgent(TargetError),
    /// The kept agent is no longer there.
    Gone,
    /// Another failure, with its description.
    Failed(String),
}

/// Mode in which the agent runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The agent ends with the link.
    Serve,
    /// The agent outlives the link for this time.
    Keep(Duration),
}

/// An agent that was started.
#[derive(Clone, Debug)]
pub(crate) struct StartedAgent {
    /// Name of the agent's folder.
    pub(crate) folder: String,
    /// Installed agent that was copied; `None` for this program's own agent.
    pub(crate) installed: Option<GivenUpAgent>,
}

/// The dialogue with the shell on a machine.
pub(crate) struct Boot<'a> {
    target: &'a str,
    agents: &'a Agents,
    session: &'a mut AgentSession,
    watchdog: &'a Watchdog,
    /// Longest permitted silence.
    silence: Duration,
}

impl<'a> Boot<'a> {
    /// `watchdog` ends the session after `silence`.
    pub(crate) fn new(
        target: &'a str,
        agents: &'a Agents,
        session: &'a mut AgentSession,
        (watchdog, silence): (&'a Watchdog, Duration),
    ) -> Self {
        Self {
            target,
            agents,
            session,
            watchdog,
            silence,
        }
    }

    /// Transfers an agent and runs it. The session's stream then starts at the agent's first byte.
    pub(crate) fn run(mut self, role: Role) -> Result<StartedAgent, Fault> {
        let folder = folder_name();
        let (machine, mut there) = self.machine()?;
        let own = self.own(&machine);
        let own_hash = own.as_ref().ok().map(|(_, hash)| hash.as_str());
        let is_own = |agent: &Installed| own_hash == Some(agent.hash.as_str());
        if self.agents.given_up.is_some() {
            there.retain(is_own);
        }
        let mut installed = None;
        match choose(&there, own_hash, self.agents.needs) {
            Some(agent) => {
                installed = (!is_own(agent)).then(|| GivenUpAgent {
                    path: agent.path.clone(),
                    replaceable: own_hash.is_some(),
                });
                self.make_folder(&format!("{folder} use {}\n", agent.path))?;
                self.has_arrived(None, &agent.hash)?;
            }
            None => self.send_agent(&folder, &own.map_err(Fault::NoAgent)?)?,
        }
        let (role, seconds) = match role {
            Role::Serve => ("serve", 0),
            Role::Keep(grace) => ("keep", grace.as_secs()),
        };
        self.say(&format!("run {role} {seconds}\n"))?;
        Ok(StartedAgent { folder, installed })
    }

    /// Reconnects to a kept agent. The session's stream then continues at the agent's next byte.
    pub(crate) fn run_again(mut self, name: &str) -> Result<(), Fault> {
        self.machine()?;
        self.say(&format!("{name}\n"))?;
        match self.answer()?.as_str() {
            "there" => Ok(()),
            "gone" => Err(Fault::Gone),
            other => Err(unexpected(other)),
        }
    }

    /// Installs the agent on the machine, unless it is installed already. Returns its path, and `true`
    /// if it was installed now.
    pub(crate) fn stay(mut self) -> Result<(String, bool), Fault> {
        let (machine, installed) = self.machine()?;
        let own = self.own(&machine).map_err(Fault::NoAgent)?;
        if let Some(agent) = installed.into_iter().find(|agent| agent.hash == own.1) {
            return Ok((agent.path, false));
        }
        self.send_agent(&folder_name(), &own)?;
        let name = match self.agents.needs {
            Some(_) => "larger",
            None => "agent",
        };
        self.say(&format!("stay {name}\n"))?;
        match self.answer()?.split_once(' ') {
            Some(("at", path)) => Ok((path.to_owned(), true)),
            _ => Err(Fault::Failed(NOWHERE_TO_STAY.to_owned())),
        }
    }

    /// Reads all lines of a listing.
    pub(crate) fn listing(mut self) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let mut received = 0;
        while received < MOST_CHATTER {
            let line = self.line().map_err(|fault| match lines.is_empty() {
                true => Fault::NotReached,
                false => fault,
            })?;
            received += line.len() + 1;
            match line.strip_prefix(MARK) {
                Some("end") => return Ok(lines),
                Some(found) => lines.push(found.to_owned()),
                // Login scripts may print lines.
                None => {}
            }
        }
        Err(Fault::Failed(
            "its login shell prints output without end".to_owned(),
        ))
    }

    /// Reads this program's agent for a machine, and its hash.
    fn own(&self, machine: &str) -> Result<(Vec<u8>, String), TargetError> {
        let path = agent_for(self.target, machine, self.agents)?;
        let agent = fs::read(&path).map_err(|source| TargetError::Unreadable { path, source })?;
        let hash = hash(&agent);
        Ok((agent, hash))
    }

    /// Requests a folder for an agent.
    fn make_folder(&mut self, line: &str) -> Result<(), Fault> {
        self.say(line)?;
        match self.answer()?.as_str() {
            "made" => Ok(()),
            "nowhere" => Err(Fault::Failed(NOWHERE.to_owned())),
            other => Err(unexpected(other)),
        }
    }

    /// Sends this program's agent into a folder of that name.
    fn send_agent(&mut self, name: &str, (agent, hash): &(Vec<u8>, String)) -> Result<(), Fault> {
        let ended = self.agents.given_up.as_deref().unwrap_or_default();
        self.make_folder(&format!("{name} {} {ended}\n", agent.len()))?;
        for chunk in agent.chunks(CHUNK) {
            self.send(chunk)?;
        }
        // Much of the agent may still be in buffers of the link.
        let slowest = Duration::from_secs(agent.len() as u64 / SLOWEST_BYTES_PER_S);
        self.watchdog.restart(self.silence + slowest);
        self.has_arrived(Some(agent.len()), hash)
    }

    fn has_arrived(&mut self, expected: Option<usize>, hash: &str) -> Result<(), Fault> {
        let got = self.answer()?;
        let mut words = got.split(' ');
        let (word, size) = (words.next(), words.next());
        let size = size.and_then(|size| size.parse().ok());
        // Without sha256sum on the machine, the link must ensure that the bytes are right.
        let right = words.next().is_none_or(|sum| sum.is_empty() || sum == hash);
        if word == Some("got") && size.is_some() && size == expected.or(size) && right {
            return Ok(());
        }
        Err(Fault::Failed(format!(
            "not all bytes of the agent arrived: check the free space there ({got})"
        )))
    }

    /// Reads the machine type and the list of installed agents.
    fn machine(&mut self) -> Result<(String, Vec<Installed>), Fault> {
        let machine = self.machine_type()?;
        let mut installed = Vec::new();
        for _ in 0..MOST_INSTALLED {
            let line = self.line()?;
            match line.strip_prefix(MARK) {
                Some("which") => return Ok((machine, installed)),
                Some(line) => installed.extend(Installed::read(line)),
                // The rest of a path that contains line breaks.
                None => {}
            }
        }
        Err(Fault::Failed(
            "its shell lists agents without end".to_owned(),
        ))
    }

    /// Reads the machine type; login scripts may have printed text before.
    fn machine_type(&mut self) -> Result<String, Fault> {
        let mut chatter = 0;
        while chatter < MOST_CHATTER {
            let line = self.line().map_err(|_| Fault::NotReached)?;
            if let Some(machine) = line.strip_prefix(MARK) {
                return match machine.strip_prefix(HELLO) {
                    Some(machine) => Ok(machine.to_owned()),
                    None => Err(unexpected(machine)),
                };
            }
            chatter += line.len() + 1;
        }
        Err(Fault::Failed(
            "its login shell prints output without end".to_owned(),
        ))
    }

    fn answer(&mut self) -> Result<String, Fault> {
        let line = self.line()?;
        match line.strip_prefix(MARK) {
            Some(answer) => Ok(answer.trim().to_owned()),
            None => Err(unexpected(&line)),
        }
    }

    /// Reads a line byte by byte: the bytes after the dialogue belong to the agent.
    fn line(&mut self) -> Result<String, Fault> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            match self.session.reader.read(&mut byte) {
                Ok(1) if byte == *b"\n" => {
                    self.watchdog.restart(self.silence);
                    return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
                Ok(1) if line.len() < LONGEST_LINE => line.extend(byte),
                Ok(1) => return Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return Err(Fault::Failed("the connection was lost".to_owned())),
            }
        }
    }

    fn say(&mut self, line: &str) -> Result<(), Fault> {
        self.send(line.as_bytes())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let sent = self.session.writer.as_mut().map(|writer| {
            writer.write_all(bytes)?;
            writer.flush()
        });
        match sent {
            Some(Ok(())) => {
                self.watchdog.restart(self.silence);
                Ok(())
            }
            _ => Err(Fault::Failed("the connection was lost".to_owned())),
        }
    }
}

const NOWHERE: &str = "no folder there can hold and run the agent: /dev/shm, /tmp, /var/tmp and \
                       the home of the user are all full, read-only or mounted noexec";

const NOWHERE_TO_STAY: &str = "no folder there can keep and run the agent: the home of the user \
                               and /data/local/tmp are full, read-only or mounted noexec";

fn unexpected(answer: &str) -> Fault {
    Fault::Failed(format!("unexpected answer of its shell: '{answer}'"))
}

/// Returns a random name, so that no other process can have made the folder.
fn folder_name() -> String {
    let mut bytes = [0; 8];
    // Before the kernel's random pool is ready, the name may be taken; then `mkdir` fails.
    let _ = getrandom(&mut bytes, GetRandomFlags::NONBLOCK);
    format!("assay-agent-{}", hex(&bytes))
}

/// Returns the SHA-256 in the format of sha256sum.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_survives_any_login_shell() {
        for command in [command(), command_again()] {
            assert_eq!(command.matches('\'').count(), 2);
            assert!(!command.contains(['\n', '!']));
        }
    }
}
