//! Commands that judge and explain results.

pub mod compare;
pub mod explain;
pub mod model;
pub mod rank;
pub mod series;
