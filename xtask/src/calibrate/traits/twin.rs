//! The twin of a card: the same without any noise, and perhaps without one of its traits. It is
//! asked what really follows where the card itself lets that be guessed from few, noisy trials.

use super::trial;
use anyhow::{Context, Result};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_flash::traits::Trait;
use assay_flash::traits::ask::{BURST, Figure, TraitJob};
use assay_model::job::{FlashPattern, Flush, FlushCall, Job, Pause, Rw};
use assay_model::units::{Bytes, Nanos};
use std::path::{Path, PathBuf};

/// A long pause: more than any card has to do in the background.
const REST: Nanos = Nanos::secs(30);
/// Minimum duration of a long series of I/Os, so that the effect of the rest is used up.
const LONG: Nanos = Nanos::secs(10);
/// Duration that is enough for a uniform series of I/Os.
const SHORT: Nanos = Nanos::secs(2);

/// Noiseless twin of a card.
pub struct Twin<'a> {
    pub part: &'a DeviceModel,
    pub policy: Policy,
    /// The jobs that asked the card: a question to the twin begins with one of them.
    pub asked: &'a [TraitJob],
    /// Folder in which the twin is described.
    pub folder: &'a Path,
}

impl Twin<'_> {
    /// Microseconds of an I/O of `job` on it.
    fn us(&self, part: &DeviceModel, figure: Figure, job: &Job) -> Result<f64> {
        let part = DeviceModel {
            noise_percent: 0.0,
            ..part.clone()
        };
        let file = self.folder.join(format!("{}-twin.toml", part.name));
        std::fs::write(&file, part.to_toml())?;
        let path = PathBuf::from(format!("sim:{},policy={}", file.display(), self.policy));
        let measured = trial(job, &path, 99)?.measured;
        measured
            .and_then(|measured| figure.of(&measured))
            .with_context(|| format!("{}: the twin of {} says nothing", job.name, part.name))
    }

    /// A job that asked about a trait.
    fn job(&self, what: Trait) -> Result<Job> {
        let asked = self.asked.iter().find(|one| one.what == what);
        let asked = asked.with_context(|| format!("{} was not asked", what.name()))?;
        Ok(asked.job.clone())
    }

    /// A read of so many KiB that lies in as few pages as it can.
    pub fn read_us(&self, kib: u64) -> Result<f64> {
        let job = Job {
            bs: Bytes::kib(kib),
            offset: Bytes::kib(kib / 2),
            pattern: Some(FlashPattern::Across {
                unit: Bytes::kib(256),
            }),
            ..self.job(Trait::ReadCosts)?
        };
        self.us(self.part, Figure::TypicalRead, &job)
    }

    /// A flush behind so many writes of 16 KiB, for as long as the card was asked: what it
    /// has written until then, and has to tidy up, changes what a flush takes.
    pub fn flush_us(&self, writes: u32) -> Result<f64> {
        let asked = self.job(Trait::Flush)?;
        let job = Job {
            flush: Flush {
                every: Some((writes, FlushCall::Fdatasync)),
                at_end: None,
            },
            ..asked
        };
        self.us(self.part, Figure::Flush, &job)
    }

    /// A random write among others without a pause, and in a burst behind a long one.
    pub fn random_writes_us(&self) -> Result<(f64, f64)> {
        let asked = self.job(Trait::Recovery)?;
        let busy = Job {
            pause: None,
            ramp_time: LONG,
            runtime: Some(SHORT),
            ..asked.clone()
        };
        // The first burst is not rested, and not measured.
        let rested = Job {
            pause: Some(Pause {
                after: BURST,
                time: REST,
            }),
            ramp_time: Nanos(REST.0 / 2),
            runtime: Some(Nanos(100 * REST.0)),
            ..asked
        };
        let us = |job| self.us(self.part, Figure::Write, job);
        Ok((us(&busy)?, us(&rested)?))
    }

    /// A block of a sequential write that goes on, if the card had no fast area.
    pub fn plain_block_us(&self) -> Result<f64> {
        let part = DeviceModel {
            slc: None,
            ..self.part.clone()
        };
        // Once over the region: an open transfer would be ended between two rounds.
        let job = Job {
            time_based: false,
            ..self.job(Trait::Slc)?
        };
        let blocks = job.bs.0 as f64 / 512.0;
        let us = self.us(&part, Figure::Write, &job)?;
        Ok(us / blocks)
    }

    /// The time of a read, with so many in flight.
    pub fn deep_read_us(&self, depth: u32) -> Result<f64> {
        let job = Job {
            iodepth: depth,
            ..self.job(Trait::Queue)?
        };
        self.us(self.part, Figure::PerRead, &job)
    }

    /// A random read of 16 KiB among such reads, among writes before each, and in order.
    pub fn reads_of_16_kib_us(&self) -> Result<Reads> {
        let near = self.job(Trait::Break)?;
        let of = |rw| Job { rw, ..near.clone() };
        let behind_writes = Job {
            pattern: Some(FlashPattern::ReadThenWrite),
            ..of(Rw::RandRw)
        };
        let us = |job: &Job| self.us(self.part, Figure::Read, job);
        Ok(Reads {
            random: us(&of(Rw::RandRead))?,
            behind_writes: us(&behind_writes)?,
            in_order: us(&of(Rw::Read))?,
        })
    }
}

/// Microseconds of reads.
pub struct Reads {
    pub random: f64,
    pub behind_writes: f64,
    pub in_order: f64,
}
