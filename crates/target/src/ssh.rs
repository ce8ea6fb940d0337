//! A machine that is reached by the system's ssh, with the user's settings, keys and jump hosts.

use crate::remote::{Complaints, Program, Remote};
use std::ffi::OsString;
use std::fmt;
use std::process::Command;
use std::str::FromStr;
use thiserror::Error;

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
        of(complaints, &self.address)
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

/// Address given by the user; other properties come from ssh's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

/// Error for a text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a valid ssh target: {0}; write ssh://user@host:port")]
pub struct AddressError(&'static str);

impl SshAddress {
    /// Returns options and operands of ssh that select the machine.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(port) = self.port {
            words.extend(["-p".to_owned(), port.to_string()]);
        }
        if let Some(user) = &self.user {
            words.extend(["-l".to_owned(), user.clone()]);
        }
        words.extend(["--".to_owned(), self.host.clone()]);
        words
    }

    /// Returns the command that opens a shell on the machine by hand.
    pub(crate) fn by_hand(&self) -> String {
        let port = self.port.map(|port| format!("-p {port} "));
        let user = self.user.as_ref().map(|user| format!("{user}@"));
        format!(
            "ssh {}{}{}",
            port.unwrap_or_default(),
            user.unwrap_or_default(),
            self.host
        )
    }

    /// Returns the host in the form of `known_hosts`.
    pub(crate) fn known_as(&self) -> String {
        match self.port {
            None | Some(22) => self.host.clone(),
            Some(port) => format!("[{}]:{port}", self.host),
        }
    }
}

impl FromStr for SshAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text).map_err(AddressError)
    }
}

fn parse(text: &str) -> Result<SshAddress, &'static str> {
    let rest = text.strip_prefix("ssh://");
    let rest = rest.ok_or("it does not begin with ssh://")?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('/') {
        return Err("it contains a path, which is an argument of its own");
    }
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err("it contains a password; log in with a key instead");
    }
    let (host, port) = host_and_port(place)?;
    if !is_word(host, |c| matches!(c, '.' | ':' | '%')) {
        return Err("that is not a host name");
    }
    if user.is_some_and(|user| !is_word(user, |c| matches!(c, '.' | '+' | '@' | '$'))) {
        return Err("that is not a user name");
    }
    let port = match port.map(str::parse) {
        Some(Err(_) | Ok(0)) => return Err("a port is a number from 1 to 65535"),
        Some(Ok(port)) => Some(port),
        None => None,
    };
    Ok(SshAddress {
        user: user.map(str::to_owned),
        host: host.to_owned(),
        port,
    })
}

/// Parses `host`, `host:port`, and both with an IPv6 address in brackets.
fn host_and_port(place: &str) -> Result<(&str, Option<&str>), &'static str> {
    if let Some(place) = place.strip_prefix('[') {
        let (host, rest) = place.split_once(']').ok_or("a bracket is not closed")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("after the bracket only a port may follow"),
        };
    }
    match place.split_once(':') {
        Some((_, port)) if port.contains(':') => Err("an address of IPv6 has to be in brackets"),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((place, None)),
    }
}

/// Returns `true` if a name contains no character that a shell or ssh would interpret:
/// names go to ssh, and with its settings through a shell (`ProxyCommand`).
fn is_word(name: &str, also: fn(char) -> bool) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || also(c))
}

impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssh://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Returns why a machine cannot be reached, and a remedy.
fn of(complaints: &Complaints, address: &SshAddress) -> String {
    let says = |words: &str| complaints.with(words).is_some();
    let by_hand = address.by_hand();
    if says("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        return format!(
            "its host key has changed: it was reinstalled, or it is another machine. If that is \
             expected, remove the old key: ssh-keygen -R '{}'",
            address.known_as()
        );
    }
    if says("Host key verification failed") {
        return format!(
            "its host key is not known here: log in once by hand and confirm it ({by_hand})"
        );
    }
    if let Some(line) = complaints.with("Permission denied") {
        return format!(
            "login refused ({line}); assay does not ask for passwords, so {by_hand} has to \
             work with a key"
        );
    }
    complaints
        .last()
        .unwrap_or_else(|| format!("ssh ended without an error message: try {by_hand} by hand"))
}

#[cfg(test)]
mod tests;
