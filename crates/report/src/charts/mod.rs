//! Charts: `data` picks the series of a run, `draw` draws any chart.

pub mod data;
pub mod draw;
