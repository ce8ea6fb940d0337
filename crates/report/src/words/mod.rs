//! Numbers, names and registers as text.

pub mod format;
pub mod health;
pub mod identity;
pub mod labels;
pub mod registers;
pub mod style;
pub mod text;
