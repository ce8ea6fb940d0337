//! Charts: `data` selects the series of a run, `draw` draws any chart.
//!
//! To add a chart: add a function in `data` that makes a `Chart`, a field of its `Gallery`, and a
//! place in `views::run::page`. Every output of charts then has it. A new mark or scale is a
//! variant of `draw::SeriesStyle` or `draw::Scale`, and an arm in each output.

pub mod data;
pub mod draw;
