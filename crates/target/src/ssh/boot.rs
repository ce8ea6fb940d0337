//! How the agent gets onto a machine, and away again: a dialogue, line by line,
//! with a shell over there.
//!
//! ```text
//!  host                             shell
//!                               <-  assay-boot 1 MACHINE
//!  NAME SIZE                    ->  makes a private folder of that name, where
//!                                   programs may run
//!                               <-  assay-boot send
//!  SIZE bytes                   ->
//!                               <-  assay-boot got SIZE SHA256
//!  run                          ->  becomes the agent's, until that ends; then the
//!                                   folder is removed
//! ```
//!
//! Nobody sends before it is asked: tools over there may read more than they are
//! told to.

use crate::agents::{Agents, agent_for};
use crate::{Session, TargetError};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{Read, Write};

/// What every line of the shell begins with.
const MARK: &str = "assay-boot ";
/// Version of the dialogue.
const HELLO: &str = "1 ";
/// What login scripts may print before.
const MOST_CHATTER: usize = 64 << 10;
/// The longest line of the dialogue.
const LONGEST_LINE: usize = 400;

/// What a shell over there carries out. It has no single quote and is one line, so
/// that every login shell takes it in single quotes for what it is.
///
/// Folders in memory come first: what is under test is not to be written by this.
/// An empty program shows whether programs may run in a folder. The shell outlives
/// a broken link, and so does what it has to do at the end.
const SCRIPT: &str = "\
    umask 077; \
    echo assay-boot 1 $(uname -m); \
    read -r name size || exit 1; \
    dir=; \
    leave() { cd /; [ -z \"$dir\" ] || rm -rf \"$dir\"; }; \
    trap leave EXIT; \
    trap : HUP INT TERM PIPE; \
    for base in \"${TMPDIR:-/dev/shm}\" /dev/shm /tmp /var/tmp \"${HOME:-/root}\" /data/local/tmp; do \
    mkdir \"$base/$name\" 2>/dev/null || continue; \
    dir=$base/$name; \
    : >\"$dir/try\"; chmod 700 \"$dir/try\"; \
    if \"$dir/try\" 2>/dev/null; then break; fi; \
    rm -rf \"$dir\"; dir=; \
    done; \
    if [ -z \"$dir\" ]; then echo assay-boot nowhere; exit 1; fi; \
    echo assay-boot send; \
    head -c \"$size\" >\"$dir/agent\"; \
    set -- $(sha256sum <\"$dir/agent\" 2>/dev/null); \
    echo assay-boot got $(wc -c <\"$dir/agent\") $1; \
    read -r word; \
    [ \"$word\" = run ] || exit 1; \
    chmod 700 \"$dir/agent\"; \
    \"$dir/agent\"";

/// The command for ssh.
pub(super) fn command() -> String {
    format!("exec sh -c '{SCRIPT}'")
}

/// Why no agent runs.
pub(super) enum Fault {
    /// The shell never spoke.
    NotReached,
    /// There is none for the machine.
    NoAgent(TargetError),
    /// What was seen.
    Failed(String),
}

/// The dialogue.
pub(super) struct Boot<'a> {
    target: &'a str,
    agents: &'a Agents,
    session: &'a mut Session,
}

impl<'a> Boot<'a> {
    pub(super) fn new(target: &'a str, agents: &'a Agents, session: &'a mut Session) -> Self {
        Self {
            target,
            agents,
            session,
        }
    }

    /// Leaves the session's stream at the agent's first byte.
    pub(super) fn run(mut self) -> Result<(), Fault> {
        let machine = self.machine()?;
        let path = agent_for(self.target, &machine, self.agents).map_err(Fault::NoAgent)?;
        let agent = fs::read(&path)
            .map_err(|source| Fault::NoAgent(TargetError::Unreadable { path, source }))?;
        let hash = hex(&Sha256::digest(&agent));
        self.say(&format!("{} {}\n", folder_name(), agent.len()))?;
        match self.answer()?.as_str() {
            "send" => {}
            "nowhere" => return Err(Fault::Failed(NOWHERE.to_owned())),
            other => return Err(unexpected(other)),
        }
        self.send(&agent)?;
        let got = self.answer()?;
        let mut words = got.split(' ');
        let (word, size) = (words.next(), words.next());
        // A machine without sha256sum leaves it to ssh that bytes are right.
        let right = words.next().is_none_or(|sum| sum.is_empty() || sum == hash);
        if word != Some("got") || size != Some(&agent.len().to_string()) || !right {
            return Err(Fault::Failed(format!(
                "of its {} bytes not all arrived: is there room? ({got})",
                agent.len()
            )));
        }
        self.say("run\n")
    }

    /// What the machine is; login scripts may have spoken before.
    fn machine(&mut self) -> Result<String, Fault> {
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
        Err(Fault::Failed("it talks without end".to_owned()))
    }

    fn answer(&mut self) -> Result<String, Fault> {
        let line = self.line()?;
        match line.strip_prefix(MARK) {
            Some(answer) => Ok(answer.trim().to_owned()),
            None => Err(unexpected(&line)),
        }
    }

    /// One byte after the other: what follows the dialogue is the agent's.
    fn line(&mut self) -> Result<String, Fault> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            match self.session.reader.read(&mut byte) {
                Ok(1) if byte == *b"\n" => {
                    return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
                Ok(1) if line.len() < LONGEST_LINE => line.extend(byte),
                Ok(1) => return Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return Err(Fault::Failed("the link broke".to_owned())),
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
            Some(Ok(())) => Ok(()),
            _ => Err(Fault::Failed("the link broke".to_owned())),
        }
    }
}

const NOWHERE: &str = "no folder there takes a program: neither /dev/shm, /tmp, /var/tmp nor the \
                       home of the user (all are full, read-only or mounted noexec)";

fn unexpected(answer: &str) -> Fault {
    Fault::Failed(format!("its shell answers '{answer}'"))
}

/// Nobody else can have made a folder of that name.
fn folder_name() -> String {
    let mut bytes = [0; 8];
    // Before the kernel's pool is ready the name is one that `mkdir` may refuse.
    let _ = getrandom(&mut bytes, GetRandomFlags::NONBLOCK);
    format!("assay-agent-{}", hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
