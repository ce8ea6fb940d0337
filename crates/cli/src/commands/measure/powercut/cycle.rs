//! One cycle: writes, a power cut, the restart, and the check of the data; and the switch that cuts
//! the power and restores it.

use super::journal::{Journal, Marker, Moment, Planned};
use crate::driver::runs::unix_ms;
use crate::driver::trials::Listener;
use crate::driver::{Host, acts, note_in_words};
use crate::exit::Failure;
use crate::output::say;
use assay_lang::tr;
use assay_model::act::powercut::{CutStep, Powercut, PowercutReport, Task, Word};
use assay_model::act::{Act, ActOrder, ActReport};
use assay_model::plan::Place;
use assay_model::wire::{FromAgent, RunEnd};
use assay_target::Target;
use assay_target::labgrid::client;
use std::io::BufRead;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Prefix of `--cut` with a command.
const COMMAND: &str = "command:";

/// A command and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argv(pub Vec<String>);

/// Splits words as a shell does; nothing else of a shell is interpreted.
pub fn argv(text: &str) -> Result<Argv, String> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(Argv(words)),
        _ => Err("no command: write its words as for a shell".to_owned()),
    }
}

/// Method of cutting the power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// By hand.
    Ask,
    /// By the power driver of a labgrid's place.
    Labgrid,
    /// By a command.
    Command(Argv),
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ask" => Ok(Self::Ask),
            "labgrid" => Ok(Self::Labgrid),
            _ => match text.strip_prefix(COMMAND) {
                Some(command) => argv(command).map(Self::Command),
                None => Err("one of ask, labgrid, command:'WORDS'".to_owned()),
            },
        }
    }
}

/// Power switch of a board.
#[derive(Clone, Debug)]
pub enum Switch {
    /// The user, who is asked to switch.
    Hand,
    /// External commands.
    Commands {
        /// Cuts the power.
        off: Argv,
        /// Restores the power; `None` if `off` does so, too.
        on: Option<Argv>,
    },
}

impl Switch {
    /// Returns the switch of a method, for the target of that name.
    pub fn new(method: &Method, restore: Option<&Argv>, target: &str) -> Result<Self, Failure> {
        let place = target.strip_prefix("labgrid:");
        match (method, place) {
            (Method::Ask | Method::Labgrid, _) if restore.is_some() => {
                Err(Failure::usage("--restore is for --cut command:'WORDS'"))
            }
            (Method::Ask, _) => Ok(Self::Hand),
            (Method::Command(off), _) => Ok(Self::Commands {
                off: off.clone(),
                on: restore.cloned(),
            }),
            (Method::Labgrid, Some(place)) => {
                let power = |what: &str| {
                    let mut words = client();
                    words.extend(["-p", place, "power", what].map(str::to_owned));
                    Argv(words)
                };
                Ok(Self::Commands {
                    off: power("off"),
                    on: Some(power("on")),
                })
            }
            (Method::Labgrid, None) => Err(Failure::usage(
                "--cut labgrid is for a board of a labgrid: --on labgrid:PLACE",
            )),
        }
    }

    /// Cuts the power.
    pub fn off(&self) -> Result<(), Failure> {
        match self {
            Self::Hand => ask(tr!("NOW: cut the power of the board, then press Enter")),
            Self::Commands { off, .. } => run_command(off),
        }
    }

    /// Restores the power.
    pub fn on(&self) -> Result<(), Failure> {
        match self {
            Self::Hand => ask(tr!("Restore the power, then press Enter")),
            Self::Commands { on: Some(on), .. } => run_command(on),
            Self::Commands { on: None, .. } => Ok(()),
        }
    }
}

fn ask(what: &str) -> Result<(), Failure> {
    say(what);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(length) if length > 0 => Ok(()),
        _ => Err(Failure::usage("--cut ask needs somebody at the keyboard")),
    }
}

/// Runs a command. Its output is not shown; a failure reports its last line of standard error.
fn run_command(argv: &Argv) -> Result<(), Failure> {
    let Some((program, arguments)) = argv.0.split_first() else {
        return Ok(());
    };
    let shown = argv.0.join(" ");
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::failed(format!(
            "{shown}: {}: {}",
            output.status,
            said.trim().lines().last().unwrap_or_default()
        ))),
    }
}

/// Time between attempts to reach a board that boots.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Time limit for the greeting of a board that boots.
const GREETING: Duration = Duration::from_secs(30);
/// Time after the cut within which messages of the writer may still arrive.
const AFTER_CUT: Duration = Duration::from_millis(500);

/// Parameters that all cycles share.
pub struct Cycles<'a> {
    /// The board.
    pub target: &'a mut dyn Target,
    /// Act that writes; its task is set for each part of a cycle.
    pub work: Powercut,
    /// Power switch of the board.
    pub switch: Switch,
    /// Time that the power is off.
    pub off_time: Duration,
    /// Time limit for the board to come back.
    pub boot_timeout: Duration,
    /// Atomic write size of the device, in bytes.
    pub atomic: u32,
    /// `true` if the user agreed that the data on a device is destroyed.
    pub destroy_data: bool,
    /// Id of the run.
    pub run_id: String,
}

impl Cycles<'_> {
    /// Writes on the board with that agent until the power is cut, and restores the power. Returns an
    /// agent on the restarted board, the boot id from before the cut, and the moment of the cut.
    pub fn cut(
        &mut self,
        mut host: Host,
        planned: &Planned,
        journal: &mut Journal,
    ) -> Result<(Host, Option<String>, Moment), Failure> {
        journal.cycle(planned)?;
        let boot_id = self.begin(&mut host, planned)?;
        journal.ready(boot_id.as_deref())?;
        let moment = self.record_until_cut(&mut host, planned, journal)?;
        drop(host);
        sleep(self.off_time);
        self.switch.on()?;
        Ok((self.reach()?, boot_id, moment))
    }

    /// Checks the data after a cut at `moment`. `boot_id` is the boot id before the cut. Returns
    /// `None` if the board still has it: the power was not cut.
    pub fn judge(
        &self,
        host: &mut Host,
        planned: &Planned,
        journal: &mut Journal,
        (boot_id, moment): (Option<&str>, Moment),
    ) -> Result<Option<CutStep>, Failure> {
        let away_ms = unix_ms().saturating_sub(moment.unix_ms);
        journal.check_begins()?;
        let found = self.verify(host, planned, journal)?;
        if boot_id.is_some() && found.boot_id.as_deref() == boot_id {
            return Ok(None);
        }
        Ok(Some(CutStep {
            after_ns: moment.after_ns,
            away_ns: away_ms.saturating_mul(1_000_000),
            atomic: self.atomic,
            found,
        }))
    }

    fn order(&self, planned: &Planned, task: Task) -> ActOrder {
        let act = Act::Powercut(Box::new(Powercut {
            task,
            ..self.work.clone()
        }));
        let place = Place::Directory {
            path: self.work.path.clone(),
        };
        acts::single(&self.run_id, place, act, planned.seed, self.destroy_data)
    }

    /// Starts the writes on the board; returns its boot id.
    fn begin(&self, host: &mut Host, planned: &Planned) -> Result<Option<String>, Failure> {
        host.run_acts(self.order(planned, Task::Write))?;
        loop {
            match host.receive()? {
                FromAgent::Powercut(Word::Ready { boot_id }) => return Ok(boot_id),
                FromAgent::LoadNote(note) => say(&note_in_words(&note)),
                FromAgent::Done { end } => return Err(of_end(end)),
                stray => host.pass_over(&stray)?,
            }
        }
    }

    /// Records the messages of the writer until its link ends; returns the moment of the cut.
    fn record_until_cut(
        &self,
        host: &mut Host,
        planned: &Planned,
        journal: &mut Journal,
    ) -> Result<Moment, Failure> {
        let cutting = self.cut_after(planned.delay, journal.marker()?, host.cutter())?;
        let mut noted = Ok(());
        // The link usually ends with an error; messages before it are valid.
        while let Ok(message) = host.receive() {
            match message {
                FromAgent::Powercut(word) if noted.is_ok() => noted = journal.received(&word),
                FromAgent::LoadNote(note) => say(&note_in_words(&note)),
                FromAgent::Done { end } => {
                    say(&format!(
                        "assay: warning: cycle {}: the writes ended before the power was cut: {}",
                        planned.number,
                        of_end(end)
                    ));
                    break;
                }
                _ => {}
            }
        }
        let cut = cutting.join();
        noted?;
        cut.unwrap_or_else(|_| Err(Failure::failed("cutting the power panicked")))
    }

    /// Starts a thread that cuts the power after `delay`, and then the link: a board without power
    /// does not close it.
    fn cut_after(
        &self,
        delay: Duration,
        mut marker: Marker,
        end_link: Box<dyn FnOnce() + Send>,
    ) -> Result<JoinHandle<Result<Moment, Failure>>, Failure> {
        let switch = self.switch.clone();
        let began = Instant::now();
        let cut = move || {
            sleep(delay);
            let moment = Moment {
                after_ns: nanos(began.elapsed()),
                unix_ms: unix_ms(),
            };
            // Recorded before the switch acts: a cut without a record could not be resumed.
            let noted = marker
                .cut(moment)
                .map_err(|error| Failure::failed(format!("cannot record the power cut: {error}")));
            let done = noted.and_then(|()| switch.off());
            sleep(AFTER_CUT);
            end_link();
            done.map(|()| moment)
        };
        Builder::new().spawn(cut).map_err(Failure::no_thread)
    }

    /// Connects to the board; retries until the boot timeout.
    pub fn reach(&mut self) -> Result<Host, Failure> {
        let until = Instant::now() + self.boot_timeout;
        loop {
            match Host::start_within(self.target, GREETING) {
                Ok(host) => return Ok(host),
                Err(failure) if failure.is_usage() => return Err(failure),
                Err(failure) if Instant::now() > until => {
                    return Err(Failure::lost(format!(
                        "the board did not come back within {} s: {failure}",
                        self.boot_timeout.as_secs()
                    )));
                }
                Err(_) => sleep(RETRY_INTERVAL),
            }
        }
    }

    fn verify(
        &self,
        host: &mut Host,
        planned: &Planned,
        journal: &Journal,
    ) -> Result<PowercutReport, Failure> {
        let task = Task::Verify {
            known: journal.known().to_vec(),
            atomic: self.atomic,
        };
        let (end, outcome) = acts::once(host, self.order(planned, task), &mut Quiet)?;
        match outcome.and_then(|outcome| outcome.report) {
            Some(ActReport::Powercut(found)) => Ok(found),
            _ => Err(of_end(end)),
        }
    }
}

/// Listener that prints notes but no progress.
struct Quiet;

impl Listener for Quiet {}

/// Failure for an act that ended unexpectedly.
fn of_end(end: RunEnd) -> Failure {
    match end {
        RunEnd::DeviceLost { error } | RunEnd::Failed { error } => Failure::failed(error),
        RunEnd::Finished | RunEnd::Cancelled => Failure::failed("the agent stopped by itself"),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_word_or_a_command() {
        assert_eq!("ask".parse(), Ok(Method::Ask));
        let relay = Argv(vec!["relay".to_owned(), "off 3".to_owned()]);
        assert_eq!("command:relay 'off 3'".parse(), Ok(Method::Command(relay)));
        for bad in ["", "relay", "command:", "command:'"] {
            assert!(bad.parse::<Method>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_place_of_a_labgrid_is_switched_by_its_client() {
        let switch = Switch::new(&Method::Labgrid, None, "labgrid:b3").unwrap();
        let Switch::Commands { off, on } = switch else {
            panic!("{switch:?}");
        };
        let words = off.0.join(" ");
        assert!(
            words.ends_with("-m labgrid.remote.client -p b3 power off"),
            "{words}"
        );
        assert_eq!(on.unwrap().0.last().unwrap(), "on");
        assert!(Switch::new(&Method::Labgrid, None, "ssh://b").is_err());
        assert!(Switch::new(&Method::Ask, Some(&Argv(Vec::new())), "ssh://b").is_err());
    }

    #[test]
    fn a_command_that_fails_says_so() {
        let failed = run_command(&argv("sh -c 'echo no relay >&2; exit 3'").unwrap());
        let said = failed.unwrap_err().to_string();
        assert!(
            said.contains("no relay") && said.contains("exit status: 3"),
            "{said}"
        );
    }
}
