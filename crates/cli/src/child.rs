//! This process as one of several that another assay started: one for each target.
//!
//! The words in front of a command say which target is this one's, and by which name;
//! the words of the command stay what the user said. Before it measures, a part says what
//! it is about to measure, and waits for the answer on standard input, which ends with the
//! process that started this one, however that ends.

use crate::exit::Failure;
use crate::output::say;
use assay_model::text::clean;
use assay_model::wire::Inspection;
use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::io::BufRead;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The word that makes this program a part; no command of assay and no option.
const PART: &str = "--serve-as-part-of-assay";
/// Prefix of a failure's line for the process that started this one: a character that no line for
/// people has.
const FAILURE: char = '\u{1c}';
/// The same of the line that says what is about to be measured, and what stands in it
/// between machine and devices.
const CLAIM: char = '\u{1d}';
/// Number of arguments between that word and the command.
const WORDS: usize = 3;
/// The display of the process that started this one draws over its lines.
const LIVE: &str = "live";

static THIS: OnceLock<ChildProcess> = OnceLock::new();

/// A part: where it measures, and for whom.
#[derive(Debug)]
pub struct ChildProcess {
    /// User's name of the target.
    pub name: String,
    /// Address of the target.
    pub address: String,
    /// `true` if progress is to be reported often, for a display.
    pub live: bool,
    /// Source of the answer to its claim; `None` once the answer was requested.
    answers: Mutex<Option<Receiver<String>>>,
}

/// Returns the part that this process is; `None` if a user started it.
pub fn this() -> Option<&'static ChildProcess> {
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

/// Storage that a part is about to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The start of the machine; empty: it is not known, and no other's.
    pub boot_id: String,
    /// The devices that hold the bytes; empty: no device is known.
    pub devices: String,
}

impl Claim {
    /// The claim that the line of a part makes; `None`: it is another one.
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

/// A part says what it is about to measure, and goes on if no other part measures the
/// same. To be called with what was found first; later calls do nothing.
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

/// Hands answers on, and ends this process in good order when the one that started it is
/// gone.
fn listen(answer: &Sender<String>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        // Who has the answer to its claim listens no more.
        let _ = answer.send(line);
    }
    // This process is there.
    let _ = kill_process(getpid(), Signal::TERM);
}
