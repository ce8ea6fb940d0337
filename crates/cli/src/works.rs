//! A work on the host's side: asking for it as often as wanted, storing its
//! steps, and listening until it has ended.

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::host::Host;
use crate::interrupt::{Interrupt, Interrupts, on_report_request};
use crate::leftovers;
use crate::loads::in_words;
use crate::output::say;
use crate::owner;
use crate::runs::{self, Ending, header, of_store, run_id, unix_ms};
use crate::store_guard::keep_apart;
use crate::stored::store_path;
use assay_model::condition::Restore;
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader};
use assay_model::trial::TrialRecord;
use assay_model::units::Bytes;
use assay_model::wire::{FromAgent, Inspection, LoadNote, RunEnd, ToAgent};
use assay_model::work::{Work, WorkOrder, WorkProgress, WorkReport};
use assay_store::Store;
use assay_target::Target;
use std::path::PathBuf;
use std::process::ExitCode;

/// Steps that are taken of one run: whole matrices of iozone have some thousand.
const MOST_STEPS: usize = 1_000_000;

/// What is asked for.
pub struct Request {
    /// The work.
    pub work: Work,
    /// Its steps in their order, as far as they are known beforehand.
    pub steps: Vec<Job>,
    /// Its repetitions.
    pub trials: u32,
    /// Decides orders and contents.
    pub seed: u64,
    /// The user's word that what is on a block device may go.
    pub destroy_data: bool,
    /// Where.
    pub place: Place,
    /// What is said when the user asks to stop; empty: nothing.
    pub stopping: &'static str,
    /// It is not carried out if it cannot be stored.
    pub must_be_stored: bool,
}

/// Whoever follows a work.
pub trait Listener {
    /// It has something to tell.
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        say(&in_words(note));
        Ok(())
    }
    /// A step begins.
    fn started(&mut self, _job: &Job) -> Result<(), Failure> {
        Ok(())
    }
    /// A step ended. It is not stored yet.
    fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
        Ok(())
    }
    /// How far it is, a few times a second.
    fn progress(&mut self, _progress: &WorkProgress) -> Result<(), Failure> {
        Ok(())
    }
    /// How it stands, because SIGUSR1 asked for it.
    fn stands(&mut self, _report: &WorkReport) -> Result<(), Failure> {
        Ok(())
    }
    /// A repetition (from 1) ended; `None`: it did not come so far as to have a
    /// report.
    fn repeated(&mut self, _number: u32, _report: Option<&WorkReport>) -> Result<(), Failure> {
        Ok(())
    }
}

/// A work that has ended.
pub struct Done {
    /// Its steps.
    pub run: Run,
    /// Why not all of it was done, and with what the command ends.
    pub ending: Ending,
    /// The store has it. A work without steps leaves nothing there.
    pub stored: bool,
}

impl Done {
    /// The exit code: what stopped it, or whether a step failed.
    pub fn conclude(self) -> Result<ExitCode, Failure> {
        runs::conclude(&self.run, self.ending.failure, self.ending.signal)
    }
}

/// Carries out a work with the agent that the host talks to, and stores its steps.
/// The target is for another agent, that cleans up after one that is lost.
///
/// # Errors
/// When it cannot begin. What befalls it later is its [`Done::ending`].
pub fn execute(
    target: &mut dyn Target,
    host: &mut Host,
    inspection: Inspection,
    request: &Request,
    store: &StoreArgs,
    listener: &mut dyn Listener,
) -> Result<Done, Failure> {
    let path = store_path(store);
    // Paths of another machine lead nowhere here.
    if let (Ok(path), None) = (&path, host.target()) {
        keep_apart(path, written(&request.work))?;
    }
    let opened = path.and_then(|path| Ok(Store::open(&path)?));
    let mut store = unless_it_may_go_unstored(opened, request)?;
    if let (Some(_), Some(store)) = (request.work.private_folder_in(), &mut store) {
        leftovers::clear(host, store, &request.place)?;
    }
    let header = header(plan(request), inspection, host.target());
    let interrupt = listen_to_signals(host, request)?;
    let begun = store.map(|store| begin(store, &header)).transpose();
    let store = unless_it_may_go_unstored(begun, request)?.flatten();
    let mut runner = Runner {
        store,
        header,
        trials: Vec::new(),
        kept: 0,
        listener,
    };
    let ended = runner.repeat(host, request, &interrupt);
    let ending = ended.unwrap_or_else(Ending::of_failure);
    if ending.agent_lost && request.work.private_folder_in().is_some() {
        for leftover in leftovers::clear_after_loss(target, &request.place) {
            // What cannot be told is no reason to lose the run.
            let _ = runner.listener.note(&leftovers::note(&leftover));
        }
    }
    runner.close(ending)
}

/// All that a work writes; a copy may write to this program's standard output.
fn written(work: &Work) -> Vec<PathBuf> {
    let mut written = work.written();
    if matches!(work, Work::Copy(copy) if copy.output.is_none()) {
        written.push(PathBuf::from("/proc/self/fd/1"));
    }
    written
}

/// What came of a store that a work may do without.
fn unless_it_may_go_unstored<T>(
    came: Result<T, Failure>,
    request: &Request,
) -> Result<Option<T>, Failure> {
    match came {
        Ok(store) => Ok(Some(store)),
        Err(failure) if request.must_be_stored => Err(failure),
        Err(failure) => {
            say(&format!("assay: this run is not stored: {failure}"));
            Ok(None)
        }
    }
}

/// The store knows the run before the work is asked for: what is killed has to be
/// found by the next start, however long its first steps are, and nothing is
/// stored while one is measured.
fn begin(mut store: Store, header: &RunHeader) -> Result<Store, Failure> {
    let begun = store.begin_run(header, &owner::this_process());
    begun.map_err(of_store)?;
    Ok(store)
}

/// The steps of a work follow each other in every repetition: their order is
/// the work's to decide, and is not shuffled.
fn plan(request: &Request) -> Plan {
    let steps = &request.steps;
    let round = |trial| (0..steps.len()).map(move |job| Slot::plain(job, trial));
    Plan {
        run_id: run_id(),
        seed: request.seed,
        place: request.place.clone(),
        file_size: steps.iter().map(|job| job.size).max().unwrap_or(Bytes(0)),
        jobs: steps
            .iter()
            .map(|job| PlannedJob {
                job: job.clone(),
                trials: request.trials,
            })
            .collect(),
        conditions: Vec::new(),
        restore: Restore::default(),
        order: (1..=request.trials).flat_map(round).collect(),
    }
}

/// Signals that end the work, or ask how it stands.
fn listen_to_signals(host: &Host, request: &Request) -> Result<Interrupt, Failure> {
    let failed = |error| Failure::failed(format!("cannot catch signals: {error}"));
    // An agent that cannot hear a request has ended, which is noticed elsewhere.
    let requests = host.requests();
    on_report_request(move || {
        let _ = requests.send(&ToAgent::ReportNow);
    })
    .map_err(failed)?;
    let requests = host.requests();
    let stopping = request.stopping;
    let interrupts = match request.work {
        // As dd does.
        Work::Copy(_) => Interrupts::UnlessIgnored,
        _ => Interrupts::Caught,
    };
    Interrupt::catch_with(interrupts, move || {
        if !stopping.is_empty() {
            say(stopping);
        }
        let _ = requests.send(&ToAgent::Cancel);
    })
    .map_err(failed)
}

/// A work under way.
struct Runner<'a> {
    /// `None`: it goes unstored.
    store: Option<Store>,
    header: RunHeader,
    trials: Vec<TrialRecord>,
    /// How many of `trials` are stored.
    kept: usize,
    listener: &'a mut dyn Listener,
}

impl Runner<'_> {
    fn repeat(
        &mut self,
        host: &mut Host,
        request: &Request,
        interrupt: &Interrupt,
    ) -> Result<Ending, Failure> {
        let mut seeds = SplitMix64::new(request.seed);
        for trial in 1..=request.trials {
            host.run_work(WorkOrder {
                run_id: self.header.id.clone(),
                seed: seeds.next_u64(),
                trial,
                first_position: u32::try_from(self.trials.len()).unwrap_or(u32::MAX),
                destroy_data: request.destroy_data,
                work: request.work.clone(),
            })?;
            let (end, report) = self.follow(host)?;
            self.listener.repeated(trial, report.as_ref())?;
            if end != RunEnd::Finished {
                return Ok(Ending::of(end, interrupt.exit_code()));
            }
        }
        Ok(Ending::of(RunEnd::Finished, interrupt.exit_code()))
    }

    /// Listens until the work is done.
    fn follow(&mut self, host: &mut Host) -> Result<(RunEnd, Option<WorkReport>), Failure> {
        loop {
            match host.hear()? {
                FromAgent::LoadNote(note) => self.listener.note(&note)?,
                FromAgent::StepStarted { job } => self.listener.started(&job)?,
                FromAgent::StepDone(record) if self.trials.len() < MOST_STEPS => {
                    self.ended(*record)?;
                }
                FromAgent::StepDone(_) => {
                    return Err(Failure::lost("the agent tells of steps without end"));
                }
                FromAgent::KeepSteps { position } => {
                    self.keep()?;
                    // An agent that cannot hear it has ended, which is heard next.
                    let _ = host.stored(position);
                }
                FromAgent::WorkProgress(progress) => self.listener.progress(&progress)?,
                FromAgent::WorkStands(report) => self.listener.stands(&report)?,
                FromAgent::WorkDone { end, report } => {
                    return Ok((end, report.map(|report| *report)));
                }
                FromAgent::Hello { .. }
                | FromAgent::Inspected(_)
                | FromAgent::Swept { .. }
                | FromAgent::Undone { .. }
                | FromAgent::Offers { .. }
                | FromAgent::Preparing { .. }
                | FromAgent::TrialStarted { .. }
                | FromAgent::Progress { .. }
                | FromAgent::TrialDone(_)
                | FromAgent::RunDone { .. }
                | FromAgent::LoadProgress(_)
                | FromAgent::LoadStream(_)
                | FromAgent::LoadReport(_)
                | FromAgent::Refused(_) => {}
            }
        }
    }

    /// What was measured is not lost when it cannot be told.
    fn ended(&mut self, record: TrialRecord) -> Result<(), Failure> {
        let told = self.listener.ended(&record);
        self.trials.push(record);
        told
    }

    /// Stores the steps that were not stored yet, together.
    fn keep(&mut self) -> Result<(), Failure> {
        let new = self.trials.get(self.kept..).unwrap_or_default();
        if let Some(store) = &mut self.store {
            store.save_trials(&self.header.id, new).map_err(of_store)?;
        }
        self.kept = self.trials.len();
        Ok(())
    }

    fn close(mut self, ending: Ending) -> Result<Done, Failure> {
        // What was heard of an agent that is gone is kept too.
        if self.kept < self.trials.len() {
            self.keep()?;
        }
        let finished_unix_ms = unix_ms();
        let id = &self.header.id;
        let stored = self.store.is_some() && !self.trials.is_empty();
        // A work that is refused leaves no run behind.
        let closed = match &mut self.store {
            Some(store) if stored => store.finish_run(id, &ending.status, finished_unix_ms),
            Some(store) => store.forget_run(id),
            None => Ok(()),
        };
        closed.map_err(of_store)?;
        Ok(Done {
            run: Run {
                header: self.header,
                status: ending.status.clone(),
                finished_unix_ms: Some(finished_unix_ms),
                trials: self.trials,
            },
            ending,
            stored,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Rw;
    use assay_model::storage::{Backing, Storage};
    use assay_model::system::System;
    use assay_model::trial::Outcome;
    use assay_model::wire::PathKind;

    struct Mute;

    impl Listener for Mute {
        fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
            Err(Failure::failed("nobody reads"))
        }
    }

    fn inspection() -> Inspection {
        let path = PathBuf::from("/mnt");
        Inspection {
            path: path.clone(),
            kind: PathKind::Directory { writable: true },
            system: System::default(),
            storage: Storage {
                path,
                mount: None,
                backing: Backing::Unknown { why: String::new() },
                layers: Vec::new(),
                total: None,
                available: None,
            },
            in_use: Vec::new(),
            async_engines: Vec::new(),
        }
    }

    #[test]
    fn a_step_that_cannot_be_told_is_stored() {
        let folder = assay_testkit::Scratch::new().unwrap();
        let work = Work::Watch(Box::default());
        let job = Job::new("step", Rw::Read, Bytes(1), Bytes(1));
        let place = Place::Directory {
            path: folder.path().to_owned(),
        };
        let request = Request {
            work,
            steps: vec![job.clone()],
            trials: 1,
            seed: 1,
            destroy_data: false,
            place,
            stopping: "",
            must_be_stored: true,
        };
        let store = Store::open(&folder.path().join("store")).unwrap();
        let header = header(plan(&request), inspection(), None);
        let mut runner = Runner {
            store: Some(begin(store, &header).unwrap()),
            header,
            trials: Vec::new(),
            kept: 0,
            listener: &mut Mute,
        };
        let record = TrialRecord {
            job,
            trial: 1,
            position: 0,
            started_unix_ms: 0,
            seed: 1,
            outcome: Outcome::Completed,
            measured: None,
            evidence: None,
            wave: None,
            detail: None,
            condition: None,
            in_force: Vec::new(),
        };
        let failure = runner.ended(record).unwrap_err();
        let done = runner.close(Ending::of_failure(failure)).unwrap();
        assert!(done.stored);
        assert_eq!(done.run.trials.len(), 1);
    }
}
