//! File systems that a scenario makes on its scratch device. They are conditions: a
//! journal records them before they are made, so that the next start unmounts those of a
//! killed run.

use super::SlotAct;
use crate::conditions::{Conditions, journals};
use assay_model::condition::{Condition, Setting, Subject};
use assay_model::work::WorkSpec;
use assay_probe::roots::Roots;
use assay_probe::stack;
use assay_workloads::WorkError;
use std::path::PathBuf;

/// Returns the file systems that a work makes, as conditions; each kind once.
pub(super) fn kinds_of(work: &dyn WorkSpec) -> Vec<Condition> {
    let mut kinds: Vec<Condition> = Vec::new();
    for kind in work
        .file_systems()
        .map_or_else(Vec::new, |(_, kinds)| kinds)
    {
        let condition = Condition::of(vec![Setting {
            subject: Subject::Mkfs,
            value: kind.to_owned(),
        }]);
        if !kinds.contains(&condition) {
            kinds.push(condition);
        }
    }
    kinds
}

/// Scratch device of a scenario, and the file system on it.
pub(super) struct Scratch<'a> {
    roots: &'a Roots,
    act: SlotAct<'a>,
    kinds: &'a [Condition],
    made: Option<Conditions<'a>>,
}

impl<'a> Scratch<'a> {
    pub(super) const fn new(roots: &'a Roots, act: SlotAct<'a>, kinds: &'a [Condition]) -> Self {
        Self {
            roots,
            act,
            kinds,
            made: None,
        }
    }

    /// Makes a file system on the device, which destroys its data, and mounts it; returns
    /// the mount point.
    pub(super) fn make(&mut self, kind: &str) -> Result<PathBuf, WorkError> {
        let device = self.act.act.spec().file_systems();
        let device = device
            .filter(|_| self.act.destroy_data)
            .map(|(path, _)| path);
        let device = device.ok_or_else(|| {
            refused("a file system destroys all data on a device: give one, and --destroy-data")
        })?;
        let mut kinds = self.kinds.iter();
        let index = kinds.position(|known| known.settings.iter().any(|s| s.value == kind));
        let storage = stack::resolve(self.roots, device).map_err(|e| failed(e.to_string()))?;
        let run_id = self.act.run_id;
        let conditions = Conditions::new(self.roots, &storage, run_id, self.kinds, journals());
        let conditions = self.made.insert(conditions.map_err(failed)?);
        conditions.enter(index).map_err(failed)?;
        let point = conditions.mount_point().map(PathBuf::from);
        point.ok_or_else(|| refused("there is no such file system in this scenario"))
    }

    /// Unmounts the file system; returns the first problem as an error.
    pub(super) fn leave(&mut self) -> Result<(), WorkError> {
        match self.close().into_iter().next() {
            Some(problem) => Err(failed(problem)),
            None => Ok(()),
        }
    }

    /// Unmounts the file system; returns one line for each problem.
    pub(super) fn close(&mut self) -> Vec<String> {
        self.made
            .take()
            .map_or_else(Vec::new, |mut made| made.leave())
    }
}

fn refused(problem: &str) -> WorkError {
    WorkError::Refused(problem.to_owned())
}

fn failed(message: String) -> WorkError {
    WorkError::Failed {
        message,
        errno: None,
    }
}
