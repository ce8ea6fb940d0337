//! The password file of PostgreSQL's clients
//! (<https://www.postgresql.org/docs/current/libpq-pgpass.html>).

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Connection whose password is looked up.
pub struct Place<'a> {
    /// Host name; `localhost` for the default socket.
    pub host: &'a str,
    /// Port.
    pub port: u16,
    /// Name of the database.
    pub database: &'a str,
    /// Name of the user.
    pub user: &'a str,
}

/// The password file is not used because other users can read it.
#[derive(Debug, PartialEq, Eq)]
pub struct Exposed;

/// Returns the password of the first matching line; `None` if the file cannot be read.
pub fn find(path: &Path, place: &Place<'_>) -> Result<Option<String>, Exposed> {
    let Ok(mut file) = File::open(path) else {
        return Ok(None);
    };
    let Some(metadata) = file.metadata().ok().filter(|there| there.is_file()) else {
        return Ok(None);
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Exposed);
    }
    let mut text = String::new();
    if file.read_to_string(&mut text).is_err() {
        return Ok(None);
    }
    Ok(text.lines().find_map(|line| password(line, place)))
}

/// Returns the password of a line if it matches.
fn password(line: &str, place: &Place<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let port = place.port.to_string();
    let mut rest = line;
    for wanted in [place.host, &port, place.database, place.user] {
        let (field, after) = field(rest)?;
        if field != "*" && unescaped(field) != wanted {
            return None;
        }
        rest = after;
    }
    // Further fields are ignored.
    let password = field(rest).map_or(rest, |(field, _)| field);
    Some(unescaped(password))
}

/// Splits at the first colon that has no backslash before it.
fn field(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            ':' if !is_escaped => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.extend(match letter {
            '\\' => letters.next(),
            letter => Some(letter),
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    const PLACE: Place<'static> = Place {
        host: "db",
        port: 5432,
        database: "lab",
        user: "ann",
    };

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        for (line, found) in [
            ("db:5432:lab:ann:secret", Some("secret")),
            ("*:*:*:*:any", Some("any")),
            (r"db:5432:lab:ann:a\:b\\c", Some(r"a:b\c")),
            ("db:5432:lab:ann:secret:more", Some("secret")),
            ("db:5432:lab:ann:", Some("")),
            ("db:5433:lab:ann:secret", None),
            ("#db:5432:lab:ann:secret", None),
            (r"d\b:5432:lab:ann:x", Some("x")),
            ("db:5432:lab", None),
            ("", None),
        ] {
            assert_eq!(password(line, &PLACE).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        assert_eq!(find(&path, &PLACE), Ok(None));
        fs::write(&path, "other:*:*:*:no\ndb:*:*:*:one\n*:*:*:*:two\n").unwrap();
        for (mode, found) in [
            (0o600, Ok(Some("one".to_owned()))),
            (0o640, Err(Exposed)),
            (0o604, Err(Exposed)),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(find(&path, &PLACE), found, "{mode:o}");
        }
    }
}
