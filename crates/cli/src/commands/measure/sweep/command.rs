//! A command that is repeated under each condition.

use crate::exit::Failure;
use crate::rounds::jobs::JobSource;
use assay_model::job::Job;
use assay_model::wire::Inspection;
use assay_model::work::Work;
use std::ffi::OsString;
use std::path::Path;

/// Command to run under each condition.
pub enum Swept {
    /// The jobs of a plan.
    Jobs(JobSource),
    /// A work, as a whole.
    Work(SweptWork),
}

/// A command that is one work.
pub struct SweptWork {
    /// Name of the command.
    pub name: &'static str,
    /// Makes the work for the place that was inspected, and its steps as far as they are
    /// known beforehand.
    pub make: MakeWork,
}

/// Makes a work and its steps for an inspected place.
pub type MakeWork = Box<dyn Fn(&Inspection) -> Result<(Work, Vec<Job>), Failure>>;

/// Reads the words of a command for the path of a sweep; nothing is asked of the machine yet.
pub type ReadCommand = fn(&[OsString], &Path) -> Result<Swept, Failure>;
