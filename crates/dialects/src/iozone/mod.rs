//! iozone 3.489: its command line and its output.
//!
//! [`parse`] reads arguments as getopt does. The work is an [`Iozone`], the format an [`Output`],
//! which [`table`] applies: programs that read iozone's text find each figure in the same place.

mod plan;
pub mod table;
#[cfg(test)]
mod tests;

pub use plan::parse;

use crate::OwnOptions;
use assay_model::act::iozone::{Iozone, RateUnit};
use assay_model::text::clean;
use plan::{Flag, Takes, flags};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Action that a command line requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IozoneRequest {
    /// `-h`: print the flags.
    Help,
    /// `-v`: print the version.
    Version,
    /// Run a measurement.
    Measure(Box<IozoneCommand>),
}

/// Command that measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IozoneCommand {
    /// Act to carry out.
    pub work: Iozone,
    /// Output options.
    pub output: Output,
    /// Options that iozone lacks.
    pub own: OwnOptions,
}

/// Output options: form of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Lines that the flags add to the banner, in their order.
    pub remarks: Vec<String>,
    /// Unit of rates.
    pub unit: RateUnit,
    /// `-R`: add blocks for spreadsheets.
    pub blocks: bool,
    /// `-b`: path of the workbook.
    pub workbook: Option<PathBuf>,
    /// `-+u`: show processor use.
    pub cpu: bool,
    /// `-C`: a line for each child.
    pub children: bool,
    /// `-T`: children are called threads.
    pub threads: bool,
    /// `-M`: name the machine.
    pub machine: bool,
    /// `-A`: a table of four columns.
    pub short: bool,
    /// Adds the columns of `-E`.
    pub extended: bool,
    /// Adds the columns of tests 11 and 12.
    pub vectors: bool,
    /// Set if files are mapped; the columns of streams are then absent.
    pub mapped: bool,
    /// With `mapped`, rows end in blanks for `fwrite` and `frewrite`, as in iozone if `-i`
    /// does not include test 6.
    pub stream_blanks: bool,
    /// `-l`, `-u`: print the lowest and highest number of children.
    pub sweep: bool,
    /// Record sizes in the heads of blocks, in KiB.
    pub records: Vec<u64>,
    /// `-L`: bytes of a processor cache line, for the banner.
    pub line_bytes: u64,
}

/// Error in a command line: one line with the problem and the remedy.
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

/// Width of a flag with its value in the help, in columns.
const LEFT: usize = 20;
/// Width of the help, in columns.
const WIDTH: usize = 96;

/// Returns the help: the flags, their effects, and the unsupported flags of iozone.
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
