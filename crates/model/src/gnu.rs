//! Names and sizes as GNU's tools write them in the C locale, so that a message can be compared
//! with theirs and a name in it can be typed into a shell.

mod quote;
mod size;

pub use quote::{quoted, quoted_c, quoted_if_needed};
pub use size::{Base, rate, size};
