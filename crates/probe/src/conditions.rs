//! Kernel settings that make up conditions: where they are, which values they accept, and how to
//! read, set and restore them.
//!
//! Paths are resolved through `Roots` once, when the knobs of a subject are looked up; a knob then
//! names the file itself.

use crate::device::Device;
use crate::roots::Roots;
use crate::{attr, files};
use assay_model::condition::{
    COMMAND_LIMIT, FileSystem, Knob, Offer, Offered, Subject, parse_cpus,
};
use assay_model::storage::Storage;
use assay_model::text::nearest;
use assay_model::units::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
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
    /// No setting has this name, but a similar one.
    #[error("no setting '{subject}': did you mean {near}?")]
    Misspelt {
        /// Requested subject.
        subject: String,
        /// Subject that was probably meant.
        near: String,
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
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time allowed for the last output to arrive after the exit, in case an orphaned process still
/// holds the stream.
const OUTPUT_LIMIT: Duration = Duration::from_millis(500);

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
    let said = said.and_then(|said| said.recv_timeout(OUTPUT_LIMIT).ok());
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
        sleep(POLL_INTERVAL);
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

/// Returns the knobs of a subject for the storage under test.
///
/// The scheduler is set at the devices that have no other device below them; the read-ahead is set
/// at the device that holds the file system. A partition uses the queue of its disk.
///
/// # Errors
/// When the subject has no knob here.
pub fn knobs(
    roots: &Roots,
    storage: &Storage,
    subject: &Subject,
) -> Result<Vec<Knob>, ConditionError> {
    match subject {
        Subject::Scheduler => queue(roots, storage, subject, "scheduler"),
        Subject::Queue { attribute } => queue(roots, storage, subject, attribute),
        Subject::Governor => cpufreq(roots, subject, "scaling_governor"),
        Subject::CpufreqMin => cpufreq(roots, subject, "scaling_min_freq"),
        Subject::CpufreqMax => cpufreq(roots, subject, "scaling_max_freq"),
        Subject::Sysctl { name } => {
            let path = roots.proc.join("sys").join(name.replace('.', "/"));
            one_file(subject, path)
        }
        Subject::File { path } => {
            let below = path.strip_prefix("/").unwrap_or(path);
            let file = roots.root.join(below);
            match file.is_file() && !is_one_value(&file) {
                true => Err(ConditionError::NotASetting { path: file }),
                false => one_file(subject, file),
            }
        }
        Subject::Command {
            name,
            apply,
            undo,
            limit,
        } => Ok(vec![Knob::Command {
            name: name.clone(),
            apply: apply.clone(),
            undo: undo.clone(),
            limit: *limit,
        }]),
        Subject::Mkfs => Ok(vec![knob(storage)?]),
        Subject::Mount => match &storage.mount {
            Some(mount) => Ok(vec![Knob::Mount {
                point: mount.point.clone(),
            }]),
            None => Err(ConditionError::Missing {
                subject: subject.to_string(),
                place: storage.path.display().to_string(),
                there: "a device without a mounted file system".to_owned(),
            }),
        },
        Subject::Affinity => Ok(vec![Knob::Affinity]),
        Subject::Job { .. } => Ok(Vec::new()),
    }
}

/// `true` if the file holds a single value. A longer text could not be restored exactly. A file
/// that cannot be read is refused later, with the reason.
fn is_one_value(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return true;
    };
    let mut text = Vec::new();
    let read = file.take(LONGEST_VALUE + 1).read_to_end(&mut text);
    let lines = text.split(|byte| *byte == b'\n');
    read.is_err()
        || (text.len() as u64 <= LONGEST_VALUE
            && lines.filter(|line| !line.is_empty()).count() <= 1)
}

/// Longest value in bytes: the kernel shows at most one page of an attribute.
const LONGEST_VALUE: u64 = 4096;

fn one_file(subject: &Subject, path: PathBuf) -> Result<Vec<Knob>, ConditionError> {
    if path.is_file() {
        return Ok(vec![Knob::File { path }]);
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    Err(missing(subject, folder, &attr::entries(folder)))
}

/// Returns the error for an attribute that does not exist in a folder, which has those in `there`.
fn missing(subject: &Subject, place: &Path, there: &[String]) -> ConditionError {
    misspelt(subject, there).unwrap_or_else(|| ConditionError::Missing {
        subject: subject.to_string(),
        place: place.display().to_string(),
        there: match there {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        },
    })
}

/// Returns the error with the name that was probably meant; `None` if none is similar.
fn misspelt(subject: &Subject, there: &[String]) -> Option<ConditionError> {
    let subject = subject.to_string();
    // Names of `vm.` and `file:` are those in their folder.
    let (front, name) = subject.split_at(subject.rfind(['/', '.']).map_or(0, |at| at + 1));
    let usual = Subject::USUAL.into_iter().filter(|_| front.is_empty());
    let near = nearest(name, usual.chain(there.iter().map(String::as_str)))?;
    let near = format!("{front}{near}");
    (near != subject).then_some(ConditionError::Misspelt { subject, near })
}

fn queue(
    roots: &Roots,
    storage: &Storage,
    subject: &Subject,
    attribute: &str,
) -> Result<Vec<Knob>, ConditionError> {
    let layers: Vec<&str> = match attribute {
        "read_ahead_kb" => storage
            .top()
            .map(|top| top.name.as_str())
            .into_iter()
            .collect(),
        _ => storage.leaves().map(|layer| layer.name.as_str()).collect(),
    };
    let devices = layers.iter().filter_map(|name| Device::named(roots, name));
    let mut folders: Vec<PathBuf> = devices.map(|d| d.disk_dir().join("queue")).collect();
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        let none = || ConditionError::NoDevice {
            subject: subject.to_string(),
            path: storage.path.clone(),
            words: storage.words(),
        };
        return Err(misspelt(subject, &[]).unwrap_or_else(none));
    }
    let knob = |folder: PathBuf| {
        let path = folder.join(attribute);
        match path.is_file() {
            true => Ok(Knob::File { path }),
            false => Err(missing(subject, &folder, &writable(&folder))),
        }
    };
    folders.into_iter().map(knob).collect()
}

/// Returns the names of the files in a folder that their owner may write.
fn writable(folder: &Path) -> Vec<String> {
    const BY_OWNER: u32 = 0o200;
    let mut names = attr::entries(folder);
    names.retain(|name| {
        let meta = folder.join(name).metadata();
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & BY_OWNER != 0)
    });
    names
}

/// Returns one knob for each group of processors that change their frequency together; older
/// kernels have one for each processor.
fn cpufreq(roots: &Roots, subject: &Subject, name: &str) -> Result<Vec<Knob>, ConditionError> {
    let cpu = roots.sys.join("devices/system/cpu");
    let below = |folder: PathBuf, prefix: &str, rest: &str| {
        let numbered = |entry: &String| attr::numbered(entry, prefix).is_some();
        let entries = attr::entries(&folder).into_iter().filter(numbered);
        let paths = entries.map(|entry| folder.join(entry).join(rest).join(name));
        paths.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let mut paths = below(cpu.join("cpufreq"), "policy", "");
    if paths.is_empty() {
        paths = below(cpu.clone(), "cpu", "cpufreq");
    }
    if paths.is_empty() {
        return Err(ConditionError::Missing {
            subject: subject.to_string(),
            place: cpu.display().to_string(),
            there: "no frequency scaling on this machine".to_owned(),
        });
    }
    Ok(paths.into_iter().map(|path| Knob::File { path }).collect())
}

/// Returns the knobs that the kernel changes when a knob is set, and that must therefore be
/// restored after it: a scheduler sets the queue depth and has other tunables; `vm.dirty_ratio` and
/// `vm.dirty_bytes` each set the other to 0 (Documentation/admin-guide/sysctl/vm.rst).
pub fn companions(knob: &Knob) -> Vec<Knob> {
    let Knob::File { path } = knob else {
        return Vec::new();
    };
    let Some(folder) = path.parent() else {
        return Vec::new();
    };
    let names: Vec<String> = match path.file_name().and_then(|name| name.to_str()) {
        Some("scheduler") => {
            let tunables = attr::entries(&folder.join("iosched"));
            let tunables = tunables.iter().map(|name| format!("iosched/{name}"));
            let own = ["nr_requests", "wbt_lat_usec"].map(str::to_owned);
            own.into_iter().chain(tunables).collect()
        }
        Some("dirty_ratio") => vec!["dirty_bytes".to_owned()],
        Some("dirty_bytes") => vec!["dirty_ratio".to_owned()],
        Some("dirty_background_ratio") => vec!["dirty_background_bytes".to_owned()],
        Some("dirty_background_bytes") => vec!["dirty_background_ratio".to_owned()],
        _ => Vec::new(),
    };
    let paths = names.into_iter().map(|name| folder.join(name));
    let there = paths.filter(|path| path.is_file());
    there.map(|path| Knob::File { path }).collect()
}

/// Lists the settings of a subject and their possible values, without changing anything.
///
/// # Errors
/// If the subject cannot be set here: it does not exist, or permission is missing.
pub fn offers(
    roots: &Roots,
    storage: &Storage,
    subject: &Subject,
) -> Result<Offered, ConditionError> {
    let knobs = knobs(roots, storage, subject)?;
    let mut current = Vec::new();
    let mut offer: Option<Offer> = None;
    for knob in &knobs {
        let value = read(roots, knob)?;
        may_be_set(knob)?;
        let own = offer_of(knob, subject, value.as_deref());
        offer = Some(match offer {
            Some(others) => others.and(own),
            None => own,
        });
        current.extend(value);
    }
    current.sort();
    current.dedup();
    Ok(Offered {
        subject: subject.clone(),
        knobs: knobs.iter().map(ToString::to_string).collect(),
        current,
        offer: offer.unwrap_or(Offer::Text),
    })
}

/// Checks that a knob may be set, by opening it for writing without a write.
fn may_be_set(knob: &Knob) -> Result<(), ConditionError> {
    let opened = match knob {
        Knob::File { path } => OpenOptions::new().write(true).open(path).map(drop),
        Knob::Mount { .. } | Knob::FileSystem { .. } if !rustix::process::geteuid().is_root() => {
            Err(io::ErrorKind::PermissionDenied.into())
        }
        Knob::Mount { .. } | Knob::FileSystem { .. } | Knob::Command { .. } | Knob::Affinity => {
            Ok(())
        }
    };
    opened.map_err(|error| ConditionError::NotWritable {
        knob: knob.to_string(),
        error,
    })
}

fn offer_of(knob: &Knob, subject: &Subject, current: Option<&str>) -> Offer {
    match knob {
        Knob::File { path } => offer_of_file(path, subject, current),
        Knob::Affinity => Offer::Cpus {
            allowed: current.and_then(parse_cpus).unwrap_or_default(),
        },
        Knob::Mount { .. } => Offer::Options {
            shown: current
                .unwrap_or_default()
                .split(',')
                .map(str::to_owned)
                .collect(),
        },
        Knob::FileSystem { .. } => Offer::FileSystems { kinds: kinds() },
        Knob::Command { .. } => Offer::Text,
    }
}

fn offer_of_file(path: &Path, subject: &Subject, current: Option<&str>) -> Offer {
    let beside = |name: &str| attr::text(&path.with_file_name(name));
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect();
    match subject {
        Subject::Governor => {
            if let Some(text) = beside("scaling_available_governors") {
                return Offer::Choice {
                    values: words(text),
                };
            }
        }
        Subject::CpufreqMin | Subject::CpufreqMax => {
            let number = |name: &str| attr::number(&path.with_file_name(name));
            return Offer::Number {
                least: number("cpuinfo_min_freq"),
                most: number("cpuinfo_max_freq"),
            };
        }
        _ => {}
    }
    let text = attr::text(path).unwrap_or_default();
    if attr::bracketed(&text).is_some() {
        let bare = text.replace(['[', ']'], "");
        return Offer::Choice {
            values: words(bare),
        };
    }
    match current.is_some_and(|value| value.parse::<u64>().is_ok()) {
        true => Offer::Number {
            least: None,
            most: None,
        },
        false => Offer::Text,
    }
}

/// Returns the value in force; `None` if that cannot be determined (a command) or nothing is there
/// (a file system).
///
/// # Errors
/// If the value cannot be read.
pub fn read(roots: &Roots, knob: &Knob) -> Result<Option<String>, ConditionError> {
    let value = match knob {
        Knob::File { path } => fs::read_to_string(path).map(|text| {
            let text = text.trim();
            attr::bracketed(text).unwrap_or(text).to_owned()
        }),
        Knob::Mount { point } => mount_options(roots, point),
        Knob::Affinity => affinity(),
        Knob::FileSystem { point, .. } => {
            let mounted = mounted(roots, point);
            return mounted.map_err(|error| ConditionError::unreadable(knob, error));
        }
        Knob::Command { .. } => return Ok(None),
    };
    value
        .map(Some)
        .map_err(|error| ConditionError::unreadable(knob, error))
}

/// Sets a knob, reads it back and returns the value in force.
///
/// # Errors
/// When the kernel refuses the value, or shows another one afterwards.
pub fn set(roots: &Roots, knob: &Knob, value: &str) -> Result<Option<String>, ConditionError> {
    let done = match knob {
        Knob::File { path } => write(path, value).map_err(|error| error.to_string()),
        Knob::Mount { point } => remount(point, &value.replace('+', ",")),
        Knob::Command { apply, limit, .. } => run_command(apply, value, *limit),
        Knob::FileSystem { device, point } => make(device, point, value),
        Knob::Affinity => set_affinity(value).map_err(|error| error.to_string()),
    };
    done.map_err(|why| ConditionError::refused(knob, value, why))?;
    let Some(read) = read(roots, knob)? else {
        return Ok(None);
    };
    match holds(knob, value, &read) {
        true => Ok(Some(read)),
        false => Err(ConditionError::Differs {
            knob: knob.to_string(),
            asked: value.to_owned(),
            read,
        }),
    }
}

/// `true` if the value read back is the value requested.
pub fn holds(knob: &Knob, asked: &str, read: &str) -> bool {
    match knob {
        Knob::Mount { .. } => {
            let shown: Vec<&str> = read.split(',').collect();
            asked
                .split(['+', ','])
                .all(|option| is_in_force(option, &shown))
        }
        Knob::Affinity => parse_cpus(asked) == parse_cpus(read),
        Knob::FileSystem { .. } => FileSystem::parse(asked).is_some_and(|asked| asked.kind == read),
        Knob::File { .. } | Knob::Command { .. } => {
            let number = |text: &str| text.parse::<i128>().ok();
            asked.split_whitespace().eq(read.split_whitespace())
                || number(asked).is_some_and(|asked| number(read) == Some(asked))
        }
    }
}

/// Options that the kernel always shows when they are in force.
const ALWAYS_SHOWN: [&str; 3] = ["ro", "rw", "relatime"];

/// `true` if a mount option is in force. The kernel shows most options only if they differ from the
/// default: `barrier` is in force when neither it nor `nobarrier` is shown.
fn is_in_force(option: &str, shown: &[&str]) -> bool {
    shown.contains(&option)
        || (!ALWAYS_SHOWN.contains(&option)
            && !option.starts_with("no")
            && !option.contains('=')
            && !shown.contains(&opposite(option).as_str()))
}

fn opposite(option: &str) -> String {
    match (option, option.strip_prefix("no")) {
        ("sync", _) => "async".to_owned(),
        ("async", _) => "sync".to_owned(),
        ("ro", _) => "rw".to_owned(),
        ("rw", _) => "ro".to_owned(),
        (_, Some(plain)) => plain.to_owned(),
        (_, None) => format!("no{option}"),
    }
}

/// Restores the value that was read before. `last` is the value that was set; it is needed for a
/// command, and for mount options that are only shown when they are set.
///
/// # Errors
/// As [`set`].
pub fn undo(
    roots: &Roots,
    knob: &Knob,
    old: Option<&str>,
    last: &str,
) -> Result<(), ConditionError> {
    let undone = match knob {
        Knob::Command { undo, limit, .. } => Some(run_command(undo, last, *limit)),
        Knob::FileSystem { point, .. } => Some(unmount(roots, point)),
        Knob::File { .. } | Knob::Mount { .. } | Knob::Affinity => None,
    };
    if let Some(undone) = undone {
        return undone.map_err(|why| ConditionError::not_undone(knob, why));
    }
    let Some(old) = old else {
        return Ok(());
    };
    if let Knob::Mount { point } = knob {
        let now = read(roots, knob)?.unwrap_or_default();
        let was: Vec<&str> = old.split(',').collect();
        let set = now.split(',').chain(last.split('+'));
        let changed = set.filter(|option| !was.contains(option));
        let plain = changed.filter(|option| !option.contains('='));
        let mut options: Vec<String> = plain.map(opposite).collect();
        options.push(old.to_owned());
        return remount(point, &options.join(","))
            .map_err(|why| ConditionError::refused(knob, old, why));
    }
    set(roots, knob, old).map(drop)
}

/// Writes the value with a single `write(2)`, because the kernel takes each call as a complete
/// value.
fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(format!("{value}\n").as_bytes())
}

fn mount_options(roots: &Roots, point: &Path) -> io::Result<String> {
    let mounts = files::read_mounts(roots)?;
    let found = mounts.iter().rev().find(|entry| entry.mount.point == point);
    let mount = &found.ok_or(io::ErrorKind::NotFound)?.mount;
    let mut options: Vec<&str> = Vec::new();
    for option in mount.options.iter().chain(&mount.super_options) {
        if !options.contains(&option.as_str()) {
            options.push(option);
        }
    }
    Ok(options.join(","))
}

/// Remounts with `mount(8)`, which separates the options of the file system from those of the
/// mount.
fn remount(point: &Path, options: &str) -> Result<(), String> {
    // An option stays in force until its opposite is set: noatime takes precedence over relatime.
    let of_times = ["relatime", "strictatime"];
    let revoked = match options.split(',').any(|option| of_times.contains(&option)) {
        true => "atime,",
        false => "",
    };
    let options = format!("remount,{revoked}{options}");
    let mut command = Command::new("mount");
    command.arg("-o").arg(options).arg("--").arg(point);
    run(&mut command, COMMAND_LIMIT)
}

fn run_command(words: &str, value: &str, limit: Nanos) -> Result<(), String> {
    let mut command = Command::new("sh");
    run(command.arg("-c").arg(words).arg("sh").arg(value), limit)
}

fn affinity() -> io::Result<String> {
    let set = sched_getaffinity(None)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
    let numbers: Vec<String> = cpus.map(|cpu| cpu.to_string()).collect();
    Ok(numbers.join("+"))
}

fn set_affinity(value: &str) -> io::Result<()> {
    let cpus = parse_cpus(value).ok_or(io::ErrorKind::InvalidInput)?;
    let mut set = CpuSet::new();
    for cpu in cpus.into_iter().filter(|&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests;
