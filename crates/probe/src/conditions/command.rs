//! Runs external programs, which may fail or never end.

use assay_model::units::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// Interval at which the command's exit is polled.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Time allowed for the last output to arrive after the exit, in case an orphaned process still
/// holds the stream.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs a command to its end; kills it and all processes that it started if it does not end within
/// `limit`. Its standard output is discarded, since it may be in another language.
///
/// # Errors
/// When it cannot be started, fails, or is killed: the cause, and the first line of its error
/// output.
pub(super) fn run(command: &mut Command, limit: Nanos) -> Result<(), String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let said = child.stderr.take().and_then(|said| first_line(said).ok());
    let ended = wait(&mut child, Duration::from_nanos(limit.0));
    let how = match ended.map_err(|error| error.to_string())? {
        Some(status) if status.success() => return Ok(()),
        Some(status) => status.to_string(),
        None => format!("it did not end within {limit}, and was killed"),
    };
    let said = said.and_then(|said| said.recv_timeout(LAST_WORDS).ok());
    Err(match said.as_deref().map(str::trim) {
        Some(line) if !line.is_empty() => format!("{how} ({line})"),
        _ => how,
    })
}

/// Waits for the child and returns its exit status; `None` if it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group {
                // The group may have ended meanwhile, which is no error.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(None);
        }
        sleep(LOOK_AGAIN);
    }
}

/// Returns the first line of a stream. Reads the stream to its end, so that the writer does not
/// block on a full pipe.
fn first_line(stream: impl Read + Send + 'static) -> io::Result<Receiver<String>> {
    let (sender, line) = channel();
    Builder::new().spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut first = Vec::new();
        if stream.read_until(b'\n', &mut first).is_ok() {
            // Without a receiver the command has succeeded, and its output is not needed.
            let _ = sender.send(String::from_utf8_lossy(&first).into_owned());
        }
        let _ = io::copy(&mut stream, &mut io::sink());
    })?;
    Ok(line)
}
