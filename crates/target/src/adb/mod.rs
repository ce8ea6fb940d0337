//! A phone or board that is reached by the system's adb.

mod device;
mod words;

pub use device::{AdbDevice, DeviceError};

use crate::TargetError;
use crate::complaint::Complaints;
use crate::remote::{Program, Remote, not_there};
use crate::watchdog::Watchdog;
use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

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
        words::of(complaints, &self.device)
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

#[cfg(test)]
mod tests;
