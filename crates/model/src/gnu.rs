//! How GNU's tools write names and sizes in the C locale, so that a message can
//! be compared with theirs and a name in it be typed into a shell.

mod quote;
mod size;

pub use quote::{quoted, quoted_c, quoted_if_needed};
pub use size::{Base, rate, size};
