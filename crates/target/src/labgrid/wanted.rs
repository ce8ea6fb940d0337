//! Selection of a board: `labgrid:PLACE`, or `labgrid:reserve?media=sd`.

use super::{Lab, LabError, Lease};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

const SCHEME: &str = "labgrid:";
const RESERVE: &str = "reserve?";
/// Time between two checks of a reservation. A reservation is kept as long as its owner asks at
/// least once a minute.
const LOOK: Duration = Duration::from_millis(500);

/// Selection of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardFilter {
    /// The place of this name.
    Place(String),
    /// Any place with these tags, as soon as one is free.
    Any(BTreeMap<String, String>),
}

/// Error for a text that does not select a board.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not a valid labgrid target: {0}; write labgrid:PLACE or labgrid:reserve?TAG=VALUE&TAG=VALUE"
)]
pub struct WantedError(&'static str);

impl BoardFilter {
    /// Acquires a selected board; waits until the reservation succeeds.
    ///
    /// # Errors
    /// As in [`Lab::acquire`] and [`Lab::reserve`].
    pub fn get(&self, lab: &Arc<Lab>) -> Result<Lease, LabError> {
        match self {
            Self::Place(place) => lab.acquire(place),
            Self::Any(tags) => {
                let mut reservation = lab.reserve(tags)?;
                loop {
                    if let Some(lease) = reservation.take()? {
                        return Ok(lease);
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
    }
}

impl FromStr for BoardFilter {
    type Err = WantedError;

    fn from_str(text: &str) -> Result<Self, WantedError> {
        let rest = text.strip_prefix(SCHEME);
        let rest = rest.ok_or(WantedError("it does not begin with labgrid:"))?;
        if rest.contains(char::is_control) {
            return Err(WantedError("it has a control character"));
        }
        let Some(tags) = rest.strip_prefix(RESERVE) else {
            return match rest {
                "" => Err(WantedError("the place has no name")),
                "reserve" => Err(WantedError("a reservation needs tags")),
                place => Ok(Self::Place(place.to_owned())),
            };
        };
        let mut wanted = BTreeMap::new();
        for tag in tags.split('&') {
            let (name, value) = tag
                .split_once('=')
                .ok_or(WantedError("a tag has no value"))?;
            if name.is_empty() || value.is_empty() {
                return Err(WantedError("a tag has no name or no value"));
            }
            if wanted.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(WantedError("a tag is named twice"));
            }
        }
        Ok(Self::Any(wanted))
    }
}

impl fmt::Display for BoardFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "{SCHEME}{place}"),
            Self::Any(tags) => {
                let tags: Vec<_> = tags
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(f, "{SCHEME}{RESERVE}{}", tags.join("&"))
            }
        }
    }
}
