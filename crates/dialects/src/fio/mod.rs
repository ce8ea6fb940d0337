//! fio's job files, command line and outputs.

pub mod output;
