//! The devices that adb knows.

use super::{ASKING, AdbDevice};
use crate::TargetError;
use crate::watchdog::Watchdog;
use std::io::Read;
use std::process::{Command, Stdio};

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
mod tests {
    use super::*;

    #[test]
    fn devices_are_listed_with_their_state() {
        let text = "* daemon started successfully\nList of devices attached\n\
                    0123ABC\tdevice\n127.0.0.1:5555\toffline\na b\tdevice\n\n";
        let found = parse(text);
        let words: Vec<String> = found
            .iter()
            .map(|(device, state)| format!("{device} {state}"))
            .collect();
        assert_eq!(words, ["adb:0123ABC device", "adb:127.0.0.1:5555 offline"]);
    }
}
