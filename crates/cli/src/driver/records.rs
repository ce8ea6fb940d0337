//! Loads whose repetitions are stored as runs. The report of a repetition is converted to trials: one
//! for each job that the load reports.

use crate::checks::admission;
use crate::driver::acts::{ActRun, all_slots};
use crate::driver::plans::interleaved;
use crate::driver::runs::{Done, header, unix_ms};
use crate::driver::trials::Listener;
use crate::driver::{Host, Repeats, announce, clear_leftovers};
use crate::exit::{Failure, Interrupts};
use crate::stored;
use crate::ui::progress::{Messages, in_brief};
use assay_lang::tr;
use assay_model::act::{Act, ActReport, Acts, ReplayStep, StepDetail};
use assay_model::evidence::{Evidence, LatencyRecord};
use assay_model::job::{CacheState, Content, Direction, Flush, FlushCall, Job, RateLimit, Rw};
use assay_model::load::report::{
    DirectionReport, LoadProgress, LoadReport, StreamReport, WaveRecord,
};
use assay_model::load::{Ddir, Extent, Load, Stream};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::run::RunStatus;
use assay_model::trial::{IoErrorRecord, IoErrors, Outcome, Series, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, LoadNote};
use assay_stats::streams::measurement;
use assay_store::Store;
use assay_target::Target;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::slice::from_ref;

/// Job as it is reported: one stream, or copies that are reported together.
#[derive(Debug)]
pub struct ReportedJob {
    /// Description of the job.
    pub job: Job,
    /// Indices of its streams in the load.
    pub streams: Vec<usize>,
}

/// Returns the jobs of a load; those that only trim are omitted, because a run has no figures for
/// trims.
pub fn entries(load: &Load) -> Vec<ReportedJob> {
    let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, stream) in load.streams.iter().enumerate() {
        let rw = &stream.blocks.rw;
        if rw.read || rw.write {
            groups.entry(stream.report).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort();
    let names = |streams: &Vec<usize>| load.streams[streams[0]].name.clone();
    let all: Vec<String> = groups.iter().map(names).collect();
    groups
        .into_iter()
        .map(|streams| {
            let first = &load.streams[streams[0]];
            let mut job = job(first, streams.len());
            if all.iter().filter(|name| **name == job.name).count() > 1 {
                job.name = format!("{}.{}", first.name, first.number);
            }
            ReportedJob { job, streams }
        })
        .collect()
}

/// Returns a line for each job with I/O that runs but has no figures in a run: trims.
pub fn left_out(load: &Load) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for stream in &load.streams {
        let rw = &stream.blocks.rw;
        if !rw.trim {
            continue;
        }
        let what = match rw.read || rw.write {
            true => "its trims are made, but",
            false => "it only trims: it is run, but",
        };
        let line = format!(
            "job {}: {what} a run keeps no figures of trims (assay fio shows them)",
            stream.name
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Describes a stream as a job, as far as a job can express it.
fn job(stream: &Stream, copies: usize) -> Job {
    let blocks = &stream.blocks;
    let sizes = if blocks.rw.read {
        &blocks.sizes.read
    } else {
        &blocks.sizes.write
    };
    let fixed = |extent: Extent| match extent {
        Extent::Bytes(bytes) => Bytes(bytes),
        Extent::Percent(_) => Bytes(0),
    };
    let durability = &stream.durability;
    let every = match (durability.fsync, durability.fdatasync) {
        (0, 0) => None,
        (0, every) => Some((every, FlushCall::Fdatasync)),
        (every, _) => Some((every, FlushCall::Fsync)),
    };
    let on_close = durability.fsync_on_close.then_some(FlushCall::Fsync);
    Job {
        read_percent: blocks.read_percent,
        ioengine: stream.engine.kind,
        iodepth: stream.engine.iodepth,
        numjobs: u32::try_from(copies).unwrap_or(u32::MAX),
        offset: fixed(stream.region.offset),
        io_size: stream.length.io_size.map(fixed),
        runtime: stream.length.runtime,
        time_based: stream.length.time_based,
        ramp_time: stream.length.ramp_time,
        direct: durability.direct,
        sync: durability.sync,
        flush: Flush {
            every,
            at_end: durability.at_end.or(on_close),
        },
        rate: rate(stream),
        cache_state: if stream.files.invalidate {
            CacheState::Cold
        } else {
            CacheState::AsIs
        },
        interval: stream.stats.bw_interval,
        content: if stream.content.zero {
            Content::Zero
        } else {
            Content::Random
        },
        ..Job::new(
            &stream.name,
            pattern(stream),
            Bytes(sizes.min.into()),
            stream.region.size.map_or(Bytes(0), fixed),
        )
    }
}

fn pattern(stream: &Stream) -> Rw {
    let rw = &stream.blocks.rw;
    match (rw.read, rw.write, rw.random) {
        (true, true, false) => Rw::Rw,
        (true, true, true) => Rw::RandRw,
        (false, _, false) => Rw::Write,
        (false, _, true) => Rw::RandWrite,
        (true, false, false) => Rw::Read,
        (true, false, true) => Rw::RandRead,
    }
}

fn rate(stream: &Stream) -> Option<RateLimit> {
    let ddir = if stream.blocks.rw.read {
        Ddir::Read
    } else {
        Ddir::Write
    };
    match (stream.pace.rate[ddir], stream.pace.rate_iops[ddir]) {
        (0, 0) => None,
        (0, iops) => Some(RateLimit::Iops(iops)),
        (bytes, _) => Some(RateLimit::BytesPerSec(bytes)),
    }
}

/// One repetition of a load, from which trials are made.
pub struct Repetition<'a> {
    /// Load that was asked for.
    pub load: &'a Load,
    /// Report of the load.
    pub report: &'a LoadReport,
    /// `true` if it was stopped.
    pub stopped: bool,
    /// Number of the repetition, from 1.
    pub number: u32,
    /// Start, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Trace that it replays; `None` for other loads.
    pub replay: Option<&'a ReplayStep>,
}

impl Repetition<'_> {
    /// Makes the trial of a job.
    pub fn trial(&self, entry: &ReportedJob, position: u32) -> TrialRecord {
        let streams: Vec<&StreamReport> = entry
            .streams
            .iter()
            .filter_map(|&index| self.report.streams.get(index))
            .collect();
        let ran = streams.iter().any(|stream| stream.started);
        let wave = self.wave(entry);
        let started = streams.iter().map(|stream| stream.started_unix_ms);
        TrialRecord {
            job: entry.job.clone(),
            trial: self.number,
            position,
            started_unix_ms: started
                .filter(|&at| at > 0)
                .min()
                .unwrap_or(self.started_unix_ms),
            seed: self.load.entropy,
            outcome: self.outcome(&streams, ran),
            measured: ran.then(|| measurement(&streams)),
            evidence: evidence(&wave),
            wave: ran.then(|| Box::new(wave)),
            slot: None,
            detail: self.replay.map(|replay| {
                let lateness = streams.first().and_then(|stream| stream.lateness.clone());
                Box::new(StepDetail::Replay(Box::new(ReplayStep {
                    lateness,
                    ..replay.clone()
                })))
            }),
            condition: None,
            in_force: Vec::new(),
        }
    }

    fn outcome(&self, streams: &[&StreamReport], ran: bool) -> Outcome {
        let failed = streams
            .iter()
            .find(|stream| stream.errno != 0 || stream.data_mismatches > 0);
        match failed {
            Some(stream) => Outcome::Failed {
                error: stream
                    .problem
                    .clone()
                    .unwrap_or_else(|| format!("error {}", stream.errno)),
            },
            None if self.stopped => Outcome::Interrupted,
            None if !ran => Outcome::Skipped {
                reasons: vec!["it was not started".to_owned()],
            },
            None => Outcome::Completed,
        }
    }

    /// Returns the wave of an entry: its evidence is judged together with all streams that ran then.
    fn wave(&self, entry: &ReportedJob) -> WaveRecord {
        let number = self.load.streams[entry.streams[0]].wave;
        let inside: Vec<usize> = (0..self.load.streams.len())
            .filter(|&index| self.load.streams[index].wave == number)
            .collect();
        // Convert indices in the load to indices in the wave.
        let place = |index: usize| {
            let place = inside.iter().position(|&known| known == index)?;
            u32::try_from(place).ok()
        };
        let reports = inside
            .iter()
            .filter_map(|&index| self.report.streams.get(index));
        let evidence = self.report.evidence.iter();
        let evidence = evidence.filter(|evidence| evidence.wave == number).cloned();
        WaveRecord {
            load: Load {
                streams: inside
                    .iter()
                    .map(|&index| without_recording(&self.load.streams[index]))
                    .collect(),
                ..Load::default()
            },
            report: LoadReport {
                streams: reports.map(bare).collect(),
                evidence: evidence
                    .map(|mut evidence| {
                        let places = |streams: &[u32]| -> Vec<u32> {
                            let streams = streams.iter();
                            streams.filter_map(|&index| place(index as usize)).collect()
                        };
                        evidence.streams = places(&evidence.streams);
                        for stop in &mut evidence.stops {
                            stop.streams = places(&stop.streams);
                        }
                        evidence
                    })
                    .collect(),
                disks: Vec::new(),
                at_unix_ms: self.report.at_unix_ms,
                interim: self.report.interim,
                stopped: self.report.stopped,
                lost: None,
            },
            members: entry
                .streams
                .iter()
                .filter_map(|&index| place(index))
                .collect(),
        }
    }
}

/// Returns the kernel evidence of the first storage that a trial's streams were on.
fn evidence(wave: &WaveRecord) -> Option<Evidence> {
    let mut storages = wave.report.evidence.iter();
    let is_its_own = |streams: &[u32]| wave.members.iter().any(|m| streams.contains(m));
    let own = storages.find(|storage| is_its_own(&storage.streams))?;
    Some(own.evidence.clone())
}

/// Returns a stream without the recorded trace, which may be long.
fn without_recording(stream: &Stream) -> Stream {
    let mut stream = stream.clone();
    stream.trace.recorded = None;
    stream
}

/// Returns the part of a report that the judge uses.
fn bare(report: &StreamReport) -> StreamReport {
    let count = |record: &LatencyRecord| LatencyRecord {
        count: record.count,
        ..LatencyRecord::default()
    };
    let direction = |direction: &DirectionReport| DirectionReport {
        submission: LatencyRecord::default(),
        completion: LatencyRecord::default(),
        total: None,
        priorities: Vec::new(),
        ..direction.clone()
    };
    StreamReport {
        series: Series::default(),
        steady_state: None,
        lateness: None,
        errors: IoErrors {
            count: report.errors.count,
            first: first_of_writes(report),
        },
        sync: count(&report.sync),
        directions: assay_model::load::PerDirection::from_fn(|ddir| {
            direction(&report.directions[ddir])
        }),
        ..report.clone()
    }
}

/// Returns the first error of a write, which the judge gives as the reason if writes are not judged.
fn first_of_writes(report: &StreamReport) -> Vec<IoErrorRecord> {
    let mut errors = report.errors.first.iter();
    let first = errors.find(|error| error.direction == Some(Direction::Write));
    first.cloned().into_iter().collect()
}

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
            clear_leftovers(host, &mut store, &place)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::evidence::Snapshot;
    use assay_model::load::report::WaveEvidence;
    use assay_model::storage::{Backing, Storage};
    use assay_model::trial::Interval;

    fn load(names: &[(&str, u32)]) -> Load {
        let streams = names.iter().zip(1..).map(|((name, report), number)| {
            let mut stream = Stream::new(name);
            stream.number = number;
            stream.report = *report;
            stream
        });
        Load {
            streams: streams.collect(),
            ..Load::default()
        }
    }

    fn report(started_unix_ms: u64, reads: &[u64]) -> StreamReport {
        let point = |&read_ios| Interval {
            read_ios,
            ..Interval::default()
        };
        StreamReport {
            started: true,
            started_unix_ms,
            runtime_ns: 500_000_000,
            series: Series {
                interval_ns: 100_000_000,
                points: reads.iter().map(point).collect(),
            },
            ..StreamReport::default()
        }
    }

    #[test]
    fn copies_are_one_job_and_names_stay_apart() {
        let entries = entries(&load(&[("a", 0), ("a", 0), ("b", 1), ("b", 2)]));
        let jobs: Vec<_> = entries
            .iter()
            .map(|entry| (entry.job.name.as_str(), entry.job.numjobs))
            .collect();
        assert_eq!(jobs, [("a", 2), ("b.3", 1), ("b.4", 1)]);
        assert_eq!(entries[0].streams, [0, 1]);
    }

    #[test]
    fn a_job_that_only_trims_is_no_trial() {
        let mut load = load(&[("t", 0), ("r", 1)]);
        load.streams[0].blocks.rw.read = false;
        load.streams[0].blocks.rw.trim = true;
        let entries = entries(&load);
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].streams, [1]);
        let [line] = &left_out(&load)[..] else {
            panic!("{:?}", left_out(&load));
        };
        assert!(line.starts_with("job t: it only trims"), "{line}");
        load.streams[0].blocks.rw.write = true;
        let line = left_out(&load).remove(0);
        assert!(line.starts_with("job t: its trims are made"), "{line}");
    }

    #[test]
    fn a_trial_has_the_evidence_of_its_own_storage() {
        let seen = |stream, at_ns| WaveEvidence {
            wave: 0,
            stops: Vec::new(),
            streams: vec![stream],
            evidence: Evidence {
                storage: Storage {
                    path: "/".into(),
                    mount: None,
                    backing: Backing::Unknown { why: String::new() },
                    layers: Vec::new(),
                    total: None,
                    available: None,
                },
                queues: Vec::new(),
                before: Snapshot {
                    at_ns,
                    ..Snapshot::default()
                },
                after: Snapshot::default(),
                during: Vec::new(),
                other_processes: None,
            },
        };
        let load = load(&[("a", 0), ("b", 1)]);
        let report = LoadReport {
            streams: vec![report(1000, &[1]), report(1000, &[1])],
            evidence: vec![seen(0, 10), seen(1, 20)],
            ..LoadReport::default()
        };
        let repetition = Repetition {
            load: &load,
            report: &report,
            stopped: false,
            number: 1,
            started_unix_ms: 1000,
            replay: None,
        };
        let trials = entries(&load).into_iter().zip(0..);
        let begun: Vec<u64> = trials
            .map(|(entry, at)| repetition.trial(&entry, at).evidence.unwrap())
            .map(|evidence| evidence.before.at_ns)
            .collect();
        assert_eq!(begun, [10, 20]);
    }

    #[test]
    fn a_trial_knows_its_wave_and_its_place_in_it() {
        let mut load = load(&[("w0", 0), ("a", 1), ("b", 2)]);
        load.streams[1].wave = 1;
        load.streams[2].wave = 1;
        let mut came = LoadReport {
            streams: vec![report(0, &[1]), report(0, &[2]), report(0, &[3])],
            ..LoadReport::default()
        };
        came.streams[2].errno = 5;
        let repetition = |stopped| Repetition {
            load: &load,
            report: &came,
            stopped,
            number: 1,
            started_unix_ms: 9,
            replay: None,
        };
        let entries = entries(&load);
        let trial = repetition(false).trial(&entries[2], 2);
        let wave = trial.wave.expect("a wave");
        assert_eq!(wave.members, [1]);
        assert_eq!(wave.load.streams.len(), 2);
        assert!(wave.report.streams[1].series.points.is_empty());
        assert!(matches!(trial.outcome, Outcome::Failed { .. }));
        let outcome = |entry, stopped| repetition(stopped).trial(entry, 0).outcome;
        assert_eq!(outcome(&entries[1], false), Outcome::Completed);
        assert_eq!(outcome(&entries[1], true), Outcome::Interrupted);
    }
}
