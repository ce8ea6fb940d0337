//! Name of an adb device: `adb:SERIAL`, as `adb devices` lists it.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Prefix of every device name.
const SCHEME: &str = "adb:";

/// Address of an adb device: its serial number, or the only device that is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdbDevice(Option<String>);

/// Error for a text that is not the address of an adb device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not a valid adb target: {0}; write adb:SERIAL, as adb devices lists it, or adb: for the only one"
)]
pub struct DeviceError(&'static str);

impl AdbDevice {
    /// Serial number; `None` for the only device.
    pub(super) fn serial(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the command that opens a shell on the device by hand.
    pub(super) fn by_hand(&self) -> String {
        match self.serial() {
            Some(serial) => format!("adb -s {serial} shell"),
            None => "adb shell".to_owned(),
        }
    }
}

impl FromStr for AdbDevice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let serial = text.strip_prefix(SCHEME);
        match serial.ok_or(DeviceError("it does not begin with adb:"))? {
            "" => Ok(Self(None)),
            serial if is_serial(serial) => Ok(Self(Some(serial.to_owned()))),
            _ => Err(DeviceError("that is not a serial")),
        }
    }
}

/// Returns `true` for a text of letters, digits and the characters of IP addresses and
/// mDNS service names: nothing that adb or a shell would interpret.
fn is_serial(serial: &str) -> bool {
    let known = |c: char| matches!(c, '-' | '_' | '.' | ':' | '[' | ']' | '%');
    !serial.starts_with('-')
        && serial
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || known(c))
}

impl fmt::Display for AdbDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.serial().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_read_and_shown() {
        for (text, serial) in [
            ("adb:", None),
            ("adb:0123456789ABCDEF", Some("0123456789ABCDEF")),
            ("adb:127.0.0.1:5555", Some("127.0.0.1:5555")),
            ("adb:[fe80::1%eth0]:5555", Some("[fe80::1%eth0]:5555")),
            (
                "adb:adb-R58M1-Ab_c9d._adb-tls-connect._tcp",
                Some("adb-R58M1-Ab_c9d._adb-tls-connect._tcp"),
            ),
        ] {
            let device: AdbDevice = text.parse().unwrap();
            assert_eq!(device.serial(), serial);
            assert_eq!(device.to_string(), text);
        }
    }

    #[test]
    fn what_adb_or_a_shell_could_take_for_something_else_is_no_serial() {
        for text in [
            "adb:-a",
            "adb:a b",
            "adb:a;b",
            "adb:a\nb",
            "adb:$(touch x)",
            "adb:`x`",
            "adb:a'b",
            "adb:a\"b",
            "adb:a/b",
            "adb:\u{e9}",
            "adb",
            "ssh://board",
        ] {
            assert!(text.parse::<AdbDevice>().is_err(), "{text}");
        }
    }
}
