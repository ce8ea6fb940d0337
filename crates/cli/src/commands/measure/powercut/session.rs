//! A run under way: its cycles, each of which is stored before the next one begins.

use super::args::PowercutArgs;
use super::cut::Switch;
use super::cycle::Cycles;
use super::journal::Journal;
use super::journal::Planned;
use crate::driver::host::Host;
use crate::driver::runs::{self, of_store, unix_ms};
use crate::exit::{DONE, Failure};
use crate::interrupt::Interrupt;
use crate::output::say;
use crate::ui::progress::Voice;
use assay_lang::tr;
use assay_model::annotation::Annotation;
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::trial::{Outcome, TrialRecord};
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
    /// Journal of the cycle under way.
    pub journal: Journal,
    /// Store for the cycles.
    pub store: Store,
    /// The run.
    pub header: RunHeader,
    /// The cycles that are over.
    pub trials: Vec<TrialRecord>,
}

/// Returns all cycles that the arguments ask for, in their order.
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
    /// Carries out the cycles that are missing, and closes the run.
    ///
    /// # Errors
    /// When something acknowledged is lost, or it cannot go on.
    pub fn run(mut self, args: &PowercutArgs, json: bool, host: Host) -> Result<ExitCode, Failure> {
        let interrupt = Interrupt::catch(|| {
            say(
                "stopping after this cycle; finished cycles are kept, and --resume continues (press again to stop at once; the power stays as it is)",
            );
        })?;
        let ended = self.all(args, host, &interrupt);
        let status = match (&ended, interrupt.exit_code()) {
            (Err(failure), _) => RunStatus::Failed {
                error: failure.to_string(),
            },
            (Ok(()), Some(_)) => RunStatus::Interrupted,
            (Ok(()), None) => RunStatus::Finished,
        };
        let (run, noted) = self.close(status);
        if !run.trials.is_empty() {
            runs::present(&run, json)?;
        }
        // A loss that was found is the result, whatever befell the rest.
        if let Some(lost) = total(&run).and_then(|total| total.failure()) {
            let lost = Failure::mismatch(lost);
            return Err(match &noted {
                Err(noted) => lost.and(noted),
                Ok(()) => lost,
            });
        }
        match (ended, noted) {
            (Err(first), Err(noted)) => return Err(first.and(&noted)),
            (ended, noted) => ended.and(noted)?,
        }
        Ok(interrupt.exit_code().map_or(DONE, ExitCode::from))
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
                // What is asked would stand behind a live line.
                Switch::Hand => say(&text),
                Switch::Commands { .. } => {
                    voice.show(number as usize - 1, args.cycles as usize, &text);
                }
            }
            let started = unix_ms();
            let came = self.cycles.cycle(host, &planned, &mut self.journal);
            voice.clear();
            let (again, step) = came?;
            host = again;
            self.keep(args, &planned, started, step)?;
        }
        Ok(())
    }

    /// Stores and tells a cycle.
    ///
    /// # Errors
    /// When it cannot be stored.
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
        saved.map_err(of_store)?;
        say(&told);
        Ok(())
    }

    /// The run is in the store; without a cycle there is none.
    fn close(mut self, status: RunStatus) -> (Run, Result<(), Failure>) {
        let run = Run {
            header: self.header,
            status,
            finished_unix_ms: Some(unix_ms()),
            annotation: Annotation::default(),
            trials: self.trials,
        };
        let none = run.trials.is_empty();
        let noted = match none {
            true => self.store.forget_run(&run.header.id).map_err(of_store),
            false => runs::finish(&mut self.store, &run),
        };
        // What failed in a cycle goes on with it.
        if noted.is_ok() && (none || !matches!(run.status, RunStatus::Failed { .. })) {
            self.journal.remove();
        }
        (run, noted)
    }
}
