//! Command that is repeated under each condition.

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
    /// A work.
    Work(SweptWork),
}

/// Command that consists of one work.
pub struct SweptWork {
    /// Name of the command.
    pub name: &'static str,
    /// Function that makes the work for the inspected place, and its steps as far as they are known
    /// beforehand.
    pub make: MakeWork,
}

/// Makes a work and its steps for an inspected place.
pub type MakeWork = Box<dyn Fn(&Inspection) -> Result<(Work, Vec<Job>), Failure>>;

/// Function that parses a command for the path of a sweep; the machine is not accessed yet.
pub type ReadCommand = fn(&[OsString], &Path) -> Result<Swept, Failure>;
