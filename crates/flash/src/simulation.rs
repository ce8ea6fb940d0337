//! Devices described by strings such as `emmc-8gb-hs400,policy=open,noise=2`.

use crate::FlashError;
use crate::device::Device;
use crate::part::DeviceModel;
use crate::policy::Policy;
use std::io;

/// A part and the policy of its host.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The part.
    pub part: DeviceModel,
    /// Policy of the host.
    pub policy: Policy,
}

impl Simulation {
    /// Parses `PART[,policy=WORD][,noise=PERCENT]`. `read` returns the text of a file, for a part that is
    /// not built in.
    ///
    /// # Errors
    /// The first problem of the text or the part.
    pub fn parse(
        words: &str,
        read: impl FnOnce(&str) -> io::Result<String>,
    ) -> Result<Self, FlashError> {
        let mut words = words.split(',');
        let name = words.next().unwrap_or_default();
        let mut part = part(name, read)?;
        let mut policy = usual(&part);
        for option in words {
            let unknown = || {
                FlashError(format!(
                    "'{option}' is not known: a part may be followed by policy=WORD and noise=PERCENT"
                ))
            };
            match option.split_once('=') {
                Some(("policy", word)) => policy = word.parse()?,
                Some(("noise", percent)) => {
                    part.noise_percent = percent.parse().map_err(|_| unknown())?;
                    part.check()
                        .map_err(|error| FlashError(format!("{}: {error}", part.name)))?;
                }
                _ => return Err(unknown()),
            }
        }
        Device::new(&part, policy)?;
        Ok(Self { part, policy })
    }
}

/// Returns a built-in part, or one from a file.
fn part(
    name: &str,
    read: impl FnOnce(&str) -> io::Result<String>,
) -> Result<DeviceModel, FlashError> {
    if let Some(part) = DeviceModel::find(name) {
        return Ok(part);
    }
    match read(name) {
        Ok(text) => DeviceModel::parse(&text).map_err(|error| format!("{name}: {error}")),
        Err(error) => Err(format!(
            "no simulated part is called '{name}': there are {}; as a file it cannot be read: {error}",
            DeviceModel::known_names()
        )),
    }
    .map_err(FlashError)
}

/// Returns the policy of a host that uses all features of the part.
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
