//! Greeting: protocol versions, features and build of each side of a session.

use crate::work::Work;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Oldest version of the protocol that this build speaks.
pub const OLDEST: u32 = 2;
/// Newest version of the protocol that this build speaks.
pub const NEWEST: u32 = 2;
/// Number for builds from before protocol 1. They send 11, compare nothing else, and ask for an
/// update of the side whose number is lower.
const AFTER_11: u32 = 12;

crate::named! {
    /// Optional part of the protocol. A side must not request it from a peer that does not list it.
    /// `docs/compatibility.md` has the table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Feature {
        /// Works on files: copies, cells of iozone, capacity, samples, watches.
        Works = "works",
        /// Loads: jobs of fio, replayed traces.
        Loads = "loads",
        /// Works with databases, and other works of their agent: AndroBench, scenarios, memory,
        /// soaks, power cuts, and the patterns of traits.
        Sqlite = "sqlite",
        /// Simulated devices.
        Sim = "sim",
    }
}

impl Feature {
    /// Feature that an agent must have to carry out an act.
    pub const fn of(act: &Work) -> Self {
        match act {
            Work::Copy(_)
            | Work::Iozone(_)
            | Work::Extent(_)
            | Work::Capacity(_)
            | Work::Watch(_) => Self::Works,
            Work::Streams(_) => Self::Loads,
            Work::AndroBench(_)
            | Work::Memory(_)
            | Work::Scenario(_)
            | Work::Soak(_)
            | Work::Powercut(_) => Self::Sqlite,
        }
    }
}

/// Protocol versions and features of one side, and its build. A build from before protocol 1 sends
/// only the number, so all other fields are 0 or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Greeting {
    /// Number by which builds from before protocol 1 recognise a newer build.
    pub version: u32,
    /// Oldest supported version of the protocol.
    pub oldest: u32,
    /// Newest supported version of the protocol.
    pub newest: u32,
    /// Version and commit, as in SemVer: `0.1.0+19e031c1`.
    pub build: String,
    /// Names of its features; the peer ignores unknown names.
    pub features: Vec<String>,
}

impl Greeting {
    /// Creates the greeting of this build with these features. The commit of a release is set at
    /// build time in `ASSAY_COMMIT`.
    pub fn with(features: impl IntoIterator<Item = Feature>) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            version: AFTER_11,
            oldest: OLDEST,
            newest: NEWEST,
            build: match option_env!("ASSAY_COMMIT") {
                Some(commit) => format!("{version}+{commit}"),
                None => version.to_owned(),
            },
            features: features
                .into_iter()
                .map(|feature| feature.name().to_owned())
                .collect(),
        }
    }

    /// Creates the greeting of a host, which can use every feature.
    pub fn of_host() -> Self {
        Self::with(Feature::ALL)
    }

    /// `true` if the side supports the feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.iter().any(|name| name == feature.name())
    }

    /// Returns the highest version of the protocol that both sides support.
    pub fn common(&self, other: &Self) -> Option<u32> {
        let version = self.newest.min(other.newest);
        (version >= self.oldest.max(other.oldest)).then_some(version)
    }
}

/// Prints the line of `assay-agent --version`.
impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oldest,
            newest,
            build,
            features,
            ..
        } = self;
        write!(
            f,
            "assay-agent {build} protocol {oldest}..{newest} features"
        )?;
        features.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

impl FromStr for Greeting {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [
            "assay-agent",
            build,
            "protocol",
            versions,
            "features",
            features @ ..,
        ] = &*words
        else {
            return Err(());
        };
        let (oldest, newest) = versions.split_once("..").ok_or(())?;
        Ok(Self {
            version: AFTER_11,
            oldest: oldest.parse().map_err(drop)?,
            newest: newest.parse().map_err(drop)?,
            build: (*build).to_owned(),
            features: features.iter().map(|&name| name.to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaking(oldest: u32, newest: u32) -> Greeting {
        Greeting {
            oldest,
            newest,
            ..Greeting::of_host()
        }
    }

    #[test]
    fn both_sides_take_the_highest_version_that_they_share() {
        for (a, b, expected) in [
            ((1, 1), (1, 1), Some(1)),
            ((1, 1), (1, 3), Some(1)),
            ((2, 4), (1, 3), Some(3)),
            ((1, 1), (2, 3), None),
            // From before protocol 1.
            ((1, 1), (0, 0), None),
        ] {
            let (a, b) = (speaking(a.0, a.1), speaking(b.0, b.1));
            assert_eq!(a.common(&b), expected, "{a} and {b}");
            assert_eq!(b.common(&a), expected, "{a} and {b}");
        }
    }

    #[test]
    fn the_line_of_an_agent_is_read_as_it_was_written() {
        let mut greeting = speaking(1, 2);
        greeting.features.push("of tomorrow".to_owned());
        let line = greeting.to_string();
        let read: Greeting = line.parse().unwrap();
        assert_eq!(read.to_string(), line);
        assert!(read.has(Feature::Sqlite) && read.common(&greeting) == Some(2));
        let none = Greeting::with([]);
        assert_eq!(none.to_string().parse(), Ok(none));
        for line in ["", "assay-agent 1.0", "assay-agent 1 protocol 1 features"] {
            assert_eq!(line.parse::<Greeting>(), Err(()), "{line}");
        }
    }
}
