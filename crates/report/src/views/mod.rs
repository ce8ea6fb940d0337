//! Documents of what assay finds, laid out once for all formats.

pub mod comparison;
pub mod findings;
pub mod import;
mod provenance;
pub mod ranking;
pub mod run;
