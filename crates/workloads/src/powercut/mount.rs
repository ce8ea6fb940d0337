//! Mounting of the file system under test, and related messages of the kernel.

use crate::ActError;
use crate::files::run_program;
use assay_model::act::powercut::Powercut;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kernel messages kept, at most.
const LINES: usize = 20;
/// Bytes of a record in the kernel log, at most (`PRINTKRB_RECORD_MAX`, with its prefix).
const LONGEST_LINE: usize = 8192;

/// Mounts the file system, unless one is mounted already.
pub(super) fn mount(work: &Powercut) -> Result<(), ActError> {
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
    run_program(&mut command).map_err(|why| {
        let (device, point) = (wanted.device.display(), work.path.display());
        ActError::failed(format!("cannot mount {device} on {point}: {why}"))
    })
}

/// Unmounts the file system; `true` if that was successful.
pub(super) fn unmount(work: &Powercut) -> bool {
    run_program(Command::new("umount").arg(&work.path)).is_ok()
}

fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    points.any(|mounted| Path::new(mounted) == point)
}

/// Returns the number of lines in the kernel log so far.
pub(super) fn kernel_lines() -> usize {
    kernel_log().len()
}

/// Returns the kernel log lines since then about the device under test, under any of its names.
pub(super) fn said_since(work: &Powercut, before: usize) -> Vec<String> {
    let names = names(work);
    let since = match work.mount {
        Some(_) => before,
        // The file system was mounted before the log could be read.
        None => 0,
    };
    let log = kernel_log().into_iter().skip(since);
    log.filter(|line| names.iter().any(|name| says(line, name)))
        .take(LINES)
        .collect()
}

/// Returns true if a kernel log line contains a name as a whole word: `mmcblk0` does not match
/// `mmcblk0p1`.
fn says(line: &str, name: &str) -> bool {
    let part_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    line.match_indices(name).any(|(at, _)| {
        let around = [
            line.as_bytes()[..at].last(),
            line.as_bytes().get(at + name.len()),
        ];
        !around.into_iter().flatten().any(|byte| part_of_name(*byte))
    })
}

/// Returns the kernel names of the device given by the user, of the mounted device (such as a
/// loop device), and of the disk of a partition.
fn names(work: &Powercut) -> BTreeSet<String> {
    let named = work.mount.as_ref().map(|mount| mount.device.clone());
    let itself = work.device.then(|| work.path.clone());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let sources = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (source, point) = (words.next()?, words.next()?);
        work.path
            .starts_with(point)
            .then_some((point.len(), source))
    });
    // The path is in the file system with the longest mount point, and the last one mounted
    // there.
    let source = sources.max_by_key(|(length, _)| *length);
    let source = source
        .filter(|_| !work.device)
        .map(|(_, source)| source.into());
    let devices = [named, itself, source].into_iter().flatten();
    let names: BTreeSet<String> = devices.filter_map(|path| kernel_name(&path)).collect();
    let disks = names.iter().filter_map(|name| {
        let part = fs::canonicalize(Path::new("/sys/class/block").join(name)).ok()?;
        let disk = part.parent()?.file_name()?;
        part.join("partition")
            .exists()
            .then(|| disk.to_string_lossy().into_owned())
    });
    disks.chain(names.iter().cloned()).collect()
}

/// Returns the kernel name of a device node, also through links such as
/// `/dev/disk/by-label/data`.
fn kernel_name(path: &PathBuf) -> Option<String> {
    let node = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    Some(node.file_name()?.to_string_lossy().into_owned())
}

/// Returns the kernel log from its begin, without prefixes; empty without permission to read
/// it.
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
    // One read returns one message; EAGAIN is the end, EPIPE means that messages were
    // overwritten.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_name_the_device_are_its() {
        for (line, name, is) in [
            ("EXT4-fs (mmcblk0p1): recovery complete", "mmcblk0p1", true),
            ("EXT4-fs (mmcblk0p1): recovery complete", "mmcblk0", false),
            ("mmcblk0: error -110", "mmcblk0", true),
            ("I/O error, dev vda, sector 8", "vda", true),
            ("EXT4-fs (loop10): mounted", "loop1", false),
            ("JBD2: journal of sdaa", "sda", false),
        ] {
            assert_eq!(says(line, name), is, "{line} {name}");
        }
    }
}
