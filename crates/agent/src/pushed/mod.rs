//! Roles of an agent that was transferred to a machine, selected by its arguments.
//!
//! The agent either serves the link that has started it, and ends with it, or it is kept
//! as a separate process that outlives the link and communicates through a relay. Both
//! have a private folder, whose name is unique.

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

/// Serve the link that has started this process.
const SERVE: &str = "serve";
/// Start a kept agent, and be the first relay to it.
const KEEP: &str = "keep";
/// Be the kept agent.
const KEPT: &str = "kept";
/// Be another relay to a kept agent.
const RELAY: &str = "relay";

/// Time limit for a kept agent to start.
const STARTING: Duration = Duration::from_secs(20);

/// Runs the agent in the role given by its arguments, which are `ROLE FOLDER SECONDS`;
/// without them it serves standard input and output. With `--version` it only prints its
/// greeting, in a line that hosts parse.
///
/// # Errors
/// If a stream fails, the input is not a message, or an agent cannot be kept on this
/// machine.
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

/// Starts this program again, with the same arguments except the role. It inherits only
/// standard error of the link, for its last messages.
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
