//! Functions that read, set and restore a setting.

use super::command::run;
use super::{ConditionError, file_system};
use crate::roots::Roots;
use crate::{attr, mounts};
use assay_model::condition::{COMMAND_LIMIT, FileSystem, Knob, parse_cpus};
use assay_model::units::Nanos;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

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
            let mounted = file_system::mounted(roots, point);
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
        Knob::FileSystem { device, point } => file_system::make(device, point, value),
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
        Knob::FileSystem { point, .. } => Some(file_system::unmount(roots, point)),
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
    let mounts = mounts::read(roots)?;
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
