//! The file system under test: mounting it, and what the kernel says of that.

use crate::WorkError;
use assay_model::work::powercut::Powercut;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// So many lines of the kernel's are kept.
const LINES: usize = 20;
/// A message of the kernel's log is not longer (`PRINTKRB_RECORD_MAX`, with its head).
const LONGEST_LINE: usize = 8192;

/// Mounts what is asked for, unless something is mounted there already.
pub(super) fn mount(work: &Powercut) -> Result<(), WorkError> {
    let Some(wanted) = &work.mount else {
        return Ok(());
    };
    if is_mounted(&work.path) {
        return Ok(());
    }
    let mut command = Command::new("mount");
    command.args(["-t", &wanted.fs_type]);
    if !wanted.options.is_empty() {
        command.args(["-o", &wanted.options]);
    }
    command.arg(&wanted.device).arg(&work.path);
    let failed = |why: String| WorkError::Failed {
        message: format!(
            "cannot mount {} on {}: {why}",
            wanted.device.display(),
            work.path.display()
        ),
        errno: None,
    };
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )),
    }
}

/// Unmounts it; whether that could be done.
pub(super) fn unmount(work: &Powercut) -> bool {
    let mut command = Command::new("umount");
    command.arg(&work.path);
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let status = quiet.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    points.any(|mounted| Path::new(mounted) == point)
}

/// How many lines the kernel has said so far.
pub(super) fn kernel_lines() -> usize {
    kernel_log().len()
}

/// What the kernel has said since then of the device, and of file systems and journals: one
/// may be mounted by another name (a loop device).
pub(super) fn said_since(work: &Powercut, before: usize) -> Vec<String> {
    let name = work
        .mount
        .as_ref()
        .and_then(|mount| mount.device.file_name());
    let name = name.map(|name| name.to_string_lossy().into_owned());
    let log = kernel_log();
    let since = match work.mount {
        Some(_) => before,
        // It was mounted before anybody could look.
        None => 0,
    };
    let of_device = |line: &str| {
        name.as_ref()
            .is_some_and(|name| line.contains(name.as_str()))
    };
    let of_any = |line: &str| {
        ["-fs (", "JBD2", "journal"]
            .iter()
            .any(|word| line.contains(word))
    };
    log.into_iter()
        .skip(since)
        .filter(|line| of_device(line) || of_any(line))
        .take(LINES)
        .collect()
}

/// The kernel's log from its begin, without heads; empty where it may not be read.
fn kernel_log() -> Vec<String> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open("/dev/kmsg");
    let Ok(mut log) = opened else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut line = vec![0; LONGEST_LINE];
    // One read is one message; EAGAIN is the end, EPIPE one that was overwritten.
    loop {
        match log.read(&mut line) {
            Ok(0) => return lines,
            Ok(length) => {
                let text = String::from_utf8_lossy(&line[..length]);
                let text = text.lines().next().unwrap_or_default();
                let said = text.split_once(';').map_or(text, |(_, said)| said);
                lines.push(said.to_owned());
            }
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(_) => return lines,
        }
    }
}
