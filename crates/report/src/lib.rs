//! Results for readers and for programs. Nothing here queries the store or measures.
//!
//! `results` derives the findings of a run, `machine` writes them for programs (JSON, CSV, gates),
//! `views` lay them out as a [`document`] for readers, and `render` writes that document in each
//! format. A module uses only modules before it in this list: `words`, `results`, `machine`,
//! `charts`, `document`, `views`, `render`.

pub mod charts;
pub mod document;
pub mod machine;
pub mod render;
pub mod results;
#[cfg(test)]
mod testing;
pub mod views;
pub mod watch;
pub mod words;

pub use machine::{data, gate, import, json};
pub use render::{html, terminal, xlsx};
pub use results::{
    changes, checkup, comparison, describe, facts, findings, key_figure, matrix, names, population,
    reference, summary, sweep, warnings,
};
pub use words::{labels, registers};
