//! Formats for programs; their exact bytes are a stable interface.

pub mod csv;
pub mod data;
pub mod described;
pub mod gate;
pub mod import;
pub mod json;
pub mod openmetrics;
mod parts;
