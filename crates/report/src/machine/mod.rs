//! Formats that programs read; their bytes are part of the interface.

pub mod csv;
pub mod data;
pub mod described;
pub mod gate;
pub mod import;
pub mod json;
pub mod openmetrics;
mod parts;
