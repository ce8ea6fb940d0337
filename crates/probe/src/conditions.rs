//! Kernel settings that make up conditions: where they are, which values they accept, and how to
//! read, set and restore them.
//!
//! Paths are resolved through `Roots` once, when the knobs of a subject are looked up; a knob then
//! names the file itself.

mod knobs;

pub use knobs::{companions, holds, knobs, offers, read, set, undo};

use crate::roots::Roots;
use crate::{attr, files};
use assay_model::condition::{COMMAND_LIMIT, FileSystem, Knob};
use assay_model::storage::Storage;
use assay_model::units::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};
use std::{fs, io};
use thiserror::Error;

/// Reasons why a setting cannot be made here.
#[derive(Debug, Error)]
pub enum ConditionError {
    /// The storage has no block device.
    #[error("{subject} cannot be varied: {} is on no block device ({words})", path.display())]
    NoDevice {
        /// Requested subject.
        subject: String,
        /// The path.
        path: PathBuf,
        /// The storage in words.
        words: String,
    },
    /// A file system can only be made on a device.
    #[error(
        "mkfs cannot be varied: {} is not a block device: name an unused one whose data may be lost",
        path.display()
    )]
    NotADevice {
        /// The path.
        path: PathBuf,
    },
    /// The device, or the machine, has no such attribute.
    #[error("{subject} cannot be varied: {place} has none; there is {there}")]
    Missing {
        /// Requested subject.
        subject: String,
        /// Location that was searched.
        place: String,
        /// Names that exist there instead.
        there: String,
    },
    /// The file holds more than one value.
    #[error(
        "file:{} cannot be varied: it holds more than one line, so it is no setting that could \
         be put back; name a file of one value, or use cmd: with --apply and --undo", path.display()
    )]
    NotASetting {
        /// The file.
        path: PathBuf,
    },
    /// The setting may not be written.
    #[error("{knob} cannot be set: {error}{}", remedy(error))]
    NotWritable {
        /// The knob.
        knob: String,
        /// The reason.
        error: io::Error,
    },
    /// The setting cannot be read, so it could not be restored.
    #[error("{knob} cannot be read, so it could not be undone: {error}")]
    Unreadable {
        /// The knob.
        knob: String,
        /// The reason.
        error: io::Error,
    },
    /// The kernel refused the value.
    #[error("{knob} does not take '{value}': {why}")]
    Refused {
        /// The knob.
        knob: String,
        /// The value.
        value: String,
        /// The reason.
        why: String,
    },
    /// The setting cannot be restored.
    #[error("{knob} cannot be undone: {why}")]
    NotUndone {
        /// The knob.
        knob: String,
        /// The reason.
        why: String,
    },
    /// The value read back differs from the value that was set.
    #[error("{knob} was set to '{asked}' and reads back as '{read}': use a value that it keeps")]
    Differs {
        /// The knob.
        knob: String,
        /// Value that was set.
        asked: String,
        /// Value that was read back.
        read: String,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            ": settings of the kernel need root"
        }
        io::ErrorKind::PermissionDenied => ": the kernel only shows it",
        _ => "",
    }
}

impl ConditionError {
    fn unreadable(knob: &Knob, error: io::Error) -> Self {
        let knob = knob.to_string();
        Self::Unreadable { knob, error }
    }

    fn not_undone(knob: &Knob, why: String) -> Self {
        let knob = knob.to_string();
        Self::NotUndone { knob, why }
    }

    fn refused(knob: &Knob, value: &str, why: String) -> Self {
        Self::Refused {
            knob: knob.to_string(),
            value: value.to_owned(),
            why,
        }
    }
}

/// Interval at which the command's exit is polled.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Time allowed for the last output to arrive after the exit, in case an orphaned process still
/// holds the stream.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs a command to its end; kills it and all processes that it started if it does not end within
/// `limit`. Its standard output is discarded, since it may be in another language.
///
/// # Errors
/// When it cannot be started, fails, or is killed: the cause, and the first line of its error
/// output.
fn run(command: &mut Command, limit: Nanos) -> Result<(), String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let said = child.stderr.take().and_then(|said| first_line(said).ok());
    let ended = wait(&mut child, Duration::from_nanos(limit.0));
    let how = match ended.map_err(|error| error.to_string())? {
        Some(status) if status.success() => return Ok(()),
        Some(status) => status.to_string(),
        None => format!("it did not end within {limit}, and was killed"),
    };
    let said = said.and_then(|said| said.recv_timeout(LAST_WORDS).ok());
    Err(match said.as_deref().map(str::trim) {
        Some(line) if !line.is_empty() => format!("{how} ({line})"),
        _ => how,
    })
}

/// Waits for the child and returns its exit status; `None` if it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group {
                // The group may have ended meanwhile, which is no error.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(None);
        }
        sleep(LOOK_AGAIN);
    }
}

/// Returns the first line of a stream. Reads the stream to its end, so that the writer does not
/// block on a full pipe.
fn first_line(stream: impl Read + Send + 'static) -> io::Result<Receiver<String>> {
    let (sender, line) = channel();
    Builder::new().spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut first = Vec::new();
        if stream.read_until(b'\n', &mut first).is_ok() {
            // Without a receiver the command has succeeded, and its output is not needed.
            let _ = sender.send(String::from_utf8_lossy(&first).into_owned());
        }
        let _ = io::copy(&mut stream, &mut io::sink());
    })?;
    Ok(line)
}

/// Time limit of `mkfs`; on a large disk it writes tables across the whole disk.
const MKFS_LIMIT: Nanos = Nanos::secs(1800);
/// Folders searched for administration programs if `PATH` does not contain them.
const FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// Number of tries while the device is busy: udev holds a changed device for a moment.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Returns the knob that makes a file system on the storage under test. The mount point is only a
/// name; the caller that mounts it provides the folder.
///
/// # Errors
/// If the storage is not a block device.
fn knob(storage: &Storage) -> Result<Knob, ConditionError> {
    let device = &storage.path;
    let is_device = |meta: fs::Metadata| meta.file_type().is_block_device();
    match (fs::metadata(device).is_ok_and(is_device), storage.top()) {
        (true, Some(top)) => Ok(Knob::FileSystem {
            device: device.clone(),
            point: PathBuf::from(&top.name),
        }),
        _ => Err(ConditionError::NotADevice {
            path: device.clone(),
        }),
    }
}

/// Returns the kinds of file systems for which this machine has a `mkfs`.
fn kinds() -> Vec<String> {
    let mut kinds: Vec<String> = folders()
        .iter()
        .flat_map(|folder| attr::entries(folder))
        .filter_map(|name| name.strip_prefix("mkfs.").map(str::to_owned))
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = FOLDERS.iter().map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).collect()
}

/// Returns the type of the file system that is mounted at `point`; `None` if nothing is mounted.
///
/// # Errors
/// When mounts cannot be read.
fn mounted(roots: &Roots, point: &Path) -> io::Result<Option<String>> {
    let mounts = files::read_mounts(roots)?;
    let found = mounts.into_iter().rev().map(|entry| entry.mount);
    let mut found = found.filter(|mount| mount.point == point);
    Ok(found.next().map(|mount| mount.fs_type))
}

/// Makes a file system over the device's data, and mounts it. The caller has checked that the
/// device is unused.
///
/// # Errors
/// When a step fails: the error, in one line.
fn make(device: &Path, point: &Path, value: &str) -> Result<(), String> {
    let asked =
        FileSystem::parse(value).ok_or("it is not a file system: write KIND:OPTION+OPTION")?;
    let program = format!("mkfs.{}", asked.kind);
    let found = folders().into_iter().map(|folder| folder.join(&program));
    let program = found.into_iter().find(|path| path.is_file());
    let program = program.ok_or_else(|| format!("there is no mkfs.{} here", asked.kind))?;
    let mut mkfs = Command::new(program);
    mkfs.args(unasked(&asked)).args(&asked.options).arg(device);
    run(&mut mkfs, MKFS_LIMIT).map_err(|why| format!("mkfs.{}: {why}", asked.kind))?;
    match DirBuilder::new().mode(0o700).create(point) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(format!("cannot make {}: {error}", point.display()));
        }
        _ => {}
    }
    let mut mount = Command::new("mount");
    mount.args(["-t", &asked.kind]);
    if !asked.mount.is_empty() {
        mount.arg("-o").arg(asked.mount.join(","));
    }
    run(mount.arg("--").arg(device).arg(point), COMMAND_LIMIT)
        .map_err(|why| format!("mount: {why}"))
}

/// Returns the options that are always added: old data must not make `mkfs` refuse, and data that
/// ext4 would otherwise write in the background after the mount would disturb trials.
fn unasked(asked: &FileSystem) -> Vec<&'static str> {
    let mut options = match asked.kind.as_str() {
        "ext2" | "ext3" | "ext4" => vec!["-F", "-q"],
        "btrfs" | "f2fs" | "nilfs2" | "xfs" => vec!["-f"],
        "fat" | "msdos" | "vfat" => vec!["-I"],
        _ => Vec::new(),
    };
    let extended = |option: &String| option.starts_with("-E");
    if matches!(asked.kind.as_str(), "ext3" | "ext4") && !asked.options.iter().any(extended) {
        options.extend(["-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    }
    options
}

/// Unmounts the file system at `point`, and removes the folder.
///
/// # Errors
/// When it stays mounted: the reason, in one line.
fn unmount(roots: &Roots, point: &Path) -> Result<(), String> {
    let is_mounted = || mounted(roots, point).map_err(|error| error.to_string());
    let mut tries = 1;
    while is_mounted()?.is_some() {
        let mut umount = Command::new("umount");
        let done = run(umount.arg("--").arg(point), COMMAND_LIMIT);
        match done {
            Err(why) if tries == TRIES => return Err(format!("umount: {why}")),
            Err(_) => sleep(BETWEEN_TRIES),
            Ok(()) => {}
        }
        tries += 1;
    }
    match fs::remove_dir(point) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", point.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
