//! Commands that show, draw, import and share stored results.

pub mod entries;
pub mod export;
pub mod plot;
pub mod query;
pub mod report;
pub mod serve;
pub mod transfer;
