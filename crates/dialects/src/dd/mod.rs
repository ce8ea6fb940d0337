//! GNU dd: its operands and its output.
//!
//! [`parse`] reads a command line, [`statistics`] and [`progress`] write dd's
//! lines, [`evidence()`] the line that assay adds. Follows coreutils 9, and was
//! checked against the installed dd.

mod build;
mod charsets;
mod evidence;
mod ladder;
mod number;
mod output;
mod symbols;

pub use evidence::evidence;
pub use ladder::{DdWriteMode, explanation, ways};
pub use output::{progress, statistics};
pub use symbols::Status;

use crate::OwnOptions;
use assay_model::gnu::quoted_c;
use assay_model::work::copy::FileCopy;
use std::fmt;
use std::path::PathBuf;

/// Action that a command line requests.
#[derive(Clone, Debug)]
pub enum DdCommand {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Make a copy.
    Copy(Box<Invocation>),
}

/// Copy with its output options.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Copy to make.
    pub copy: FileCopy,
    /// Amount of output on standard error.
    pub status: Status,
    /// Warnings about the operands, in dd's words without its name as prefix.
    pub warnings: Vec<String>,
    /// assay's own options.
    pub own: OwnOptions,
}

/// Parses a command line, without the program's name.
///
/// # Errors
/// With dd's message, if dd refuses the command line.
pub fn parse(words: &[String]) -> Result<DdCommand, DdError> {
    let mut own = OwnOptions::default();
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            operands.extend(words.by_ref());
            break;
        }
        if word == "--help" {
            return Ok(DdCommand::Help);
        }
        if word == "--version" {
            return Ok(DdCommand::Version);
        }
        if !word.starts_with('-') || word == "-" {
            operands.push(word);
            continue;
        }
        option(word, &mut words, &mut own)?;
    }
    let invocation = build::invocation(&operands, own)?;
    Ok(DdCommand::Copy(Box::new(invocation)))
}

/// Parses one of assay's own options.
fn option<'a>(
    word: &str,
    words: &mut impl Iterator<Item = &'a String>,
    own: &mut OwnOptions,
) -> Result<(), DdError> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let mut value = || {
        value
            .clone()
            .or_else(|| words.next().cloned())
            .ok_or_else(|| DdError::with_help(format!("option '{name}' requires an argument")))
    };
    match name {
        "--trials" => own.trials = trials(&value()?)?,
        "--store" => own.store = Some(PathBuf::from(value()?)),
        "--name" | "--tag" | "--note" => {
            let taken = own.annotation.take(&name[2..], &value()?);
            taken.map_err(|why| DdError::new(format!("{name}: {why}")))?;
        }
        "--json" => own.json = true,
        "--ladder" => own.ladder = true,
        "--destroy-data" => own.destroy_data = true,
        _ if word.starts_with("--") => {
            return Err(DdError::with_help(format!("unrecognized option '{word}'")));
        }
        _ => {
            let letter = word.chars().nth(1).unwrap_or('-');
            return Err(DdError::with_help(format!("invalid option -- '{letter}'")));
        }
    }
    Ok(())
}

fn trials(text: &str) -> Result<u32, DdError> {
    match text.parse() {
        Ok(number @ 1..=1000) => Ok(number),
        _ => Err(DdError::new(format!(
            "invalid number of trials: {}: give 1 to 1000",
            quoted_c(text)
        ))),
    }
}

/// Output of `assay dd --help`.
pub const HELP: &str = "\
Usage: assay dd [OPTION]... [OPERAND]...
Copies like GNU dd, and says what the rate measured: one more line on standard
error tells how much had reached the device when the clock stopped. The run is
kept (assay list).

Examples:
  assay dd if=/dev/zero of=/mnt/sd/file bs=1M count=512 conv=fdatasync
  assay dd --ladder of=/mnt/sd/file bs=1M count=512

Options of assay's own:
  --trials N       copy N times (not from a pipe or a terminal)
  --ladder         write of=FILE in four ways - plain, conv=fdatasync,
                   oflag=direct, oflag=dsync - and explain them
  --destroy-data   let --ladder overwrite what is there
  --json           print the run as JSON on standard output
  --store FILE     file that keeps the runs
  --name NAME      name of the run; --tag TAG, --note TEXT: its tags and note
  --help           this text
  --version        the version

Operands, as GNU dd has them:
  if=FILE of=FILE           instead of standard input and output
  bs=N                      read and write up to N bytes at a time
  ibs=N obs=N               the same apart (512)
  cbs=N                     length of a record for block and unblock
  count=N                   copy only N input blocks
  skip=N iseek=N            leave out N input blocks
  seek=N oseek=N            leave out N output blocks
  conv=WORD,...             ascii ebcdic ibm block unblock lcase ucase sparse
                            swab sync excl nocreat notrunc noerror fdatasync
                            fsync
  iflag=WORD,... oflag=WORD,...
                            append direct directory dsync sync nonblock noatime
                            nocache noctty nofollow; iflag only: fullblock
                            count_bytes skip_bytes; oflag only: seek_bytes
  status=none|noxfer|progress
                            with none there is no line of evidence either

N may have a suffix: c=1 w=2 b=512 kB=1000 K=KiB=1024 MB=1000*1000 M=MiB=1024*1024
and so on for G T P E; AxB is a product. count, skip and seek count bytes if N
ends in B. Naming a device as of= is the word that its data may go; a device in
use is refused.

SIGUSR1 prints the statistics so far.

Exit codes: 0 done, 1 failed, 2 refused by
assay.
";

/// Error in a command line, in dd's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdError {
    message: String,
    /// Set if dd refers to its help after the error.
    points_to_help: bool,
    /// Warnings that dd prints before the error.
    warnings: Vec<String>,
}

impl DdError {
    const fn new(message: String) -> Self {
        Self {
            message,
            points_to_help: false,
            warnings: Vec::new(),
        }
    }

    /// Makes an error after which dd refers to its help.
    const fn with_help(message: String) -> Self {
        Self {
            message,
            points_to_help: true,
            warnings: Vec::new(),
        }
    }

    /// Adds warnings to print before the error.
    fn after(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Returns dd's lines, prefixed by its name.
    pub fn lines(&self) -> Vec<String> {
        let texts = self.warnings.iter().chain([&self.message]);
        let mut lines: Vec<String> = texts.map(|text| format!("dd: {text}")).collect();
        if self.points_to_help {
            lines.push("Try 'dd --help' for more information.".to_owned());
        }
        lines
    }
}

impl fmt::Display for DdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DdError {}
