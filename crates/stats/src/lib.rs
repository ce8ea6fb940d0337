//! From raw counters to figures: the latency histogram of the engine, latency
//! distributions, summaries over trials, change points and stalls of a series,
//! streams of a load as one, the metrics of a trial, units of others, verdicts on differences, and
//! what `free`, `vmstat` and `iostat` show.
//!
//! Nothing here does I/O or reads a clock. Input that was read from a file may
//! be damaged: it gives an error or no figure, never a panic and never a
//! figure that looks sound.

pub mod acts;
pub mod changes;
pub mod course;
pub mod derive;
pub mod distributions;
pub mod figures;
pub mod hierarchy;
pub mod histogram;
pub mod latency;
pub mod percentile;
pub mod proportion;
pub mod requirement;
pub mod rounds;
pub mod series;
pub mod steps;
pub mod streams;
pub mod summary;
pub mod tails;
pub mod unit;
pub mod verdict;
pub mod watch;
pub mod within_trial;
