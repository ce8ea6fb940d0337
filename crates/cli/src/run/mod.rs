//! `assay run FILE`: a job file of fio, repeated, with assay's own summary and
//! store.

pub mod records;

use crate::args::RunArgs;
use crate::exit::Failure;
use crate::fio::machine::{Elsewhere, Machine};
use crate::fio::{of_fio, warn};
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::loads::{self, Listener, Repeats};
use crate::output::say;
use crate::owner;
use crate::place::can_be_stored;
use crate::progress::{Voice, in_brief};
use crate::runs::{self, Ending, header, of_store, run_id, unix_ms};
use crate::store_guard::keep_apart;
use assay_dialects::fio::{self, Invocation};
use assay_model::annotation::Annotation;
use assay_model::condition::Restore;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::load::{Ddir, Extent, Load};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, LoadNote, PathKind, ToAgent};
use assay_model::work::replay::ReplayStep;
use assay_store::Store;
use assay_target::Target;
use records::{Entry, Repetition, entries, left_out};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs a job file on a target.
pub fn run(args: &RunArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    can_be_stored(&args.file)?;
    target.needs_larger_agent();
    let mut host = Host::start(target)?;
    let invocation = parse(&args.file, &mut host)?;
    warn(&invocation.warnings, say);
    for remark in &invocation.notes {
        say(&format!("assay: {remark}"));
    }
    let load = loads::at_its_word(invocation.load);
    let entries = entries(&load);
    if entries.is_empty() {
        return Err(Failure::usage(format!(
            "{}: no job reads or writes: there is nothing to repeat",
            args.file.display()
        )));
    }
    warn(&left_out(&load), say);
    let store_path = args.store.path()?;
    // Paths of another machine lead nowhere here.
    if host.target().is_none() {
        let files = load.streams.iter().flat_map(|stream| &stream.files.paths);
        keep_apart(&store_path, files.cloned())?;
    }
    let inspection = place_of(&load, &mut host)?;
    let place = match inspection.kind {
        PathKind::Device { .. } => Place::Device {
            path: inspection.path.clone(),
        },
        PathKind::Simulated { .. } => Place::Simulated {
            path: inspection.path.clone(),
        },
        _ => Place::Directory {
            path: inspection.path.clone(),
        },
    };
    let store = args.store.open(&store_path)?;
    let asked = Asked {
        load,
        entries,
        replay: None,
        inspection,
        place,
        trials: args.trials,
        json: args.json,
    };
    asked.carry_out(&mut host, store)
}

/// A load that is to be repeated.
pub struct Asked {
    /// The load.
    pub load: Load,
    /// Its jobs.
    pub entries: Vec<Entry>,
    /// The trace that it replays.
    pub replay: Option<ReplayStep>,
    /// What was found at its place.
    pub inspection: Inspection,
    /// Where.
    pub place: Place,
    /// Its repetitions.
    pub trials: u32,
    /// The run is printed as JSON.
    pub json: bool,
}

impl Asked {
    /// Repeats it, stores each repetition, and shows the run.
    pub fn carry_out(self, host: &mut Host, store: Store) -> Result<ExitCode, Failure> {
        let header = header(
            plan(&self.load, &self.entries, self.trials, self.place),
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

/// The job file, which is read here; what it may ask of the machine is that of the
/// machine where it runs.
fn parse(file: &Path, host: &mut Host) -> Result<Invocation, Failure> {
    let parsed = match host.target() {
        None => fio::parse_job_file(file, &Machine),
        Some(_) => {
            let system = host.inspect(Path::new("/"))?.system;
            fio::parse_job_file(file, &Elsewhere(&system))
        }
    };
    parsed.map_err(of_fio)
}

/// The first device of a load, or the folder that its first file is or will be in.
fn place_of(load: &Load, host: &mut Host) -> Result<Inspection, Failure> {
    let files = load.streams.iter().flat_map(|stream| &stream.files.paths);
    let first = files.map(PathBuf::as_path).next().unwrap_or(Path::new("."));
    let named = first.ancestors().filter(|path| *path != Path::new(""));
    for path in named {
        match host.inspect(path) {
            Ok(inspection) if !matches!(inspection.kind, PathKind::File { .. }) => {
                return Ok(inspection);
            }
            Err(failure) if failure.is_lost() => return Err(failure),
            // A file, or nothing so far: what is above it.
            Ok(_) | Err(_) => {}
        }
    }
    host.inspect(Path::new("."))
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
                    trials: Vec::new(),
                    annotation: Annotation::default(),
                },
                ending.failure,
                ending.signal,
            );
        }
        let run = Run {
            header: self.header,
            status: ending.status.clone(),
            finished_unix_ms: Some(unix_ms()),
            trials: self.trials,
            annotation: Annotation::default(),
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
