//! Commands that show, draw, import and share stored results.

pub mod import;
pub mod list;
pub mod plot;
pub mod pull;
pub mod push;
pub mod report;
pub mod rm;
pub mod serve;
pub mod show;
pub mod store;
pub mod tag;
