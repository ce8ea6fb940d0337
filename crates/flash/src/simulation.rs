//! Which device words such as `emmc-8gb-hs400,policy=open,noise=2` mean.

use crate::device::{Device, DeviceError};
use crate::part::{DeviceModel, PartError};
use crate::policy::{Policy, UnknownPolicy};
use std::io;

/// A part, and how its host drives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The part.
    pub part: DeviceModel,
    /// Policy of the host.
    pub policy: Policy,
}

/// Why a word means no device.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// Something else is said.
    #[error("'{0}' is not known: a part may be followed by policy=WORD and noise=PERCENT")]
    Option(String),
    /// No such policy.
    #[error(transparent)]
    Policy(#[from] UnknownPolicy),
    /// Neither a part nor a file.
    #[error(
        "no simulated part is called '{name}': there are {}; as a file it cannot be read: {error}",
        DeviceModel::known_names()
    )]
    File {
        /// Name or path that was looked for.
        name: String,
        /// Why it could not be read.
        error: io::Error,
    },
    /// The file is no part.
    #[error("{name}: {error}")]
    Part {
        /// The file.
        name: String,
        /// Error in the part.
        error: PartError,
    },
    /// The policy needs what the part lacks.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Simulation {
    /// Reads `PART[,policy=WORD][,noise=PERCENT]`; `read` gives the text of a file, for a part that is not
    /// known.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        words: &str,
        read: impl FnOnce(&str) -> io::Result<String>,
    ) -> Result<Self, SimulationError> {
        let mut words = words.split(',');
        let name = words.next().unwrap_or_default();
        let mut part = part(name, read)?;
        let mut policy = usual(&part);
        for option in words {
            let unknown = || SimulationError::Option(option.to_owned());
            match option.split_once('=') {
                Some(("policy", word)) => policy = word.parse()?,
                Some(("noise", percent)) => {
                    part.noise_percent = percent.parse().map_err(|_| unknown())?;
                    part.check().map_err(|error| SimulationError::Part {
                        name: part.name.clone(),
                        error,
                    })?;
                }
                _ => return Err(unknown()),
            }
        }
        Device::new(&part, policy)?;
        Ok(Self { part, policy })
    }
}

/// A known part, or one in a file.
fn part(
    name: &str,
    read: impl FnOnce(&str) -> io::Result<String>,
) -> Result<DeviceModel, SimulationError> {
    if let Some(part) = DeviceModel::find(name) {
        return Ok(part);
    }
    let name = name.to_owned();
    match read(&name) {
        Ok(text) => {
            DeviceModel::parse(&text).map_err(|error| SimulationError::Part { name, error })
        }
        Err(error) => Err(SimulationError::File { name, error }),
    }
}

/// As a host drives it that can do all that the part can.
fn usual(part: &DeviceModel) -> Policy {
    match (part.queue_depth, part.set_count_us) {
        (Some(_), _) => Policy::Queued,
        (None, Some(_)) => Policy::SetCount,
        (None, None) => Policy::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Simulation, String> {
        let read = |name: &str| match name {
            "mine.toml" => Ok(DeviceModel::find("ufs-128gb-g3x2").unwrap().to_toml()),
            "bad.toml" => Ok("name = 3".to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        Simulation::parse(words, read).map_err(|error| error.to_string())
    }

    #[test]
    fn a_part_is_known_or_in_a_file() {
        let known = parse("emmc-8gb-hs400").unwrap();
        assert_eq!(known.policy, Policy::Queued);
        assert_eq!(
            parse("rtsx-sd-pro-plus-128").unwrap().policy,
            Policy::Closed
        );
        assert_eq!(
            parse("mine.toml").unwrap().part,
            DeviceModel::find("ufs-128gb-g3x2").unwrap()
        );
        assert_eq!(
            parse("emmc-8gb-hs400,policy=open").unwrap().policy,
            Policy::OPEN
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, expected) in [
            (
                "nothing",
                "no simulated part is called 'nothing': there are rtsx-sd-pro-plus-128, emmc-8gb-hs400",
            ),
            ("bad.toml", "bad.toml: it is not a valid part"),
            ("emmc-8gb-hs400,speed=2", "'speed=2' is not known"),
            ("emmc-8gb-hs400,policy=no", "no policy is called 'no'"),
            ("emmc-8gb-hs400,noise=90", "noise_percent is 90"),
            ("rtsx-sd-pro-plus-128,policy=queued", "has no queue"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
