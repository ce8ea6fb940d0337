//! GNU dd: its operands, and what it says.
//!
//! [`parse`] reads a command line, [`statistics`] and [`progress`] write dd's
//! lines, [`evidence()`] the one that assay adds. Facts: coreutils 9; checked
//! against the installed dd.

mod build;
mod charsets;
mod error;
mod evidence;
mod help;
mod ladder;
mod number;
mod output;
mod symbols;

pub use error::DdError;
pub use evidence::evidence;
pub use help::HELP;
pub use ladder::{DdWriteMode, explanation, ways};
pub use output::{progress, statistics};
pub use symbols::Status;

use crate::OwnOptions;
use assay_model::gnu::quoted_c;
use assay_model::work::copy::FileCopy;
use std::path::PathBuf;

/// Action that a command line requests.
#[derive(Clone, Debug)]
pub enum DdCommand {
    /// Help.
    Help,
    /// The version.
    Version,
    /// Copying.
    Copy(Box<Invocation>),
}

/// A copy, and how it is told.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Copy to make.
    pub copy: FileCopy,
    /// Amount of output on standard error.
    pub status: Status,
    /// Warnings about the operands, in dd's words without its name.
    pub warnings: Vec<String>,
    /// assay's own options.
    pub own: OwnOptions,
}

/// Reads a command line, without the program's name.
///
/// # Errors
/// What dd would say of it.
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

/// One of assay's own options.
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
