//! Whole job files and command lines.

mod compat;
mod environment;
mod grammar;

pub(super) use environment::TestEnvironment;
