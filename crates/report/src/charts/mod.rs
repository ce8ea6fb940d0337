//! Charts: `data` selects the series of a run, `draw` draws any chart.

pub mod data;
pub mod draw;
