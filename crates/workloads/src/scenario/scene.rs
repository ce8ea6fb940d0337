//! Location of a scenario: its folder, its scratch device, and the information about its files.

use super::content::Recipe;
use crate::files::write_back;
use crate::{Context, WorkError};
use assay_engine::held;
use assay_model::work::scenario::{DEVICE, SCENE, Scenario};
use rustix::fs::Mode;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// File that replaces the scratch device in a folder.
const STAND_IN: &str = "device.img";

/// Location of a scenario, shared by concurrent acts.
pub(super) struct Scene {
    /// Name of the scenario.
    pub(super) name: String,
    device: Option<PathBuf>,
    pub(super) seed: u64,
    /// Space that must remain free, in bytes.
    pub(super) reserve: u64,
    known: Mutex<SceneFiles>,
}

/// Information about the files.
#[derive(Default)]
struct SceneFiles {
    /// Folder of all files; `None` while there is no file system.
    root: Option<PathBuf>,
    /// Contents of files, by their names in the scenario.
    recipes: BTreeMap<String, Recipe>,
    /// Files of folders that acts have made.
    trees: BTreeMap<String, Planted>,
}

/// Many files in a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Planted {
    /// Sizes of the files in bytes.
    pub(super) sizes: Vec<u64>,
    /// Number of files removed, counted from the first.
    pub(super) removed: usize,
}

impl Scene {
    /// Prepares the folder, if there is a file system already.
    pub(super) fn new(work: &Scenario, context: &Context<'_>) -> Result<Self, WorkError> {
        let scene = Self {
            name: work.name.clone(),
            device: work.on_device.then(|| work.path.clone()),
            seed: context.seed,
            reserve: work.reserve.0,
            known: Mutex::default(),
        };
        if let Some(folder) = context.folder {
            scene.settle_in(folder)?;
        }
        Ok(scene)
    }

    /// Sets the folder for files; earlier files are gone.
    pub(super) fn settle_in(&self, folder: &Path) -> Result<(), WorkError> {
        let root = folder.join(SCENE);
        held::make_folders(&root, Mode::RWXU)
            .map_err(|error| WorkError::io("make", &root, &error))?;
        *self.known() = SceneFiles {
            root: Some(root),
            ..SceneFiles::default()
        };
        Ok(())
    }

    /// Returns the device, if the scenario runs on one.
    pub(super) const fn device(&self) -> Option<&PathBuf> {
        self.device.as_ref()
    }

    /// Returns the folder of all files.
    pub(super) fn root(&self) -> Result<PathBuf, WorkError> {
        self.known().root.clone().ok_or_else(|| {
            WorkError::Refused(
                "there is no file system on the device yet: put a step that formats it before"
                    .to_owned(),
            )
        })
    }

    /// Writes back all dirty data in the file system, if there is one.
    pub(super) fn settle(&self) -> Result<(), WorkError> {
        let root = self.known().root.clone();
        root.map_or(Ok(()), |root| write_back(&root))
    }

    /// Returns the path of a file, and creates the folders above it.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf, WorkError> {
        if name == DEVICE {
            return match &self.device {
                Some(device) => Ok(device.clone()),
                None => Ok(self.root()?.join(STAND_IN)),
            };
        }
        let path = self.root()?.join(name);
        if let Some(folder) = path.parent() {
            held::make_folders(folder, Mode::RWXU)
                .map_err(|error| WorkError::io("make", folder, &error))?;
        }
        Ok(path)
    }

    /// Returns the content of a file; `None` if unknown.
    pub(super) fn recipe(&self, name: &str) -> Option<Recipe> {
        self.known().recipes.get(name).cloned()
    }

    /// Records the content of a file; `None` if it is unknown.
    pub(super) fn holds(&self, name: &str, recipe: Option<Recipe>) {
        let mut known = self.known();
        match recipe {
            Some(recipe) => drop(known.recipes.insert(name.to_owned(), recipe)),
            None => drop(known.recipes.remove(name)),
        }
    }

    /// Returns the files of a folder that an act has made.
    pub(super) fn planted(&self, folder: &str) -> Option<Planted> {
        self.known().trees.get(folder).cloned()
    }

    /// Records the files of a folder.
    pub(super) fn plant(&self, folder: &str, planted: Planted) {
        self.known().trees.insert(folder.to_owned(), planted);
    }

    /// Records that a file or folder is removed.
    pub(super) fn forget(&self, name: &str) {
        let mut known = self.known();
        let within = |other: &String| other == name || Path::new(other).starts_with(name);
        known.recipes.retain(|file, _| !within(file));
        known.trees.retain(|folder, _| !within(folder));
    }

    fn known(&self) -> MutexGuard<'_, SceneFiles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if a path stays in the folder that it is relative to.
pub(super) fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}
