//! Formats that people read.

pub mod html;
pub mod mail;
pub mod terminal;
pub mod xlsx;
