//! Jobs that commands measure: of job files of fio, and of the suite of `assay qualify`.

pub mod job_file;
pub mod load_trials;
pub mod memory;
pub mod records;
pub mod suite;
