//! One cycle: writes, a power cut, the restart, and the check of the data.

use super::cut::Switch;
use super::journal::{Journal, Marker, Moment, Planned};
use crate::driver::acts;
use crate::driver::host::Host;
use crate::driver::notes::note_in_words;
use crate::driver::runs::unix_ms;
use crate::driver::trials::Listener;
use crate::exit::Failure;
use crate::output::say;
use assay_model::act::powercut::{CutStep, Powercut, PowercutReport, Task, Word};
use assay_model::act::{Act, ActOrder, ActReport};
use assay_model::plan::Place;
use assay_model::wire::{FromAgent, RunEnd};
use assay_target::Target;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Time between attempts to reach a board that boots.
const AGAIN: Duration = Duration::from_millis(500);
/// Time limit for the greeting of a board that boots.
const GREETING: Duration = Duration::from_secs(30);
/// Time after the cut within which messages of the writer may still arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

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
        let moment = self.hear_until_cut(&mut host, planned, journal)?;
        drop(host);
        sleep(self.off_time);
        self.switch.on()?;
        Ok((self.reach()?, boot_id, moment))
    }

    /// Checks the data that is there after a cut at `moment`, given the boot id from before it; returns
    /// `None` if that is still the boot id, so that there was no cut.
    pub fn judge(
        &self,
        host: &mut Host,
        planned: &Planned,
        journal: &mut Journal,
        (boot_id, moment): (Option<&str>, Moment),
    ) -> Result<Option<CutStep>, Failure> {
        let away_ms = unix_ms().saturating_sub(moment.unix_ms);
        journal.look()?;
        let found = self.look(host, planned, journal)?;
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

    /// Notes the messages of the writer until its link ends; returns the moment of the cut.
    fn hear_until_cut(
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
            let noted = marker.cut(moment).map_err(|error| {
                Failure::failed(format!("cannot note the cut of the power: {error}"))
            });
            let done = noted.and_then(|()| switch.off());
            sleep(LAST_WORDS);
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
                Err(_) => sleep(AGAIN),
            }
        }
    }

    fn look(
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

/// Failure for a work that ended unexpectedly.
fn of_end(end: RunEnd) -> Failure {
    match end {
        RunEnd::DeviceLost { error } | RunEnd::Failed { error } => Failure::failed(error),
        RunEnd::Finished | RunEnd::Cancelled => Failure::failed("the agent stopped by itself"),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
