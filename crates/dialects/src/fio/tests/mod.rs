//! Whole job files and command lines.

mod command_line;
mod compat;
mod environment;
mod examples;
mod fuzz;
mod grammar;
mod mistakes;
mod priorities;

pub(super) use environment::TestEnvironment;
