//! Pages for people.

pub mod changes;
pub mod compare;
pub mod device;
pub mod devices;
pub mod overview;
pub mod refusal;
pub mod run;
pub mod runs;
pub mod series;
mod site;
mod table;
