//! iozone 3.489: its command line in, its text out.
//!
//! [`parse`] reads the words as getopt does. What it asks for is a
//! [`Iozone`]; how it is to be shown is an [`Output`], which [`banner`],
//! [`table`], [`blocks`] and [`throughput`] follow: what a program reads from
//! iozone's text stands in the same place.

pub mod banner;
pub mod blocks;
mod flags;
pub mod marks;
mod plan;
mod sizes;
pub mod table;
#[cfg(test)]
mod tests;
pub mod throughput;
mod words;

pub use plan::parse;

use crate::OwnOptions;
use assay_model::text::clean;
use assay_model::work::iozone::{Iozone, RateUnit};
use flags::{Flag, Takes, flags};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Action that a command line requests.
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
    /// Work to carry out.
    pub work: Iozone,
    /// Output options.
    pub output: Output,
    /// Options that iozone does not have.
    pub own: OwnOptions,
}

/// Output options: form of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Lines that the flags add to the banner, in their order.
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
    /// Adds the columns of tests 11 and 12.
    pub vectors: bool,
    /// Files are mapped: there are no columns of streams.
    pub mapped: bool,
    /// With `mapped`, rows end in blanks for `fwrite` and `frewrite`, as iozone's do if `-i`
    /// names tests without 6.
    pub stream_blanks: bool,
    /// `-l`, `-u`: the least and the most children are said.
    pub sweep: bool,
    /// Record sizes in the heads of blocks, in KiB.
    pub records: Vec<u64>,
    /// `-L`: bytes of a line of the processor's cache, as said in the banner.
    pub line_bytes: u64,
}

/// An error in a command line: one line that tells what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct IozoneError(pub String);

impl fmt::Display for IozoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&self.0))
    }
}

impl From<String> for IozoneError {
    fn from(problem: String) -> Self {
        Self(problem)
    }
}

impl From<&str> for IozoneError {
    fn from(problem: &str) -> Self {
        Self(problem.to_owned())
    }
}

/// Columns of a flag and its value.
const LEFT: usize = 20;
/// Columns of a line.
const WIDTH: usize = 96;

/// The flags, what they do, and which of iozone's are not supported.
pub fn help() -> String {
    let mut text = HEAD.to_owned();
    for flag in flags().filter(|flag| flag.supported) {
        entry(flag, &mut text);
    }
    text.push_str("\nFlags of iozone that are not supported:\n");
    for flag in flags().filter(|flag| !flag.supported) {
        entry(flag, &mut text);
    }
    text.push_str(FOOT);
    text
}

const HEAD: &str = "\
Drop-in for iozone: its flags and its text, and what each figure measured.

Usage: assay iozone [--on TARGET] [flags of iozone] [--trials N] [--json] [--store FILE]

Examples:
  assay iozone -Rab out.xlsx -g 2G -n 1M -w -e -C
  assay iozone -i 0 -i 1 -s 64M -r 4k -I
  assay iozone -t 4 -s 256M -r 64k

Sizes are in kB (1024 bytes) or end in k, m or g.

";

const FOOT: &str = "
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
4 data that differs (-V), 5 device or target lost, 130 or 143 stopped by Ctrl-C
or SIGTERM. Finished cells are kept in every case.
";

fn entry(flag: Flag, text: &mut String) {
    let left = match flag.takes {
        Takes::Nothing => format!("  -{}", flag.name),
        Takes::One(value) | Takes::Many(value) => format!("  -{} {value}", flag.name),
    };
    text.push_str(&format!("{left:LEFT$} "));
    let mut column = LEFT.max(left.len()) + 1;
    for word in flag.about.split(' ') {
        if column + word.len() > WIDTH {
            text.push_str(&format!("\n{:LEFT$} ", ""));
            column = LEFT + 1;
        }
        text.push_str(word);
        text.push(' ');
        column += word.len() + 1;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}
