//! Values and addresses of the command line, and progress on the terminal.

use assay_model::text::clean;
use assay_model::units::{Nanos, as_u64};
use assay_store::{Location, is_address, without_secrets};
use assay_target::adb::AdbDevice;
use assay_target::labgrid::BoardFilter;
use assay_target::ssh::SshAddress;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub mod progress;

/// Returns a parser that accepts only the names of these values.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    word: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(all.iter().map(|value| word(*value)));
    words.try_map(move |text| {
        let mut values = all.iter().copied();
        values
            .find(|value| word(*value) == text)
            .ok_or("no such word")
    })
}

/// Parses a time with its unit; a bare number is seconds.
pub fn parse_time(text: &str) -> Result<Nanos, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale = match unit.trim() {
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => {
            return Err(format!(
                "{text} is not a time: use for example 500ms, 1s or 2min"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{text} is not a time: use for example 500ms, 1s or 2min"))?;
    Ok(Nanos(as_u64((number * scale).round())))
}

/// Parses a margin such as `5`, `3%` or `2.5`, in percent; returns a share.
pub fn parse_margin(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("give a number of percent between 0 and 100, such as 5 or 2.5".to_owned()),
    }
}

/// Parses the name of a unit.
pub fn parse_unit(text: &str) -> Result<String, String> {
    match clean(text.trim()) {
        name if name.is_empty() => Err("a name has at least one letter".to_owned()),
        name => Ok(name),
    }
}

/// Parses a day, or a time before now; returns milliseconds since 1970.
pub fn parse_since(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is neither a day (2026-03-14) nor a time (7d, 12h, 30min)");
    if let Some(day) = parse_day(text) {
        return Ok(day);
    }
    let span = text.parse::<Span>().map_err(|_| wrong())?;
    let time = span.to_duration(SpanRelativeTo::days_are_24_hours());
    let time_ms = time.map(|time| time.as_millis());
    let time_ms = time_ms.ok().and_then(|time| u64::try_from(time).ok());
    let now_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    Ok(now_ms.saturating_sub(time_ms.ok_or_else(wrong)?))
}

/// Returns midnight (UTC) of a day such as `2026-03-14`.
fn parse_day(text: &str) -> Option<u64> {
    let midnight = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    u64::try_from(midnight.timestamp().as_millisecond()).ok()
}

/// Another machine, or this one by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// `local`.
    Local,
    /// `ssh://...`.
    Ssh(SshAddress),
    /// `adb:...`.
    Adb(AdbDevice),
    /// `labgrid:...`.
    Labgrid(BoardFilter),
    /// `@FILE`: the targets in a file.
    File(PathBuf),
}

/// Parses an address.
pub fn parse_address(text: &str) -> Result<On, String> {
    if let Some(file) = text.strip_prefix('@') {
        return match file {
            "" => Err("@ needs the name of a file".to_owned()),
            file => Ok(On::File(file.into())),
        };
    }
    match text.split_once(':') {
        None if text == "local" => Ok(On::Local),
        Some(("ssh", _)) => text.parse().map(On::Ssh).map_err(|why| why.to_string()),
        Some(("adb", _)) => text.parse().map(On::Adb).map_err(|why| why.to_string()),
        Some(("labgrid", _)) => {
            let wanted = text.parse().map(On::Labgrid);
            wanted.map_err(|why| why.to_string())
        }
        _ => Err(
            "no machine is called so; write ssh://user@host:port, adb:SERIAL, labgrid:PLACE, \
             local, or @FILE for a file with several"
                .to_owned(),
        ),
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Ssh(address) => address.fmt(f),
            Self::Adb(device) => device.fmt(f),
            Self::Labgrid(wanted) => wanted.fmt(f),
            Self::File(path) => write!(f, "@{}", path.display()),
        }
    }
}

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
            return parse_location(text);
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

fn parse_location(text: &str) -> Result<Destination, String> {
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

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let time = |text| parse_time(text).map(|time| time.0);
        assert_eq!(time("1"), Ok(1_000_000_000));
        assert_eq!(time("0.5s"), Ok(500_000_000));
        assert_eq!(time("250ms"), Ok(250_000_000));
        assert_eq!(time("2min"), Ok(120_000_000_000));
        for text in ["", "s", "1x", "-1s", "1.2.3"] {
            assert!(time(text).is_err(), "{text:?}");
        }
    }

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn days_and_times_are_read() {
        assert_eq!(parse_day("1970-01-01"), Some(0));
        assert_eq!(parse_day("2026-03-14"), Some(20_526 * DAY_MS));
        assert_eq!(parse_day("2024-02-29"), Some(19_782 * DAY_MS));
        for wrong in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "26-03-14",
            "2026-3-14",
            "x",
        ] {
            assert_eq!(parse_day(wrong), None, "{wrong}");
        }
        assert!(parse_since("7d").unwrap() < parse_since("1h").unwrap());
        for wrong in ["", "7", "d", "7 years", "99999999999999999999d", "-1d"] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
    }

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
    fn an_invalid_destination_is_refused() {
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
