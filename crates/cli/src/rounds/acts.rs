//! Acts that are repeated in rounds: the commands that can be, and the check of their paths.

use crate::driver::host::Host;
use crate::exit::Failure;
use crate::rounds::JobSource;
use assay_model::act::Act;
use assay_model::job::Job;
use assay_model::storage::folder_of;
use assay_model::wire::{Feature, Inspection};
use assay_target::Target;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Command that is repeated in rounds.
pub enum RepeatedCommand {
    /// The jobs of a plan.
    Jobs(JobSource),
    /// An act.
    Act(RepeatedAct),
}

/// A command that is one act.
pub struct RepeatedAct {
    /// Name of the command.
    pub name: &'static str,
    /// Feature that its agent must have.
    pub needs: Feature,
    /// `true` if the files of the command are checked on this machine, so that it cannot be repeated
    /// on another one.
    pub is_local: bool,
    /// Makes the act for the inspected place, and its steps as far as they are known beforehand.
    pub make: MakeAct,
}

/// Makes an act and its steps for an inspected place.
pub type MakeAct = Box<dyn Fn(&Inspection) -> Result<(Act, Vec<Job>), Failure>>;

impl RepeatedAct {
    /// Checks that the act can be repeated on the target, and asks for an agent that can.
    ///
    /// # Errors
    /// If it is repeated on this machine only.
    pub fn check_target(&self, target: &mut dyn Target) -> Result<(), Failure> {
        target.needs(self.needs);
        match (target.name(), self.is_local) {
            (Some(name), true) => Err(Failure::usage(format!(
                "{} is repeated on this machine only, as its files are checked here: on {name} repeat \
                 jobs, androbench, disks, mark or scenario",
                self.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Reads the words of a command for a path; nothing is asked of the machine yet.
pub type ReadCommand = fn(&[OsString], &Path) -> Result<RepeatedCommand, Failure>;

/// Place of an act that is repeated.
pub struct ActPlace<'a> {
    /// Inspection of the path.
    pub inspection: &'a Inspection,
    /// Inspection that the act gets: a folder, where file systems are made on a device.
    pub bench: &'a Inspection,
    /// The conditions make file systems.
    pub makes_file_systems: bool,
}

/// Refuses a work that writes elsewhere, or that does not access the storage whose settings are
/// varied: its figures would not depend on them.
pub fn check_place(host: &mut Host, work: &Act, place: &ActPlace) -> Result<(), Failure> {
    refuse_own_streams(work, place)?;
    let is_made = place.makes_file_systems;
    let varied = &place.inspection.storage;
    let mut is_there = false;
    for path in touched(work).into_iter().filter(|path| !is_stream(path)) {
        let inside = match is_made {
            true => path.starts_with(&place.bench.path) && path != place.inspection.path,
            false => {
                let found = host.inspect(&path);
                let found = found.or_else(|_| host.inspect(folder_of(&path)))?;
                found.storage.backing == varied.backing
            }
        };
        is_there |= inside || is_made && path == place.bench.path;
        if !inside && work.spec().writes().contains(&path) {
            return Err(Failure::usage(format!(
                "{} is not on {}: name a file there; names without \
                 a / in front are in it",
                path.display(),
                place.inspection.path.display()
            )));
        }
    }
    match is_there || !work.spec().measures_storage() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "the command uses nothing on {}",
            place.inspection.path.display()
        ))),
    }
}

/// Refuses paths of standard streams: the agent has other ones.
fn refuse_own_streams(work: &Act, place: &ActPlace) -> Result<(), Failure> {
    let streams = [
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd",
        "/proc",
    ];
    let is_own = |path: &&PathBuf| streams.iter().any(|known| path.starts_with(known));
    match touched(work).iter().find(is_own) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "{} is a stream of this process, which a repeated command does not have: name a file on \
             {}",
            path.display(),
            place.inspection.path.display()
        ))),
    }
}

/// Returns the files, folders and devices that a work reads or writes, each once.
fn touched(work: &Act) -> Vec<PathBuf> {
    let mut touched = work.spec().touches();
    touched.sort();
    touched.dedup();
    touched
}

/// `true` for character devices such as `/dev/zero`, and for pipes: they are no storage.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| {
        let kind = meta.file_type();
        kind.is_char_device() || kind.is_fifo()
    })
}
