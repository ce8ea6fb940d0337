//! Jobs that commands measure: those of job files, and the suite of `assay qualify`.

pub mod job_file;
pub mod load_trials;
pub mod memory;
pub mod suite;
