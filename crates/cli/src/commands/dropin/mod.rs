//! Drop-ins for other tools: their arguments, outputs and exit codes.

pub mod androbench;
pub mod dd;
pub mod fio;
pub mod iozone;

use crate::exit::Failure;
use assay_model::text::{clean, shorten};
use std::ffi::OsString;

/// Returns the arguments of another tool as text; they must be UTF-8.
fn texts(words: &[OsString]) -> Result<Vec<String>, Failure> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!(
                "argument {} is not UTF-8: for a file, use a link whose name is UTF-8",
                shorten(&clean(&word.to_string_lossy()), 100)
            ))
        })
    };
    words.iter().map(text).collect()
}
