//! Stores that runs are copied to and from: files, databases, and those of other machines.

use assay_store::{Location, is_address, without_secrets};
use assay_target::ssh::SshAddress;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Store that runs are copied to or from. Displayed without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file or a database.
    Store(Location),
    /// Store of another machine.
    Ssh {
        /// Address of the machine.
        address: SshAddress,
        /// File on that machine; `None` for its default store.
        store: Option<PathBuf>,
    },
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("ssh://") else {
            return of_location(text);
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let address = format!("ssh://{host}").parse();
        let address = address.map_err(|_| {
            format!(
                "{} names no machine: write ssh://user@host:port/path/of/a/store",
                without_secrets(text)
            )
        })?;
        let store = match (path, path.strip_prefix("~/")) {
            ("", _) => None,
            (_, Some(_)) => Some(path.into()),
            (path, None) => Some(Path::new("/").join(path)),
        };
        Ok(Self::Ssh { address, store })
    }
}

fn of_location(text: &str) -> Result<Destination, String> {
    let location = match Location::parse(text.as_ref()) {
        Location::File(_) if text.is_empty() || is_address(text) => {
            return Err(format!(
                "{} names no store: give a file, postgres://user@host/database or ssh://user@host",
                without_secrets(text)
            ));
        }
        Location::File(path) => {
            let path = std::path::absolute(&path);
            Location::File(path.map_err(|error| format!("{text}: {error}"))?)
        }
        server @ Location::Server(_) => server,
    };
    Ok(Destination::Store(location))
}

/// Parses a store that commands read and write directly: a file or a database.
///
/// # Errors
/// If the text is another kind of URL.
pub fn store_location(text: &OsStr) -> Result<Location, String> {
    match Location::parse(text) {
        Location::File(path) if is_address(&path.to_string_lossy()) => Err(format!(
            "{} is neither a file nor a PostgreSQL database (postgres://user@host/database): push \
             and pull copy from and to ssh:// stores",
            without_secrets(&path.to_string_lossy())
        )),
        location => Ok(location),
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(location) => location.fmt(f),
            Self::Ssh { address, store } => {
                address.fmt(f)?;
                let Some(store) = store else { return Ok(()) };
                let store = store.display().to_string();
                write!(f, "/{}", store.strip_prefix('/').unwrap_or(&store))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match text.parse::<Destination>() {
            Ok(destination) => destination.to_string(),
            Err(why) => why,
        }
    }

    #[test]
    fn destinations_are_read_and_shown() {
        for text in [
            "ssh://lab",
            "ssh://ann@lab:2222/srv/assay/runs.sqlite",
            "ssh://[::1]/~/runs.sqlite",
            "postgres://ann@db/lab",
            "/srv/runs.sqlite",
        ] {
            assert_eq!(shown(text), text);
            assert_eq!(shown(&shown(text)), text);
        }
        assert_eq!(shown("ssh://lab/"), "ssh://lab");
        assert_eq!(
            shown("postgres://ann:secret@db/lab"),
            "postgres://ann@db/lab"
        );
        assert!(shown("runs.sqlite").ends_with("/runs.sqlite"));
        let home: Destination = "ssh://lab/~/r".parse().unwrap();
        assert!(
            matches!(home, Destination::Ssh { store: Some(path), .. } if path == Path::new("~/r"))
        );
    }

    #[test]
    fn what_names_no_store_is_refused() {
        for text in [
            "",
            "http://lab",
            "ssh://",
            "ssh://a b/x",
            "ssh://-oProxyCommand=x/y",
        ] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
        for text in ["ssh://lab", "http://lab", "postgres:ann:secret@db/lab"] {
            let refused = store_location(text.as_ref());
            assert!(refused.is_err_and(|why| !why.contains("secret")), "{text}");
        }
        for text in [
            "ssh://ann:secret@lab",
            "mysql://ann:secret@lab",
            "ssh:ann:secret@lab",
        ] {
            assert!(!shown(text).contains("secret"), "{text}");
        }
        assert!(store_location("runs.sqlite".as_ref()).is_ok());
    }
}
