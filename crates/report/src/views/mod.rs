//! Documents of results, laid out once for all formats.
//!
//! To add a text for people: add a function here that builds a `Document`; every format then has
//! it. A column's `Keep` selects the formats that show it. The last column of a table must be one
//! of text, because a page puts the note of a row into it. If no `Block` fits, add one, and an arm
//! in each renderer.

pub mod comparison;
pub mod devices;
pub mod import;
pub mod marks;
mod provenance;
pub mod ranking;
pub mod requirements;
mod rows;
pub mod run;
pub mod series;
pub mod several;
