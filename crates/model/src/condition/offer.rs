//! Values that the kernel offers for a setting.

use super::{FileSystem, Subject, parse_cpus};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Values that a knob accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Offer {
    /// One of these words.
    Choice {
        /// Words in the kernel's order.
        values: Vec<String>,
    },
    /// A whole number.
    Number {
        /// Smallest value; `None` if the kernel does not report it.
        least: Option<u64>,
        /// Largest value; `None` if the kernel does not report it.
        most: Option<u64>,
    },
    /// Processors, in the form of [`parse_cpus`].
    Cpus {
        /// Processors that exist.
        allowed: Vec<usize>,
    },
    /// Mount options, joined with `+`. An option with a value can only be restored to the value
    /// that the mount shows now.
    Options {
        /// Options that the mount shows now.
        shown: Vec<String>,
    },
    /// File systems, in the form of [`FileSystem`].
    FileSystems {
        /// Kinds that can be made here.
        kinds: Vec<String>,
    },
    /// Any text; only setting it shows if the kernel accepts it.
    Text,
}

impl Offer {
    /// Checks that a value is offered.
    pub fn takes(&self, value: &str) -> bool {
        match self {
            Self::Choice { values } => values.iter().any(|known| known == value),
            Self::Number { least, most } => value.parse::<u64>().is_ok_and(|number| {
                least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
            }),
            Self::Cpus { allowed } => {
                parse_cpus(value).is_some_and(|cpus| cpus.iter().all(|cpu| allowed.contains(cpu)))
            }
            Self::Options { shown } => value.split('+').all(|option| {
                let key = option.split_once('=').map(|(key, _)| format!("{key}="));
                let can_be_put_back =
                    |key: String| shown.iter().any(|option| option.starts_with(&key));
                !option.is_empty() && key.is_none_or(can_be_put_back)
            }),
            Self::FileSystems { kinds } => FileSystem::parse(value)
                .is_some_and(|asked| asked.mount.is_empty() && kinds.contains(&asked.kind)),
            Self::Text => true,
        }
    }

    /// Returns all values if they can be listed.
    pub fn all(&self) -> Option<Vec<String>> {
        match self {
            Self::Choice { values } => Some(values.clone()),
            Self::Cpus { allowed } => Some(allowed.iter().map(ToString::to_string).collect()),
            Self::Number { .. } | Self::Options { .. } | Self::FileSystems { .. } | Self::Text => {
                None
            }
        }
    }

    /// Returns the values that both offers accept, for a subject with several knobs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Choice { mut values }, Self::Choice { values: others }) => {
                values.retain(|value| others.contains(value));
                Self::Choice { values }
            }
            (Self::Number { least, most }, Self::Number { least: l, most: m }) => Self::Number {
                least: least.max(l),
                most: most.into_iter().chain(m).min(),
            },
            (one, _) => one,
        }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice { values } => f.write_str(&values.join(", ")),
            Self::Number { least, most } => match (least, most) {
                (Some(least), Some(most)) => write!(f, "a whole number from {least} to {most}"),
                (Some(least), None) => write!(f, "a whole number from {least}"),
                (None, Some(most)) => write!(f, "a whole number up to {most}"),
                (None, None) => f.write_str("a whole number"),
            },
            Self::Cpus { allowed } => {
                let numbers: Vec<String> = allowed.iter().map(ToString::to_string).collect();
                write!(f, "the processors {}, as 0+1 or 0-3", numbers.join(", "))
            }
            Self::Options { shown } => write!(
                f,
                "options without a value, and those with a value that the mount shows, for only \
                 these can be put back ({})",
                shown.join(",")
            ),
            Self::FileSystems { kinds } => write!(
                f,
                "KIND or KIND:OPTION+OPTION, as ext4:-b+1024, with one of {}",
                kinds.join(", ")
            ),
            Self::Text => f.write_str("any text"),
        }
    }
}

/// Knobs of a subject and the values they accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// The subject.
    pub subject: Subject,
    /// Names of the knobs, for display.
    pub knobs: Vec<String>,
    /// Values in force now, without duplicates; empty when they cannot be read.
    pub current: Vec<String>,
    /// Values that the knobs accept.
    pub offer: Offer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_only_where_it_is_offered() {
        let choice = Offer::Choice {
            values: vec!["none".to_owned(), "bfq".to_owned()],
        };
        assert!(choice.takes("bfq") && !choice.takes("bf"));
        assert_eq!(choice.to_string(), "none, bfq");
        let number = Offer::Number {
            least: Some(4),
            most: None,
        };
        assert!(
            number.takes("4") && !number.takes("3") && !number.takes("x") && !number.takes("-1")
        );
        let cpus = Offer::Cpus {
            allowed: vec![0, 1],
        };
        assert!(cpus.takes("0-1") && !cpus.takes("1+2"));
        assert!(Offer::Text.takes("anything"));
        let options = Offer::Options {
            shown: ["rw", "commit=30"].map(str::to_owned).to_vec(),
        };
        assert!(options.takes("noatime+commit=5") && !options.takes("stripe=8"));
        assert!(!options.takes("noatime+"));
        let made = Offer::FileSystems {
            kinds: vec!["ext4".to_owned()],
        };
        assert!(made.takes("ext4:-b+1024") && !made.takes("xfs") && !made.takes("ext4 noatime"));
    }

    #[test]
    fn several_knobs_offer_what_all_do() {
        let choice = |values: &[&str]| Offer::Choice {
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let both = choice(&["a", "b"]).and(choice(&["b", "c"]));
        assert_eq!(both, choice(&["b"]));
        let span = |least, most| Offer::Number { least, most };
        let both = span(Some(1), Some(9)).and(span(Some(3), None));
        assert_eq!(both, span(Some(3), Some(9)));
    }
}
