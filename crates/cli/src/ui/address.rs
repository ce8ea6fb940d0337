//! Addresses of machines: values of `--on`.

use assay_target::adb::AdbDevice;
use assay_target::labgrid::BoardFilter;
use assay_target::ssh::SshAddress;
use std::fmt;
use std::path::PathBuf;

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
pub fn parse(text: &str) -> Result<On, String> {
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
