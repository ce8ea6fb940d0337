//! Commands that show, draw, import and share stored results.

pub mod export;
pub mod import;
pub mod list;
pub mod plot;
pub mod pull;
pub mod push;
pub mod query;
pub mod report;
pub mod rm;
pub mod serve;
pub mod share;
pub mod show;
pub mod store;
pub mod tag;
