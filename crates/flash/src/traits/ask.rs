//! The jobs that measure the traits: micro-patterns, with one job for each point.

use super::Trait;
use assay_model::evidence::LatencyRecord;
use assay_model::job::{EngineKind, FlashPattern, Flush, FlushCall, Job, Pause, Purpose, Rw};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
use assay_stats::histogram::Percentile;
use assay_stats::latency::Distribution;

/// A job, and the point of a series that it measures.
#[derive(Clone, Debug, PartialEq)]
pub struct TraitJob {
    /// Trait that the job measures.
    pub what: Trait,
    /// Name of the series, if the trait has several.
    pub part: &'static str,
    /// Position on the axis: bytes, a count or seconds.
    pub x: f64,
    /// Figure of the measurement that is used.
    pub figure: Figure,
    /// The job.
    pub job: Job,
}

impl TraitJob {
    /// Returns the point that a job of a stored run measures, by the job's name; `None` for
    /// other jobs.
    pub fn of(job: &Job) -> Option<Self> {
        let what = Trait::ALL.into_iter().find(|what| {
            let rest = job.name.strip_prefix(what.name());
            rest.is_some_and(|rest| rest.starts_with('-'))
        })?;
        let rest = job.name.strip_prefix(what.name())?.strip_prefix('-')?;
        let (part, x) = match rest.split_once('-') {
            Some((part, x)) => (
                ["across", "beside", "write", "read"]
                    .into_iter()
                    .find(|one| *one == part)?,
                x,
            ),
            None => ("", rest),
        };
        Some(Self {
            what,
            part,
            x: x.parse().ok()?,
            figure: Figure::about(what, part),
            job: job.clone(),
        })
    }
}

/// Figure of a measurement that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Mean latency of reads.
    Read,
    /// Median latency of reads, which occasional stalls do not affect.
    TypicalRead,
    /// Mean latency of writes.
    Write,
    /// Mean latency of flushes.
    Flush,
    /// Elapsed time of the trial divided by the number of reads.
    PerRead,
    /// Rate over time.
    Course,
}

impl Figure {
    /// Returns the figure that is used for the points of a series.
    fn about(what: Trait, part: &str) -> Self {
        match (what, part) {
            (Trait::ReadCosts, _) => Self::TypicalRead,
            (Trait::OpenUnits, "write") => Self::Write,
            (Trait::MapUnit | Trait::Recovery, _) => Self::Write,
            (Trait::Flush, _) => Self::Flush,
            (Trait::Slc, _) => Self::Course,
            (Trait::Queue, _) => Self::PerRead,
            _ => Self::Read,
        }
    }

    /// Returns the figure in microseconds; `None` if it was not measured or is a course.
    pub fn of(self, measured: &Measurement) -> Option<f64> {
        let mean = |record: &LatencyRecord| {
            (record.count > 0).then(|| record.sum_ns as f64 / record.count as f64 / 1e3)
        };
        match self {
            Self::Read => mean(&measured.read.latency),
            Self::TypicalRead => {
                let latency = Distribution::of(&measured.read.latency).ok()?;
                Some(latency.percentile_ns(Percentile::P50)? as f64 / 1e3)
            }
            Self::Write => mean(&measured.write.latency),
            Self::Flush => mean(&measured.flush),
            Self::PerRead => {
                let ios = measured.read.ios;
                (ios > 0).then(|| measured.elapsed_ns as f64 / ios as f64 / 1e3)
            }
            Self::Course => None,
        }
    }
}

/// Limits of the jobs: region, times, and permitted operations.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// Size of the region.
    pub size: Bytes,
    /// Size of the smallest direct I/O.
    pub sector: Bytes,
    /// Duration of a trial.
    pub trial: Nanos,
    /// Duration of the long write.
    pub fill: Nanos,
    /// `true` if writes are permitted.
    pub writes: bool,
    /// Engine for one I/O in flight.
    pub engine: EngineKind,
    /// Engine for several I/Os in flight.
    pub deep: Option<EngineKind>,
}

const K: u64 = 1024;
const M: u64 = 1024 * K;
/// Size of a region in which the address map should have no effect.
const NEAR: u64 = 64 * M;
/// Size of such a region for jobs that return to the same addresses.
const VERY_NEAR: u64 = 2 * M;
/// Number of random writes between two pauses.
pub const BURST: u32 = 64;
/// Duration of random writes before they are measured without pauses.
const TIRING: Nanos = Nanos::secs(2);
/// Time limit of jobs that end after a number of bytes.
const LONG: Nanos = Nanos::secs(60);

impl Scope {
    /// Returns all jobs that the limits allow.
    pub fn jobs(&self) -> Vec<TraitJob> {
        let mut all = self.sizes();
        all.extend(self.boundaries());
        all.extend(self.map_span());
        all.extend(self.jumps());
        all.extend(self.queue());
        if self.writes {
            all.extend(self.map_unit());
            all.extend(self.open_units());
            all.extend(self.flush());
            all.extend(self.deferred());
            all.extend(self.recovery());
            all.push(self.fill());
        }
        all
    }

    fn job(&self, name: &str, rw: Rw, bs: u64, size: u64) -> Job {
        Job {
            ioengine: self.engine,
            direct: true,
            time_based: true,
            runtime: Some(self.trial),
            ..Job::new(name, rw, Bytes(bs), Bytes(size.min(self.size.0)))
        }
    }

    fn asked(what: Trait, part: &'static str, x: u64, job: Job) -> TraitJob {
        let part_in_name = if part.is_empty() {
            String::new()
        } else {
            format!("-{part}")
        };
        TraitJob {
            what,
            part,
            x: x as f64,
            figure: Figure::about(what, part),
            job: Job {
                name: format!("{}{part_in_name}-{x}", what.name()),
                ..job
            },
        }
    }

    /// Returns reads of sizes from a sector to 512 KiB, which is the largest request of most
    /// hosts.
    fn sizes(&self) -> Vec<TraitJob> {
        let powers = (9..=19).map(|power| 1_u64 << power);
        let sizes = powers.filter(|size| *size >= self.sector.0);
        let read = |size| {
            let job = self.job("", Rw::RandRead, size, NEAR);
            Self::asked(Trait::ReadCosts, "", size, job)
        };
        sizes.map(read).collect()
    }

    /// Returns reads of 4 KiB across the multiples of a size, and directly after them.
    fn boundaries(&self) -> Vec<TraitJob> {
        let half = 2 * K;
        if !half.is_multiple_of(self.sector.0.max(1)) {
            return Vec::new();
        }
        let units = (13..=26).map(|power| 1_u64 << power);
        let units = units.filter(|unit| unit * 8 <= self.size.0);
        let ask = |unit: u64, part, shift: u64| {
            let mut job = self.job("", Rw::RandRead, 4 * K, self.size.0 - half);
            job.offset = Bytes(shift);
            job.pattern = Some(FlashPattern::Across { unit: Bytes(unit) });
            Self::asked(Trait::Boundaries, part, unit, job)
        };
        units
            .flat_map(|unit| [ask(unit, "across", 0), ask(unit, "beside", half)])
            .collect()
    }

    /// Returns writes of 16 KiB with shifted offsets. Pauses let background work end, because
    /// a write that waits for it hides the cost of its shift.
    fn map_unit(&self) -> Vec<TraitJob> {
        let shifts = [0, 512, K, 2 * K, 4 * K, 8 * K];
        let shifts = shifts
            .into_iter()
            .filter(|shift| shift % self.sector.0.max(1) == 0);
        let ask = |shift: u64| {
            let mut job = self.job("", Rw::RandWrite, 16 * K, NEAR);
            job.offset = Bytes(shift);
            job.size = Bytes(job.size.0.saturating_sub(16 * K));
            job.pause = Some(Pause {
                after: 4,
                time: Nanos::millis(25),
            });
            job.runtime = Some(Nanos(self.trial.0 * 4));
            Self::asked(Trait::MapUnit, "", shift, job)
        };
        shifts.map(ask).collect()
    }

    /// Returns jobs that write to several units in turn, and the same jobs as reads for
    /// comparison.
    fn open_units(&self) -> Vec<TraitJob> {
        let unit = (self.size.0 / 32).min(16 * M) / M * M;
        if unit == 0 {
            return Vec::new();
        }
        let counts = (2..=10).chain([12, 14, 16, 20, 24, 28, 32]);
        let ask = |units: u32, part, rw| {
            let mut job = self.job("", rw, 16 * K, self.size.0);
            job.pattern = Some(FlashPattern::InTurn {
                units,
                unit: Bytes(unit),
            });
            Self::asked(Trait::OpenUnits, part, units.into(), job)
        };
        counts
            .flat_map(|units| [ask(units, "write", Rw::Write), ask(units, "read", Rw::Read)])
            .collect()
    }

    /// Returns random reads over regions of increasing size.
    fn map_span(&self) -> Vec<TraitJob> {
        let spans = (20..=40).map(|power| 1_u64 << power);
        let spans = spans.take_while(|span| *span <= self.size.0);
        let ask = |span| {
            let mut job = self.job("", Rw::RandRead, 4 * K, span);
            // The ramp excludes the first load of each region.
            job.ramp_time = self.trial;
            Self::asked(Trait::MapSpan, "", span, job)
        };
        spans.map(ask).collect()
    }

    /// Returns bursts of writes, each followed by a flush.
    fn flush(&self) -> Vec<TraitJob> {
        let bursts = (0..=10).map(|power| 1_u32 << power);
        let ask = |writes: u32| {
            let mut job = self.job("", Rw::Write, 16 * K, NEAR);
            // Long enough for a few of the largest bursts.
            job.runtime = Some(Nanos(self.trial.0 * 4));
            job.flush = Flush {
                every: Some((writes, FlushCall::Fdatasync)),
                at_end: None,
            };
            let bytes = u64::from(writes) * 16 * K;
            Self::asked(Trait::Flush, "", bytes, job)
        };
        bursts.map(ask).collect()
    }

    /// Returns a long sequential write, of more than the whole region.
    fn fill(&self) -> TraitJob {
        let mut job = self.job("", Rw::Write, 128 * K, self.size.0);
        job.runtime = Some(self.fill);
        // Intervals with many writes, so that one more or less does not change the level.
        job.interval = Nanos(self.fill.0 / 240);
        job.purpose = Some(Purpose::Sustained);
        Self::asked(Trait::Slc, "", 0, job)
    }

    /// Returns reads of 16 KiB in order, and at random offsets nearby.
    fn jumps(&self) -> Vec<TraitJob> {
        [(0, Rw::Read), (1, Rw::RandRead)]
            .map(|(x, rw)| {
                let job = self.job("", rw, 16 * K, VERY_NEAR);
                Self::asked(Trait::Break, "", x, job)
            })
            .into()
    }

    /// Returns reads that follow a write and a pause.
    fn deferred(&self) -> Vec<TraitJob> {
        let ask = |ms: u64| {
            let mut job = self.job("", Rw::RandRw, 16 * K, VERY_NEAR);
            job.pattern = Some(FlashPattern::ReadThenWrite);
            job.pause = (ms > 0).then_some(Pause {
                after: 2,
                time: Nanos::millis(ms),
            });
            job.io_size = Some(Bytes(2 * 16 * K * self.pairs(ms)));
            job.runtime = Some(LONG);
            Self::asked(Trait::Deferred, "", ms, job)
        };
        [0, 10, 160, 500].map(ask).into()
    }

    /// Returns the number of write-read pairs that fit into a few trials.
    fn pairs(&self, pause_ms: u64) -> u64 {
        let trial_ms = self.trial.0 / 1_000_000;
        (trial_ms.saturating_mul(4))
            .checked_div(pause_ms)
            .map_or(100, |pairs| pairs.clamp(8, 50))
    }

    /// Returns random writes without a pause, and in bursts with pauses. The ramp uses up the
    /// reserve of earlier idle time.
    fn recovery(&self) -> Vec<TraitJob> {
        const PAUSES: u64 = 6;
        let ask = |ms: u64| {
            let mut job = self.job("", Rw::RandWrite, 4 * K, VERY_NEAR);
            job.pause = (ms > 0).then_some(Pause {
                after: BURST,
                time: Nanos::millis(ms),
            });
            job.ramp_time = TIRING;
            job.runtime = Some(Nanos(self.trial.0 + Nanos::millis(ms * PAUSES).0));
            Self::asked(Trait::Recovery, "", ms, job)
        };
        [0, 50, 200, 1000].map(ask).into()
    }

    /// Returns random reads at several queue depths.
    fn queue(&self) -> Vec<TraitJob> {
        let Some(engine) = self.deep else {
            return Vec::new();
        };
        let ask = |depth: u32| {
            let mut job = self.job("", Rw::RandRead, 4 * K, NEAR);
            job.ioengine = engine;
            job.iodepth = depth;
            Self::asked(Trait::Queue, "", depth.into(), job)
        };
        [1, 2, 4, 8, 16, 32].map(ask).into()
    }
}
