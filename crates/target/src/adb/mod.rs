//! A phone, or a board, that is reached by the system's adb.

mod device;
mod words;

pub use device::{AdbDevice, DeviceError};

use crate::complaint::Complaints;
use crate::remote::{Program, Remote, not_there};
use crate::watchdog::Watchdog;
use crate::{AgentOrder, AgentSession, AgentThere, Target, TargetError, WhenLost, staying};
use std::ffi::OsString;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time limit of a serial number query; adb may have to start its server first.
const ASKING: Duration = Duration::from_secs(60);
/// The longest answer that is a serial.
const LONGEST_SERIAL: u64 = 400;

/// A device that is reached by adb.
#[derive(Clone, Debug)]
pub struct Adb(Remote<Client>);

/// The system's adb.
#[derive(Clone, Debug)]
struct Client {
    device: AdbDevice,
    program: OsString,
}

impl Adb {
    /// That device.
    #[must_use]
    pub fn new(device: AdbDevice) -> Self {
        let program = "adb".into();
        Self(Remote::new(Client { device, program }))
    }

    /// Sets the behaviour for a lost link, and the function that tells the user about it, a line at
    /// a time.
    #[must_use]
    pub fn when_lost(mut self, when_lost: WhenLost, tell: fn(&str)) -> Self {
        self.0.when_lost = when_lost;
        self.0.tell = tell;
        self
    }

    /// Takes the only device there is where none was named.
    fn find(&mut self) -> Result<(), TargetError> {
        let client = &mut self.0.program;
        if client.device.serial().is_none() {
            client.device = client.find()?;
        }
        Ok(())
    }
}

impl Client {
    /// The only device there is, by its serial: a run says where it was made, and
    /// another one may be there next time.
    fn find(&self) -> Result<AdbDevice, TargetError> {
        let mut command = Command::new(&self.program);
        command
            .arg("get-serialno")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let spawned = command.spawn();
        let mut child = spawned.map_err(|error| not_there(self, &command, &error))?;
        let complaints = child.stderr.take().map(Complaints::listen);
        let watchdog = Watchdog::over(child.id(), ASKING);
        let mut answer = String::new();
        if let Some(stdout) = child.stdout.take() {
            // What is no text is no serial.
            let _ = stdout.take(LONGEST_SERIAL).read_to_string(&mut answer);
        }
        drop(watchdog);
        let found = child.wait().is_ok_and(|status| status.success());
        let complaints = complaints.unwrap_or_default();
        complaints.await_end();
        let unreachable = |why| TargetError::Unreachable {
            target: "adb".to_owned(),
            why,
        };
        match answer.trim() {
            serial if found && !serial.is_empty() => format!("adb:{serial}")
                .parse()
                .map_err(|error: DeviceError| unreachable(error.to_string())),
            _ => Err(unreachable(self.in_words(&complaints))),
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
        let serial = self.device.serial().map(|serial| format!("-s {serial} "));
        format!("adb {}shell true", serial.unwrap_or_default())
    }

    fn in_words(&self, complaints: &Complaints) -> String {
        words::of(complaints, &self.device)
    }
}

impl Target for Adb {
    fn name(&self) -> Option<String> {
        Some(self.0.program.target())
    }

    fn needs_larger_agent(&mut self) {
        self.0.agents.larger = true;
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.find()?;
        self.0.start()
    }

    fn start_in_front(&mut self) -> Result<AgentSession, TargetError> {
        Err(TargetError::NotInFront(self.0.program.target()))
    }

    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        self.find()?;
        staying::carry_out(&self.0, order)
    }
}

/// The longest answer: hundreds of devices.
const LONGEST: u64 = 256 << 10;

/// Devices that `adb devices` lists, each with its state: `device` is one that can be
/// used. The server of adb is started if there is none.
///
/// # Errors
/// When there is no adb, or it does not answer.
pub fn devices() -> Result<Vec<(AdbDevice, String)>, TargetError> {
    let mut child = Command::new("adb")
        .arg("devices")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| TargetError::Spawn {
            program: "adb".to_owned(),
            source,
        })?;
    let watchdog = Watchdog::over(child.id(), ASKING);
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // What is not heard is not listed.
        let _ = stdout.take(LONGEST).read_to_end(&mut answer);
    }
    drop(watchdog);
    let _ = child.wait();
    Ok(parse(&String::from_utf8_lossy(&answer)))
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
