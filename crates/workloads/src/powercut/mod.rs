//! Acknowledged writes until the power is cut, and verification of them after the power
//! returns.
//!
//! - [`mod@write`]: the streams, each on a separate thread; content of each sector of each write;
//!   kinds of writes, and the verification of each.
//! - [`mount`], [`check_file_system`]: the file system under test.
//!
//! Nothing is removed at the end of writing: the data must exist when the power returns, and
//! the verification removes it.

mod write;

use crate::run_program;
use crate::{ActError, Context};
use assay_engine::held::{HeldFolder, is_own, shown};
use assay_model::act::ActReport;
use assay_model::act::powercut::{
    DurabilityKind, FOLDER, FileSystemCheck, KnownWrites, Powercut, PowercutReport, StreamFound,
    Task,
};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use write::Stream;

/// Examples of faults kept for each stream, at most.
const EXAMPLES: usize = 5;

/// Makes successive writes; a write that has returned is acknowledged.
trait StreamWriter: Send {
    fn write(&mut self, sequence: u64) -> io::Result<()>;
}

pub(crate) fn run(work: &Powercut, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    if let Some(kind) = work
        .kinds
        .iter()
        .find(|kind| work.device && !kind.on_device())
    {
        return Err(ActError::Refused(format!(
            "{}: a device has no {}",
            shown(&work.path),
            kind.name()
        )));
    }
    match &work.task {
        Task::Write => {
            mount(work)?;
            write::run(work, context)?;
            Ok(ActReport::Steps)
        }
        Task::Verify { known, atomic } => {
            let report = verify(work, known, *atomic, context.seed)?;
            Ok(ActReport::Powercut(report))
        }
    }
}

/// Verifies the data, and removes it.
fn verify(
    work: &Powercut,
    known: &[KnownWrites],
    atomic: u32,
    seed: u64,
) -> Result<PowercutReport, ActError> {
    let mut report = PowercutReport {
        boot_id: boot_id(),
        ..PowercutReport::default()
    };
    let before = kernel_lines();
    let mounted = mount(work);
    report.said = kernel_lines_since(work, before);
    if let Err(error) = mounted {
        report.not_mounted = Some(error.to_string());
        return Ok(report);
    }
    report.check = check_file_system(work);
    let made = match open(work) {
        Ok(made) => made,
        Err(why) => {
            report.not_mounted = Some(format!("{} {why}", folder(work).display()));
            return Ok(report);
        }
    };
    for (number, &kind) in (0_u32..).zip(&work.kinds) {
        let known = known.get(number as usize).copied().unwrap_or_default();
        let stream = Stream { seed, number };
        let mut findings = Findings::of(kind, known);
        let place = StreamStorage {
            work,
            folder: made.as_ref().map_or(&*work.path, HeldFolder::path),
            number,
            kind,
        };
        match kind {
            DurabilityKind::Rename => write::verify_renamed(&place, stream, known, &mut findings),
            DurabilityKind::Append => write::verify_appended(&place, stream, known, &mut findings),
            DurabilityKind::Sqlite => write::verify_rows(&place, stream, known, &mut findings),
            _ => write::verify(&place, stream, known, atomic, &mut findings),
        }
        report.streams.push(findings.found);
    }
    if !work.device {
        // The next cycle makes everything anew, and reports a failure to remove it.
        let above = HeldFolder::open(&work.path);
        let _ = above.and_then(|above| fs::remove_dir_all(above.path().join(FOLDER)));
    }
    Ok(report)
}

/// Location that a stream writes to.
struct StreamStorage<'a> {
    work: &'a Powercut,
    /// Path of the folder of all files; the device's path if there is no folder.
    folder: &'a Path,
    number: u32,
    kind: DurabilityKind,
}

impl StreamStorage<'_> {
    /// Returns the stream's file in the folder, or the device.
    fn file(&self) -> PathBuf {
        match self.work.device {
            true => self.work.path.clone(),
            false => self.folder.join(self.kind.name()),
        }
    }

    /// Returns the offset at which the stream begins: each stream has its own part of a device.
    fn base(&self) -> u64 {
        match self.work.device {
            true => write::EXTENT * (u64::from(self.number) + 1),
            false => 0,
        }
    }
}

/// Opens the folder of all files; `None` for a device. The error describes the problem.
fn open(work: &Powercut) -> Result<Option<HeldFolder>, String> {
    if work.device {
        return Ok(None);
    }
    let made = HeldFolder::open(&folder(work)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            "is missing: no file system is mounted, or not the one of before".to_owned()
        }
        _ => format!("cannot be opened: {error}"),
    })?;
    match is_own(&made) {
        true => Ok(Some(made)),
        false => Err("belongs to another user: remove it, or choose another folder".to_owned()),
    }
}

fn folder(work: &Powercut) -> PathBuf {
    work.path.join(FOLDER)
}

/// Returns the identifier of the machine's current boot.
fn boot_id() -> Option<String> {
    let id = fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(id.trim().to_owned())
}

/// Findings about a stream.
struct Findings {
    found: StreamFound,
    lost: Vec<u64>,
    newest: u64,
}

impl Findings {
    fn of(kind: DurabilityKind, known: KnownWrites) -> Self {
        Self {
            found: StreamFound {
                kind: kind.name().to_owned(),
                acknowledged: known.acknowledged,
                ..StreamFound::default()
            },
            lost: Vec::new(),
            newest: 0,
        }
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.found.examples.len() < EXAMPLES {
            self.found.examples.push(text());
        }
    }

    /// Records an acknowledged write that is missing; `instead` was found.
    fn lost(&mut self, sequence: u64, instead: &str) {
        self.found.lost += 1;
        self.lost.push(sequence);
        self.example(|| format!("write {sequence} was acknowledged and is lost: {instead}"));
    }

    fn torn(&mut self, what: String) {
        self.found.torn += 1;
        self.example(|| what);
    }

    fn garbage(&mut self, what: String) {
        self.found.garbage += 1;
        self.example(|| what);
    }

    /// Records a write that exists; `acknowledged` is the last acknowledged one.
    fn there(&mut self, sequence: u64, acknowledged: u64) {
        self.newest = self.newest.max(sequence);
        self.found.beyond += u64::from(sequence > acknowledged);
    }

    /// Counts lost writes before the newest one found: the order was not kept.
    fn judge_order(&mut self) {
        let newest = self.newest;
        let before = self.lost.iter().filter(|lost| **lost < newest).count();
        self.found.misordered = before as u64;
    }
}

/// Kernel messages kept, at most.
const KERNEL_LINES_KEPT: usize = 20;
/// Bytes of a record in the kernel log, at most (`PRINTKRB_RECORD_MAX`, with its prefix).
const LONGEST_LINE: usize = 8192;

/// Mounts the file system, unless one is mounted already.
fn mount(work: &Powercut) -> Result<(), ActError> {
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
fn unmount(work: &Powercut) -> bool {
    run_program(Command::new("umount").arg(&work.path)).is_ok()
}

fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    points.any(|mounted| Path::new(mounted) == point)
}

/// Returns the number of lines in the kernel log so far.
fn kernel_lines() -> usize {
    kernel_log().len()
}

/// Returns the kernel log lines since then about the device under test, under any of its names.
fn kernel_lines_since(work: &Powercut, before: usize) -> Vec<String> {
    let names = device_names(work);
    let since = match work.mount {
        Some(_) => before,
        // The file system was mounted before the log could be read.
        None => 0,
    };
    let log = kernel_log().into_iter().skip(since);
    log.filter(|line| names.iter().any(|name| names_device(line, name)))
        .take(KERNEL_LINES_KEPT)
        .collect()
}

/// Returns true if a kernel log line contains a name as a whole word: `mmcblk0` does not match
/// `mmcblk0p1`.
fn names_device(line: &str, name: &str) -> bool {
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
fn device_names(work: &Powercut) -> BTreeSet<String> {
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
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(_) => return lines,
        }
    }
}

/// Lines kept of a check's output, at most.
const CHECK_LINES_KEPT: usize = 10;
/// Folders searched for root's programs if `PATH` does not contain them.
const SBIN_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// A program that checks a file system without writing.
struct Checker {
    program: String,
    flags: &'static [&'static str],
    /// Returns `true` for an exit code that means damage.
    damaged: fn(i32) -> bool,
}

/// Returns the checker of file systems that guarantee consistency after a power cut:
/// those with a journal.
fn checker(fs_type: &str) -> Option<Checker> {
    match fs_type {
        // e2fsck(8): 4 means "errors left uncorrected", and codes are added.
        "ext3" | "ext4" => Some(Checker {
            program: format!("fsck.{fs_type}"),
            flags: &["-f", "-n"],
            damaged: |code| code & 4 != 0,
        }),
        // xfs_repair(8): 1 means "corruption was detected".
        "xfs" => Some(Checker {
            program: "xfs_repair".to_owned(),
            flags: &["-n"],
            damaged: |code| code == 1,
        }),
        _ => None,
    }
}

/// Unmounts the file system under test, checks it with its own check program, and mounts it again.
/// `None` if there is no check program, or assay does not mount the file system. Before the check,
/// the file system must have been mounted, which replays its journal, and unmounted again:
/// otherwise every check finds errors.
fn check_file_system(work: &Powercut) -> Option<FileSystemCheck> {
    let mounting = work.mount.as_ref()?;
    let checker = checker(&mounting.fs_type)?;
    if !unmount(work) {
        return None;
    }
    let found = run_checker(&checker, &mounting.device.to_string_lossy());
    // If mounting fails, the verification of the files reports it.
    let _ = mount(work);
    found
}

fn run_checker(checker: &Checker, device: &str) -> Option<FileSystemCheck> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(&checker.program);
    command.args(checker.flags).arg(device);
    command.env("PATH", format!("{path}:{SBIN_FOLDERS}"));
    let output = command.stdin(Stdio::null()).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let exit_code = output.status.code();
    Some(FileSystemCheck {
        command: format!("{} {} {device}", checker.program, checker.flags.join(" ")),
        exit_code,
        damaged: exit_code.is_some_and(checker.damaged),
        said: lines.take(CHECK_LINES_KEPT).map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests;
