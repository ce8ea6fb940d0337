//! Derives figures from raw counters: the latency histogram of the engine, latency distributions,
//! summaries over trials, change points and stalls of a series, streams of a load as one, the
//! metrics of a trial, conversion of units, standing of a unit among others of its kind, verdicts
//! on differences, and the values of `free`, `vmstat` and `iostat`.
//!
//! This crate does no I/O and reads no clock. Input from a file may be damaged: it gives an error
//! or no figure, never a panic and never a plausible wrong figure.

pub mod changes;
pub mod course;
pub mod derive;
pub mod distributions;
pub mod figures;
pub mod histogram;
pub mod latency;
pub mod steps;
pub mod streams;
pub mod summary;
pub mod unit;
pub mod verdict;
pub mod watch;
