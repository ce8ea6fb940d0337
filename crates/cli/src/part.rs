//! This process as one of several that another assay started: one for each target.
//!
//! The words in front of a command say which target is this one's, and by which name;
//! the words of the command stay what the user said. Standard input ends with the
//! process that started this one, however that ends.

use crate::exit::Failure;
use crate::on::On;
use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::io::Read;
use std::sync::OnceLock;

/// The word that makes this program a part; no command of assay and no option.
const PART: &str = "--serve-as-part-of-assay";
/// What the line of a failure begins with, for the process that started this one: a
/// character that no line for people has.
const FAILURE: char = '\u{1c}';
/// What stands between that word and the command.
const WORDS: usize = 3;
/// The display of the process that started this one draws over its lines.
const LIVE: &str = "live";

static THIS: OnceLock<Part> = OnceLock::new();

/// A part: where it measures, and for whom.
#[derive(Debug)]
pub struct Part {
    /// What the user calls the target.
    pub name: String,
    /// How it is reached.
    pub address: On,
    /// Whether progress is to be reported often, for a display.
    pub live: bool,
}

/// What this process is a part as; `None`: a user started it.
pub fn this() -> Option<&'static Part> {
    THIS.get()
}

/// The line of a failure as this process says it: a part tells it from its other lines.
pub fn failure(line: &str) -> String {
    match this() {
        Some(_) => format!("{FAILURE}{line}"),
        None => line.to_owned(),
    }
}

/// The line of a part's failure; `None`: it is another one.
pub fn read_failure(line: &str) -> Option<&str> {
    line.strip_prefix(FAILURE)
}

/// Words that start a command as a part.
pub fn words(name: &str, address: &str, live: bool, command: &[OsString]) -> Vec<OsString> {
    let live = if live { LIVE } else { "lines" };
    let front = [PART, name, address, live].map(OsString::from);
    front.into_iter().chain(command.iter().cloned()).collect()
}

/// Takes the words of a part away from behind the program's name, if they are there.
pub fn take(words: &mut Vec<OsString>) -> Result<(), Failure> {
    if words.get(1).is_none_or(|word| word != PART) {
        return Ok(());
    }
    let texts: Option<Vec<String>> = words
        .drain(1..words.len().min(WORDS + 2))
        .skip(1)
        .map(|word| word.into_string().ok())
        .collect();
    let Some([name, address, live]) =
        texts.and_then(|texts| <[String; WORDS]>::try_from(texts).ok())
    else {
        return Err(Failure::usage(format!("{PART} is not for users")));
    };
    let address = crate::on::parse(&address).map_err(Failure::usage)?;
    let live = live == LIVE;
    // Set once: this is the first thing that a process does.
    let _ = THIS.set(Part {
        name,
        address,
        live,
    });
    std::thread::spawn(end_with_parent);
    Ok(())
}

/// Ends this process in good order when the one that started it is gone.
fn end_with_parent() {
    let mut stdin = std::io::stdin().lock();
    while stdin.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
    // This process is there.
    let _ = kill_process(getpid(), Signal::TERM);
}
