//! A phone or board that is reached by the system's adb.

use crate::TargetError;
use crate::remote::{Complaints, Program, Remote, not_there};
use crate::session::Watchdog;
use std::ffi::OsString;
use std::io::Read;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, io};
use thiserror::Error;

/// Time limit of a query for the serial number; adb may have to start its server first.
const ASKING: Duration = Duration::from_secs(60);

/// A device that is reached by adb.
pub type Adb = Remote<Client>;

/// The system's adb.
#[derive(Clone, Debug)]
pub struct Client {
    device: AdbDevice,
    program: OsString,
}

impl Adb {
    /// Creates a target for a device.
    pub fn new(device: AdbDevice) -> Self {
        let program = "adb".into();
        Self::over(Client { device, program })
    }
}

impl Client {
    /// Returns the only device by its serial number. The record of a run names the
    /// device, and another one may be attached next time.
    fn only_device(&self) -> Result<AdbDevice, TargetError> {
        let mut command = Command::new(&self.program);
        let asked = ask(command.arg("get-serialno"));
        let (answer, found, complaints) =
            asked.map_err(|error| not_there(self, &command, &error))?;
        let unreachable = |why| TargetError::Unreachable {
            target: "adb".to_owned(),
            why,
        };
        match answer.trim() {
            serial if found && !serial.is_empty() => format!("adb:{serial}")
                .parse()
                .map_err(|error: DeviceError| unreachable(error.to_string())),
            _ => Err(unreachable(self.why_unreachable(&complaints))),
        }
    }
}

impl Program for Client {
    fn target(&self) -> String {
        self.device.to_string()
    }

    /// Starts a shell without a terminal (`-T`): then the shell protocol transfers bytes
    /// unchanged, separates standard error, and transfers the end of the input. `-x`
    /// would not transfer that end, and `exec-out` would not transfer the input at all.
    fn carrying_out(&self, command: &str) -> Command {
        let mut adb = Command::new(&self.program);
        if let Some(serial) = self.device.serial() {
            adb.args(["-s", serial]);
        }
        adb.args(["shell", "-T", command]);
        adb
    }

    fn by_hand(&self) -> String {
        format!("{} true", self.device.by_hand())
    }

    fn find(&mut self) -> Result<(), TargetError> {
        if self.device.serial().is_none() {
            self.device = self.only_device()?;
        }
        Ok(())
    }

    fn why_unreachable(&self, complaints: &Complaints) -> String {
        of(complaints, &self.device)
    }
}

/// Bytes of an answer, at most: enough for hundreds of devices.
const LONGEST: u64 = 256 << 10;

/// Runs adb; returns its output, `true` if it was successful, and its complaints.
fn ask(command: &mut Command) -> io::Result<(String, bool, Complaints)> {
    let command = command.stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let complaints = child.stderr.take().map(Complaints::listen);
    let complaints = complaints.unwrap_or_default();
    let watchdog = Watchdog::over(child.id(), ASKING).inspect_err(|_| drop(child.wait()))?;
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // After an error of the pipe the output is incomplete: devices may be missing.
        let _ = stdout.take(LONGEST).read_to_end(&mut answer);
    }
    drop(watchdog);
    let done = child.wait().is_ok_and(|status| status.success());
    complaints.await_end();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Ok((answer, done, complaints))
}

/// Returns the devices that `adb devices` lists, each with its state; only a device in
/// state `device` is usable. Starts the adb server if none is running.
///
/// # Errors
/// If adb is not installed or does not answer.
pub fn devices() -> Result<Vec<(AdbDevice, String)>, TargetError> {
    let asked = ask(Command::new("adb").arg("devices"));
    let (answer, ..) = asked.map_err(|source| TargetError::Spawn {
        program: "adb".to_owned(),
        source,
    })?;
    Ok(parse(&answer))
}

/// Parses lines of the form `SERIAL<tab>STATE`; the heading has no tab and is skipped.
fn parse(text: &str) -> Vec<(AdbDevice, String)> {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines
        .filter(|(serial, _)| !serial.is_empty())
        .filter_map(|(serial, state)| {
            let device = format!("adb:{serial}").parse().ok()?;
            Some((device, state.trim().to_owned()))
        })
        .collect()
}

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
    fn serial(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the command that opens a shell on the device by hand.
    fn by_hand(&self) -> String {
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

/// Parts of adb's error messages, each with an explanation for the user.
const MEANINGS: [(&str, &str); 7] = [
    (
        "unauthorized",
        "adb is not authorized: unlock the device and allow debugging from this machine on its screen",
    ),
    (
        "more than one device",
        "several devices are connected: name one that adb devices lists (adb:SERIAL)",
    ),
    (
        "no devices",
        "no device found: check its cable and that debugging is switched on; adb devices lists all",
    ),
    (
        "not found",
        "adb does not know this device: adb devices lists all; one on the network needs adb connect \
         first",
    ),
    (
        "offline",
        "the device is offline: wait until it has booted, try adb reconnect, or reconnect its cable",
    ),
    (
        "no permissions",
        "no permission to use the device: install adb's udev rules, or add this user to their group",
    ),
    (
        "doesn't support",
        "its adb daemon is too old for 8-bit streams: they need Android 7 or later",
    ),
];

/// Prefix of adb's messages about its own server, which are not errors.
const OWN_AFFAIRS: &str = "* ";

/// Returns why a device cannot be reached, and a remedy.
fn of(complaints: &Complaints, device: &AdbDevice) -> String {
    let known = MEANINGS
        .iter()
        .find(|(words, _)| complaints.with(words).is_some());
    if let Some((_, meaning)) = known {
        return (*meaning).to_owned();
    }
    let last = complaints
        .last()
        .filter(|line| !line.starts_with(OWN_AFFAIRS));
    last.unwrap_or_else(|| {
        let by_hand = device.by_hand();
        format!("adb ended without an error message: try {by_hand} by hand")
    })
}

#[cfg(test)]
mod tests;
