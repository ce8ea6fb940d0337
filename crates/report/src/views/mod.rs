//! Documents of results, laid out once for all formats.

pub mod checkup;
pub mod comparison;
pub mod devices;
pub mod import;
pub mod index;
pub mod marks;
mod provenance;
pub mod ranking;
pub mod recordings;
pub mod run;
pub mod series;
