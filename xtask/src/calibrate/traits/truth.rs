//! Check of a finding against the card's true traits.
//!
//! It answers two separate questions. Must the trait be seen? Only if its effect is large against
//! the noise of the drawn cards, at least a tenth of an I/O, and within the measured range. Is the
//! finding right? Every statement is checked: it must match the card's parameters, or the behaviour
//! of its noiseless twin in a case that was not measured.

use super::twin::{Reads, Twin};
use anyhow::Result;
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_flash::traits::{Trait, TraitFinding};
use assay_model::units::Bytes;

/// Smallest effect that must be found, as a share of an I/O.
const LARGE: f64 = 0.1;
/// Tolerance for costs and levels, relative to the truth.
const NEAR: f64 = 0.1;
/// Tolerance for the difference of two levels or the length of one, relative to the truth.
const ROUGHLY: f64 = 0.15;
/// Tolerance for any difference, as a share of an I/O: half of the smallest that is reported.
const SLIGHT: f64 = 0.015;
/// Range of seconds until a long write fills the fast area, for which both levels are measured.
const CLIFF_SECONDS: std::ops::Range<f64> = 2.0..45.0;
/// Minimum slowdown factor of a cliff.
const CLIFF: f64 = 1.25;

/// Relation of a finding to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingMark {
    /// The statement is right, or no statement is made and none is required.
    Right,
    /// The finding lacks all or part of a trait that must be found.
    Missed,
    /// The statement is wrong.
    False,
}

/// Card with its twin, for the check of its findings.
pub struct Card<'a> {
    pub part: &'a DeviceModel,
    pub policy: Policy,
    pub twin: Twin<'a>,
}

impl Card<'_> {
    /// Returns the mark of a finding.
    pub fn mark(&self, what: Trait, found: &TraitFinding) -> Result<FindingMark> {
        Ok(match found {
            TraitFinding::NotVisible(_) if self.is_visible(what)? => FindingMark::Missed,
            TraitFinding::NotVisible(_) => FindingMark::Right,
            TraitFinding::Boundaries(found) => self.boundaries(found),
            _ if self.agrees(found)? => FindingMark::Right,
            _ => FindingMark::False,
        })
    }

    fn is_open(&self) -> bool {
        matches!(self.policy, Policy::Open { .. })
    }

    /// Returns true if the card has that trait strongly enough that it must be seen.
    fn is_visible(&self, what: Trait) -> Result<bool> {
        let part = self.part;
        let flash = part.flash.as_ref();
        Ok(match what {
            Trait::ReadCosts => true,
            Trait::Boundaries => !self.true_boundaries().is_empty(),
            Trait::MapUnit => flash.is_some_and(|f| f.rmw_us > 0.0),
            Trait::OpenUnits => flash.is_some_and(|f| f.close_us > 0.0),
            // Both ends must lie within the measured range.
            Trait::MapSpan => self
                .span()
                .is_some_and(|span| span.0 * 4 <= part.size_gib << 30),
            Trait::Flush => {
                part.cache.is_some() || matches!(self.policy, Policy::Open { waits: true, .. })
            }
            Trait::Slc => self.cliff()?.is_some_and(|cliff| {
                CLIFF_SECONDS.contains(&cliff.seconds()) && cliff.slow_us > CLIFF * cliff.fast_us
            }),
            Trait::Break => self.is_open(),
            Trait::Deferred => {
                self.is_open() && {
                    let reads = self.twin.reads_of_16_kib_us()?;
                    reads.behind_writes > (1.0 + LARGE) * reads.random
                }
            }
            Trait::Recovery => {
                let (busy, rested) = self.twin.random_writes_us()?;
                busy > (1.0 + LARGE) * rested
            }
            Trait::Queue => self.policy == Policy::Queued && part.units > 1,
        })
    }

    /// Returns the boundaries that affect reads.
    fn true_boundaries(&self) -> Vec<Bytes> {
        let mut all = Vec::new();
        if let Some(flash) = &self.part.flash {
            if flash.page_us > 0.0 {
                all.push(Bytes::kib(flash.page_kib));
            }
            if flash.unit_us > 0.0 {
                all.push(Bytes::kib(flash.unit_kib));
            }
        }
        all.extend(self.part.map.iter().map(|map| Bytes::kib(map.region_kib)));
        all.sort();
        all.dedup();
        all
    }

    fn boundaries(&self, found: &[(Bytes, f64)]) -> FindingMark {
        let truth = self.true_boundaries();
        let known = found.iter().all(|(unit, _)| truth.contains(unit));
        match (known, found.len() == truth.len()) {
            (true, true) => FindingMark::Right,
            (true, false) => FindingMark::Missed,
            (false, _) => FindingMark::False,
        }
    }

    /// Returns the span that the address map in memory covers.
    fn span(&self) -> Option<Bytes> {
        let map = self.part.map.as_ref()?;
        Some(Bytes::kib(u64::from(map.regions) * map.region_kib))
    }

    /// Returns the amount after which a sustained write becomes slow, if it does: the area fills at
    /// the rate of incoming data and empties at the rate of folding.
    fn cliff(&self) -> Result<Option<Cliff>> {
        let Some(slc) = &self.part.slc else {
            return Ok(None);
        };
        let (fast_us, slow_us) = (self.twin.plain_block_us()?, slc.fold_us);
        let blocks = slc.size_kib as f64 * 2.0 * slow_us / (slow_us - fast_us);
        Ok((slow_us > fast_us).then_some(Cliff {
            blocks,
            fast_us,
            slow_us,
        }))
    }

    fn agrees(&self, found: &TraitFinding) -> Result<bool> {
        let flash = self.part.flash.as_ref();
        Ok(match found {
            TraitFinding::MapUnit { unit, .. } => {
                flash.is_some_and(|f| f.rmw_us > 0.0 && *unit == Bytes::kib(f.map_kib))
            }
            TraitFinding::OpenUnits { least, most, .. } => {
                flash.is_some_and(|f| f.close_us > 0.0 && (*least..=*most).contains(&f.open_units))
            }
            TraitFinding::MapSpan { least, most, .. } => self
                .span()
                .is_some_and(|span| (*least..=*most).contains(&span)),
            TraitFinding::Costs { .. } => self.predicts_reads(found)?,
            TraitFinding::Flush { flush_us, buffer } => {
                self.predicts_flushes(*flush_us, *buffer)?
            }
            TraitFinding::Slc { bytes, fast, slow } => self.cliff()?.is_some_and(|cliff| {
                near(bytes.0 as f64, cliff.blocks * 512.0, ROUGHLY)
                    && near(512e6 / fast, cliff.fast_us, NEAR)
                    && near(512e6 / slow, cliff.slow_us, NEAR)
            }),
            TraitFinding::Break { .. } | TraitFinding::Deferred { .. } => {
                self.is_open() && self.agrees_on_reads(found)?
            }
            TraitFinding::Recovery {
                busy_us, rested_us, ..
            } => {
                let (busy, rested) = self.twin.random_writes_us()?;
                near(*busy_us, busy, NEAR) && near(*rested_us, rested, NEAR) && busy > rested
            }
            TraitFinding::Queue { gain, depth } => {
                let (alone, deep) = (self.twin.deep_read_us(1)?, self.twin.deep_read_us(*depth)?);
                near(*gain, alone / deep, NEAR)
            }
            TraitFinding::Boundaries(_) | TraitFinding::NotVisible(_) => false,
        })
    }

    fn agrees_on_reads(&self, found: &TraitFinding) -> Result<bool> {
        let Reads {
            random,
            behind_writes,
            in_order,
        } = self.twin.reads_of_16_kib_us()?;
        Ok(match found {
            TraitFinding::Break { extra_us } => differs(*extra_us, random - in_order, in_order),
            // The host ends the transfer during a pause of 160 ms, the first that is long enough.
            TraitFinding::Deferred {
                extra_us,
                gone_after,
            } => {
                differs(*extra_us, behind_writes - random, random)
                    && gone_after.is_some_and(|pause| pause.0 == 160_000_000)
            }
            _ => false,
        })
    }

    /// Returns true if the finding predicts reads of sizes that were not measured.
    fn predicts_reads(&self, found: &TraitFinding) -> Result<bool> {
        let TraitFinding::Costs {
            command_us,
            block_us,
            ramp,
            ..
        } = found
        else {
            return Ok(false);
        };
        for kib in [24_u64, 96, 192] {
            let blocks = (kib * 2) as f64;
            let ramped = ramp.map_or(0.0, |(us, most)| us * blocks.min(most as f64));
            let told = command_us.0 + block_us.0 * blocks + ramped;
            if !near(told, self.twin.read_us(kib)?, NEAR) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if the finding predicts bursts that were not measured, below the size of the
    /// buffer and above.
    fn predicts_flushes(
        &self,
        flush_us: f64,
        buffer: Option<(f64, Bytes, Option<Bytes>)>,
    ) -> Result<bool> {
        for writes in [3_u32, 6, 12, 24, 48, 96, 192] {
            let kib = f64::from(writes) * 16.0;
            let told = match buffer {
                None => flush_us,
                Some((each, least, _)) if kib <= kib_of(least) => flush_us + each * kib,
                // Between the two sizes, the finding states no cost.
                Some(_) => continue,
            };
            if !near(told, self.twin.flush_us(writes)?, NEAR) {
                return Ok(false);
            }
        }
        let Some((_, _, Some(most))) = buffer else {
            return Ok(true);
        };
        let writes = u32::try_from(most.0 / Bytes::kib(16).0)?;
        let (full, more) = (
            self.twin.flush_us(writes)?,
            self.twin.flush_us(writes + writes / 2)?,
        );
        Ok(near(more, full, NEAR))
    }
}

fn kib_of(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1024.0
}

/// Compares differences of two levels, each known to a few thousandths of `base`.
fn differs(found: f64, truth: f64, base: f64) -> bool {
    near(found, truth, ROUGHLY) || (found - truth).abs() <= SLIGHT * base
}

fn near(found: f64, truth: f64, share: f64) -> bool {
    (found / truth - 1.0).abs() <= share
}

/// Point at which the fast area is full.
struct Cliff {
    blocks: f64,
    fast_us: f64,
    slow_us: f64,
}

impl Cliff {
    /// Time from the start of the write to the cliff.
    fn seconds(&self) -> f64 {
        self.blocks * self.fast_us / 1e6
    }
}
