//! This process as one of several child processes of another assay: one for each target.
//!
//! The arguments in front of the command name the target and give its address; the arguments of
//! the command are unchanged. Before a child measures, it prints the storage that it is about to
//! measure and waits for the answer on standard input. Standard input ends with the parent process,
//! even if that is killed.

use crate::exit::Failure;
use crate::output::say;
use assay_model::text::clean;
use assay_model::wire::Inspection;
use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::io::BufRead;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

/// First argument of a child process; it is neither a command of assay nor an option.
const PART: &str = "--serve-as-part-of-assay";
/// Prefix of a failure's line for the parent process: a character that no line for users contains.
const FAILURE: char = '\u{1c}';
/// Prefix of the line with the storage that is about to be measured, and the separator in that line
/// between machine and devices.
const CLAIM: char = '\u{1d}';
/// Number of arguments between [`PART`] and the command.
const WORDS: usize = 3;
/// Argument of a child whose parent has a live display, which draws over its lines.
const LIVE: &str = "live";

static THIS: OnceLock<ChildProcess> = OnceLock::new();

/// Target of this child process, and the way to answer it.
#[derive(Debug)]
pub struct ChildProcess {
    /// User's name of the target.
    pub name: String,
    /// Address of the target.
    pub address: String,
    /// `true` if progress is to be reported often, for a display.
    pub live: bool,
    /// Source of the answer to the claim; `None` once the answer was requested.
    answers: Mutex<Option<Receiver<String>>>,
}

/// Returns the data of this child process; `None` if a user started it.
pub fn this() -> Option<&'static ChildProcess> {
    THIS.get()
}

/// Formats the line of a failure. In a child process a prefix marks it for the parent.
pub fn failure(line: &str) -> String {
    match this() {
        Some(_) => format!("{FAILURE}{line}"),
        None => line.to_owned(),
    }
}

/// Returns the message of a line that [`failure`] made in a child process; `None` for other lines.
pub fn read_failure(line: &str) -> Option<&str> {
    line.strip_prefix(FAILURE)
}

/// Storage that a child process is about to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Boot id of the machine; if it is empty (not known), the claim conflicts with no other.
    pub boot_id: String,
    /// Names of the devices that hold the data; empty if none is known.
    pub devices: String,
}

impl Claim {
    /// Parses the claim in a line of a child process; `None` for other lines.
    pub fn read(line: &str) -> Option<Self> {
        let (boot_id, devices) = line.strip_prefix(CLAIM)?.split_once(CLAIM)?;
        Some(Self {
            boot_id: boot_id.to_owned(),
            devices: devices.to_owned(),
        })
    }

    fn of(inspection: &Inspection) -> Self {
        let leaves = inspection.storage.leaves();
        let mut devices: Vec<&str> = leaves.map(|layer| layer.name.as_str()).collect();
        devices.sort_unstable();
        let boot_id = inspection.system.boot_id.as_deref();
        Self {
            boot_id: clean(boot_id.unwrap_or_default()),
            devices: clean(&devices.join(" + ")),
        }
    }

    /// `true` if both would measure the same storage.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        !self.boot_id.is_empty() && self == other
    }
}

/// Reports the inspected storage to the parent process, and waits until that permits the
/// measurement: it refuses if another child measures the same storage. Only the first call has an
/// effect.
pub fn claim(inspection: &Inspection) -> Result<(), Failure> {
    let Some(part) = this() else { return Ok(()) };
    let answers = part
        .answers
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(answers) = answers else {
        return Ok(());
    };
    let Claim { boot_id, devices } = Claim::of(inspection);
    say(&format!("{CLAIM}{boot_id}{CLAIM}{devices}"));
    match answers.recv() {
        Ok(refusal) if refusal.is_empty() => Ok(()),
        Ok(refusal) => Err(Failure::usage(refusal)),
        Err(_) => Err(Failure::failed(
            "the process that started this one has ended",
        )),
    }
}

/// Returns the arguments that start a command as a child process.
pub fn words(name: &str, address: &str, live: bool, command: &[OsString]) -> Vec<OsString> {
    let live = if live { LIVE } else { "lines" };
    let front = [PART, name, address, live].map(OsString::from);
    front.into_iter().chain(command.iter().cloned()).collect()
}

/// Removes the arguments of a child process from the command line, if it has them.
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
    let live = live == LIVE;
    let (answer, answers) = channel();
    // Set once: this is the first thing that a process does.
    let _ = THIS.set(ChildProcess {
        name,
        address,
        live,
        answers: Mutex::new(Some(answers)),
    });
    let listening = std::thread::Builder::new().spawn(move || listen(&answer));
    listening.map_err(Failure::no_thread)?;
    Ok(())
}

/// Forwards the lines of standard input as answers, and ends this process by SIGTERM, which cleans
/// up, when the parent is gone.
fn listen(answer: &Sender<String>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        // The receiver is gone once the claim is answered.
        let _ = answer.send(line);
    }
    // Cannot fail: the process is this one.
    let _ = kill_process(getpid(), Signal::TERM);
}
