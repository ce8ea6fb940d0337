//! Protects root against path manipulation: if another user can replace a folder on the way
//! to a named file by a link, the folder is held open, and its names are resolved through the
//! descriptor.

use crate::permission::refuse;
use assay_engine::held::{HeldFolder, shown};
use assay_model::act::Act;
use assay_model::job::EngineKind;
use assay_model::load::Load;
use assay_model::wire::Refusal;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Held folders by their names; dropping this closes them.
#[derive(Debug, Default)]
pub(crate) struct HeldFolders(BTreeMap<PathBuf, Option<HeldFolder>>);

/// Holds the folders of a load's files. Streams that replay a trace must have their files
/// from it already ([`adopt`](assay_engine::load::adopt)).
///
/// # Errors
/// If a folder cannot be opened, or the path to it contains a link that another user can
/// change.
pub(crate) fn of_load(load: &mut Load) -> Result<HeldFolders, Refusal> {
    let mut held = HeldFolders::default();
    for stream in &mut load.streams {
        // These engines open no files, and their names may be anything.
        if matches!(stream.engine.kind, EngineKind::Null | EngineKind::Sim) {
            continue;
        }
        for path in &mut stream.files.paths {
            held.file(path)?;
        }
        if let Some(folder) = &mut stream.files.opendir {
            held.folder(folder)?;
        }
    }
    Ok(held)
}

/// Holds the folders of an act's files; those of streams are held by [`of_load`] once they are
/// known.
///
/// # Errors
/// As [`of_load`].
pub(crate) fn of_act(act: &mut Act) -> Result<HeldFolders, Refusal> {
    let work = act.spec_mut();
    let mut held = HeldFolders::default();
    for path in work.named_files() {
        held.file(path)?;
    }
    // Folders that assay makes are held by the code that makes them.
    if let Some(path) = work.named_folder().filter(|path| path.is_dir()) {
        held.folder(path)?;
    }
    Ok(held)
}

impl HeldFolders {
    /// Holds the folder of a file, or the nearest existing one above it.
    fn file(&mut self, path: &mut PathBuf) -> Result<(), Refusal> {
        let above = path.ancestors().skip(1);
        let there = |folder: &&Path| folder.as_os_str().is_empty() || fs::metadata(folder).is_ok();
        let Some(folder) = above.into_iter().find(there).map(Path::to_owned) else {
            return Ok(());
        };
        let through = self.through(&folder)?;
        if let (Some(through), Ok(rest)) = (through, path.strip_prefix(&folder)) {
            *path = through.join(rest);
        }
        Ok(())
    }

    fn folder(&mut self, path: &mut PathBuf) -> Result<(), Refusal> {
        if let Some(through) = self.through(path)? {
            *path = through;
        }
        Ok(())
    }

    /// Returns the path through the descriptor; `None` if no other user can change the path.
    fn through(&mut self, folder: &Path) -> Result<Option<PathBuf>, Refusal> {
        if !self.0.contains_key(folder) {
            let held = hold(folder).map_err(|error| {
                let folder = shown(folder);
                refuse(format!("{folder} is left alone: {error}"))
            })?;
            self.0.insert(folder.to_owned(), held);
        }
        let held = self.0.get(folder).and_then(Option::as_ref);
        Ok(held.map(|held| held.path().to_owned()))
    }
}

/// Opens a folder. If the kernel refuses, the code that uses the folder reports the error.
fn hold(folder: &Path) -> io::Result<Option<HeldFolder>> {
    match HeldFolder::if_open_to_others(folder) {
        Err(error) if error.raw_os_error().is_some() => Ok(None),
        held => held,
    }
}
