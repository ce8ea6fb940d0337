//! Selection of the device to watch.

use super::named::paths;
use crate::inspect::storage_of;
use assay_model::storage::{Backing, Storage};
use assay_probe::roots::Roots;
use assay_probe::watch as counters;
use assay_workloads::WorkError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Similar names in the error message, at most.
const NEAREST: usize = 4;

/// Watched device.
#[derive(Debug)]
pub(super) enum Looked {
    /// The device of that kernel name.
    At(String),
    /// The device of this path of the command; the current directory is on another one.
    AtNamed { device: String, path: PathBuf },
    /// Every disk, because of `because`; the most active one is shown.
    AtAll { because: String },
}

/// Selects the device that the user named. Without a name, selects the device of the last path in
/// the command, which is usually its output; otherwise the device of the current directory.
///
/// # Errors
/// If the name does not exist, or no device is behind it.
pub(super) fn looked_at(
    roots: &Roots,
    named: Option<&Path>,
    command: &[OsString],
) -> Result<Looked, WorkError> {
    let Some(path) = named else {
        let here = name_of(&storage_of(roots, Path::new(".")));
        let on_device = |path: PathBuf| Some((name_of(&storage_of(roots, &path)).ok()?, path));
        let of_command = paths(command).into_iter().rev().find_map(on_device);
        return Ok(match (of_command, here) {
            (Some((device, path)), here) if here.as_ref() != Ok(&device) => {
                Looked::AtNamed { device, path }
            }
            (_, Ok(name)) => Looked::At(name),
            (_, Err(why)) => Looked::AtAll {
                because: format!(
                    "no device behind the current directory: {why}; each row shows the disk that \
                     moved most so far, which others may have used: name one with --device"
                ),
            },
        });
    };
    let name = path.to_str().filter(|name| !name.contains('/'));
    if let Some(name) = name.filter(|name| counters::is_device(roots, name)) {
        return Ok(Looked::At(name.to_owned()));
    }
    if !path.exists() {
        return Err(WorkError::Refused(nothing_there(roots, path)));
    }
    name_of(&storage_of(roots, path))
        .map(Looked::At)
        .map_err(|why| {
            WorkError::Refused(format!(
                "no device to look at behind {}: {why}; name another with --device",
                path.display()
            ))
        })
}

/// Returns the kernel name of a storage's device, or the reason why it has no device.
fn name_of(storage: &Storage) -> Result<String, String> {
    match (storage.top(), &storage.backing) {
        (Some(top), _) => Ok(top.name.clone()),
        (None, Backing::Device { name }) => Err(format!("{name} has no counters")),
        (None, Backing::Memory { fs_type }) => Err(format!("it is in memory ({fs_type})")),
        (None, Backing::Simulated { part }) => Err(format!("{part} is simulated")),
        (None, Backing::MainMemory) => Err("it is main memory".to_owned()),
        (None, Backing::Unknown { why }) => Err(why.clone()),
    }
}

/// Returns the message for an unknown name, with similar names.
fn nothing_there(roots: &Roots, path: &Path) -> String {
    let meant = path.file_name().unwrap_or_default().to_string_lossy();
    let mut names = counters::devices(roots);
    names.sort_by_cached_key(|name| distance(&meant, name));
    names.truncate(NEAREST);
    let hint = match &names[..] {
        [] => "there is no device with counters here".to_owned(),
        names => format!("the nearest devices are {}", names.join(", ")),
    };
    format!(
        "--device: there is neither a device nor a path {}; {hint}",
        path.display()
    )
}

/// Computes the Levenshtein distance of two names, by rows. It is written by hand because the small
/// static agent does without a crate for one message.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (column, &counterpart) in other.iter().enumerate() {
            let exchanged = corner + usize::from(letter != counterpart);
            corner = row[column + 1];
            row[column + 1] = exchanged.min(corner + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Creates a machine with these devices.
    fn machine(names: &[&str]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let device = folder.path().join("class/block").join(name);
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("size"), "8\n").unwrap();
        }
        let sys = folder.path().to_owned();
        (
            folder,
            Roots {
                sys,
                ..Roots::default()
            },
        )
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_the_nearest() {
        let (_folder, roots) = machine(&["mmcblk0", "mmcblk0p1", "mmcblk1", "sda", "vda", "zram0"]);
        for named in ["mmcblk2", "/dev/mmcblk2"] {
            let refused = looked_at(&roots, Some(Path::new(named)), &[]).unwrap_err();
            let text = refused.to_string();
            assert!(text.contains(named), "{text}");
            let nearest = "nearest devices are mmcblk0, mmcblk1, mmcblk0p1";
            assert!(text.contains(nearest), "{text}");
        }
        let (_folder, roots) = machine(&[]);
        let refused = looked_at(&roots, Some(Path::new("nope")), &[]).unwrap_err();
        assert!(refused.to_string().contains("no device with counters"));
    }

    #[test]
    fn letters_put_in_taken_out_and_exchanged_are_counted() {
        for (one, other, count) in [
            ("", "sda", 3),
            ("sda", "", 3),
            ("sda", "sda", 0),
            ("sad", "sda", 2),
            ("nvme0n1", "nvme0n1p2", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), count, "{one} {other}");
        }
    }
}
