//! One child process of a pool.

use super::{EndedTask, Task, TaskMessage};
use crate::child::{self, Claim};
use crate::config;
use crate::exit::{FAILED, Failure};
use crate::interrupt;
use crate::stored::owner;
use assay_model::text::clean;
use assay_store::Owner;
use assay_target::labgrid::Lease;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Instant;

/// Maximum length of a line of a process, in bytes.
const LONGEST_LINE: u64 = 64 << 10;
/// Prefix of a failure's line.
const COMPLAINT: &str = "assay: ";

/// Child process under way.
pub struct Member {
    pub name: String,
    /// Time at which the process is stopped, and later killed.
    pub deadline: Option<Instant>,
    pub too_late: bool,
    process: Owner,
    /// Lease of a board, released when the process has ended.
    pub lease: Option<Lease>,
    /// Recipient of signals; `None` once the process has ended, because the number may be reused.
    pid: Arc<Mutex<Option<Pid>>>,
    complaint: Option<String>,
    /// Device that the member is about to measure, or measures.
    claim: Option<Claim>,
    /// `true` while the process waits for the answer to its claim.
    pub waits: bool,
    /// Standard input of the process; it ends when this closes, even if this process is killed.
    lifeline: Option<ChildStdin>,
}

impl Member {
    pub fn start(
        program: &Path,
        words: &[OsString],
        task: Task,
        number: usize,
        teller: &Sender<TaskMessage>,
    ) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(words)
            .envs(config::current().variables())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Own process group: a Ctrl-C on the terminal reaches only this process, which stops all.
            .process_group(0)
            .spawn()
            .map_err(|error| {
                Failure::failed(format!("cannot start {}: {error}", program.display()))
            })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = Arc::new(Mutex::new(pid));
        let process = owner::of(child.id());
        let lifeline = child.stdin.take();
        let (teller, known) = (teller.clone(), Arc::clone(&pid));
        let following = Builder::new().spawn(move || follow(child, number, &known, &teller));
        following.map_err(Failure::no_thread)?;
        Ok(Self {
            name: task.name,
            deadline: task.limit.map(|limit| Instant::now() + limit),
            too_late: false,
            process,
            lease: task.lease,
            pid,
            complaint: None,
            claim: None,
            waits: false,
            lifeline,
        })
    }

    /// Notes the storage that the process is about to measure.
    pub fn claims(&mut self, claim: Claim) {
        self.claim = Some(claim);
        self.waits = true;
    }

    /// Returns the member's claim; `None` if it has not made one yet.
    pub fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    /// Permits the measurement, or refuses it with a reason.
    pub fn answer(&mut self, refusal: Option<String>) {
        self.waits = false;
        if let Some(lifeline) = &mut self.lifeline {
            // A process that has ended meanwhile needs no answer.
            let _ = writeln!(lifeline, "{}", clean(&refusal.unwrap_or_default()));
        }
    }

    /// Requests an orderly end.
    pub fn stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills the process; its agent cleans up by itself.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.pid.lock().unwrap_or_else(PoisonError::into_inner) {
            // The process may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    /// Returns a line as it is to be shown. If it is that of a failure, the reason is kept.
    pub fn hear<'a>(&mut self, line: &'a str) -> &'a str {
        let Some(failure) = child::read_failure(line) else {
            return line;
        };
        let complaint = failure.strip_prefix(COMPLAINT).unwrap_or(failure);
        self.complaint = Some(clean(complaint));
        failure
    }

    pub fn into_ended(self, number: usize, code: u8, out: Vec<u8>) -> EndedTask {
        EndedTask {
            number,
            name: self.name,
            code,
            out,
            complaint: self.complaint,
            process: self.process,
            too_late: self.too_late,
            board_lost: false,
        }
    }
}

/// Forwards the lines of a process to standard error, and its end with its standard output.
fn follow(mut child: Child, number: usize, pid: &Mutex<Option<Pid>>, teller: &Sender<TaskMessage>) {
    let out = child.stdout.take().and_then(|mut stdout| {
        let read = move || {
            let mut out = Vec::new();
            // Keep the output from before a read error.
            let _ = stdout.read_to_end(&mut out);
            out
        };
        // Without a thread the pipe is closed, so that the process gets a write error.
        Builder::new().spawn(read).ok()
    });
    if let Some(stderr) = child.stderr.take() {
        tell_lines(stderr, number, teller);
    }
    let status = wait(&mut child, pid);
    let out = out
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    let code = status.map_or(FAILED, code);
    // A failed send means that the program is ending.
    let _ = teller.send(TaskMessage::Ended { number, code, out });
}

fn tell_lines(stderr: impl Read, number: usize, teller: &Sender<TaskMessage>) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LONGEST_LINE);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_suffix('\n').unwrap_or(&line).to_owned();
        if teller.send(TaskMessage::Line(number, line)).is_err() {
            return;
        }
    }
}

/// Waits for the end of a process; its pid is reaped only after it is no longer used for signals.
fn wait(child: &mut Child, pid: &Mutex<Option<Pid>>) -> Option<ExitStatus> {
    assay_target::await_end(child);
    *pid.lock().unwrap_or_else(PoisonError::into_inner) = None;
    child.wait().ok()
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.or_else(|| status.signal().map(interrupt::code))
        .unwrap_or(FAILED)
}
