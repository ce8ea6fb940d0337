//! Formats that programs read; their bytes are part of the interface.

pub mod csv;
pub mod gate;
pub mod import;
pub mod json;
