//! Run under way: its cycles, each of which is stored before the next one begins.

use super::args::PowercutArgs;
use super::cut::Switch;
use super::cycle::Cycles;
use super::journal::{Journal, Planned};
use crate::checks::admission::{DestroyArgs, is_that_of};
use crate::driver::host::Host;
use crate::driver::runs::{Done, Ending, unix_ms};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::say;
use crate::ui::progress::Voice;
use assay_lang::tr;
use assay_model::plan::Place;
use assay_model::rng::SplitMix64;
use assay_model::run::RunHeader;
use assay_model::storage::Storage;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::wire::RunEnd;
use assay_model::work::StepDetail;
use assay_model::work::powercut::CutStep;
use assay_report::findings::powercut::{in_brief, total};
use assay_store::Store;
use std::process::ExitCode;
use std::time::Duration;

/// A run under way.
pub struct Session<'a> {
    /// Parameters that all cycles share.
    pub cycles: Cycles<'a>,
    /// `--destroy-data` as given: it must name a device that has no identifier.
    pub destroy: DestroyArgs,
    /// Journal of the cycle under way.
    pub journal: Journal,
    /// Store for the cycles.
    pub store: Store,
    /// The run.
    pub header: RunHeader,
    /// Finished cycles.
    pub trials: Vec<TrialRecord>,
}

/// Returns all planned cycles, in their order.
pub fn planned(args: &PowercutArgs, seed: u64) -> impl Iterator<Item = Planned> {
    let (from, to) = (args.after.0.0, args.after.1.0);
    let mut random = SplitMix64::new(seed);
    (1..=args.cycles).map(move |number| Planned {
        number,
        seed: random.next_u64(),
        delay: Duration::from_nanos(from + random.below(to - from + 1)),
    })
}

impl Session<'_> {
    /// Carries out the missing cycles, and closes the run.
    pub fn run(mut self, args: &PowercutArgs, json: bool, host: Host) -> Result<ExitCode, Failure> {
        let interrupt = Interrupt::catch(|| {
            say(
                "stopping after this cycle; finished cycles are kept, and --resume continues (press again to stop at once; the power stays as it is)",
            );
        })?;
        let ended = self.all(args, host, &interrupt);
        let signal = interrupt.exit_code();
        let ending = match (ended, signal) {
            (Err(failure), _) => Ending::of_failure(failure),
            (Ok(()), Some(_)) => Ending::of(RunEnd::Cancelled, signal),
            (Ok(()), None) => Ending::of(RunEnd::Finished, None),
        };
        let none = self.trials.is_empty();
        let store = Some(&mut self.store);
        let mut done = Done::close(store, self.header, self.trials, ending, none)?;
        // After a failure the journal is needed to resume the cycle.
        if none || done.ending.failure.is_none() {
            self.journal.remove();
        }
        // Lost data is the main result, even if the session failed later.
        if let Some(lost) = total(&done.run).and_then(|total| total.failure()) {
            let (lost, rest) = (Failure::mismatch(lost), done.ending.failure.take());
            done.ending.failure = Some(match rest {
                Some(rest) => lost.and(&rest),
                None => lost,
            });
        }
        done.present(json)
    }

    /// Runs all cycles that are not stored yet.
    fn all(
        &mut self,
        args: &PowercutArgs,
        mut host: Host,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let voice = Voice::new();
        for planned in planned(args, self.header.plan.seed).skip(self.trials.len()) {
            if interrupt.exit_code().is_some() {
                break;
            }
            let number = planned.number;
            let text = tr!("cycle {number}: writing until the power is cut", number);
            match self.cycles.switch {
                // A question needs its own line: a live line would be redrawn over it.
                Switch::Hand => say(&text),
                Switch::Commands { .. } => {
                    voice.show(number as usize - 1, args.cycles as usize, &text);
                }
            }
            self.is_same_device(&mut host)?;
            let started = unix_ms();
            let came = self.cycle(host, &planned);
            voice.clear();
            let (again, step) = came?;
            host = again;
            self.keep(args, &planned, started, step)?;
        }
        Ok(())
    }

    /// Runs a cycle; returns the agent on the restarted board, and the result.
    fn cycle(&mut self, host: Host, planned: &Planned) -> Result<(Host, CutStep), Failure> {
        let (mut host, boot_id, moment) = self.cycles.cut(host, planned, &mut self.journal)?;
        // Data missing on another medium would not be a loss.
        self.is_same_device(&mut host)?;
        let cut = (boot_id.as_deref(), moment);
        let judged = self
            .cycles
            .judge(&mut host, planned, &mut self.journal, cut)?;
        match judged {
            Some(step) => Ok((host, step)),
            None => Err(Failure::failed(
                "the power was not cut: the board runs since before (same boot id); try the \
                 command of --cut by hand",
            )),
        }
    }

    /// Checks that the storage is the one on which the run began: names may change when a board boots. A
    /// missing file system is not an error here, but a finding.
    fn is_same_device(&self, host: &mut Host) -> Result<(), Failure> {
        let (place, mount) = (&self.header.plan.place, &self.cycles.work.mount);
        let path = mount.as_ref().map_or(place.path(), |mount| &mount.device);
        let now = match host.inspect(path) {
            Err(failure) if matches!(place, Place::Directory { .. }) && !failure.is_lost() => {
                return Ok(());
            }
            now => now?,
        };
        let point = |storage: &Storage| storage.mount.as_ref().map(|mount| mount.point.clone());
        match point(&now.storage) == point(&self.header.storage) {
            true => is_that_of(&self.header, &now, &self.destroy),
            false => Ok(()),
        }
    }

    /// Stores a cycle and prints its result.
    pub fn keep(
        &mut self,
        args: &PowercutArgs,
        planned: &Planned,
        started: u64,
        step: CutStep,
    ) -> Result<(), Failure> {
        let (number, cycles) = (planned.number, args.cycles);
        let told = format!("[{number}/{cycles}] {}", in_brief(&step));
        let outcome = match step.is_bad() {
            true => Outcome::Failed {
                error: in_brief(&step),
            },
            false => Outcome::Completed,
        };
        let job = self.header.plan.jobs[0].job.clone();
        let record = TrialRecord {
            started_unix_ms: started,
            detail: Some(Box::new(StepDetail::Powercut(Box::new(step)))),
            ..TrialRecord::new(job, number, number - 1, planned.seed, outcome)
        };
        let saved = self.store.save_trial(&self.header.id, &record);
        self.trials.push(record);
        saved.map_err(Failure::failed)?;
        say(&told);
        Ok(())
    }
}
