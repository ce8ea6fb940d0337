//! Repetition of a load: each repetition is stored as trials of its jobs.

use crate::checks::admission;
use crate::driver::announce;
use crate::driver::host::Host;
use crate::driver::leftovers;
use crate::driver::loads;
use crate::driver::notes::{self, Repeats};
use crate::driver::plans::interleaved;
use crate::driver::runs::{Done, Ending, header, unix_ms};
use crate::driver::trials::{Listener, Trials};
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::jobs::records::{Repetition, ReportedJob};
use crate::output::say;
use crate::stored::owner;
use crate::ui::progress::{Voice, in_brief};
use assay_lang::tr;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::load::{Ddir, Extent, Load};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, LoadNote, RunEnd};
use assay_model::work::replay::ReplayStep;
use assay_store::Store;
use assay_target::Target;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::slice::from_ref;

/// Load that is to be repeated.
pub struct RepeatedLoad {
    /// The load.
    pub load: Load,
    /// Jobs of the load.
    pub entries: Vec<ReportedJob>,
    /// Trace that it replays; `None` for other loads.
    pub replay: Option<ReplayStep>,
    /// `true` if the agent makes the file in a private folder, and removes it at the end.
    pub is_private: bool,
    /// Inspection of the place.
    pub inspection: Inspection,
    /// Number of repetitions.
    pub trials: u32,
    /// `true` if the run is printed as JSON.
    pub json: bool,
}

impl RepeatedLoad {
    /// Repeats the load, stores each repetition, and shows the run.
    pub fn carry_out(
        mut self,
        target: &mut dyn Target,
        host: &mut Host,
        mut store: Store,
    ) -> Result<ExitCode, Failure> {
        let place = admission::of(&self.inspection);
        self.tell_held(host)?;
        if self.is_private {
            leftovers::clear(host, &mut store, &place)?;
        }
        let plan = plan(&self.load, &self.entries, self.trials, place);
        let header = header(plan, self.inspection, host.origin());
        self.load.made_for = self.is_private.then(|| header.id.clone());
        // Store the run first: if the process is killed, the next start finds it.
        let begun = store.begin_run(&header, &owner::this_process());
        begun.map_err(Failure::failed)?;
        let mut runner = Runner {
            load: self.load,
            entries: self.entries,
            replay: self.replay,
            header,
            store,
            trials: Trials::default(),
            mismatches: 0,
            voice: Voice::new(),
        };
        let ending = runner.run(host).unwrap_or_else(Ending::of_failure);
        if ending.agent_lost && self.is_private {
            let RunHeader { plan, id, .. } = &runner.header;
            for leftover in leftovers::clear_after_loss(target, &plan.place, id) {
                say(&notes::note_in_words(&notes::of_leftover(&leftover)));
            }
        }
        let trials = runner.trials.all;
        // A refused load leaves no run behind.
        let forget = trials.is_empty();
        let store = Some(&mut runner.store);
        Done::close(store, runner.header, trials, ending, forget)?.present(self.json)
    }

    /// Announces the data on devices that will be overwritten.
    fn tell_held(&self, host: &mut Host) -> Result<(), Failure> {
        let streams = self.load.streams.iter().filter(|stream| {
            let writes = stream.blocks.rw.changes() && stream.engine.kind.moves_data();
            writes && !self.load.readonly
        });
        let named = streams.flat_map(|stream| match &stream.trace.redirect {
            Some(file) => from_ref(file),
            None => &*stream.files.paths,
        });
        // A job file may name any number of files, so only devices are inspected.
        let devices: BTreeSet<&PathBuf> = named.filter(|path| path.starts_with("/dev")).collect();
        for path in devices {
            match host.inspect(path) {
                // Opening it will refuse it.
                Ok(found) if !found.in_use.is_empty() => {}
                Ok(found) => {
                    let at = announce::storage(&admission::of(&found), &found.storage);
                    if let Some(held) = announce::held(&found) {
                        announce::tell(&[(tr!("Storage"), at), held]);
                    }
                }
                Err(failure) if failure.is_lost() => return Err(failure),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Makes the plan of the run. Jobs are not shuffled: the job file determines their order in a
/// repetition.
fn plan(load: &Load, entries: &[ReportedJob], trials: u32, place: Place) -> Plan {
    let round = |trial| (0..entries.len()).map(move |job| Slot::plain(job, trial));
    let sizes = load.streams.iter().filter_map(|s| match s.region.size {
        Some(Extent::Bytes(bytes)) => Some(bytes),
        _ => None,
    });
    let planned = entries.iter().map(|entry| PlannedJob {
        job: entry.job.clone(),
        trials,
    });
    let file_size = Bytes(sizes.max().unwrap_or(0));
    Plan {
        order: (1..=trials).flat_map(round).collect(),
        ..interleaved(load.entropy, place, file_size, planned.collect())
    }
}

/// Run under way.
struct Runner {
    load: Load,
    entries: Vec<ReportedJob>,
    replay: Option<ReplayStep>,
    header: RunHeader,
    store: Store,
    trials: Trials,
    /// Number of blocks, in all repetitions, that differ from the data written.
    mismatches: u64,
    voice: Voice,
}

impl Runner {
    fn run(&mut self, host: &mut Host) -> Result<Ending, Failure> {
        let voice = self.voice.clone();
        let interrupt = host.obey_signals(Interrupts::Caught, move || {
            voice.say("stopping; finished trials are kept");
        })?;
        let rounds = self.header.plan.order.last().map_or(0, |slot| slot.trial);
        let mut seeds = SplitMix64::new(self.load.entropy);
        for number in 1..=rounds {
            self.load.entropy = seeds.next_u64();
            let started_unix_ms = unix_ms();
            let report = self.repeat(host, number)?;
            let signal = interrupt.exit_code();
            self.keep(&report, number, started_unix_ms, signal.is_some())?;
            if signal.is_some() {
                return Ok(Ending::of(RunEnd::Cancelled, signal));
            }
            // Do not repeat: another repetition would create a file in its place.
            if let Some(error) = report.lost {
                return Ok(Ending::of(RunEnd::DeviceLost { error }, None));
            }
        }
        Ok(Ending {
            failure: self.data_differed(),
            ..Ending::of(RunEnd::Finished, None)
        })
    }

    /// Returns the failure of a run that read data other than the data written.
    fn data_differed(&self) -> Option<Failure> {
        (self.mismatches > 0).then(|| {
            Failure::mismatch(format!(
                "what was read is not what had been written, {} times: see the summary",
                self.mismatches
            ))
        })
    }

    fn repeat(&mut self, host: &mut Host, number: u32) -> Result<LoadReport, Failure> {
        let mut follower = self.follower(number);
        let report = loads::execute(host, &self.load, &mut follower);
        for (_, line) in follower.repeats.close() {
            self.voice.say(&line);
        }
        self.voice.clear();
        report
    }

    fn follower(&self, number: u32) -> Follower {
        Follower {
            voice: self.voice.clone(),
            done: self.trials.all.len(),
            of: self.header.plan.order.len(),
            number,
            repeats: Repeats::default(),
        }
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
        for entry in &self.entries {
            let position = u32::try_from(self.trials.all.len()).unwrap_or(u32::MAX);
            self.trials.ended(repetition.trial(entry, position))?;
        }
        let mut follower = self.follower(number);
        let store = (&*self.header.id, Some(&mut self.store));
        self.trials.keep(store, &mut follower)
    }
}

/// Display of a repetition.
struct Follower {
    voice: Voice,
    /// Number of trials that are done.
    done: usize,
    of: usize,
    number: u32,
    repeats: Repeats,
}

impl Listener for Follower {
    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        self.voice.say(&format!(
            "[{}/{}] {} #{}: {}",
            trial.position + 1,
            self.of,
            trial.job.name,
            self.number,
            in_brief(trial)
        ));
        Ok(())
    }

    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        if let Some(line) = self.repeats.hear(note) {
            self.voice.say(&line);
        }
        Ok(())
    }

    fn load_progress(&mut self, progress: &LoadProgress) -> Result<(), Failure> {
        let sum = |ddir| progress.streams.iter().map(|s| s.bytes[ddir]).sum::<u64>();
        let moved = Bytes(sum(Ddir::Read) + sum(Ddir::Write));
        let seconds = Nanos(progress.elapsed_ns).as_secs_f64();
        let text = format!("repetition {}: {seconds:.0} s, {moved} moved", self.number);
        self.voice.show(self.done, self.of, &text);
        Ok(())
    }
}
