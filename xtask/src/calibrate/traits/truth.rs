//! Whether a finding is what the card has.

use assay_flash::part::Part;
use assay_flash::policy::Policy;
use assay_flash::traits::{Finding, Trait};
use assay_model::units::Bytes;

/// How a finding relates to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A statement that is right, or nothing where nothing is.
    Right,
    /// Nothing was seen, or not all, of what is there.
    Missed,
    /// A statement that is wrong.
    False,
}

/// A card under judgement.
pub struct Card<'a> {
    pub part: &'a Part,
    pub policy: Policy,
}

impl Card<'_> {
    /// The mark of a finding. `predicts`: the relative error of the costs at a size that was not
    /// used, as it was simulated beside.
    pub fn mark(
        &self,
        what: Trait,
        found: &Finding,
        predicts: impl Fn(Trait) -> Option<f64>,
    ) -> Mark {
        let there = self.has(what);
        match found {
            Finding::NotVisible(_) if there => Mark::Missed,
            Finding::NotVisible(_) => Mark::Right,
            _ if !there && self.may_show(what) => Mark::Right,
            Finding::Costs { .. } => {
                if predicts(what).is_some_and(|error| error <= 0.1) {
                    Mark::Right
                } else {
                    Mark::False
                }
            }
            Finding::Boundaries(found) => self.boundaries(found),
            _ if !there => Mark::False,
            _ if self.agrees(found) => Mark::Right,
            _ => Mark::False,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.policy, Policy::Open { .. })
    }

    /// Whether the card has that trait, where it can be seen.
    fn has(&self, what: Trait) -> bool {
        let part = self.part;
        let flash = part.flash.as_ref();
        match what {
            Trait::ReadCosts => true,
            Trait::Boundaries => {
                part.map.is_some() || flash.is_some_and(|f| f.page_us > 0.0 || f.unit_us > 0.0)
            }
            Trait::MapUnit => flash.is_some_and(|f| f.rmw_us > 0.0),
            Trait::OpenUnits => flash.is_some_and(|f| f.close_us > 0.0),
            Trait::MapSpan => part.map.as_ref().is_some_and(|map| {
                u64::from(map.regions) * map.region_kib * 4 <= part.size_gib << 20
            }),
            Trait::Flush => {
                part.cache.is_some() || matches!(self.policy, Policy::Open { waits: true, .. })
            }
            Trait::Slc => self
                .cliff_seconds()
                .is_some_and(|at| (2.0..45.0).contains(&at)),
            Trait::Break => self.is_open(),
            Trait::Deferred => self.deferred_us() > 0.1 * self.read_us(),
            Trait::Recovery => self.has_reclaim() && !self.has_backlog(8.0),
            Trait::Queue => self.policy == Policy::Queued && part.units > 1,
        }
    }

    /// When a long write of 128 KiB has filled the fast area, if it does.
    fn cliff_seconds(&self) -> Option<f64> {
        let (part, slc) = (self.part, self.part.slc.as_ref()?);
        let drain = part.cache.as_ref().map_or(0.0, |cache| cache.drain_us);
        let block_us = (self.write_us(256.0) / 256.0).max(drain);
        let left = slc.fold_us - block_us;
        let blocks = slc.size_kib as f64 * 2.0 * slc.fold_us / left;
        (left > 0.25 * block_us).then(|| blocks * block_us / 1e6)
    }

    /// Microseconds of a write of so many blocks, apart from caches and areas.
    fn write_us(&self, blocks: f64) -> f64 {
        let (read, write) = (&self.part.read, &self.part.write);
        let ramp = write.ramp_us * blocks.min(write.ramp_blocks as f64);
        let program = match self.part.cache {
            Some(_) => 0.0,
            None => write.program_us + ramp,
        };
        match self.is_open() {
            true => write.block_us * blocks,
            false => read.command_us + write.block_us * blocks + program,
        }
    }

    /// Whether something like it may be seen, though it need not be: it is at the edge.
    fn may_show(&self, what: Trait) -> bool {
        match what {
            Trait::Recovery => {
                self.part.gc.is_some() || self.part.cache.is_some() || self.is_open()
            }
            Trait::Slc => self.cliff_seconds().is_some(),
            Trait::Deferred => self.is_open(),
            _ => false,
        }
    }

    /// A random read of 16 KiB.
    fn read_us(&self) -> f64 {
        let read = &self.part.read;
        let ramp = read.ramp_us * read.ramp_blocks.min(32) as f64;
        read.command_us + ramp + read.block_us.unwrap_or(0.0) * 32.0
    }

    /// What a read behind a write of 16 KiB waits longer than one behind a read.
    fn deferred_us(&self) -> f64 {
        let (part, write) = (self.part, &self.part.write);
        let owed = match part.cache {
            Some(_) => 0.0,
            None => write.program_us + write.ramp_us * write.ramp_blocks.min(32) as f64,
        };
        match self.is_open() {
            true => write.break_us + owed - part.read.break_us,
            false => 0.0,
        }
    }

    /// Whether random writes of 4 KiB leave more work than there is time for.
    fn has_reclaim(&self) -> bool {
        let opened = self.part.read.command_us + self.part.write.break_us;
        let (write, ramp) = (&self.part.write, self.part.write.ramp_blocks.min(8) as f64);
        let programmed = match self.part.cache {
            Some(_) => 0.0,
            None => write.program_us + write.ramp_us * ramp,
        };
        let more = if self.is_open() {
            opened + programmed
        } else {
            0.0
        };
        // A larger unit of the map is covered in part.
        let flash = self.part.flash.as_ref().filter(|flash| flash.map_kib > 4);
        let merged = flash.map_or(0.0, |flash| flash.rmw_us);
        let write_us = self.write_us(8.0) + more + merged;
        self.part
            .gc
            .as_ref()
            .is_some_and(|gc| gc.block_us * 8.0 > 1.2 * write_us)
    }

    /// Whether writes of so many blocks fill a cache faster than it empties.
    fn has_backlog(&self, blocks: f64) -> bool {
        let part = self.part;
        let write_us = part.read.command_us + part.write.block_us * blocks;
        part.cache
            .as_ref()
            .is_some_and(|cache| cache.drain_us * blocks > 1.05 * write_us)
    }

    fn boundaries(&self, found: &[(Bytes, f64)]) -> Mark {
        let Some(flash) = &self.part.flash else {
            return Mark::False;
        };
        let mut truth = Vec::new();
        if flash.page_us > 0.0 {
            truth.push(Bytes::kib(flash.page_kib));
        }
        if flash.unit_us > 0.0 {
            truth.push(Bytes::kib(flash.unit_kib));
        }
        if let Some(map) = &self.part.map {
            truth.push(Bytes::kib(map.region_kib));
        }
        truth.sort();
        truth.dedup();
        let known = found.iter().all(|(unit, _)| truth.contains(unit));
        match (known, found.len() == truth.len()) {
            (true, true) => Mark::Right,
            (true, false) => Mark::Missed,
            (false, _) => Mark::False,
        }
    }

    fn agrees(&self, found: &Finding) -> bool {
        let part = self.part;
        let near = |found: f64, truth: f64, share: f64| (found / truth - 1.0).abs() <= share;
        let flash = part.flash.as_ref();
        match found {
            Finding::MapUnit { unit, .. } => flash.is_some_and(|f| *unit == Bytes::kib(f.map_kib)),
            Finding::OpenUnits { least, most, .. } => {
                flash.is_some_and(|f| (*least..=*most).contains(&f.open_units))
            }
            Finding::MapSpan { least, most, .. } => part.map.as_ref().is_some_and(|map| {
                let span = Bytes::kib(u64::from(map.regions) * map.region_kib);
                (*least..=*most).contains(&span)
            }),
            Finding::Flush { flush_us, .. } => match &part.cache {
                Some(cache) => {
                    let most = cache.flush_us + 40.0 * cache.drain_us;
                    (cache.flush_us * 0.95..=most * 1.05).contains(flush_us)
                }
                None => true,
            },
            Finding::Slc { bytes, fast, .. } => part.slc.as_ref().is_some_and(|slc| {
                let block_us = 512e6 / fast;
                let blocks = slc.size_kib as f64 * 2.0 * slc.fold_us / (slc.fold_us - block_us);
                near(bytes.0 as f64, blocks * 512.0, 0.15)
            }),
            Finding::Break { extra_us } => {
                let read = &part.read;
                let ramp = read.ramp_us * read.ramp_blocks.min(32) as f64;
                near(
                    *extra_us,
                    read.command_us + read.break_us + ramp - read.resume_us,
                    0.15,
                )
            }
            Finding::Deferred { gone_after, .. } => {
                gone_after.is_some_and(|pause| pause.0 == 160_000_000)
            }
            Finding::Recovery {
                busy_us, rested_us, ..
            } => busy_us > rested_us,
            Finding::Queue { gain, .. } => *gain <= f64::from(part.units) * 1.1,
            Finding::Costs { .. } | Finding::Boundaries(_) | Finding::NotVisible(_) => false,
        }
    }
}
