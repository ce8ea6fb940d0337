//! Repetition of a load: each repetition is stored as trials of its jobs.

use crate::checks::admission;
use crate::driver::acts::{ActRun, all_slots};
use crate::driver::host::Host;
use crate::driver::notes::Repeats;
use crate::driver::plans::interleaved;
use crate::driver::records::{Repetition, ReportedJob};
use crate::driver::runs::{Done, header, unix_ms};
use crate::driver::trials::Listener;
use crate::driver::{announce, leftovers};
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::stored;
use crate::ui::progress::{Messages, in_brief};
use assay_lang::tr;
use assay_model::act::{Act, ActReport, Acts, ReplayStep};
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::load::{Ddir, Extent, Load};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::run::RunStatus;
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, LoadNote};
use assay_store::Store;
use assay_target::Target;
use std::cell::Cell;
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
        let (entropy, of) = (self.load.entropy, plan.order.len());
        let mut header = header(plan, self.inspection, host.origin());
        self.load.made_for = self.is_private.then(|| header.id.clone());
        let act = Act::Streams(Box::new(self.load.clone()));
        let acts = Acts::repeated(act, self.trials, entropy, true);
        // A trace can be long; a replay is not resumed.
        header.acts = self.replay.is_none().then(|| Box::new(acts.clone()));
        // Store the run first: if the process is killed, the next start finds it.
        let begun = store.begin_run(&header, &stored::this_process());
        begun.map_err(Failure::failed)?;
        let mut follower = Follower::new(of);
        let messages = follower.messages.clone();
        let interrupt = host.obey_signals(Interrupts::Caught, move || {
            messages.say("stopping; finished trials are kept");
        })?;
        let streams = StreamTrials {
            load: &self.load,
            entries: self.entries,
            replay: self.replay,
            acts: &acts,
            mismatches: Cell::new(0),
        };
        let run = ActRun {
            of_streams: Some(Box::new(|report, number| streams.trials(report, number))),
            ..ActRun::new(header, Some(store), &acts)
        };
        let done = run.carry_out(target, host, &interrupt, &mut follower, &mut all_slots);
        follower.close();
        let mut done = done?;
        streams.note_mismatches(&mut done);
        done.present(self.json)
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

/// Makes the trials of a load's repetitions.
pub struct StreamTrials<'a> {
    /// The load.
    pub load: &'a Load,
    /// Jobs of the load.
    pub entries: Vec<ReportedJob>,
    /// Trace that it replays.
    pub replay: Option<ReplayStep>,
    /// Slots of the run.
    pub acts: &'a Acts,
    /// Number of blocks in which other data was read than was written.
    pub mismatches: Cell<u64>,
}

impl StreamTrials<'_> {
    /// Fails a finished run that read other data than was written.
    pub fn note_mismatches(&self, done: &mut Done) {
        let (ending, mismatches) = (&mut done.ending, self.mismatches.get());
        if ending.failure.is_none() && ending.status == RunStatus::Finished && mismatches > 0 {
            ending.failure = Some(Failure::mismatch(format!(
                "what was read is not what had been written, {mismatches} times: see the summary"
            )));
        }
    }

    /// Makes the trials of the repetition `number`.
    pub fn trials(&self, report: &LoadReport, number: u32) -> Vec<TrialRecord> {
        let found = report.streams.iter().map(|stream| stream.data_mismatches);
        self.mismatches
            .set(self.mismatches.get() + found.sum::<u64>());
        let mut slots = self.acts.slots.iter();
        let seed = slots.find(|(slot, _)| slot.trial == number);
        let load = Load {
            entropy: seed.map_or(0, |(_, seed)| *seed),
            ..self.load.clone()
        };
        let repetition = Repetition {
            load: &load,
            report,
            stopped: report.stopped,
            number,
            started_unix_ms: unix_ms(),
            replay: self.replay.as_ref(),
        };
        let entries = self.entries.iter();
        entries.map(|entry| repetition.trial(entry, 0)).collect()
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

/// Shows the repetitions on standard error.
struct Follower {
    messages: Messages,
    /// Trials that ended.
    done: usize,
    of: usize,
    /// Repetition under way, from 1.
    number: u32,
    repeats: Repeats,
}

impl Follower {
    fn new(of: usize) -> Self {
        Self {
            messages: Messages::new(),
            done: 0,
            of,
            number: 1,
            repeats: Repeats::default(),
        }
    }

    /// Prints how often notes were repeated, and removes the live line.
    fn close(&mut self) {
        for (_, line) in self.repeats.close() {
            self.messages.say(&line);
        }
        self.messages.clear();
    }
}

impl Listener for Follower {
    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        // Repeated notes belong to the repetition before its figures.
        self.close();
        self.done += 1;
        self.messages.say(&format!(
            "[{}/{}] {} #{}: {}",
            trial.position + 1,
            self.of,
            trial.job.name,
            trial.trial,
            in_brief(trial)
        ));
        Ok(())
    }

    fn repeated(&mut self, number: u32, _report: Option<&ActReport>) -> Result<(), Failure> {
        self.close();
        self.number = number + 1;
        Ok(())
    }

    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        if let Some(line) = self.repeats.receive(note) {
            self.messages.say(&line);
        }
        Ok(())
    }

    fn load_progress(&mut self, progress: &LoadProgress) -> Result<(), Failure> {
        let sum = |ddir| progress.streams.iter().map(|s| s.bytes[ddir]).sum::<u64>();
        let moved = Bytes(sum(Ddir::Read) + sum(Ddir::Write));
        let seconds = Nanos(progress.elapsed_ns).as_secs_f64();
        let text = format!("repetition {}: {seconds:.0} s, {moved} moved", self.number);
        self.messages.show(self.done, self.of, &text);
        Ok(())
    }
}
