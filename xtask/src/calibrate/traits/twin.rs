//! Noiseless twin of a card, possibly without one of its traits. It gives the true figures,
//! which few noisy trials on the card can only estimate.

use super::trial;
use anyhow::{Context, Result};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_flash::traits::Trait;
use assay_flash::traits::ask::{BURST, Figure, TraitJob};
use assay_model::job::{FlashPattern, Flush, FlushCall, Job, Pause, Rw};
use assay_model::units::{Bytes, Nanos};
use std::path::{Path, PathBuf};

/// Pause that is longer than any background work of a card.
const REST: Nanos = Nanos::secs(30);
/// Minimum duration of a long series of I/Os, which uses up the effect of a rest.
const LONG: Nanos = Nanos::secs(10);
/// Duration that is enough for a uniform series of I/Os.
const SHORT: Nanos = Nanos::secs(2);

/// Noiseless twin of a card.
pub struct Twin<'a> {
    pub part: &'a DeviceModel,
    pub policy: Policy,
    /// Jobs that measured the card; those for the twin are derived from them.
    pub asked: &'a [TraitJob],
    /// Folder for the file that describes the twin.
    pub folder: &'a Path,
}

impl Twin<'_> {
    /// Runs `job` on the twin and returns the time of an I/O, in microseconds.
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

    /// Returns the job that measured a trait.
    fn job(&self, what: Trait) -> Result<Job> {
        let asked = self.asked.iter().find(|one| one.what == what);
        let asked = asked.with_context(|| format!("{} was not asked", what.name()))?;
        Ok(asked.job.clone())
    }

    /// Time of a read of `kib` KiB that touches as few pages as possible.
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

    /// Time of a flush after each `writes` writes of 16 KiB. Runs as long as the job on the
    /// card, because the amount written so far and its garbage collection affect the time of a
    /// flush.
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

    /// Times of a random write: within a busy stream, and in a burst after a long pause.
    pub fn random_writes_us(&self) -> Result<(f64, f64)> {
        let asked = self.job(Trait::Recovery)?;
        let busy = Job {
            pause: None,
            ramp_time: LONG,
            runtime: Some(SHORT),
            ..asked.clone()
        };
        // The first burst follows no pause, so it is not measured.
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

    /// Time per block of a sequential write without a fast area.
    pub fn plain_block_us(&self) -> Result<f64> {
        let part = DeviceModel {
            slc: None,
            ..self.part.clone()
        };
        // Once over the region: the host would end an open transfer between two passes.
        let job = Job {
            time_based: false,
            ..self.job(Trait::Slc)?
        };
        let blocks = job.bs.0 as f64 / 512.0;
        let us = self.us(&part, Figure::Write, &job)?;
        Ok(us / blocks)
    }

    /// Time of a read with `depth` reads in flight.
    pub fn deep_read_us(&self, depth: u32) -> Result<f64> {
        let job = Job {
            iodepth: depth,
            ..self.job(Trait::Queue)?
        };
        self.us(self.part, Figure::PerRead, &job)
    }

    /// Times of a 16 KiB read: random among reads, after a write each, and sequential.
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

/// Times of reads, in microseconds.
pub struct Reads {
    pub random: f64,
    pub behind_writes: f64,
    pub in_order: f64,
}
