//! Drop-ins for other tools: their words, outputs and exit codes.

pub mod androbench;
pub mod dd;
pub mod fio;
pub mod iozone;
