//! Runs at the edges, made from the fixture: empty, failing, hostile, large,
//! with a sustained write.

use crate::testing::fixture;
use assay_model::act::StepDetail;
use assay_model::act::capacity::{CapacityPart, CapacityStep, Tally};
use assay_model::act::iozone::{Child, IozoneStep, Test};
use assay_model::condition::{Condition, Setting, Subject};
use assay_model::job::{CacheState, Job, Purpose, Rw};
use assay_model::plan::PlannedJob;
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunStatus};
use assay_model::storage::Layer;
use assay_model::trial::{Gap, Interval, Outcome, TrialRecord};
use assay_model::units::{Bytes, GIB, MIB};
use assay_stats::histogram::Histogram;

/// Planned, but ended before its first trial.
pub fn empty() -> Run {
    let mut run = fixture::run();
    run.trials.clear();
    run.status = RunStatus::Interrupted;
    run
}

/// Nothing planned either.
pub fn void() -> Run {
    let mut run = empty();
    run.header.plan.jobs.clear();
    run.header.storage.layers.clear();
    run.header.storage.mount = None;
    run
}

/// Every trial failed before it measured anything.
pub fn only_failures() -> Run {
    let mut run = fixture::run();
    for trial in &mut run.trials {
        trial.outcome = Outcome::Failed {
            error: "cannot open /data/assay/assay.tmp: No space left on device".to_owned(),
        };
        trial.measured = None;
        trial.evidence = None;
    }
    run
}

/// Name that a hostile device or user might use.
pub const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{1b}[2J\u{202e}\n";

/// Every text that comes from outside is hostile.
pub fn hostile() -> Run {
    let mut run = fixture::run();
    let evil = || HOSTILE.to_owned();
    run.header.id = evil();
    run.header.command = vec![evil()];
    run.header.assay_version = evil();
    run.header.builds = Some(fixture::builds(HOSTILE));
    let system = &mut run.header.system;
    system.kernel = evil();
    system.machine = evil();
    for text in [
        &mut system.hostname,
        &mut system.board,
        &mut system.os,
        &mut system.cpu_model,
    ] {
        *text = Some(evil());
    }
    run.header.storage.path = HOSTILE.into();
    if let Some(mount) = &mut run.header.storage.mount {
        mount.fs_type = evil();
        mount.source = evil();
        mount.options = vec![evil()];
    }
    run.header.storage.layers.iter_mut().for_each(poison);
    for planned in &mut run.header.plan.jobs {
        planned.job.name.push_str(HOSTILE);
    }
    for trial in &mut run.trials {
        trial.job.name.push_str(HOSTILE);
        if let Outcome::Failed { error } = &mut trial.outcome {
            *error = evil();
        }
        if let Outcome::Skipped { reasons } = &mut trial.outcome {
            *reasons = vec![evil()];
        }
        let Some(evidence) = &mut trial.evidence else {
            continue;
        };
        for queue in &mut evidence.queues {
            queue.scheduler = Some(evil());
        }
        for process in evidence.other_processes.iter_mut().flatten() {
            process.name = evil();
        }
        for cpu in &mut evidence.before.cpus {
            cpu.governor = Some(evil());
        }
        for zone in &mut evidence.after.thermal {
            zone.name = evil();
        }
    }
    run
}

fn poison(layer: &mut Layer) {
    let identity = &mut layer.identity;
    for text in [
        &mut identity.model,
        &mut identity.vendor,
        &mut identity.serial,
        &mut identity.firmware,
        &mut identity.bus,
        &mut identity.life_time,
    ] {
        *text = Some(HOSTILE.to_owned());
    }
    identity.raw.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
}

/// The fixture with one sustained write of 4 GiB: fast for its first GiB, then
/// slow, with two stalls.
pub fn with_sustained() -> Run {
    let mut run = fixture::run();
    let like = run
        .trials
        .iter()
        .find(|t| t.job.name == "dd-direct")
        .unwrap();
    let mut trial = TrialRecord {
        job: Job {
            direct: true,
            purpose: Some(Purpose::Sustained),
            ..Job::new("sustained-write", Rw::Write, Bytes::mib(1), Bytes::gib(4))
        },
        trial: 1,
        ..like.clone()
    };
    let points = sustained_points();
    let written: u64 = points.iter().map(|point| point.write_bytes).sum();
    let measured = trial.measured.as_mut().unwrap();
    measured.elapsed_ns = points.len() as u64 * 100_000_000;
    measured.longest_gap = Some(Gap {
        start_ns: 29_950_000_000,
        length_ns: 1_310_000_000,
    });
    measured.write.bytes = written;
    measured.write.ios = written / MIB;
    measured.series.points = points;
    let after = &mut trial.evidence.as_mut().unwrap().after;
    for device in &mut after.devices {
        device.write_bytes += written;
    }
    after.own_io.as_mut().unwrap().write_bytes += written;
    run.header.plan.jobs.push(PlannedJob {
        job: trial.job.clone(),
        trials: 1,
    });
    run.trials.push(trial);
    run
}

fn sustained_points() -> Vec<Interval> {
    let mut rng = SplitMix64::new(7);
    let mut written = 0;
    let mut points = Vec::new();
    while points.len() < 900 {
        let stalled = (300..312).contains(&points.len()) || (650..655).contains(&points.len());
        let blocks = match (stalled, written < GIB) {
            (true, _) => 0,
            (false, true) => 8 + rng.below(2),
            (false, false) => 3 + rng.below(2),
        };
        written += blocks * MIB;
        points.push(Interval {
            write_bytes: blocks * MIB,
            write_ios: blocks,
            ..Interval::default()
        });
    }
    points
}

/// With enough I/Os for percentiles: p99 of each trial, p99.9 of all together; one
/// trial of each job has more slow I/Os.
pub fn with_tails() -> Run {
    let mut run = fixture::run();
    for trial in &mut run.trials {
        let slow = if trial.trial == 2 { 200 } else { 20 };
        let Some(measured) = &mut trial.measured else {
            continue;
        };
        for latency in [
            &mut measured.read.latency,
            &mut measured.write.latency,
            &mut measured.flush,
        ] {
            if latency.count > 0 {
                let mut histogram = Histogram::new();
                (0..4_000 - slow).for_each(|us| histogram.record(100_000 + 10 * us));
                (0..slow).for_each(|us| histogram.record(9_000_000 + 1_000 * us));
                *latency = histogram.to_record();
            }
        }
    }
    run
}

/// The fixture with its flushed appends measured together with their flush.
pub fn with_durable_writes() -> Run {
    let mut run = fixture::run();
    let own = |trial: &&mut TrialRecord| trial.job.name == "fsync-append-4k";
    let trials = run.trials.iter_mut().filter(own);
    for measured in trials.filter_map(|trial| trial.measured.as_mut()) {
        let mut histogram = Histogram::new();
        (0..1_000).for_each(|us| histogram.record(4_300_000 + 1_000 * us));
        measured.durable = Some(histogram.to_record());
    }
    run
}

/// The fixture with two more sequential reads through the page cache: of cached
/// data, and of data that are not cached.
pub fn with_read_ladder() -> Run {
    let mut run = fixture::run();
    let like: Vec<TrialRecord> = run
        .trials
        .iter()
        .filter(|t| t.job.name == "seq-read-1m")
        .cloned()
        .collect();
    let steps = [
        ("read-cached", CacheState::Warm),
        ("read-buffered", CacheState::Cold),
    ];
    for (name, cache_state) in steps {
        let job = Job {
            cache_state,
            purpose: Some(Purpose::ReadLadder),
            ..Job::new(name, Rw::Read, Bytes::mib(1), Bytes::mib(32))
        };
        run.header.plan.jobs.push(PlannedJob {
            job: job.clone(),
            trials: 3,
        });
        run.trials.extend(like.iter().cloned().map(|mut trial| {
            trial.job = job.clone();
            let evidence = trial.evidence.as_mut().unwrap();
            if cache_state == CacheState::Warm {
                evidence.after.devices = evidence.before.devices.clone();
                evidence.after.own_io = evidence.before.own_io;
            }
            trial
        }));
    }
    run
}

/// 57 trials with 600 intervals each.
pub fn large() -> Run {
    let mut run = fixture::run();
    let mut rng = SplitMix64::new(3);
    let like = run
        .trials
        .iter()
        .find(|t| t.job.name == "dd-direct")
        .unwrap()
        .clone();
    run.trials.clear();
    run.header.plan.jobs.clear();
    for job in 0..19 {
        for number in 1..=3 {
            let mut trial = like.clone();
            trial.job.name = format!("job-{job}");
            trial.trial = number;
            let measured = trial.measured.as_mut().unwrap();
            measured.elapsed_ns = 60_000_000_000;
            measured.series.points = (0..600)
                .map(|_| Interval {
                    write_bytes: rng.below(20) * MIB,
                    ..Interval::default()
                })
                .collect();
            run.trials.push(trial);
        }
    }
    run
}

/// A run of iozone's write test: files of 128 MiB that stayed in the page cache,
/// of 256 MiB that did so in part, of 512 MiB that reached the device. The
/// last has no record of 16 KiB.
pub fn with_matrix() -> Run {
    let mut run = fixture::run();
    let first = |job: &str| {
        let mut trials = run.trials.iter();
        trials.find(|t| t.job.name == job && t.trial == 1).cloned()
    };
    let rows = [
        (131_072, ["dd-plain", "dd-plain", "dd-plain"].as_slice()),
        (262_144, &["dd-plain", "fsync-append-4k", "dd-fdatasync"]),
        (524_288, &["dd-fdatasync", "dd-fdatasync"]),
    ];
    let cells = rows.into_iter().flat_map(|(file_kib, jobs)| {
        let records = [4, 8, 16].into_iter();
        records
            .zip(jobs)
            .map(move |(record, job)| (file_kib, record, *job))
    });
    let trials = cells
        .zip(0..)
        .filter_map(|((file_kib, record_kib, job), position)| {
            let mut trial = first(job)?;
            trial.job.name = format!("write-{file_kib}k-{record_kib}k");
            trial.position = position;
            trial.detail = Some(Box::new(StepDetail::Iozone(IozoneStep {
                test: Test::Write,
                file_kib,
                record_kib,
                children: vec![Child {
                    bytes: (u64::from(position) + 1) * file_kib * 1024,
                    elapsed_ns: 1_000_000 * file_kib,
                    cpu_ns: 0,
                    idle_ns: 0,
                }],
                parent_ns: None,
                mismatch: false,
            })));
            Some(trial)
        });
    run.trials = trials.collect();
    run.header.plan.jobs.clear();
    run.header.plan.order.clear();
    run.header.command = ["assay", "iozone", "-i0", "-Rab", "<out>.xlsx"]
        .map(str::to_owned)
        .to_vec();
    run
}

/// One write of a million intervals of 100 ms in which a single one is empty.
pub fn endless() -> Run {
    let mut run = with_sustained();
    run.trials
        .retain(|trial| trial.job.name == "sustained-write");
    let measured = run.trials[0].measured.as_mut().unwrap();
    let mut points = vec![
        Interval {
            write_bytes: 8 * MIB,
            write_ios: 8,
            ..Interval::default()
        };
        1_000_000
    ];
    points[654_321] = Interval::default();
    measured.elapsed_ns = points.len() as u64 * 100_000_000;
    measured.longest_gap = None;
    measured.series.points = points;
    run
}

/// The fixture's trials over and over: so many of them.
pub fn crowd(trials: u32) -> Run {
    let mut run = fixture::run();
    let like = run.trials.clone();
    run.trials = (0..trials)
        .zip(like.iter().cycle())
        .map(|(position, trial)| TrialRecord {
            position,
            trial: position,
            ..trial.clone()
        })
        .collect();
    run
}

/// The fixture's trials under two conditions, five rounds of each.
pub fn swept() -> Run {
    let mut run = fixture::run();
    let condition = |value: &str| {
        Condition::of(vec![Setting {
            subject: Subject::Scheduler,
            value: value.to_owned(),
        }])
    };
    run.header.plan.conditions = vec![condition("none"), condition("bfq")];
    let like: Vec<TrialRecord> = run
        .trials
        .iter()
        .filter(|trial| trial.trial == 1)
        .cloned()
        .collect();
    run.trials.clear();
    for round in 0..5 {
        for condition in &run.header.plan.conditions {
            for trial in &like {
                run.trials.push(TrialRecord {
                    trial: round,
                    position: u32::try_from(run.trials.len()).unwrap(),
                    condition: Some(condition.name.clone()),
                    ..trial.clone()
                });
            }
        }
    }
    run
}

/// A run whose first trial found a file missing that had been written; its rates are
/// good.
pub fn with_lost_data() -> Run {
    let mut run = fixture::run();
    let step = CapacityStep {
        missing: vec!["1.h2w".to_owned()],
        missing_files: 1,
        parts: vec![CapacityPart {
            name: "2.h2w".to_owned(),
            offset: 1 << 30,
            bytes: 0,
            elapsed_ns: 1,
            found: Some(Tally::default()),
        }],
        ..CapacityStep::default()
    };
    run.trials[0].detail = Some(Box::new(StepDetail::Capacity(step)));
    run
}
