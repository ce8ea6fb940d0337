//! An agent that was pushed onto a machine, and the words that say what it is to do.
//!
//! Either it serves the link that has started it, and ends with that; or it is kept:
//! a process of its own that outlives the link, talked to through a relay. Both
//! are in a folder that is theirs alone, and whose name is theirs, too.

mod keeper;
mod relay;

use crate::serve::{greeting, serve_from};
use assay_link::Times;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Serve the link that has started this.
const SERVE: &str = "serve";
/// Start an agent that is kept, and be the first relay to it.
const KEEP: &str = "keep";
/// Be the agent that is kept.
const KEPT: &str = "kept";
/// Be another relay to it.
const RELAY: &str = "relay";

/// Time limit for a kept agent to start.
const STARTING: Duration = Duration::from_secs(20);

/// Is an agent as the words after the program's name say, which are
/// `ROLE FOLDER SECONDS`; without them it serves its standard input and output. With
/// `--version` it only says what it is, in a line that hosts read.
///
/// # Errors
/// When a stream breaks, or what comes over it is not a message, and when an agent
/// cannot be kept here.
pub fn run(words: &[OsString]) -> io::Result<()> {
    match words {
        [word] if word == "--version" => writeln!(io::stdout(), "{}", greeting()),
        [role, folder, seconds] => act(role, Path::new(folder), grace(seconds)),
        _ => serve_from(io::stdin(), io::stdout(), None).map_err(io::Error::other),
    }
}

fn act(role: &OsStr, folder: &Path, grace: Duration) -> io::Result<()> {
    let times = Times::within(grace);
    match role.to_str() {
        Some(SERVE) => {
            let folder = Some(folder.to_owned());
            serve_from(io::stdin(), io::stdout(), folder).map_err(io::Error::other)
        }
        Some(KEEP) => start_kept().and_then(|()| relay::run(folder, STARTING)),
        Some(KEPT) => keeper::run(folder, times),
        Some(RELAY) => relay::run(folder, Duration::ZERO),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn grace(seconds: &OsStr) -> Duration {
    let seconds = seconds.to_str().and_then(|word| word.parse().ok());
    Duration::from_secs(seconds.unwrap_or_default())
}

/// This program once more, with the same words but for its role. It has nothing of
/// the link but standard error, for its last words.
fn start_kept() -> io::Result<()> {
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    let role = words.iter_mut().rev().nth(2);
    *role.ok_or(io::ErrorKind::InvalidInput)? = KEPT.into();
    Command::new(env::current_exe()?)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map(drop)
}
