//! Locations at which a subject is set.

use super::{ConditionError, file_system};
use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use assay_model::condition::{Knob, Subject};
use assay_model::storage::Storage;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
        Subject::Mkfs => Ok(vec![file_system::knob(storage)?]),
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

fn missing(subject: &Subject, place: &Path, there: &[String]) -> ConditionError {
    ConditionError::Missing {
        subject: subject.to_string(),
        place: place.display().to_string(),
        there: match there {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        },
    }
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
        return Err(ConditionError::NoDevice {
            subject: subject.to_string(),
            path: storage.path.clone(),
            words: storage.words(),
        });
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
