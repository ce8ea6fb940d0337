//! Name of an ssh machine: `ssh://user@host:port`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown() {
        for (text, words) in [
            ("ssh://board", "-- board"),
            ("ssh://root@10.0.0.7:2222", "-p 2222 -l root -- 10.0.0.7"),
            (
                "ssh://root@[fe80::1%eth0]:22",
                "-p 22 -l root -- fe80::1%eth0",
            ),
            ("ssh://[::1]", "-- ::1"),
            ("ssh://me@home@board", "-l me@home -- board"),
        ] {
            let address: SshAddress = text.parse().unwrap();
            assert_eq!(address.words().join(" "), words);
            assert_eq!(address.to_string(), text);
        }
        let slash: SshAddress = "ssh://board/".parse().unwrap();
        assert_eq!(slash.to_string(), "ssh://board");
    }

    #[test]
    fn what_ssh_or_a_shell_could_take_for_something_else_is_no_name() {
        for text in [
            "ssh://-oProxyCommand=touch x",
            "ssh://-l@host",
            "ssh://a b",
            "ssh://a;b",
            "ssh://a\nb",
            "ssh://$(touch x)@host",
            "ssh://`x`@host",
            "ssh://a'b@host",
            "ssh://a\"b",
            "ssh://",
            "ssh://@host",
            "ssh://host:",
            "ssh://host:0",
            "ssh://host:65536",
            "ssh://fe80::1",
            "ssh://[fe80::1",
            "ssh://[fe80::1]x",
            "ssh://host/path",
            "ssh://user:secret@host",
            "host",
            "adb:1",
        ] {
            assert!(text.parse::<SshAddress>().is_err(), "{text}");
        }
    }
}
