//! Data for programs under `/api/v1`.

pub mod runs;
pub mod series;
