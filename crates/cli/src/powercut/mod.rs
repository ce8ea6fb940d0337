//! `assay powercut PATH --cut METHOD`: is every acknowledged write there when the power is
//! back?

pub mod args;
mod cut;
mod cycle;
mod journal;

use crate::exit::{DONE, Failure};
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::output::say;
use crate::owner;
use crate::place::{admit, can_be_stored};
use crate::progress::Voice;
use crate::runs::{self, header, of_store, run_id, unix_ms};
use crate::stored::store_path;
use args::PowercutArgs;
use assay_lang::tr;
use assay_model::condition::Restore;
use assay_model::job::{Job, Rw};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Bytes;
use assay_model::work::StepDetail;
use assay_model::work::powercut::{CutStep, Kind, Powercut, Task};
use assay_report::powercut::{in_brief, total};
use assay_store::Store;
use assay_target::Target;
use cut::Switch;
use cycle::{Cycles, Planned};
use journal::Journal;
use std::process::ExitCode;
use std::time::Duration;

/// Cuts the power of a target as often as asked for.
///
/// # Errors
/// When something acknowledged is lost (exit code 4), or it cannot go on.
pub fn run(args: &PowercutArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    can_be_stored(&args.path)?;
    let Some(name) = target.name() else {
        return Err(Failure::usage(
            "the power of this machine cannot be cut by itself: name a board with --on",
        ));
    };
    let switch = Switch::new(&args.cut, args.restore.as_ref(), &name)?;
    target.needs_larger_agent();
    let path = store_path(&args.store)?;
    let mut host = Host::start(target)?;
    let mut inspection = host.inspect(&args.path)?;
    let place = admit(&inspection, args.destroy_data)?;
    if let Some(mount) = &args.mount {
        // What is tested is not there before it is mounted.
        inspection = host.inspect(&mount.device)?;
    }
    let work = work(args, &place)?;
    let seed = args.seed.unwrap_or_else(runs::random);
    let header = header(plan(args, place, seed), inspection, host.target());
    let mut store = Store::open(&path)?;
    store.begin_run(&header, &owner::this_process())?;
    let journal = Journal::create(&path, &header.id, work.kinds.len())?;
    let cycles = Cycles {
        target,
        work,
        switch,
        off_time: Duration::from_nanos(args.off_time.0),
        boot_timeout: Duration::from_nanos(args.boot_timeout.0),
        atomic: args.atomic.parse().unwrap_or(512),
        destroy_data: args.destroy_data,
        run_id: header.id.clone(),
    };
    let session = Session {
        cycles,
        journal,
        store,
        header,
        trials: Vec::new(),
    };
    session.run(args, host, seed)
}

/// What is written.
fn work(args: &PowercutArgs, place: &Place) -> Result<Powercut, Failure> {
    let device = match place {
        Place::Device { .. } => true,
        Place::Directory { .. } => false,
        other => {
            return Err(Failure::usage(format!(
                "{} is neither a folder nor a block device: name the folder that it is in",
                other.path().display()
            )));
        }
    };
    let fits = |kind: &Kind| !device || kind.on_device();
    let mut kinds = args.ways.clone();
    if kinds.is_empty() {
        kinds = Kind::ALL.into_iter().filter(fits).collect();
    }
    kinds.sort_by_key(|kind| Kind::ALL.iter().position(|known| known == kind));
    kinds.dedup();
    if let Some(kind) = kinds.iter().find(|kind| !fits(kind)) {
        return Err(Failure::usage(format!(
            "{} needs a file system, and {} is a device",
            kind.name(),
            args.path.display()
        )));
    }
    if device && args.mount.is_some() {
        return Err(Failure::usage(
            "--mount is for a folder, and PATH is a device",
        ));
    }
    Ok(Powercut {
        path: place.path().to_owned(),
        device,
        kinds,
        mount: args.mount.clone(),
        task: Task::Write,
    })
}

/// A cycle is a trial of one job.
fn plan(args: &PowercutArgs, place: Place, seed: u64) -> Plan {
    let job = Job::new("cut", Rw::RandWrite, Bytes(4096), Bytes(0));
    Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: Bytes(0),
        jobs: vec![PlannedJob {
            job,
            trials: args.cycles,
        }],
        conditions: Vec::new(),
        restore: Restore::default(),
        order: (1..=args.cycles)
            .map(|trial| Slot::plain(0, trial))
            .collect(),
    }
}

/// A run under way.
struct Session<'a> {
    cycles: Cycles<'a>,
    journal: Journal,
    store: Store,
    header: RunHeader,
    trials: Vec<TrialRecord>,
}

impl Session<'_> {
    fn run(mut self, args: &PowercutArgs, host: Host, seed: u64) -> Result<ExitCode, Failure> {
        let interrupt = Interrupt::catch(|| {
            say("stopping after this cycle; finished cycles are kept (again: at once, and the power stays as it is)");
        })
        .map_err(|error| Failure::failed(format!("cannot catch signals: {error}")))?;
        let ended = self.all(args, host, seed, &interrupt);
        let status = match (&ended, interrupt.exit_code()) {
            (Err(failure), _) => RunStatus::Failed {
                error: failure.to_string(),
            },
            (Ok(()), Some(_)) => RunStatus::Interrupted,
            (Ok(()), None) => RunStatus::Finished,
        };
        let run = self.close(status)?;
        if !run.trials.is_empty() {
            runs::present(&run, args.json)?;
        }
        // A loss that was found is the result, whatever befell the rest.
        if let Some(lost) = total(&run).and_then(|total| total.failure()) {
            return Err(Failure::mismatch(lost));
        }
        ended?;
        Ok(interrupt.exit_code().map_or(DONE, ExitCode::from))
    }

    /// All cycles; each is stored before the next one begins.
    fn all(
        &mut self,
        args: &PowercutArgs,
        mut host: Host,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let voice = Voice::new();
        let mut random = SplitMix64::new(seed);
        for number in 1..=args.cycles {
            if interrupt.exit_code().is_some() {
                break;
            }
            let (from, to) = (args.after.0.0, args.after.1.0);
            let planned = Planned {
                number,
                seed: random.next_u64(),
                delay: Duration::from_nanos(from + random.below(to - from + 1)),
            };
            let text = tr!("cycle {number}: writing until the power goes", number);
            voice.show(number as usize - 1, args.cycles as usize, &text);
            let started = unix_ms();
            let came = self.cycles.cycle(host, &planned, &mut self.journal);
            voice.clear();
            let (again, step) = came?;
            host = again;
            say(&format!("[{number}/{}] {}", args.cycles, in_brief(&step)));
            self.keep(&planned, started, step)?;
        }
        Ok(())
    }

    fn keep(&mut self, planned: &Planned, started: u64, step: CutStep) -> Result<(), Failure> {
        let outcome = match step.is_bad() {
            true => Outcome::Failed {
                error: in_brief(&step),
            },
            false => Outcome::Completed,
        };
        let record = TrialRecord {
            job: self.header.plan.jobs[0].job.clone(),
            trial: planned.number,
            position: planned.number - 1,
            started_unix_ms: started,
            seed: planned.seed,
            outcome,
            measured: None,
            evidence: None,
            wave: None,
            detail: Some(Box::new(StepDetail::Powercut(Box::new(step)))),
            condition: None,
            in_force: Vec::new(),
        };
        let saved = self.store.save_trial(&self.header.id, &record);
        saved.map_err(of_store)?;
        self.trials.push(record);
        Ok(())
    }

    /// The run is in the store; without a cycle there is none.
    fn close(mut self, status: RunStatus) -> Result<Run, Failure> {
        let finished_unix_ms = unix_ms();
        let closed = match self.trials.is_empty() {
            true => self.store.forget_run(&self.header.id),
            false => self
                .store
                .finish_run(&self.header.id, &status, finished_unix_ms),
        };
        closed.map_err(of_store)?;
        self.journal.remove();
        Ok(Run {
            header: self.header,
            status,
            finished_unix_ms: Some(finished_unix_ms),
            trials: self.trials,
        })
    }
}
