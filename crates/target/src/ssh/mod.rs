//! A machine that is reached by the system's ssh, with the user's settings, keys and jump hosts.

mod address;
mod words;

pub use address::{AddressError, SshAddress};

use crate::complaint::Complaints;
use crate::remote::{Program, Remote};
use std::ffi::OsString;
use std::process::Command;

/// Options that override ssh's settings: no questions, no terminal, no tunnels, no shared
/// connection that outlives this one, and an end when the peer does not answer for 2 minutes (a
/// board under load may be slow).
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
pub type Ssh = Remote<Client>;

/// The system's ssh.
#[derive(Clone, Debug)]
pub struct Client {
    address: SshAddress,
    program: OsString,
}

impl Ssh {
    /// Creates a target for an address.
    pub fn new(address: SshAddress) -> Self {
        let program = "ssh".into();
        Self::over(Client { address, program })
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

    fn why_unreachable(&self, complaints: &Complaints) -> String {
        words::of(complaints, &self.address)
    }
}

/// Returns the machines that a `config` of ssh names (ssh_config(5)): the words of its `Host`
/// lines, without patterns. `Include` and `Match` are not evaluated.
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
