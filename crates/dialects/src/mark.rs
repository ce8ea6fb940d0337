//! Disk marks, SD card classes, and rounds until a steady state: their jobs, and the
//! requirements of the classes.

use assay_model::job::{EngineKind, FileState, FlushCall, Job, Rw};
use assay_model::text::meant;
use assay_model::units::{Bytes, Nanos};
use assay_stats::figures::{RequiredFigure, Requirement};
use std::fmt;
use std::str::FromStr;

/// Size and duration of the jobs.
#[derive(Clone, Copy, Debug)]
pub struct MarkProfile {
    /// Size of the test file, or of the region used on a device.
    pub file: Bytes,
    /// Longest duration of a trial.
    pub trial: Nanos,
    /// Engine that keeps several I/Os in flight; `None`: as many threads do.
    pub engine: Option<EngineKind>,
}

/// Returns the four tests of the usual disk marks, each as read and as write:
/// sequential 1 MiB with 8 and with 1 in flight, random 4 KiB with 32 and with 1.
pub fn marks(scale: &MarkProfile) -> Vec<Job> {
    let tests = [
        ("seq1m-q8t1", false, Bytes::mib(1), 8),
        ("seq1m-q1t1", false, Bytes::mib(1), 1),
        ("rnd4k-q32t1", true, Bytes::kib(4), 32),
        ("rnd4k-q1t1", true, Bytes::kib(4), 1),
    ];
    let jobs = tests.into_iter().flat_map(|(name, random, bs, depth)| {
        let read = if random { Rw::RandRead } else { Rw::Read };
        let write = if random { Rw::RandWrite } else { Rw::Write };
        [
            direct(scale, &format!("{name}-read"), read, bs, depth),
            direct(scale, &format!("{name}-write"), write, bs, depth),
        ]
    });
    jobs.collect()
}

/// Makes a time-based job that bypasses the page cache.
fn direct(scale: &MarkProfile, name: &str, rw: Rw, bs: Bytes, depth: u32) -> Job {
    let mut job = Job::new(name, rw, bs, scale.file);
    job.direct = true;
    job.time_based = true;
    job.runtime = Some(scale.trial);
    match scale.engine {
        Some(engine) if depth > 1 => {
            job.ioengine = engine;
            job.iodepth = depth;
        }
        _ => job.numjobs = depth,
    }
    job
}

/// Speed class of SD cards (SD Physical Layer Specification; the figures are those
/// printed on cards).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdClass {
    /// Application performance class 1.
    A1,
    /// Application performance class 2.
    A2,
    /// Speed class 10.
    C10,
    /// UHS speed class 1.
    U1,
    /// UHS speed class 3.
    U3,
    /// Video speed class, with its MB/s: 6, 10, 30, 60 or 90.
    V(u16),
}

const RANDOM_READ: &str = "class-rand-read-4k";
const RANDOM_WRITE: &str = "class-rand-write-4k";
const SEQUENTIAL_WRITE: &str = "class-seq-write-512k";
/// Length of the command queue of class A2 cards, which limits the commands in flight.
const A2_DEPTH: u32 = 32;
/// Size of the region for random I/O of application classes.
const APPLICATION_REGION: Bytes = Bytes::mib(256);

impl SdClass {
    /// Every class, in the order of listings.
    pub const ALL: [Self; 10] = [
        Self::A1,
        Self::A2,
        Self::C10,
        Self::U1,
        Self::U3,
        Self::V(6),
        Self::V(10),
        Self::V(30),
        Self::V(60),
        Self::V(90),
    ];

    /// Returns the requirements of the class.
    pub fn requirements(self) -> Vec<Requirement> {
        let mega = |mb: u16| f64::from(mb) * 1e6;
        let slowest = |mb| {
            vec![Requirement {
                job: SEQUENTIAL_WRITE,
                figure: RequiredFigure::LowestSecondWritten,
                least: mega(mb),
            }]
        };
        let application = |reads, writes| {
            let part = |job, figure, least| Requirement { job, figure, least };
            vec![
                part(RANDOM_READ, RequiredFigure::ReadIops, reads),
                part(RANDOM_WRITE, RequiredFigure::WriteIops, writes),
                part(SEQUENTIAL_WRITE, RequiredFigure::WriteBandwidth, mega(10)),
            ]
        };
        match self {
            Self::A1 => application(1500.0, 500.0),
            Self::A2 => application(4000.0, 2000.0),
            Self::C10 | Self::U1 => slowest(10),
            Self::U3 => slowest(30),
            Self::V(mb) => slowest(mb),
        }
    }

    /// Returns the jobs that measure the requirements.
    pub fn jobs(self, scale: &MarkProfile) -> Vec<Job> {
        let region = MarkProfile {
            file: scale.file.min(APPLICATION_REGION),
            ..*scale
        };
        let depth = if self == Self::A2 { A2_DEPTH } else { 1 };
        let bs = Bytes::kib(4);
        let mut sequential = direct(scale, SEQUENTIAL_WRITE, Rw::Write, Bytes::kib(512), 1);
        sequential.flush.at_end = Some(FlushCall::Fdatasync);
        if !matches!(self, Self::A1 | Self::A2) {
            return vec![sequential];
        }
        let mut writes = direct(&region, RANDOM_WRITE, Rw::RandWrite, bs, depth);
        // Writes that are only in a cache do not count.
        writes.flush.at_end = Some(FlushCall::Fdatasync);
        let reads = direct(&region, RANDOM_READ, Rw::RandRead, bs, depth);
        vec![reads, writes, sequential]
    }

    /// Returns one sentence with the conditions of the measurement for a file of this
    /// size.
    pub fn conditions(self, file: Bytes) -> String {
        let region = file.min(APPLICATION_REGION);
        let random = |commands| {
            format!(
                "4 KiB random within {region}, {commands} in flight, past the page cache, \
                 flushed at the end; 512 KiB sequential writes on {file}"
            )
        };
        match self {
            Self::A1 => random("one command"),
            Self::A2 => random("32 commands"),
            Self::C10 | Self::U1 | Self::U3 | Self::V(_) => format!(
                "512 KiB sequential writes of {file} past the page cache, the slowest whole second \
                 of each trial; a card's own check writes whole recording units of an empty card"
            ),
        }
    }
}

/// Suffix of jobs of a check with as many commands in flight as class A2 allows.
const DEEP: [(&str, &str); 2] = [
    (RANDOM_READ, "class-rand-read-4k-q32"),
    (RANDOM_WRITE, "class-rand-write-4k-q32"),
];

/// Trials of the sequential write of a check are longer than others by this factor: a video class
/// is about the slowest second of a recording.
const RECORDING: u64 = 5;

/// Classes that a check of a card reports.
pub const CHECKED_CLASSES: [SdClass; 3] = [SdClass::A1, SdClass::A2, SdClass::V(30)];

/// Returns the jobs of a check of a card: those of [`CHECKED_CLASSES`], sequential reads, and small
/// writes that are flushed one by one.
pub fn check_jobs(scale: &MarkProfile) -> Vec<Job> {
    let mut deep = SdClass::A2.jobs(scale);
    deep.retain(|job| job.name != SEQUENTIAL_WRITE);
    for job in &mut deep {
        let name = DEEP.iter().find(|(shallow, _)| *shallow == job.name);
        job.name = name.map_or(job.name.as_str(), |(_, deep)| deep).to_owned();
    }
    let mut append = Job::new("append-4k-fsync", Rw::Write, Bytes::kib(4), scale.file);
    append.file_state = FileState::Fresh;
    append.flush.every = Some((1, FlushCall::Fsync));
    append.runtime = Some(scale.trial);
    let mut jobs = SdClass::A1.jobs(scale);
    for job in jobs.iter_mut().filter(|job| job.name == SEQUENTIAL_WRITE) {
        job.runtime = Some(Nanos(RECORDING * scale.trial.0));
    }
    jobs.extend(deep);
    jobs.push(direct(scale, "seq-read-1m", Rw::Read, Bytes::mib(1), 1));
    jobs.push(append);
    jobs
}

/// Returns the requirements of a class, on the jobs of [`check_jobs`].
pub fn checked_requirements(class: SdClass) -> Vec<Requirement> {
    let mut requirements = class.requirements();
    if class == SdClass::A2 {
        for requirement in &mut requirements {
            let deep = DEEP.iter().find(|(shallow, _)| *shallow == requirement.job);
            requirement.job = deep.map_or(requirement.job, |(_, deep)| deep);
        }
    }
    requirements
}

assay_model::named! {
    /// Use for which a card or stick is checked.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CardUse {
        /// System card of a Raspberry Pi or a similar board.
        Pi = "pi",
        /// Recording of 4K video.
        Camera = "camera",
        /// Apps on a card that Android adopts.
        Android = "android",
        /// Medium that a system is installed or started from.
        Boot = "boot",
        /// Transport of large files.
        Usb = "usb",
    }
}

impl CardUse {
    /// Returns the requirements. Those of a Pi are the criteria of Raspberry Pi's own test of cards
    /// (agnostics), which are class A1's, and so are those of Android; a camera needs V30, the class
    /// for 4K video. For the others there is no standard: a system starts by random reads, as A1
    /// demands, and large files are written as in class 10.
    pub fn requirements(self) -> Vec<Requirement> {
        match self {
            Self::Pi | Self::Android => SdClass::A1.requirements(),
            Self::Camera => SdClass::V(30).requirements(),
            Self::Boot => {
                let mut reads = SdClass::A1.requirements();
                reads.retain(|one| one.figure == RequiredFigure::ReadIops);
                reads
            }
            Self::Usb => SdClass::C10.requirements(),
        }
    }
}

impl fmt::Display for SdClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A1 => f.write_str("A1"),
            Self::A2 => f.write_str("A2"),
            Self::C10 => f.write_str("C10"),
            Self::U1 => f.write_str("U1"),
            Self::U3 => f.write_str("U3"),
            Self::V(mb) => write!(f, "V{mb}"),
        }
    }
}

impl FromStr for SdClass {
    type Err = String;

    /// Parses the name of a class, ignoring case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = |class: &Self| class.to_string().eq_ignore_ascii_case(text);
        let found = Self::ALL.into_iter().find(known);
        found.ok_or_else(|| {
            let names = Self::ALL.map(|class| class.to_string());
            let meant = meant(&text.to_ascii_uppercase(), names.iter().map(String::as_str));
            format!("there is no class {text}{meant}: use {}", names.join(", "))
        })
    }
}

/// Returns the jobs of the steady-state test (after the SNIA Solid State Storage
/// Performance Test Specification): the first writes the whole capacity twice in
/// sequence, the second is a round of random writes.
pub fn steady_state(scale: &MarkProfile) -> [Job; 2] {
    let mut fill = Job::new(FILL, Rw::Write, Bytes::kib(128), scale.file);
    fill.direct = true;
    fill.time_based = true;
    fill.io_size = Some(Bytes(scale.file.0.saturating_mul(2)));
    fill.file_state = FileState::Fresh;
    let mut round = direct(scale, ROUND, Rw::RandWrite, Bytes::kib(4), 32);
    round.file_state = FileState::Fresh;
    [fill, round]
}

/// Name of the job that writes the whole capacity.
pub const FILL: &str = "steady-fill";
/// Name of the job of a round.
pub const ROUND: &str = "steady-round";

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(engine: Option<EngineKind>) -> MarkProfile {
        MarkProfile {
            file: Bytes::gib(1),
            trial: Nanos::secs(5),
            engine,
        }
    }

    #[test]
    fn marks_have_their_usual_names_and_depths() {
        let jobs = marks(&scale(Some(EngineKind::IoUring)));
        let shapes: Vec<_> = jobs
            .iter()
            .map(|job| (job.name.as_str(), job.bs, job.iodepth))
            .collect();
        let (mib, kib) = (Bytes::mib(1), Bytes::kib(4));
        assert_eq!(
            shapes[..4],
            [
                ("seq1m-q8t1-read", mib, 8),
                ("seq1m-q8t1-write", mib, 8),
                ("seq1m-q1t1-read", mib, 1),
                ("seq1m-q1t1-write", mib, 1),
            ]
        );
        assert_eq!(shapes[4], ("rnd4k-q32t1-read", kib, 32));
        assert_eq!(shapes.len(), 8);
    }

    #[test]
    fn threads_stand_in_for_depth_where_no_engine_has_it() {
        let jobs = marks(&scale(None));
        assert_eq!((jobs[0].numjobs, jobs[0].iodepth), (8, 1));
    }

    #[test]
    fn classes_are_known_by_their_names() {
        assert_eq!("v30".parse(), Ok(SdClass::V(30)));
        assert_eq!("A2".parse(), Ok(SdClass::A2));
        assert!("V31".parse::<SdClass>().unwrap_err().contains("V30"));
    }

    #[test]
    fn every_requirement_of_a_check_has_its_job() {
        let jobs = check_jobs(&scale(Some(EngineKind::IoUring)));
        let depth = |name: &str| {
            jobs.iter()
                .find(|job| job.name == name)
                .map(|job| job.iodepth)
        };
        let classes = CHECKED_CLASSES.into_iter().flat_map(checked_requirements);
        let uses = CardUse::ALL.into_iter().flat_map(CardUse::requirements);
        for requirement in classes.chain(uses) {
            assert!(depth(requirement.job).is_some(), "{}", requirement.job);
        }
        let deep = checked_requirements(SdClass::A2)[0].job;
        assert_eq!(depth(deep), Some(32), "A2 has a queue");
        assert_eq!(depth(SdClass::A1.requirements()[0].job), Some(1));
        let names: std::collections::BTreeSet<&str> =
            jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names.len(), jobs.len());
    }

    #[test]
    fn every_requirement_has_its_job() {
        for class in SdClass::ALL {
            let jobs = class.jobs(&scale(None));
            for requirement in class.requirements() {
                assert!(
                    jobs.iter().any(|job| job.name == requirement.job),
                    "{class}"
                );
            }
        }
    }
}
