//! A phone, or a board, that is reached by the system's adb.

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

/// Time limit of a serial number query; adb may have to start its server first.
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
    /// That device.
    pub fn new(device: AdbDevice) -> Self {
        let program = "adb".into();
        Self::over(Client { device, program })
    }
}

impl Client {
    /// The only device there is, by its serial: a run says where it was made, and
    /// another one may be there next time.
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

    /// Without a terminal (`-T`) the shell's protocol carries bytes as they are,
    /// standard error apart, and the end of the input. `-x` would lose that end, and
    /// `exec-out` the input.
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

/// The longest answer: hundreds of devices.
const LONGEST: u64 = 256 << 10;

/// Answer of adb, whether it was successful, and its complaints.
fn ask(command: &mut Command) -> io::Result<(String, bool, Complaints)> {
    let command = command.stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let complaints = child.stderr.take().map(Complaints::listen);
    let complaints = complaints.unwrap_or_default();
    let watchdog = Watchdog::over(child.id(), ASKING).inspect_err(|_| drop(child.wait()))?;
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // What is not heard is neither a serial nor listed.
        let _ = stdout.take(LONGEST).read_to_end(&mut answer);
    }
    drop(watchdog);
    let done = child.wait().is_ok_and(|status| status.success());
    complaints.await_end();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Ok((answer, done, complaints))
}

/// Devices that `adb devices` lists, each with its state: `device` is one that can be
/// used. The server of adb is started if there is none.
///
/// # Errors
/// When there is no adb, or it does not answer.
pub fn devices() -> Result<Vec<(AdbDevice, String)>, TargetError> {
    let asked = ask(Command::new("adb").arg("devices"));
    let (answer, ..) = asked.map_err(|source| TargetError::Spawn {
        program: "adb".to_owned(),
        source,
    })?;
    Ok(parse(&answer))
}

/// `SERIAL<tab>STATE`, after a line of words.
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
