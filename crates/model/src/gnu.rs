//! Names and sizes in the format of GNU's tools in the C locale, so that messages can be compared
//! with theirs and names can be pasted into a shell.

mod quote;
mod size;

pub use quote::{quoted, quoted_c, quoted_if_needed};
pub use size::{Base, rate, size};
