//! `assay --generate`: files for packages besides the program, made from the definition of its
//! flags.

pub mod completion;
mod manual;

use crate::exit::{DONE, Failure};
use crate::output::print;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Writes the manual, or prints a completion script.
pub fn run(words: &[OsString]) -> Result<ExitCode, Failure> {
    let what = words.first().and_then(|word| word.to_str());
    let shell = what.and_then(|word| word.strip_prefix("complete-"));
    match (words, shell.and_then(completion::script)) {
        ([man, folder], _) if man == "man" && !folder.is_empty() => {
            manual::write(Path::new(folder))?
        }
        ([_], Some(script)) => print(|out| out.write_all(script.as_bytes()))?,
        _ => {
            return Err(Failure::usage(
                "--generate takes man DIR, complete-bash, complete-zsh, complete-fish, \
                 complete-elvish or complete-powershell",
            ));
        }
    }
    Ok(DONE)
}
