//! Compares a device that is to be written with the one that the host was told of: a stick may be
//! exchanged while leftovers of killed runs are waited for.

use crate::permission::{device, refuse};
use assay_model::storage::{Layer, Storage};
use assay_model::unit::{Same, is_same_medium};
use assay_model::wire::{Inspection, PathKind, Refusal};
use assay_probe::roots::Roots;
use assay_probe::stack;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The devices that were inspected in this session, as they were first.
#[derive(Debug, Default)]
pub(crate) struct Inspected(BTreeMap<PathBuf, Storage>);

impl Inspected {
    /// Remembers a device, unless one of the same path is remembered.
    pub(crate) fn note(&mut self, inspection: &Inspection) {
        if let PathKind::Device { .. } = inspection.kind {
            let Inspection { path, storage, .. } = inspection;
            self.0
                .entry(path.clone())
                .or_insert_with(|| storage.clone());
        }
    }

    /// Looks at a path again; `held`: the device, if it was opened by that path.
    ///
    /// # Errors
    /// When the path leads to another device than the one that was inspected, or is not the one
    /// that is held.
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

    /// Checks each of the paths that may be written, as [`Self::check`] does.
    ///
    /// # Errors
    /// Those of the first path that fails.
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
