//! iozone 3.489: its command line in, its text out.
//!
//! [`parse`] reads the words as getopt does. What it asks for is a
//! [`Iozone`]; how it is to be shown is an [`Output`], which [`banner`],
//! [`table`], [`blocks`] and [`throughput`] follow: what a program reads from
//! iozone's text stands in the same place.

pub mod banner;
pub mod blocks;
mod error;
mod flags;
mod help;
pub mod marks;
mod plan;
mod sizes;
pub mod table;
#[cfg(test)]
mod tests;
pub mod throughput;
mod words;

pub use error::IozoneError;
pub use help::help;
pub use plan::parse;

use assay_model::work::iozone::{Iozone, RateUnit};
use std::path::PathBuf;

/// What the words ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IozoneRequest {
    /// `-h`: the flags.
    Help,
    /// `-v`: the version.
    Version,
    /// To measure.
    Measure(Box<IozoneCommand>),
}

/// A command that measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IozoneCommand {
    /// What to do.
    pub work: Iozone,
    /// How to show it.
    pub output: Output,
    /// What iozone has no words for.
    pub own: Own,
}

/// assay's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// `--trials`: repetitions of all of it.
    pub trials: u32,
    /// `--json`: the run as JSON instead of iozone's text.
    pub json: bool,
    /// `--store`: where runs are kept.
    pub store: Option<PathBuf>,
    /// `--destroy-data`: what is on a block device may go.
    pub destroy_data: bool,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            trials: 1,
            json: false,
            store: None,
            destroy_data: false,
        }
    }
}

/// How results are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "iozone's switches, each independent of the others"
)]
pub struct Output {
    /// What the flags say in the banner, in their order.
    pub remarks: Vec<String>,
    /// The unit of rates.
    pub unit: RateUnit,
    /// `-R`.
    pub blocks: bool,
    /// `-b`: the workbook.
    pub workbook: Option<PathBuf>,
    /// `-+u`.
    pub cpu: bool,
    /// `-C`: a line for each child.
    pub children: bool,
    /// `-T`: children are called threads.
    pub threads: bool,
    /// `-M`: the machine is named.
    pub machine: bool,
    /// `-A`: a table of four columns.
    pub short: bool,
    /// The columns of `-E` are shown.
    pub extended: bool,
    /// Those of tests 11 and 12 too.
    pub vectors: bool,
    /// Files are mapped: there are no columns of streams.
    pub mapped: bool,
    /// `-l`, `-u`: the least and the most children are said.
    pub sweep: bool,
    /// Record sizes in the heads of blocks, in KiB.
    pub records: Vec<u64>,
    /// `-L`: bytes of a line of the processor's cache, as said in the banner.
    pub line_bytes: u64,
}
