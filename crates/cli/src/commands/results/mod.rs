//! Commands that show, draw and import stored results.

pub mod import;
pub mod list;
pub mod plot;
pub mod report;
pub mod rm;
pub mod serve;
pub mod show;
pub mod tag;
