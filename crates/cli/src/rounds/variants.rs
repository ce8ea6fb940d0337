//! Variants of jobs: the same job with other options, one for each condition of a sweep that varies
//! options of the job. The options are parsed as those of a job file.

use super::{Jobs, expressible, on_place};
use crate::driver::records::entries;
use crate::exit::Failure;
use crate::jobs::Machine;
use assay_dialects::fio::{self, FioCommand};
use assay_model::condition::{Condition, Setting, Subject, Values, Vary};
use assay_model::job::{CacheState, Content, EngineKind, FlushCall, Job, OpenSync, RateLimit};
use assay_model::load::PerDirection;
use assay_model::plan::Place;
use assay_model::text::nearest;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::Inspection;
use serde_json::Value;
use std::ffi::OsString;
use std::mem;

/// Options that name the files of a job.
const PLACES: [&str; 7] = [
    "filename",
    "directory",
    "filename_format",
    "opendir",
    "nrfiles",
    "filesize",
    "lockfile",
];

/// Options that name or arrange jobs.
const ARRANGEMENT: [&str; 7] = [
    "name",
    "description",
    "stonewall",
    "new_group",
    "group_reporting",
    "wait_for",
    "include",
];

/// Recognizes an option of the job in `--vary`, which otherwise names a file of the queue.
///
/// # Errors
/// For options whose variation makes no sense.
pub fn recognize(vary: Vary) -> Result<Vary, Failure> {
    let Subject::Queue { attribute } = &vary.subject else {
        return Ok(vary);
    };
    let Some(option) = fio::job_option(attribute) else {
        return Ok(vary);
    };
    let refused = |why: &str| Err(Failure::usage(format!("--vary {attribute}: {why}")));
    match &vary.values {
        _ if PLACES.contains(&option) => refused(
            "all jobs of a sweep use one test file in PATH: to compare places, sweep each of them",
        ),
        _ if ARRANGEMENT.contains(&option) => refused(
            "it names or arranges jobs and does not change their I/O; each job of a sweep runs alone",
        ),
        Values::All => refused("the values cannot be listed: name them, as in iodepth=1,4,16"),
        Values::These(_) => Ok(Vary {
            subject: Subject::Job {
                option: option.to_owned(),
            },
            ..vary
        }),
    }
}

/// Adds to the refusal of a setting the option of jobs that was probably meant.
pub fn with_nearest_option(refused: Failure, varied: &[Vary]) -> Failure {
    let said = refused.to_string();
    let meant = varied.iter().find_map(|vary| match &vary.subject {
        Subject::Queue { attribute } if said.contains(attribute) => {
            let usual = Subject::USUAL.into_iter();
            let near = nearest(attribute, usual.chain(fio::job_options()))?;
            fio::job_option(near)
        }
        _ => None,
    });
    match meant {
        Some(option) => refused.and(&Failure::usage(format!(
            "of the options of jobs, did you mean {option}?"
        ))),
        None => refused,
    }
}

impl Jobs {
    /// Replaces the jobs by their variants under the conditions, and remembers which condition has
    /// which. `may_choose`: a job whose depth is varied gets an engine that has one.
    ///
    /// # Errors
    /// If an option is not one of a job that can be repeated, changes nothing, or needs more than the
    /// test file.
    pub fn vary(
        &mut self,
        conditions: &[Condition],
        (inspection, place): (&Inspection, &Place),
        may_choose: bool,
    ) -> Result<(), Failure> {
        let mut sets: Vec<Vec<&Setting>> = Vec::new();
        for condition in conditions {
            let options: Vec<&Setting> = condition.of_job().collect();
            let known = sets.iter().position(|set| *set == options);
            self.variant_of.push(known.unwrap_or(sets.len()));
            if known.is_none() {
                sets.push(options);
            }
        }
        if sets.iter().all(Vec::is_empty) {
            self.variant_of.clear();
            return Ok(());
        }
        let mut bases = mem::take(&mut self.all);
        let varies_depth = sets[0]
            .iter()
            .any(|set| set.subject.to_string() == "iodepth");
        if let Some(engine) = inspection.async_engines.first()
            && may_choose
            && varies_depth
        {
            let waits = bases
                .iter_mut()
                .filter(|job| !job.ioengine.is_asynchronous());
            waits.for_each(|job| job.ioengine = *engine);
        }
        for options in &sets {
            let made = bases.iter().map(|base| variant(base, options));
            let mut made = made.collect::<Result<Vec<Job>, Failure>>()?;
            on_place(place, &mut made)?;
            for job in &made {
                self.check(job, options, place)?;
            }
            self.all.append(&mut made);
        }
        let count = bases.len();
        for (index, job) in self.all.iter().enumerate() {
            let before = self.all[..index].iter().skip(index % count).step_by(count);
            let twin = before.enumerate().find(|(_, other)| *other == job);
            if let Some((twin, _)) = twin {
                return Err(Failure::usage(format!(
                    "{} and {} are the same for job {}: such an option changes nothing that a job \
                     of a sweep has",
                    words(&sets[twin]),
                    words(&sets[index / count]),
                    job.name
                )));
            }
        }
        Ok(())
    }

    /// Checks that a variant can run in the test file.
    fn check(&self, job: &Job, options: &[&Setting], place: &Place) -> Result<(), Failure> {
        let refused = |why: String| {
            let (options, name) = (words(options), &job.name);
            Err(Failure::usage(format!("{options}: job {name}: {why}")))
        };
        let end = job.offset.0.saturating_add(job.size.0);
        match place {
            Place::File { path } if job.rw.writes() => refused(format!(
                "it writes, and {} is a file, which is only read: give the directory it is in",
                path.display()
            )),
            Place::Simulated { .. } if job.numjobs > 1 => {
                refused("a simulated device has one stream at a time".to_owned())
            }
            _ if end > self.file.0 => refused(format!(
                "it ends at {}, beyond the test file of {}: give a --size that is larger",
                Bytes(end),
                self.file
            )),
            _ if job.bs.0 > job.size.0 => refused(format!(
                "a block of {} does not fit into {}: give a --size that is larger",
                job.bs, job.size
            )),
            _ if job.iodepth > 1 && !job.ioengine.is_asynchronous() => refused(format!(
                "{} does one I/O at a time: a depth needs another engine, as ioengine=io_uring",
                job.ioengine.name()
            )),
            _ => Ok(()),
        }
    }
}

/// Joins options as the user writes them.
fn words(options: &[&Setting]) -> String {
    let options: Vec<String> = options.iter().map(|set| format!("{set}")).collect();
    options.join(",")
}

/// Returns a job with other options: the fields that differ between a job with the options and one
/// without them.
fn variant(base: &Job, options: &[&Setting]) -> Result<Job, Failure> {
    let (plain, varied) = (parsed(base, &[])?, parsed(base, options)?);
    let fields = |job: &Job| match serde_json::to_value(job) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Failure::failed(format!("job {}: it has no form", job.name))),
    };
    let (mut changed, plain) = (fields(base)?, fields(&plain)?);
    for (name, value) in fields(&varied)? {
        if plain.get(&name) != Some(&value) {
            changed.insert(name, value);
        }
    }
    serde_json::from_value(Value::Object(changed))
        .map_err(|error| Failure::failed(format!("job {}: {error}", base.name)))
}

/// Returns the options of a job. All that a variant may have are among them: a value that the base
/// has by default must differ from a value that the base was given.
fn context(base: &Job, engine: EngineKind) -> Vec<(&'static str, String)> {
    let microseconds = |time: Nanos| format!("{}us", time.0 / 1_000);
    let milliseconds = (base.interval.0 / 1_000_000).max(1);
    let flag = |is_set: bool| u8::from(is_set).to_string();
    let every = |call: FlushCall| match base.flush.every {
        Some((writes, of)) if of == call => writes,
        _ => 0,
    };
    let sync = match base.sync {
        OpenSync::None => "none",
        OpenSync::Dsync => "dsync",
        OpenSync::Sync => "sync",
    };
    let mut context = vec![
        ("name", base.name.clone()),
        ("rw", base.rw.name().to_owned()),
        ("rwmixread", base.read_percent.to_string()),
        ("bs", base.bs.0.to_string()),
        ("size", base.size.0.to_string()),
        ("offset", base.offset.0.to_string()),
        ("ioengine", engine.name().to_owned()),
        ("iodepth", base.iodepth.to_string()),
        ("numjobs", base.numjobs.to_string()),
        ("direct", flag(base.direct)),
        ("sync", sync.to_owned()),
        ("fsync", every(FlushCall::Fsync).to_string()),
        ("fdatasync", every(FlushCall::Fdatasync).to_string()),
        ("end_fsync", flag(base.flush.at_end.is_some())),
        ("time_based", flag(base.time_based)),
        ("ramp_time", microseconds(base.ramp_time)),
        ("zero_buffers", flag(base.content == Content::Zero)),
        ("invalidate", flag(base.cache_state == CacheState::Cold)),
        ("bwavgtime", milliseconds.to_string()),
    ];
    context.extend(base.runtime.map(|time| ("runtime", microseconds(time))));
    context.extend(base.io_size.map(|bytes| ("io_size", bytes.0.to_string())));
    context.extend(match base.rate {
        Some(RateLimit::BytesPerSec(rate)) => Some(("rate", rate.to_string())),
        Some(RateLimit::Iops(rate)) => Some(("rate_iops", rate.to_string())),
        // fio's command line has no such limit.
        Some(RateLimit::Arrivals(_)) | None => None,
    });
    context
}

/// Returns the other option for the one field of a job that an option sets.
fn replaced_by(option: &str) -> Option<&'static str> {
    match option {
        "fsync" => Some("fdatasync"),
        "fdatasync" => Some("fsync"),
        "rate" => Some("rate_iops"),
        "rate_iops" => Some("rate"),
        _ => None,
    }
}

/// Parses a job like `base` with these options, as on fio's command line.
fn parsed(base: &Job, options: &[&Setting]) -> Result<Job, Failure> {
    let engine = match base.ioengine {
        EngineKind::Sim => EngineKind::Libaio,
        engine => engine,
    };
    let context = context(base, engine);
    let kept = context.into_iter().filter(|(option, _)| {
        let replaces = |set: &&Setting| replaced_by(&set.subject.to_string()) == Some(*option);
        !options.iter().any(replaces)
    });
    let context = kept.map(|(option, value)| format!("--{option}={value}"));
    // A pair for reads and writes is joined with +, because a comma separates values.
    let given = options
        .iter()
        .map(|set| format!("--{}={}", set.subject, set.value.replace('+', ",")));
    let grouped = ["--group_reporting".to_owned(), "--thread".to_owned()];
    let arguments: Vec<OsString> = context
        .chain(grouped)
        .chain(given)
        .map(OsString::from)
        .collect();
    let refused = |error: String| Failure::usage(format!("--vary {}: {error}", words(options)));
    let command = fio::parse(&arguments, &Machine).map_err(|error| refused(error.to_string()))?;
    let FioCommand::Run(mut invocation) = command else {
        return Err(refused("it describes no job".to_owned()));
    };
    for stream in &mut invocation.load.streams {
        let (sizes, rw) = (&mut stream.blocks.sizes, &stream.blocks.rw);
        match (rw.read, rw.write) {
            // Of a pair, a job that only reads or only writes uses its own part.
            (true, false) => *sizes = PerDirection::all(sizes.read.clone()),
            (false, true) => *sizes = PerDirection::all(sizes.write.clone()),
            _ if stream.pace.rate.read != stream.pace.rate.write
                || stream.pace.rate_iops.read != stream.pace.rate_iops.write =>
            {
                return Err(refused(
                    "reads and writes of one job share one rate in a sweep".to_owned(),
                ));
            }
            _ => {}
        }
    }
    match &entries(&invocation.load)[..] {
        [entry] => expressible(&invocation.load, entry),
        _ => Err(refused(
            "it describes no single job that reads or writes".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::{Flush, Rw};

    type Change = fn(&mut Job);

    /// Returns a job with values that are not fio's defaults.
    fn base() -> Job {
        Job {
            read_percent: 70,
            ioengine: EngineKind::IoUring,
            iodepth: 4,
            numjobs: 2,
            offset: Bytes(65536),
            io_size: Some(Bytes(131_072)),
            runtime: Some(Nanos::millis(3_500)),
            time_based: true,
            ramp_time: Nanos::millis(250),
            direct: true,
            sync: OpenSync::Dsync,
            flush: Flush {
                every: Some((1, FlushCall::Fsync)),
                at_end: Some(FlushCall::Fsync),
            },
            rate: Some(RateLimit::Iops(100)),
            content: Content::Zero,
            cache_state: CacheState::AsIs,
            ..Job::new("base", Rw::RandRw, Bytes(16384), Bytes(1 << 20))
        }
    }

    fn varied(base: &Job, option: &str, value: &str) -> Job {
        let setting = Setting {
            subject: Subject::Job {
                option: option.to_owned(),
            },
            value: value.to_owned(),
        };
        variant(base, &[&setting]).unwrap_or_else(|failure| panic!("{option}={value}: {failure:?}"))
    }

    #[test]
    fn a_default_replaces_the_value_of_the_base() {
        let cases: [(&str, &str, Change); 18] = [
            ("rw", "read", |job| job.rw = Rw::Read),
            ("rwmixread", "50", |job| job.read_percent = 50),
            ("bs", "4k", |job| job.bs = Bytes(4096)),
            ("ioengine", "psync", |job| job.ioengine = EngineKind::Psync),
            ("iodepth", "1", |job| job.iodepth = 1),
            ("numjobs", "1", |job| job.numjobs = 1),
            ("offset", "0", |job| job.offset = Bytes(0)),
            ("runtime", "1", |job| {
                job.runtime = Some(Nanos::millis(1_000))
            }),
            ("time_based", "0", |job| job.time_based = false),
            ("ramp_time", "0", |job| job.ramp_time = Nanos(0)),
            ("direct", "0", |job| job.direct = false),
            ("sync", "none", |job| job.sync = OpenSync::None),
            ("fsync", "0", |job| job.flush.every = None),
            ("end_fsync", "0", |job| job.flush.at_end = None),
            ("rate_iops", "0", |job| job.rate = None),
            ("zero_buffers", "0", |job| job.content = Content::Random),
            ("invalidate", "1", |job| job.cache_state = CacheState::Cold),
            ("bwavgtime", "500", |job| job.interval = Nanos::millis(500)),
        ];
        for (option, value, change) in cases {
            let mut expected = base();
            change(&mut expected);
            assert_eq!(varied(&base(), option, value), expected, "{option}");
        }
        assert_eq!(
            varied(&base(), "io_size", "64k").io_size,
            Some(Bytes(65536))
        );
    }

    #[test]
    fn the_value_of_the_base_changes_nothing() {
        for (option, value) in [
            ("rwmixread", "70"),
            ("fsync", "1"),
            ("runtime", "3500ms"),
            ("rate_iops", "100"),
        ] {
            assert_eq!(varied(&base(), option, value), base(), "{option}");
        }
    }

    #[test]
    fn an_option_replaces_another_for_the_same_field() {
        let flush = varied(&base(), "fdatasync", "8").flush.every;
        assert_eq!(flush, Some((8, FlushCall::Fdatasync)));
        let rate = varied(&base(), "rate", "1m").rate;
        assert_eq!(rate, Some(RateLimit::BytesPerSec(1 << 20)));
        let of_bytes = Job { rate, ..base() };
        let rate = varied(&of_bytes, "rate_iops", "50").rate;
        assert_eq!(rate, Some(RateLimit::Iops(50)));
    }
}
