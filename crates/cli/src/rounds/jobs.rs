//! Jobs of rounds: those of a qualification, or of a job file.

use super::args::RoundArgs;
use crate::checks::free_space::file_size;
use crate::driver::records::{ReportedJob, entries};
use crate::exit::Failure;
use crate::jobs::job_file::{Machine, warn};
use crate::jobs::suite::{self, Scale};
use crate::output::say;
use assay_dialects::fio;
use assay_model::job::Job;
use assay_model::load::blocks::{BlockSizes, Blocks, Region, RwPattern};
use assay_model::load::content::WriteContent;
use assay_model::load::pace::PaceLimits;
use assay_model::load::schedule::Process;
use assay_model::load::verify::TrimOptions;
use assay_model::load::{Durability, Engine, Extent, Length, Load, PerDirection, Stream};
use assay_model::plan::Place;
use assay_model::units::Bytes;
use assay_model::wire::Inspection;
use std::path::Path;

/// Default jobs: few enough to compare all of them in one session.
const DEFAULT: [&str; 6] = [
    "read-buffered",
    "seq-read-1m",
    "seq-write-1m",
    "rand-read-4k",
    "rand-write-4k",
    "append-4k-fsync",
];

/// Function that makes jobs, and the size of the file that they share, for an inspected place.
pub type MakeJobs = Box<dyn Fn(&Inspection) -> Result<(Vec<Job>, Bytes), Failure>>;

/// Origin of the jobs.
pub enum JobSource {
    /// Jobs of a qualification.
    Suite,
    /// Jobs of a job file.
    File(Vec<Job>),
    /// Jobs that are made when the place is known.
    Made(MakeJobs),
}

/// Jobs, and the file that they share.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// The jobs.
    pub all: Vec<Job>,
    /// Size of the test file.
    pub file: Bytes,
}

/// Returns the jobs of the source; for a qualification those of `--only`, or the default ones.
pub fn choose(
    args: &RoundArgs,
    source: &JobSource,
    inspection: &Inspection,
    place: &Place,
) -> Result<Jobs, Failure> {
    let only_read = matches!(place, Place::File { .. });
    match source {
        JobSource::File(all) => return in_one_file(args, all.clone(), inspection, place),
        JobSource::Made(make) => {
            let (mut all, file) = make(inspection)?;
            all.retain(|job| !(only_read && job.rw.writes()));
            on_place(place, &mut all)?;
            return Ok(Jobs { all, file });
        }
        JobSource::Suite => {}
    }
    let mut only = args.only.clone();
    if only.is_empty() {
        let simulated = matches!(place, Place::Simulated { .. });
        let usual = DEFAULT.iter().map(|name| (*name).to_owned());
        only = usual
            .filter(|name| !only_read || name.contains("read"))
            .filter(|name| !simulated || name != "read-buffered")
            .collect();
    }
    let scale = Scale::new(&args.suite, inspection)?.with_longer_trials();
    // Plan each job once: the schedule determines the repetitions.
    let planned = suite::jobs((&only, 1), inspection, place, &scale)?;
    Ok(Jobs {
        all: planned.into_iter().map(|planned| planned.job).collect(),
        file: scale.file,
    })
}

/// Fits jobs into one test file: a job with a size uses the beginning of the file, others use all
/// of it.
fn in_one_file(
    args: &RoundArgs,
    mut all: Vec<Job>,
    inspection: &Inspection,
    place: &Place,
) -> Result<Jobs, Failure> {
    let end = all
        .iter()
        .map(|job| job.offset.0.saturating_add(job.size.0));
    let end = Bytes(end.max().unwrap_or(0));
    let unsized_job = all.iter().find(|job| job.size == Bytes(0));
    if let (Some(job), None) = (unsized_job, args.suite.size) {
        return Err(Failure::usage(format!(
            "job {}: it has no size: add size= to it, or --size",
            job.name
        )));
    }
    let file = file_size(args.suite.size.or(Some(end)), end, Bytes(0), inspection)?;
    for job in &mut all {
        if job.size == Bytes(0) {
            job.size = Bytes(file.0.saturating_sub(job.offset.0));
        }
        if job.offset.0.saturating_add(job.size.0) > file.0 {
            return Err(Failure::usage(format!(
                "job {}: it ends at {}, beyond the test file of {file}: give a --size that is \
                 larger",
                job.name,
                Bytes(job.offset.0.saturating_add(job.size.0))
            )));
        }
    }
    if let (Place::File { path }, Some(job)) = (place, all.iter().find(|job| job.rw.writes())) {
        return Err(Failure::usage(format!(
            "job {} writes, and {} is a file, which is only read: give the directory it is in",
            job.name,
            path.display()
        )));
    }
    on_place(place, &mut all)?;
    Ok(Jobs { all, file })
}

/// Converts jobs to simulated ones if the place is a simulated device.
pub fn on_place(place: &Place, jobs: &mut [Job]) -> Result<(), Failure> {
    if !matches!(place, Place::Simulated { .. }) {
        return Ok(());
    }
    for job in jobs {
        *job = job.simulated().ok_or_else(|| {
            Failure::usage(format!(
                "job {}: it is buffered, and a simulated device has no page cache: add direct=1",
                job.name
            ))
        })?;
    }
    Ok(())
}

/// Reads the jobs of a job file of fio.
pub fn from_file(path: &Path) -> Result<Vec<Job>, Failure> {
    let invocation = fio::parse_job_file(path, &Machine).map_err(Failure::usage)?;
    warn(&invocation.warnings, say);
    let load = invocation.load;
    let entries = entries(&load);
    if entries.is_empty() {
        let why = "no job reads or writes: there is nothing to measure";
        return Err(Failure::in_file(path, why));
    }
    let job = |entry: &ReportedJob| alone(&load, entry);
    let jobs: Result<Vec<Job>, Failure> = entries.iter().map(job).collect();
    let jobs = jobs?;
    say(
        "assay: each job runs alone, in a test file that is written before; its file names are not used",
    );
    Ok(jobs)
}

/// Converts an entry to a job that a plan can run: one stream, and only options that a plan supports.
fn alone(load: &Load, entry: &ReportedJob) -> Result<Job, Failure> {
    let name = &entry.job.name;
    let [index] = entry.streams[..] else {
        return Err(Failure::usage(format!(
            "job {name}: it has several copies; here single ones are run: numjobs must be 1"
        )));
    };
    let stream = &load.streams[index];
    if load
        .streams
        .iter()
        .filter(|other| other.wave == stream.wave)
        .count()
        > 1
    {
        return Err(Failure::usage(format!(
            "job {name}: it runs beside others; here each job runs alone: put stonewall between \
             them"
        )));
    }
    match *stream == plain(stream) {
        true => Ok(entry.job.clone()),
        false => Err(Failure::usage(format!(
            "job {name}: it uses more than can be repeated in rounds: only rw, bs, ioengine, iodepth, \
             direct, sync, fsync, fdatasync, end_fsync, size, io_size, offset, runtime, \
             time_based, ramp_time, rate, rate_iops, rwmixread and zero_buffers"
        ))),
    }
}

/// Returns the properties of a stream that a job can express; the others have fio's defaults.
fn plain(stream: &Stream) -> Stream {
    let Stream {
        blocks,
        engine,
        length,
        durability,
        region,
        ..
    } = stream;
    let bytes = |extent: Extent| match extent {
        Extent::Bytes(_) => extent,
        Extent::Percent(_) => Extent::Bytes(0),
    };
    let sizes = if blocks.rw.read {
        &blocks.sizes.read
    } else {
        &blocks.sizes.write
    };
    let block = BlockSizes {
        min: sizes.min,
        max: sizes.min,
        ..BlockSizes::default()
    };
    Stream {
        number: stream.number,
        group: stream.group,
        wave: stream.wave,
        report: stream.report,
        description: stream.description.clone(),
        // The plan determines the file, and the state of the cache.
        files: stream.files.clone(),
        process: Process {
            forked: stream.process.forked,
            ..Process::default()
        },
        region: Region {
            size: region.size.map(bytes),
            offset: bytes(region.offset),
            ..Region::default()
        },
        blocks: Blocks {
            rw: RwPattern {
                read: blocks.rw.read,
                write: blocks.rw.write,
                random: blocks.rw.random,
                ..RwPattern::default()
            },
            read_percent: blocks.read_percent,
            sizes: PerDirection::all(block),
            // Offsets follow from the plan's seed.
            repeat: blocks.repeat,
            seed: blocks.seed,
            ..Blocks::default()
        },
        length: Length {
            io_size: length.io_size.map(bytes),
            runtime: length.runtime,
            time_based: length.time_based,
            ramp_time: length.ramp_time,
            ..Length::default()
        },
        engine: Engine {
            kind: engine.kind,
            iodepth: engine.iodepth,
            // fio's notation for no such limit.
            iodepth_low: if engine.iodepth_low == engine.iodepth {
                engine.iodepth
            } else {
                0
            },
            ..Engine::default()
        },
        durability: Durability {
            direct: durability.direct,
            sync: durability.sync,
            fsync: durability.fsync,
            fdatasync: durability.fdatasync,
            at_end: durability.at_end,
            ..Durability::default()
        },
        pace: PaceLimits {
            rate: stream.pace.rate,
            rate_iops: stream.pace.rate_iops,
            ..PaceLimits::default()
        },
        content: WriteContent {
            zero: stream.content.zero,
            ..WriteContent::default()
        },
        trim: TrimOptions {
            percent: 0,
            ..stream.trim
        },
        // Statistics options do not change the I/O.
        stats: stream.stats.clone(),
        ..Stream::new(&stream.name)
    }
}
