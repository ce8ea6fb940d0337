//! Locations of stores: a file, or the URL of a database.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// Location of a store. Displayed without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database.
    Server(Server),
}

impl Location {
    /// Parses a location: a URL such as `postgres://USER@HOST/DB`, or a file name.
    pub fn parse(text: &OsStr) -> Self {
        let url = text.to_str().and_then(Server::parse);
        url.map_or_else(|| Self::File(text.into()), Self::Server)
    }

    /// Returns the path if the store is a file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(server) => server.url.fmt(f),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Location {
    /// Converts a path; even one that looks like a URL is a file.
    fn from(path: &P) -> Self {
        Self::File(path.as_ref().to_owned())
    }
}

impl From<&Self> for Location {
    fn from(location: &Self) -> Self {
        location.clone()
    }
}

/// PostgreSQL database, with the password of its URL, which is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    url: String,
    password: Option<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.url).finish()
    }
}

/// Known URL parameters except the password: those of the client and of TLS.
const PARAMETERS: [&str; 19] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "port",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Prefixes of addresses that are not file names, even if `//` is missing.
const SCHEMES: [&str; 3] = ["postgres:", "postgresql:", "ssh:"];

/// Returns true if a text is the address of a server rather than a file name.
pub fn is_address(text: &str) -> bool {
    text.contains("://") || SCHEMES.iter().any(|scheme| begins(text, scheme))
}

/// Returns true if a text begins with a scheme, in either case.
fn begins(text: &str, scheme: &str) -> bool {
    let start = text.get(..scheme.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// Returns an invalid address for an error message, without the parts that may be a password.
pub fn without_secrets(address: &str) -> String {
    let scheme = address.find(':').map_or(0, |at| at + 1);
    let (scheme, rest) = address.split_at(scheme);
    let slashes = rest.len() - rest.trim_start_matches('/').len();
    let (slashes, rest) = rest.split_at(slashes);
    let (user, place) = match rest.rsplit_once('@') {
        Some((before, place)) => {
            let name = before.split([':', '?']).next().unwrap_or_default();
            (format!("{name}@"), place)
        }
        // A word, a colon and a word may be a name and a password.
        None if slashes.is_empty() && rest.contains(':') => return format!("{scheme}..."),
        None => (String::new(), rest),
    };
    let (place, parameters) = match place.split_once('?') {
        Some((place, _)) => (place, "?..."),
        None => (place, ""),
    };
    format!("{scheme}{slashes}{user}{place}{parameters}")
}

impl Server {
    /// Parses a URL; `None` for other texts.
    fn parse(text: &str) -> Option<Self> {
        let schemes = ["postgres://", "postgresql://"];
        let scheme = schemes.into_iter().find(|scheme| begins(text, scheme))?;
        let (_, rest) = text.split_at(scheme.len());
        let (place, parameters) = split_parameters(rest);
        // The last @: the part of a password after an earlier @ must not be shown.
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, place),
        };
        let mut password = None;
        let mut url = scheme.to_owned();
        if let Some(user) = user {
            let (name, secret) = match user.split_once(':') {
                Some((name, secret)) => (name, Some(secret)),
                None => (user, None),
            };
            password = secret.map(decoded);
            url.push_str(name);
            url.push('@');
        }
        url.push_str(place);
        let mut separator = '?';
        for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
            if let Some(secret) = parameter.strip_prefix("password=") {
                password = Some(decoded(secret));
                continue;
            }
            url.push(separator);
            match parameter.split_once('=') {
                // A mistyped parameter name may hide a password. The client refuses the name
                // itself.
                Some((name, _)) if !PARAMETERS.contains(&name) => {
                    url.push_str(name);
                    url.push_str("=...");
                }
                _ => url.push_str(parameter),
            }
            separator = '&';
        }
        Some(Self { url, password })
    }

    /// Returns the URL without a password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the password of the URL, if it had one.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "no client"))]
    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }
}

/// Splits a URL at its parameters. A `?` without a name and `=` after it is part of a password,
/// which would be displayed if the URL were split there.
fn split_parameters(url: &str) -> (&str, &str) {
    let parts = url.match_indices('?').map(|(at, mark)| {
        let (before, after) = url.split_at(at);
        (before, after.strip_prefix(mark).unwrap_or(after))
    });
    let mut parts = parts.filter(|(_, after)| {
        let name = after.split('=').next().unwrap_or_default();
        !name.is_empty()
            && name.len() < after.len()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    });
    parts.next().unwrap_or((url, ""))
}

/// Decodes percent escapes: `%41` is `A`.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Server {
        match Location::parse(OsStr::new(text)) {
            Location::Server(server) => server,
            Location::File(path) => panic!("{} is a file", path.display()),
        }
    }

    #[test]
    fn a_password_is_taken_out_of_a_url_wherever_it_stands() {
        for (text, url, password) in [
            ("postgres://db", "postgres://db", None),
            ("postgresql://ann@db/lab", "postgresql://ann@db/lab", None),
            (
                "postgres://ann:s3%40c@db:5/lab?sslmode=require",
                "postgres://ann@db:5/lab?sslmode=require",
                Some("s3@c"),
            ),
            (
                "postgres:///lab?password=s%zz&host=/run&user=ann",
                "postgres:///lab?host=/run&user=ann",
                Some("s%zz"),
            ),
            (
                "postgres://ann:s3/@c@db",
                "postgres://ann@db",
                Some("s3/@c"),
            ),
            ("postgres://ann:@db", "postgres://ann@db", Some("")),
            (
                "postgres://ann:s3?c@db/lab?sslmode=require",
                "postgres://ann@db/lab?sslmode=require",
                Some("s3?c"),
            ),
            (
                "Postgres://ann:s3@db?passwordx=s3&port=5",
                "postgres://ann@db?passwordx=...&port=5",
                Some("s3"),
            ),
        ] {
            let server = server(text);
            assert_eq!((server.url(), server.password()), (url, password), "{text}");
            let location = Location::Server(server);
            assert_eq!(location.to_string(), url);
            let debug = format!("{location:?}");
            assert!(!debug.contains("s3") && !debug.contains("s%"), "{debug}");
        }
    }

    #[test]
    fn an_address_that_is_not_understood_is_shown_without_its_password() {
        for (text, shown) in [
            ("mysql://ann:s3@c@db/lab", "mysql://ann@db/lab"),
            ("postgres:ann:s3@db:1/lab", "postgres:ann@db:1/lab"),
            ("ssh:/ann:s3@db", "ssh:/ann@db"),
            ("postgres:ann:s3", "postgres:..."),
            ("mysql://ann:s3?c@db/lab", "mysql://ann@db/lab"),
            ("mysql://db/x?password=s3@c", "mysql://db/x@c"),
            ("mysql://db/x?user=a&password=s3", "mysql://db/x?..."),
            ("http://db/x", "http://db/x"),
        ] {
            assert!(is_address(text), "{text}");
            assert_eq!(without_secrets(text), shown);
        }
        for file in ["runs.sqlite", "./ssh:x", "a:b", ""] {
            assert!(!is_address(file), "{file}");
        }
    }

    #[test]
    fn all_else_is_a_file() {
        for text in ["runs.sqlite", "/x/postgres://a", "mysql://db", ""] {
            assert_eq!(
                Location::parse(OsStr::new(text)).file(),
                Some(Path::new(text))
            );
        }
    }
}
