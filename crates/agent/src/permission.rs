//! Permission to write: the target must not be in use, and must be the one that was inspected.

use crate::inspect::uses;
use assay_engine::goes_away;
use assay_engine::held::shown;
use assay_model::run::{Same, is_same_medium};
use assay_model::storage::{Layer, Storage};
use assay_model::wire::{Inspection, PathKind, Refusal, RunEnd};
use assay_probe::roots::Roots;
use assay_probe::safety::{FileUse, KernelOwned};
use assay_probe::stack::{self, device_gone};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Returns warnings about files to write that back a loop device.
///
/// # Errors
/// If that device is in use, or a file is swap space.
pub(crate) fn not_owned(path: &Path, uses: Vec<FileUse>) -> Result<Vec<String>, Refusal> {
    let mut warnings = Vec::new();
    for FileUse {
        file,
        device,
        reasons,
    } in uses
    {
        let what = match &device {
            Some(name) => format!("the file {} is behind {name}", file.display()),
            None => format!("the file {}", file.display()),
        };
        if !reasons.is_empty() {
            return Err(refuse(format!(
                "{} is left alone: {what}: {}",
                shown(path),
                reasons.join("; ")
            )));
        }
        warnings.push(format!(
            "{what}: what is written to it changes the device too"
        ));
    }
    Ok(warnings)
}

/// Returns the node of a block device behind a path; `None` for anything else.
pub(crate) fn device(path: &Path) -> Option<PathBuf> {
    let node = fs::canonicalize(path).ok()?;
    let meta = fs::metadata(&node).ok()?;
    meta.file_type().is_block_device().then_some(node)
}

/// Refuses a device that is in use.
pub(crate) fn is_free(roots: &Roots, node: &Path) -> Result<(), Refusal> {
    let storage = stack::resolve(roots, node).map_err(|error| refuse(error.to_string()))?;
    let reasons = match storage.top() {
        Some(top) => uses(roots, node, &top.name)?,
        None => vec!["its device was not found".to_owned()],
    };
    if reasons.is_empty() {
        return Ok(());
    }
    Err(refuse(format!(
        "{} is in use and is left alone: {}",
        node.display(),
        reasons.join("; ")
    )))
}

/// Refuses an output path with other data: a block device, free or not, or a file that the
/// kernel uses.
pub(crate) fn is_no_data(owned: &KernelOwned<'_>, path: &Path) -> Result<(), Refusal> {
    if let Some(node) = device(path) {
        return Err(refuse(format!(
            "{} is a block device, and results are not written over one: name a file",
            node.display()
        )));
    }
    match owned.uses_of(path).first() {
        None => Ok(()),
        Some(FileUse { device, .. }) => {
            let what = match device {
                Some(device) => format!("the file behind {device}"),
                None => "swap space".to_owned(),
            };
            Err(refuse(format!(
                "{} is left alone: it is {what}, and results are not written over it: name \
                 another file",
                path.display()
            )))
        }
    }
}

/// Checks the path of a file that the host writes.
///
/// # Errors
/// The reason why it must not be written.
pub fn admit_output(path: &Path) -> Result<(), String> {
    let roots = Roots::default();
    is_no_data(&KernelOwned::scan(&roots), path).map_err(|refusal| refusal.message)
}

pub(crate) fn refuse(message: String) -> Refusal {
    Refusal {
        usage: true,
        message,
    }
}

/// Devices that were inspected in this session, in their first state. A device to write must be the
/// one that was inspected: a removable device may be replaced while the session waits for the
/// cleanup of killed runs.
#[derive(Debug, Default)]
pub(crate) struct Inspected(BTreeMap<PathBuf, Storage>);

impl Inspected {
    /// Records a device, unless one with the same path is recorded.
    pub(crate) fn record(&mut self, inspection: &Inspection) {
        if let PathKind::Device { .. } = inspection.kind {
            let Inspection { path, storage, .. } = inspection;
            self.0
                .entry(path.clone())
                .or_insert_with(|| storage.clone());
        }
    }

    /// Inspects a path again. `held` is the device, if it was opened by that path.
    ///
    /// # Errors
    /// If the path refers to another device than the one that was inspected, or than `held`.
    pub(crate) fn check(
        &self,
        roots: &Roots,
        path: &Path,
        held: Option<&File>,
    ) -> Result<(), Refusal> {
        let Some(before) = device(path).and_then(|node| self.0.get(&node)) else {
            return Ok(());
        };
        let another = |why: &str| {
            refuse(format!(
                "{} is not the device that was inspected, and is left alone: {why}",
                path.display()
            ))
        };
        let now = stack::resolve(roots, path).map_err(|error| another(&error.to_string()))?;
        if let (Some(held), Some(now)) = (held, device_number(&now)) {
            let meta = held
                .metadata()
                .map_err(|error| another(&error.to_string()))?;
            let rdev = meta.rdev();
            if (rustix::fs::major(rdev), rustix::fs::minor(rdev)) != now {
                return Err(another("the name led to another one while it was opened"));
            }
        }
        match is_same_medium(before, &now) {
            Same::No(why) => Err(another(&why)),
            Same::Unknown if device_number(before) != device_number(&now) => {
                Err(another("it has another device number"))
            }
            Same::Yes | Same::Unknown => Ok(()),
        }
    }

    /// Checks each of the paths to write, like [`Self::check`].
    #[cfg(feature = "works")]
    pub(crate) fn check_all<'a>(
        &self,
        roots: &Roots,
        paths: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Refusal> {
        let mut paths = paths.into_iter().filter(|_| !self.0.is_empty());
        paths.try_for_each(|path| self.check(roots, path, None))
    }
}

fn device_number(storage: &Storage) -> Option<(u32, u32)> {
    storage
        .top()
        .map(|&Layer { major, minor, .. }| (major, minor))
}

/// Reason why no later trial can succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fatal {
    DeviceLost(String),
    Storage(String),
}

impl Fatal {
    /// Classifies an error; `None` if the next trial may succeed.
    pub(crate) fn of(
        error: &str,
        errno: Option<i32>,
        roots: &Roots,
        storage: &Storage,
    ) -> Option<Self> {
        let errno = errno.map(Errno::from_raw_os_error);
        // Checked first: a device without a medium also has no free space.
        if matches!(errno, Some(Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM))
            || device_gone(roots, storage)
            || (errno == Some(Errno::IO) && goes_away(|| device_gone(roots, storage)))
        {
            let device = storage.words();
            return Some(Self::DeviceLost(format!("{device} went away: {error}")));
        }
        let remedy = match errno {
            Some(Errno::NOSPC | Errno::DQUOT) => "make room, or write less",
            Some(Errno::ROFS) => {
                "the file system is read-only; if it was not before, see the kernel log"
            }
            _ => return None,
        };
        Some(Self::Storage(format!("{error}: {remedy}")))
    }
}

impl From<Fatal> for RunEnd {
    fn from(fatal: Fatal) -> Self {
        match fatal {
            Fatal::DeviceLost(error) => Self::DeviceLost { error },
            Fatal::Storage(error) => Self::Failed { error },
        }
    }
}
