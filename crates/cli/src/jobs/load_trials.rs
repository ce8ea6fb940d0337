//! A load that is repeated: each repetition is stored as trials of its jobs.

use crate::checks::admission;
use crate::driver::host::Host;
use crate::driver::loads::{Listener, Repeats};
use crate::driver::runs::{Ending, header, of_store, run_id, unix_ms};
use crate::driver::{loads, runs};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::jobs::records::{Entry, Repetition};
use crate::stored::owner;
use crate::ui::progress::{Voice, in_brief};
use assay_model::annotation::Annotation;
use assay_model::condition::Restore;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::load::{Ddir, Extent, Load};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, LoadNote, ToAgent};
use assay_model::work::replay::ReplayStep;
use assay_store::Store;
use std::process::ExitCode;

/// A load that is to be repeated.
pub struct RepeatedLoad {
    /// The load.
    pub load: Load,
    /// Its jobs.
    pub entries: Vec<Entry>,
    /// The trace that it replays.
    pub replay: Option<ReplayStep>,
    /// What was found at its place.
    pub inspection: Inspection,
    /// Its repetitions.
    pub trials: u32,
    /// The run is printed as JSON.
    pub json: bool,
}

impl RepeatedLoad {
    /// Repeats it, stores each repetition, and shows the run.
    pub fn carry_out(self, host: &mut Host, store: Store) -> Result<ExitCode, Failure> {
        let header = header(
            plan(
                &self.load,
                &self.entries,
                self.trials,
                admission::of(&self.inspection),
            ),
            self.inspection,
            host.names(),
        );
        let mut runner = Runner {
            load: self.load,
            entries: self.entries,
            replay: self.replay,
            header,
            store,
            begun: false,
            trials: Vec::new(),
            mismatches: 0,
            voice: Voice::new(),
        };
        let ending = runner.run(host).unwrap_or_else(Ending::of_failure);
        runner.close(ending, self.json)
    }
}

/// The waves of a load follow each other in every repetition: their order is
/// the job file's to decide, and is not shuffled.
fn plan(load: &Load, entries: &[Entry], trials: u32, place: Place) -> Plan {
    let round = |trial| (0..entries.len()).map(move |job| Slot::plain(job, trial));
    let sizes = load.streams.iter().filter_map(|s| match s.region.size {
        Some(Extent::Bytes(bytes)) => Some(bytes),
        _ => None,
    });
    Plan {
        run_id: run_id(),
        seed: load.entropy,
        place,
        file_size: Bytes(sizes.max().unwrap_or(0)),
        jobs: entries
            .iter()
            .map(|entry| PlannedJob {
                job: entry.job.clone(),
                trials,
            })
            .collect(),
        conditions: Vec::new(),
        restore: Restore::default(),
        order: (1..=trials).flat_map(round).collect(),
    }
}

/// A run under way.
struct Runner {
    load: Load,
    entries: Vec<Entry>,
    replay: Option<ReplayStep>,
    header: RunHeader,
    store: Store,
    /// The store knows the run. A load that is refused leaves none behind.
    begun: bool,
    trials: Vec<TrialRecord>,
    /// Blocks, in all repetitions, that were not what had been written.
    mismatches: u64,
    voice: Voice,
}

impl Runner {
    fn run(&mut self, host: &mut Host) -> Result<Ending, Failure> {
        let (requests, voice) = (host.requests(), self.voice.clone());
        let interrupt = Interrupt::catch(move || {
            voice.say("stopping; finished trials are kept");
            // An agent that cannot hear it has ended, which is noticed elsewhere.
            let _ = requests.send(&ToAgent::Cancel);
        })
        .map_err(|error| Failure::failed(format!("cannot catch signals: {error}")))?;
        let rounds = self.header.plan.order.last().map_or(0, |slot| slot.trial);
        let mut seeds = SplitMix64::new(self.load.entropy);
        for number in 1..=rounds {
            self.load.entropy = seeds.next_u64();
            let started_unix_ms = unix_ms();
            let report = self.repeat(host, number)?;
            let signal = interrupt.exit_code();
            self.keep(&report, number, started_unix_ms, signal.is_some())?;
            if signal.is_some() {
                return Ok(Ending {
                    status: RunStatus::Interrupted,
                    failure: None,
                    signal,
                    agent_lost: false,
                });
            }
        }
        Ok(Ending {
            status: RunStatus::Finished,
            failure: self.data_differed(),
            signal: None,
            agent_lost: false,
        })
    }

    /// What a run ends with that found other data than was written.
    fn data_differed(&self) -> Option<Failure> {
        (self.mismatches > 0).then(|| {
            Failure::mismatch(format!(
                "what was read is not what had been written, {} times: see the summary",
                self.mismatches
            ))
        })
    }

    fn repeat(&mut self, host: &mut Host, number: u32) -> Result<LoadReport, Failure> {
        let mut follower = Follower {
            voice: self.voice.clone(),
            done: self.trials.len(),
            of: self.header.plan.order.len(),
            number,
            repeats: Repeats::default(),
        };
        let report = loads::execute(host, &self.load, &mut follower);
        for (_, line) in follower.repeats.close() {
            self.voice.say(&line);
        }
        self.voice.clear();
        report
    }

    /// Stores the trials of a repetition.
    fn keep(
        &mut self,
        report: &LoadReport,
        number: u32,
        started_unix_ms: u64,
        stopped: bool,
    ) -> Result<(), Failure> {
        let streams = report.streams.iter();
        self.mismatches += streams.map(|stream| stream.data_mismatches).sum::<u64>();
        let repetition = Repetition {
            load: &self.load,
            report,
            stopped,
            number,
            started_unix_ms,
            replay: self.replay.as_ref(),
        };
        let first = self.trials.len();
        for entry in &self.entries {
            let position = u32::try_from(self.trials.len()).unwrap_or(u32::MAX);
            self.trials.push(repetition.trial(entry, position));
        }
        self.store_from(first)?;
        for trial in &self.trials[first..] {
            self.voice.say(&format!(
                "[{}/{}] {} #{number}: {}",
                trial.position + 1,
                self.header.plan.order.len(),
                trial.job.name,
                in_brief(trial)
            ));
        }
        Ok(())
    }

    fn store_from(&mut self, first: usize) -> Result<(), Failure> {
        // There is something to keep from here on, wherever it can be.
        if !std::mem::replace(&mut self.begun, true) {
            let owner = owner::this_process();
            let begun = self.store.begin_run(&self.header, &owner);
            begun.map_err(of_store)?;
        }
        let saved = self
            .store
            .save_trials(&self.header.id, &self.trials[first..]);
        saved.map_err(of_store)
    }

    /// Shows what came of it.
    fn close(mut self, mut ending: Ending, as_json: bool) -> Result<ExitCode, Failure> {
        if !self.begun {
            return runs::conclude(
                &Run {
                    header: self.header,
                    status: ending.status,
                    finished_unix_ms: None,
                    annotation: Annotation::default(),
                    trials: Vec::new(),
                },
                ending.failure,
                ending.signal,
            );
        }
        let run = Run {
            header: self.header,
            status: ending.status.clone(),
            finished_unix_ms: Some(unix_ms()),
            annotation: Annotation::default(),
            trials: self.trials,
        };
        ending.and_noted(runs::finish(&mut self.store, &run));
        runs::present(&run, as_json)?;
        runs::conclude(&run, ending.failure, ending.signal)
    }
}

/// Shows how a repetition goes.
struct Follower {
    voice: Voice,
    /// Trials that are done, and of how many.
    done: usize,
    of: usize,
    number: u32,
    repeats: Repeats,
}

impl Listener for Follower {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        if let Some(line) = self.repeats.hear(note) {
            self.voice.say(&line);
        }
        Ok(())
    }

    fn progress(&mut self, progress: &LoadProgress) -> Result<(), Failure> {
        let sum = |ddir| progress.streams.iter().map(|s| s.bytes[ddir]).sum::<u64>();
        let moved = Bytes(sum(Ddir::Read) + sum(Ddir::Write));
        let seconds = Nanos(progress.elapsed_ns).as_secs_f64();
        let text = format!("repetition {}: {seconds:.0} s, {moved} moved", self.number);
        self.voice.show(self.done, self.of, &text);
        Ok(())
    }

    fn interim(&mut self, _report: &LoadReport) -> Result<(), Failure> {
        Ok(())
    }
}
