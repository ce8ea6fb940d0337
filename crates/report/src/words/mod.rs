//! Numbers, names and registers in words.

pub mod format;
pub mod health;
pub mod identity;
pub mod labels;
pub mod registers;
pub mod style;
pub mod text;
