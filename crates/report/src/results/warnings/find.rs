//! Finds warnings about the trials (their labels, their outcomes, their variation), about the
//! conditions of measurement and about the device.

use super::{Stalled, Warning};
use crate::results::describe;
use crate::results::findings::{Loss, losses};
use crate::results::summary::WriteMode;
use crate::results::summary::{Group, JobSummary, JudgedTrial, Summary};
use crate::words::{clean, numbered, registers};
use assay_judge::{ForeignIo, Measured};
use assay_lang::tr;
use assay_model::condition::Subject;
use assay_model::evidence::{Evidence, ProcessIo, Snapshot, WriteCache};
use assay_model::job::{Direction, Job, QueueMode};
use assay_model::load::Stream;
use assay_model::run::RunStatus;
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer};
use assay_model::trial::{IoErrors, Measurement, Outcome, TrialRecord};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_stats::derive::{TOOL_LIMITS_FROM, in_flight, processor_share};
use assay_stats::steps::stalls as stalls_in;
use assay_stats::summary::Summary as Statistics;
use std::cmp::Reverse;

/// Coefficient of variation above which a warning is given.
const WIDE_SPREAD: f64 = 0.10;
/// Number of trials below which a warning is given.
const ENOUGH_TRIALS: usize = 3;
/// Time without a completion above which it is a stall.
const STALL: Nanos = Nanos::millis(500);

/// Returns all warnings found.
pub fn find_in_trials(summary: &Summary<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    found.extend(data_lost(summary));
    found.extend(unfinished(summary));
    found.extend(io_errors(summary));
    found.extend(failed(summary));
    found.extend(memory(summary));
    found.extend(page_cache(summary));
    found.extend(mixed(summary));
    found.extend(tool_limit(summary));
    found.extend(shallow_queue(summary));
    found.extend(disagreement(summary));
    found.extend(unknown(summary));
    found.extend(unflushed(summary));
    found.extend(stalls(summary));
    found.extend(spread(summary));
    found.extend(few_trials(summary));
    found.extend(short_transfers(summary));
    found.extend(skipped(summary));
    found
}

fn data_lost(summary: &Summary<'_>) -> Option<Warning> {
    let losses = losses(summary);
    let first = losses.first()?.first.clone();
    let count = |loss: Loss| (loss.job, loss.trials as u64);
    let jobs = losses.into_iter().map(count).collect();
    Some(Warning::DataLost { jobs, first })
}

fn unfinished(summary: &Summary<'_>) -> Option<Warning> {
    let how = match &summary.run.status {
        RunStatus::Finished => return None,
        RunStatus::Running => tr!("is still under way").to_owned(),
        RunStatus::Interrupted => tr!("was stopped or killed").to_owned(),
        RunStatus::Failed { error } => tr!("ended with an error ({error})", error = clean(error)),
    };
    Some(Warning::Unfinished { how })
}

fn io_errors(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = sums(summary, |trial| {
        trial
            .measured()
            .map_or(0, |measured| of_medium(&measured.errors))
    });
    let measured = summary
        .run
        .trials
        .iter()
        .filter_map(|t| t.measured.as_ref());
    let mut errors = measured.map(|m| &m.errors).filter(|e| of_medium(e) > 0);
    let first = errors.find_map(describe_first);
    (!jobs.is_empty()).then(|| Warning::IoErrors {
        jobs,
        first: first.unwrap_or_else(|| tr!("not recorded").to_owned()),
    })
}

/// Returns the number of errors that indicate a bad medium; a full file system (`ENOSPC`, `EDQUOT`)
/// does not.
fn of_medium(errors: &IoErrors) -> u64 {
    const NO_ROOM: [i32; 2] = [28, 122];
    match errors.first.first().and_then(|first| first.errno) {
        Some(errno) if NO_ROOM.contains(&errno) => 0,
        _ => errors.count,
    }
}

fn describe_first(errors: &IoErrors) -> Option<String> {
    let first = errors.first.first()?;
    let what = match first.direction {
        Some(direction) => describe::direction(direction).to_owned(),
        None => tr!("flush").to_owned(),
    };
    Some(tr!(
        "{what} at byte {offset}: {message}",
        what,
        offset = first.offset,
        message = clean(&first.message)
    ))
}

/// Warns about failed trials, except those with a warning about I/O errors or lost data.
fn failed(summary: &Summary<'_>) -> Option<Warning> {
    let error = |trial: &TrialRecord| match &trial.outcome {
        Outcome::Failed { error } => {
            let measured = trial.measured.as_ref();
            let had_errors = measured.is_some_and(|measured| of_medium(&measured.errors) > 0);
            (!had_errors && !trial.lost_data()).then(|| clean(error))
        }
        _ => None,
    };
    let jobs = sums(summary, |trial| u64::from(error(trial.record).is_some()));
    let first = summary.run.trials.iter().find_map(error)?;
    Some(Warning::Failed { jobs, first })
}

fn skipped(summary: &Summary<'_>) -> Vec<Warning> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for job in &summary.jobs {
        for trial in &job.trials {
            if let Outcome::Skipped { reasons } = &trial.record.outcome {
                let reason = clean(&reasons.join("; "));
                add(&mut found, reason, &name(job));
            }
        }
    }
    found
        .into_iter()
        .map(|(reason, jobs)| Warning::Skipped { reason, jobs })
        .collect()
}

fn memory(summary: &Summary<'_>) -> Option<Warning> {
    let storage = &summary.run.header.storage;
    let path = clean(&storage.path.to_string_lossy());
    if let Backing::Memory { fs_type } = &storage.backing {
        let what = tr!(
            "{path} is a {file_system}",
            path,
            file_system = clean(fs_type)
        );
        return Some(Warning::Memory { what });
    }
    let mut layers = storage.layers.iter();
    let in_memory = layers.find(|layer| layer.identity.kind.is_memory())?;
    let (name, kind) = (clean(&in_memory.name), &in_memory.identity.kind);
    let what = tr!("{name} is a {kind}", name, kind);
    Some(Warning::Memory { what })
}

/// Returns true if a job measures the device. The plain step of the ladder and jobs with a warm
/// cache measure the page cache on purpose.
fn means_the_device(job: &JobSummary<'_>) -> bool {
    let shows_cache = job.group == Group::WriteLadder && WriteMode::of(job.job) == WriteMode::Plain;
    !shows_cache && job.job.cache_state != assay_model::job::CacheState::Warm
}

fn page_cache(summary: &Summary<'_>) -> Vec<Warning> {
    if memory(summary).is_some() {
        return Vec::new(); // Said already, with a better remedy.
    }
    let header = &summary.run.header;
    let (file, memory) = (header.plan.file_size, header.system.memory);
    let found = [Direction::Read, Direction::Write].map(|direction| {
        let jobs = names(summary, |job| {
            means_the_device(job) && job.labels(Some(direction)).has("page-cache")
        });
        Warning::PageCache {
            direction,
            jobs,
            // The size of a workload's files is not known in advance.
            fits_in: (Bytes(0) < file && file < memory).then_some((file, memory)),
        }
    });
    let mut found = Vec::from(found);
    found.retain(|w| matches!(w, Warning::PageCache { jobs, .. } if !jobs.is_empty()));
    found
}

fn mixed(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = details(summary, |job| {
        let labels = job.labels(None);
        let mixed = labels
            .iter()
            .filter(|m| matches!(m, Measured::Mixed { .. }));
        let mixed: crate::words::labels::Labels = mixed.cloned().collect();
        let (low, high) = mixed.mixed_shares()?;
        let share = crate::words::range(assay_model::figures::Unit::Ratio, low, high);
        means_the_device(job).then(|| tr!("device {share}", share))
    });
    (!jobs.is_empty()).then_some(Warning::Mixed { jobs })
}

/// Share of the clock from which on the tool may limit a job with one I/O at a time. Processor time
/// and device time follow each other, and from one half on the processor time is the longer one: a
/// faster tool could give up to twice the rate.
const LIMITS_ONE_BY_ONE_FROM: f64 = 0.5;

/// Returns the share of the clock from which on the tool may limit a job. With several I/Os in
/// flight the device works concurrently with the tool, so that only threads that hardly wait at all
/// limit it.
fn limits_from(job: &Job) -> f64 {
    let queued = job.ioengine.is_asynchronous() && job.iodepth > 1;
    match queued || job.numjobs > 1 {
        true => TOOL_LIMITS_FROM,
        false => LIMITS_ONE_BY_ONE_FROM,
    }
}

/// Warns about figures of the device, or possibly of the device, whose measuring threads had little
/// time to wait for it.
fn tool_limit(summary: &Summary<'_>) -> Option<Warning> {
    let processors = summary.run.header.system.cpus.max(1);
    let claims = |label: &Measured| {
        use Measured::{Device, DeviceUnflushed, Mixed, Unknown};
        matches!(
            label,
            Device | DeviceUnflushed | Mixed { .. } | Unknown { .. }
        )
    };
    let jobs = details(summary, |job| {
        let threads = job.job.numjobs.clamp(1, processors);
        let figures = job.headlines();
        let mut labels = figures.iter().flat_map(|figure| figure.labels.iter());
        let device = job.job.ioengine.moves_data() && labels.any(claims);
        let measured = job.completed().filter_map(JudgedTrial::measured);
        let shares = measured.filter_map(|m| processor_share(m.cpu, m.elapsed_ns, threads));
        let share = Statistics::of(&shares.collect::<Vec<_>>())?.median.min(1.0);
        (device && share >= limits_from(job.job)).then(|| crate::words::percent(share))
    });
    (!jobs.is_empty()).then_some(Warning::ToolLimit { jobs })
}

/// Share of the requested depth below which the queue was not kept full.
const KEPT_DEPTH: f64 = 0.9;
/// I/Os per place of the queue below which filling and draining affect the mean depth.
const IOS_PER_PLACE: u64 = 20;

/// Returns true if a job is meant to keep its queue full: no option makes it wait.
fn keeps_queue_full(job: &Job) -> bool {
    use QueueMode::{Kernel, SharedThreads};
    let mode = job.ioengine.properties().queue;
    let queues = matches!(mode, Kernel | SharedThreads) && job.iodepth > 1;
    let waits = job.rate.is_some() || job.pause.is_some() || job.flush.every.is_some();
    // Threads with a fixed share end at different times.
    queues && !waits && (job.numjobs == 1 || job.time_based)
}

/// Returns true if a stream of a load is meant to keep its queue full; it has more options to wait.
fn stream_keeps_queue_full(stream: &Stream) -> bool {
    let engine = &stream.engine;
    let batch = engine.batch_complete_min.max(engine.batch_complete_max);
    let whole = engine.iodepth_low.is_multiple_of(engine.iodepth) && batch <= 1;
    let orders = stream.verify.is_some() || stream.trace.read.is_some();
    whole && !orders && !engine.serialize_overlap && stream.pace.latency_target.is_none()
}

/// Warns about jobs with fewer I/Os in flight than requested. If the device is the limit, all are
/// in flight.
fn shallow_queue(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = details(summary, |job| {
        let asked = u64::from(job.job.iodepth) * u64::from(job.job.numjobs.max(1));
        let trials = job.completed().filter(|trial| {
            let waves = trial.record.wave.iter();
            let mut streams = waves.flat_map(|wave| &wave.load.streams);
            streams.all(stream_keeps_queue_full)
        });
        let measured = trials.filter_map(JudgedTrial::measured);
        let long = measured.filter(|m| m.read.ios + m.write.ios >= asked * IOS_PER_PLACE);
        let numbers = long.filter_map(|m| in_flight(m, job.job.numjobs));
        let number = Statistics::of(&numbers.collect::<Vec<_>>())?.median;
        let shallow = keeps_queue_full(job.job) && number < KEPT_DEPTH * asked as f64;
        shallow.then(|| {
            tr!(
                "{number} of {asked}",
                number = format!("{number:.1}"),
                asked
            )
        })
    });
    (!jobs.is_empty()).then_some(Warning::ShallowQueue { jobs })
}

fn disagreement(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = details(summary, |job| {
        [Direction::Read, Direction::Write]
            .into_iter()
            .map(|direction| job.labels(Some(direction)))
            .find(|labels| labels.counts().len() > 1)
            .map(|labels| labels.to_string())
    });
    (!jobs.is_empty()).then_some(Warning::Disagreement { jobs })
}

fn unknown(summary: &Summary<'_>) -> Vec<Warning> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for job in &summary.jobs {
        for why in job.labels(None).unknown_reasons() {
            add(&mut found, why, &name(job));
        }
    }
    let root = summary.run.header.system.root;
    found
        .into_iter()
        .map(|(why, jobs)| Warning::Unknown { why, jobs, root })
        .collect()
}

fn unflushed(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = names(summary, |job| {
        job.group != Group::WriteLadder
            && job.labels(Some(Direction::Write)).has("device-unflushed")
    });
    (!jobs.is_empty()).then_some(Warning::Unflushed { jobs })
}

fn stalls(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = summary.jobs.iter();
    let mut jobs: Vec<Stalled> = jobs.filter_map(stalls_of).collect();
    jobs.sort_by_key(|stalled| Reverse(stalled.longest));
    (!jobs.is_empty()).then_some(Warning::Stalls { jobs })
}

/// Returns the stalls of one job, without waits for requested flushes.
fn stalls_of(job: &JobSummary<'_>) -> Option<Stalled> {
    // Includes failed trials: a device that hangs and then fails has stalled.
    let stalled = || {
        let trials = job.trials.iter();
        trials.filter_map(|trial| Some((trial, trial.measured()?)))
    };
    let worst = stalled()
        .filter(|(trial, measured)| has_stalled(measured) && !stood_still(trial, measured))
        .max_by_key(|(_, measured)| measured.longest_gap.map(|gap| gap.length_ns))?;
    let gap = worst.1.longest_gap?;
    Some(Stalled {
        job: name(job),
        longest: Nanos(gap.length_ns),
        trial: worst.0.record.trial,
        start: Nanos(gap.start_ns),
    })
}

/// Returns true if the agent was stopped for at least half of the longest gap, which is then not a
/// stall of the storage.
fn stood_still(trial: &JudgedTrial<'_>, measured: &Measurement) -> bool {
    let evidence = trial.record.evidence.as_ref();
    let after = evidence.and_then(|evidence| evidence.after.hindrances.as_ref());
    let Some(((evidence, after), gap)) = evidence.zip(after).zip(measured.longest_gap) else {
        return false;
    };
    let begin_ns = evidence.before.at_ns.saturating_add(gap.start_ns);
    let end_ns = begin_ns.saturating_add(gap.length_ns);
    let stops = after.stops.iter();
    let stopped_ns: u64 = stops.map(|stop| stop.within(begin_ns, end_ns)).sum();
    stopped_ns >= gap.length_ns.div_ceil(2)
}

/// Returns true for a gap of half a second, or intervals without a completion. On storage so slow
/// that every I/O takes that long, the gap must also stand out.
fn has_stalled(measured: &Measurement) -> bool {
    let ios = (measured.read.ios + measured.write.ios).max(1);
    let usual_ns = measured.elapsed_ns / ios;
    let gap_ns = measured.longest_gap.map_or(0, |gap| gap.length_ns);
    let stands_out = gap_ns / 5 > usual_ns;
    let empty = !stalls_in(measured).is_empty();
    stands_out && (gap_ns > STALL.0 || empty)
}

/// Warns about the variation of figures of the device; variation of memory is not relevant.
fn spread(summary: &Summary<'_>) -> Option<Warning> {
    let repeated = summary.jobs.iter().filter(|job| means_the_device(job));
    let mut jobs: Vec<(String, f64)> = repeated
        .filter_map(|job| {
            let figures = job.headlines();
            let cvs = figures.iter().filter_map(|figure| figure.stats.cv);
            Some((name(job), cvs.reduce(f64::max)?))
        })
        .collect();
    let of = jobs.len();
    jobs.retain(|(_, cv)| *cv > WIDE_SPREAD);
    jobs.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    (!jobs.is_empty()).then_some(Warning::Spread { jobs, of })
}

/// Warns about jobs with a figure but few trials. A single sustained write is intended: its course
/// is the result. A stopped run has fewer trials, which another warning reports.
fn few_trials(summary: &Summary<'_>) -> Option<Warning> {
    if summary.run.status != RunStatus::Finished {
        return None;
    }
    let measured = summary.jobs.iter();
    let measured = measured.filter(|job| !job.is_cuts() && !job.is_soak());
    let few = measured.filter(|job| {
        let completed = job.completed().count();
        (1..ENOUGH_TRIALS).contains(&completed) && job.group != Group::Sustained
    });
    let few: Vec<&JobSummary<'_>> = few.collect();
    let counts = few
        .iter()
        .map(|job| (name(job), job.completed().count() as u64));
    (!few.is_empty()).then(|| Warning::FewTrials {
        jobs: counts.collect(),
        checks: few.iter().all(|job| job.is_check()),
    })
}

fn short_transfers(summary: &Summary<'_>) -> Option<Warning> {
    let jobs = sums(summary, |trial| {
        let measured = trial.measured();
        measured.map_or(0, |m| m.read.short_ios.saturating_add(m.write.short_ios))
    });
    (!jobs.is_empty()).then_some(Warning::ShortTransfers { jobs })
}

fn name(job: &JobSummary<'_>) -> String {
    clean(&job.job.name)
}

fn names(summary: &Summary<'_>, wanted: impl Fn(&JobSummary<'_>) -> bool) -> Vec<String> {
    let jobs = summary.jobs.iter().filter(|job| wanted(job));
    jobs.map(name).collect()
}

fn details(
    summary: &Summary<'_>,
    detail: impl Fn(&JobSummary<'_>) -> Option<String>,
) -> Vec<(String, String)> {
    let jobs = summary.jobs.iter();
    jobs.filter_map(|job| Some((name(job), detail(job)?)))
        .collect()
}

/// Returns the jobs whose trials sum up to more than 0, with the sum.
fn sums(summary: &Summary<'_>, of: impl Fn(&JudgedTrial<'_>) -> u64) -> Vec<(String, u64)> {
    let sums = summary.jobs.iter().map(|job| {
        let counts = job.trials.iter().map(&of);
        (name(job), counts.fold(0, u64::saturating_add))
    });
    sums.filter(|(_, sum)| *sum > 0).collect()
}

fn add(groups: &mut Vec<(String, Vec<String>)>, key: String, job: &str) {
    match groups.iter_mut().find(|(k, _)| *k == key) {
        Some((_, jobs)) if jobs.iter().any(|j| j == job) => {}
        Some((_, jobs)) => jobs.push(job.to_owned()),
        None => groups.push((key, vec![job.to_owned()])),
    }
}

/// Bytes of foreign I/O up to which it is normal system activity.
const FOREIGN_FLOOR: u64 = MIB;
/// Divisor of a trial's bytes: more foreign I/O is a warning.
const FOREIGN_SHARE: u64 = 100;
/// Divisor of the foreign I/O: a process that moved less is not named.
const GOOD_PART: u64 = 10;
/// Share of its frequency that the fastest CPU must keep during a trial; boost clocks vary by less.
const FREQUENCY_KEPT_PERCENT: u64 = 80;

/// Returns all warnings about the conditions.
pub fn find_in_conditions(summary: &Summary<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    found.extend(foreign_io(summary));
    found.extend(hindered(summary));
    found.extend(governor(summary));
    found.extend(throttled(summary));
    found.extend(other_agent(summary));
    found
}

fn other_agent(summary: &Summary<'_>) -> Option<Warning> {
    let builds = summary.run.header.builds.as_ref()?;
    (builds.agent != builds.host).then(|| Warning::OtherAgent {
        agent: clean(&builds.agent),
        host: clean(&builds.host),
    })
}

fn all_trials<'s, 'a>(summary: &'s Summary<'a>) -> impl Iterator<Item = &'s JudgedTrial<'a>> {
    summary.jobs.iter().flat_map(|job| &job.trials)
}

fn all_evidence<'s, 'a>(
    summary: &'s Summary<'a>,
) -> impl Iterator<Item = (&'s JudgedTrial<'a>, &'a Evidence)> {
    all_trials(summary).filter_map(|trial| Some((trial, trial.record.evidence.as_ref()?)))
}

/// Adds a trial to those of its job: `seq-read-1m #1 #3`.
fn add_trial(named: &mut Vec<(String, String)>, trial: &JudgedTrial<'_>) {
    let (job, number) = (&trial.record.job.name, numbered(trial.record.trial));
    match named.last_mut() {
        Some((last, text)) if last == job => text.push_str(&format!(" {number}")),
        _ => named.push((job.clone(), format!("{} {number}", clean(job)))),
    }
}

fn texts_of_trials(named: Vec<(String, String)>) -> Vec<String> {
    named.into_iter().map(|(_, text)| text).collect()
}

fn foreign_io(summary: &Summary<'_>) -> Option<Warning> {
    let (mut read, mut written) = (0u64, 0u64);
    let (mut concerned, mut busy) = (Vec::new(), Vec::new());
    for trial in all_trials(summary) {
        let Some(foreign) = disturbing(trial) else {
            continue;
        };
        read = read.saturating_add(foreign.read_bytes);
        written = written.saturating_add(foreign.write_bytes);
        add_trial(&mut concerned, trial);
        busy.extend(foreign.processes);
    }
    let device = summary.run.header.storage.device();
    (!concerned.is_empty()).then(|| Warning::ForeignIo {
        device: device.map_or_else(|| tr!("the device").to_owned(), |layer| clean(&layer.name)),
        read: Bytes(read),
        written: Bytes(written),
        trials: texts_of_trials(concerned),
        processes: busiest(&busy, read.saturating_add(written)),
    })
}

fn hindered(summary: &Summary<'_>) -> Option<Warning> {
    let (mut all, mut concerned) = (Vec::new(), Vec::new());
    for trial in all_trials(summary) {
        let judgement = trial.derived.judgement.as_ref();
        let found = judgement.map_or(&[][..], |judgement| &judgement.hindrances);
        if !found.is_empty() {
            add_trial(&mut concerned, trial);
        }
        all.extend(found);
    }
    // Keeps the longest hindrance of each kind that took time in several trials.
    all.sort_by_key(|hindrance| (hindrance.kind, Reverse(hindrance.time_ns), &hindrance.words));
    all.dedup_by(|a, b| a.kind == b.kind && (a.time_ns > 0 || a.words == b.words));
    (!all.is_empty()).then(|| Warning::Hindered {
        what: all.iter().map(|found| clean(&found.words)).collect(),
        trials: texts_of_trials(concerned),
    })
}

/// Names the processes that may have done a good part of the I/O, the busiest first. Several
/// processes of a program (`dd [7]`, `dd [9]`) count as one.
fn busiest(busy: &[ProcessIo], bytes: u64) -> Vec<String> {
    let mut programs: Vec<(String, u64)> = Vec::new();
    for process in busy {
        let moved = process.read_bytes.saturating_add(process.write_bytes);
        let name = clean(&process.name);
        match programs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(moved),
            None => programs.push((name, moved)),
        }
    }
    programs.retain(|(_, moved)| *moved >= bytes / GOOD_PART);
    programs.sort_by_key(|(_, moved)| Reverse(*moved));
    programs.into_iter().map(|(name, _)| name).collect()
}

/// Returns the foreign I/O of a trial, if it is enough to disturb.
fn disturbing(trial: &JudgedTrial<'_>) -> Option<ForeignIo> {
    let foreign = trial.derived.judgement.as_ref()?.foreign.clone()?;
    let measured = trial.measured()?;
    let own = measured.read.bytes.saturating_add(measured.write.bytes);
    let others = foreign.read_bytes.saturating_add(foreign.write_bytes);
    (others > FOREIGN_FLOOR.max(own / FOREIGN_SHARE)).then_some(foreign)
}

fn governor(summary: &Summary<'_>) -> Option<Warning> {
    let conditions = summary.run.header.plan.conditions.iter();
    let mut settings = conditions.flat_map(|condition| &condition.settings);
    if settings.any(|setting| setting.subject == Subject::Governor) {
        // The run asked for these settings.
        return None;
    }
    let mut governors = Vec::new();
    for (_, evidence) in all_evidence(summary) {
        for cpu in &evidence.before.cpus {
            let Some(governor) = &cpu.governor else {
                continue;
            };
            let governor = clean(governor);
            if governor != "performance" && !governors.contains(&governor) {
                governors.push(governor);
            }
        }
    }
    (!governors.is_empty()).then_some(Warning::Governor { governors })
}

/// Warns about a falling frequency, only under the governor `performance`: others change it by
/// design, and have another warning.
fn throttled(summary: &Summary<'_>) -> Option<Warning> {
    let (mut concerned, mut hottest) = (Vec::new(), None);
    for (trial, evidence) in all_evidence(summary) {
        if has_slowed(evidence) {
            add_trial(&mut concerned, trial);
            let zones = evidence.after.thermal.iter();
            hottest = hottest.max(zones.map(|zone| zone.millicelsius).max());
        }
    }
    (!concerned.is_empty()).then_some(Warning::Throttled {
        trials: texts_of_trials(concerned),
        hottest_millicelsius: hottest,
    })
}

fn has_slowed(evidence: &Evidence) -> bool {
    let fixed = evidence
        .before
        .cpus
        .iter()
        .all(|cpu| cpu.governor.as_deref() == Some("performance"));
    match (fastest(&evidence.before), fastest(&evidence.after)) {
        (Some(before), Some(after)) => fixed && after < before / 100 * FREQUENCY_KEPT_PERCENT,
        _ => false,
    }
}

fn fastest(snapshot: &Snapshot) -> Option<u64> {
    snapshot.cpus.iter().filter_map(|cpu| cpu.khz).max()
}

/// Returns all warnings about the device.
pub fn find_on_device(summary: &Summary<'_>) -> Vec<Warning> {
    let layers = &summary.run.header.storage.layers;
    let mut found: Vec<Warning> = layers.iter().filter_map(loop_device).collect();
    found.extend(
        layers
            .iter()
            .filter_map(|layer| forced_write_through(layer, summary)),
    );
    found.extend(layers.iter().filter_map(worn));
    found.extend(layers.iter().filter_map(of_bus));
    found
}

/// Warns about a loop device, unless it does direct I/O to its file (`loop/dio`).
fn loop_device(layer: &Layer) -> Option<Warning> {
    let file = layer.cached_file()?;
    Some(Warning::Loop {
        name: clean(&layer.name),
        file: clean(&file.to_string_lossy()),
    })
}

/// Warns about a loop device without a volatile cache. The kernel gives each writable loop device
/// one when it is set up (`loop_update_limits`), independent of the storage of its file. Since
/// Linux 6.11 a changed setting remains in force after the command that changed it.
fn forced_write_through(layer: &Layer, summary: &Summary<'_>) -> Option<Warning> {
    let through = |record: &TrialRecord| {
        let written = record.measured.as_ref().is_some_and(|m| m.write.bytes > 0);
        let queues = record.evidence.iter().flat_map(|evidence| &evidence.queues);
        let mut queues = queues.filter(|queue| queue.name == layer.name);
        written && queues.any(|queue| queue.write_cache == Some(WriteCache::Through))
    };
    let mut trials = summary.jobs.iter().flat_map(|job| &job.trials);
    let forced =
        layer.identity.kind == DeviceKind::Loop && trials.any(|trial| through(trial.record));
    forced.then(|| Warning::ForcedWriteThrough {
        name: clean(&layer.name),
    })
}

fn worn(layer: &Layer) -> Option<Warning> {
    let state = registers::problems(&layer.identity);
    (!state.is_empty()).then(|| Warning::Worn {
        device: clean(&layer.name),
        state: state.join(", "),
    })
}

fn of_bus(layer: &Layer) -> Option<Warning> {
    Some(Warning::SlowBus {
        device: clean(&layer.name),
        bus: clean(&slow_bus(&layer.identity)?),
    })
}

/// Describes a bus that is slower than nearly all devices of its kind.
pub fn slow_bus(identity: &DeviceIdentity) -> Option<String> {
    slow_usb(identity)
        .or_else(|| slow_card(identity))
        .or_else(|| slow_pcie(identity))
}

/// Describes a USB link of at most 480 Mbit/s.
fn slow_usb(identity: &DeviceIdentity) -> Option<String> {
    let speed = identity.raw.get("speed").map(|speed| speed.trim())?;
    let slow = identity.kind == DeviceKind::Usb && speed.parse::<f64>().ok()? <= 480.0;
    slow.then(|| tr!("USB at {speed} Mbit/s", speed))
}

/// Describes a mode that every eMMC since 4.5 and every SD card since 1.1 exceeds.
fn slow_card(identity: &DeviceIdentity) -> Option<String> {
    let bus = identity.bus.as_ref()?;
    let slow = match identity.kind {
        DeviceKind::Emmc => bus.starts_with("legacy") || bus.starts_with("high-speed"),
        DeviceKind::Sd => bus.starts_with("legacy"),
        _ => false,
    };
    slow.then(|| bus.clone())
}

/// Describes a PCIe link that is narrower or slower than device and slot allow.
fn slow_pcie(identity: &DeviceIdentity) -> Option<String> {
    let get = |key| identity.raw.get(key).map(String::as_str);
    let (speed, width) = (get("current_link_speed")?, get("current_link_width")?);
    let (most_speed, most_width) = (get("max_link_speed")?, get("max_link_width")?);
    // The kernel does not know the link, for example in a virtual machine.
    if [speed, most_speed]
        .iter()
        .any(|speed| speed.starts_with("Unknown"))
    {
        return None;
    }
    (speed != most_speed || width != most_width).then(|| {
        tr!(
            "PCIe {speed} x{width} of {most_speed} x{most_width}",
            speed,
            width,
            most_speed,
            most_width
        )
    })
}
