//! File systems that assay makes on a device whose data may be lost, and mounts in a folder that it
//! creates.

use super::ConditionError;
use super::command::run;
use crate::attr;
use crate::mounts;
use crate::roots::Roots;
use assay_model::condition::{COMMAND_LIMIT, FileSystem, Knob};
use assay_model::storage::Storage;
use assay_model::units::Nanos;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

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
pub(super) fn knob(storage: &Storage) -> Result<Knob, ConditionError> {
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
pub(super) fn kinds() -> Vec<String> {
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
pub(super) fn mounted(roots: &Roots, point: &Path) -> io::Result<Option<String>> {
    let mounts = mounts::read(roots)?;
    let found = mounts.into_iter().rev().map(|entry| entry.mount);
    let mut found = found.filter(|mount| mount.point == point);
    Ok(found.next().map(|mount| mount.fs_type))
}

/// Makes a file system over the device's data, and mounts it. The caller has checked that the
/// device is unused.
///
/// # Errors
/// When a step fails: the error, in one line.
pub(super) fn make(device: &Path, point: &Path, value: &str) -> Result<(), String> {
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
pub(super) fn unmount(roots: &Roots, point: &Path) -> Result<(), String> {
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
