//! Finds warnings about the trials: their labels, their outcomes, their variation.

use super::{Stalled, Warning};
use crate::results::describe;
use crate::results::findings::{Loss, losses};
use crate::results::summary::{Group, JobSummary, JudgedTrial, Summary};
use crate::results::write_mode::WriteMode;
use crate::words::clean;
use assay_judge::Measured;
use assay_lang::tr;
use assay_model::job::{Direction, Job, QueueMode};
use assay_model::load::Stream;
use assay_model::run::RunStatus;
use assay_model::storage::Backing;
use assay_model::trial::{IoErrors, Measurement, Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use assay_stats::derive::{TOOL_LIMITS_FROM, in_flight, processor_share};
use assay_stats::steps::stalls as stalls_in;
use assay_stats::summary::Summary as Statistics;

/// Coefficient of variation above which a warning is given.
const WIDE_SPREAD: f64 = 0.10;
/// Number of trials below which a warning is given.
const ENOUGH_TRIALS: usize = 3;
/// Time without a completion above which it is a stall.
const STALL: Nanos = Nanos::millis(500);

/// Returns all warnings found.
pub fn all(summary: &Summary<'_>) -> Vec<Warning> {
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
    jobs.sort_by_key(|stalled| std::cmp::Reverse(stalled.longest));
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
