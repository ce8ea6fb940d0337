//! Outputs: one file per format. Each gets a run and writes it; none queries
//! the store or measures anything.

#[cfg(test)]
mod agreement;
pub mod cache_edge;
pub mod capacity;
pub mod chart;
pub mod comparison;
pub mod csv;
pub mod derived;
pub mod describe;
pub mod devices;
pub mod digest;
pub mod doctor;
pub mod extent;
#[cfg(test)]
pub mod fixture;
pub mod format;
pub mod found;
pub mod gallery;
pub mod gate;
pub mod health;
pub mod html;
pub mod identity;
pub mod import;
#[cfg(test)]
mod in_chinese;
pub mod jobs;
pub mod json;
pub mod key_figure;
pub mod labels;
pub mod ladder;
pub mod mail;
pub mod matrix;
pub mod memory;
pub mod placed;
pub mod powercut;
pub mod registers;
pub mod replay;
#[cfg(test)]
mod samples;
pub mod scenario;
#[cfg(test)]
mod sides;
pub mod soak;
pub mod stopping;
pub mod summary;
pub mod sweep;
pub mod tails;
pub mod terminal;
pub mod text;
pub mod warnings;
pub mod watch;
pub mod way;
pub mod xlsx;
