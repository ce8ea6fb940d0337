//! Pages for people.

pub mod compare;
pub mod devices;
pub mod overview;
pub mod refusal;
pub mod run;
pub mod runs;
mod site;
mod table;
