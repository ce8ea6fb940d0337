//! Relay of bytes between a link and a kept agent, in both directions.
//!
//! The relay exits successfully only if the agent has ended. Any other end is that of the
//! link alone, and the agent continues.

use crate::siblings::{Purpose, connect};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::exit;
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);
/// Exit code if the link has ended but the agent has not.
const LINK_ENDED: i32 = 3;

/// Relays until either side ends; `patience` is the time limit for the agent to start.
pub(super) fn run(folder: &Path, patience: Duration) -> io::Result<()> {
    let mut agent = come(folder, patience)?;
    agent.write_all(&[Purpose::Relay.byte()])?;
    let to_agent = agent.try_clone()?;
    Builder::new().spawn(move || {
        // With or without an error, the link has ended.
        let _ = pump(io::stdin(), to_agent);
        exit(LINK_ENDED);
    })?;
    if pump(agent, io::stdout()).is_err() || connect(folder).is_ok() {
        exit(LINK_ENDED);
    }
    Ok(())
}

fn come(folder: &Path, patience: Duration) -> io::Result<UnixStream> {
    let since = Instant::now();
    loop {
        match connect(folder) {
            Err(error)
                if error.kind() == ErrorKind::ConnectionRefused && since.elapsed() < patience =>
            {
                sleep(BETWEEN_ATTEMPTS);
            }
            done => return done,
        }
    }
}

/// Copies like `io::copy`, but flushes each chunk at once.
fn pump(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&chunk[..count])?;
                to.flush()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
