//! Checks that a device to write is the one that was inspected: a removable device may be
//! replaced while the session waits for the cleanup of killed runs.

use crate::permission::{device, refuse};
use assay_model::run::{Same, is_same_medium};
use assay_model::storage::{Layer, Storage};
use assay_model::wire::{Inspection, PathKind, Refusal};
use assay_probe::roots::Roots;
use assay_probe::stack;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Devices that were inspected in this session, in their first state.
#[derive(Debug, Default)]
pub(crate) struct Inspected(BTreeMap<PathBuf, Storage>);

impl Inspected {
    /// Records a device, unless one with the same path is recorded.
    pub(crate) fn note(&mut self, inspection: &Inspection) {
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
        if let (Some(held), Some(now)) = (held, number(&now)) {
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
            Same::Unknown if number(before) != number(&now) => {
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

fn number(storage: &Storage) -> Option<(u32, u32)> {
    storage
        .top()
        .map(|&Layer { major, minor, .. }| (major, minor))
}
