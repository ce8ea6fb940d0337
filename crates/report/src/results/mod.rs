//! Figures, labels, warnings and comparisons that are derived from stored runs.

pub mod changes;
pub mod checkup;
pub mod comparison;
pub mod derived;
pub mod describe;
pub mod effects;
pub mod facts;
pub mod findings;
pub mod key_figure;
pub mod key_figures;
pub mod matrix;
pub mod names;
pub mod population;
pub mod reference;
pub mod requirements;
pub mod summary;
pub mod sweep;
pub mod warnings;
