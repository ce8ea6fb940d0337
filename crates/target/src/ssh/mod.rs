//! A machine that is reached by the system's ssh, with the settings, keys and jump
//! hosts that its user has.

mod address;
mod words;

pub use address::{AddressError, SshAddress};

use crate::complaint::Complaints;
use crate::remote::{Program, Remote};
use crate::{AgentOrder, AgentSession, AgentThere, Target, TargetError, WhenLost, staying};
use std::ffi::OsString;
use std::process::Command;

/// Options that ssh gets whatever its settings: no questions, no terminal, no tunnels, no
/// connection that outlives this one, and an end when the other side is gone (after 2 minutes; a
/// board under load may be slow to answer).
const OPTIONS: [&str; 7] = [
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=8",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "RequestTTY=no",
];

/// A machine that is reached by ssh.
#[derive(Clone, Debug)]
pub struct Ssh(Remote<Client>);

/// The system's ssh.
#[derive(Clone, Debug)]
struct Client {
    address: SshAddress,
    program: OsString,
}

impl Ssh {
    /// The machine of that address.
    #[must_use]
    pub fn new(address: SshAddress) -> Self {
        let program = "ssh".into();
        Self(Remote::new(Client { address, program }))
    }

    /// Sets the behaviour for a lost link, and the function that tells the user about it, a line at
    /// a time.
    #[must_use]
    pub fn when_lost(mut self, when_lost: WhenLost, tell: fn(&str)) -> Self {
        self.0.when_lost = when_lost;
        self.0.tell = tell;
        self
    }
}

impl Program for Client {
    fn target(&self) -> String {
        self.address.to_string()
    }

    fn carrying_out(&self, command: &str) -> Command {
        let mut ssh = Command::new(&self.program);
        ssh.arg("-T");
        for option in OPTIONS {
            ssh.args(["-o", option]);
        }
        ssh.args(self.address.words()).arg(command);
        ssh
    }

    fn by_hand(&self) -> String {
        self.address.by_hand()
    }

    fn in_words(&self, complaints: &Complaints) -> String {
        words::of(complaints, &self.address)
    }
}

impl Target for Ssh {
    fn name(&self) -> Option<String> {
        Some(self.0.program.target())
    }

    fn needs_larger_agent(&mut self) {
        self.0.agents.larger = true;
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.0.start()
    }

    fn start_in_front(&mut self) -> Result<AgentSession, TargetError> {
        Err(TargetError::NotInFront(self.0.program.target()))
    }

    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        staying::carry_out(&self.0, order)
    }
}

/// The machines that a `config` of ssh names (ssh_config(5)): the words of its `Host`
/// lines, without patterns. What a file includes, and what `Match` means, is ssh's.
#[must_use]
pub fn configured(config: &str) -> Vec<SshAddress> {
    let mut found: Vec<SshAddress> = Vec::new();
    for line in config.lines() {
        let line = line.trim();
        let mut words = line.split([' ', '\t', '=']).filter(|word| !word.is_empty());
        if !words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("host"))
        {
            continue;
        }
        let names = words.map(|word| word.trim_matches('"'));
        let plain = names.filter(|name| !name.contains(['*', '?', '!']));
        for address in plain.filter_map(|name| format!("ssh://{name}").parse().ok()) {
            if !found.contains(&address) {
                found.push(address);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
