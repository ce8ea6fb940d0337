//! Parameters of a card, its bus and its host, and the built-in parts.
//!
//! The model of a request of *n* blocks of 512 bytes (reference in docs/model.md):
//!
//! - read: `command + ramp * min(n, ramp_blocks) + block * n`; if it continues an open transfer:
//!   `resume + block * n`;
//! - write: the read's `command`, `block * n` on the bus, and then
//!   `program + ramp * min(n, ramp_blocks)` in the card, which is waited for in a closed
//!   transfer and deferred in an open one;
//! - ending an open transfer: `break`, and the deferred programming.
//!
//! To add a built-in part: add a file in `parts` that names the source of its figures, and a line
//! here.

use crate::{BLOCK_BYTES, FlashError, Picos};
use assay_model::device;
use assay_model::storage::DeviceKind;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Parameters of a card, its bus and its host; times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceModel {
    /// Name of the part.
    pub name: String,
    /// Description of the part.
    pub about: String,
    /// Source of the figures.
    pub source: String,
    /// Firmware revision, as a device would report it.
    pub firmware: Option<String>,
    /// Capacity; 8 GiB by default.
    #[serde(default = "usual_gib")]
    pub size_gib: u64,
    /// Variation of the times of commands, flushes and background work, uniform to both sides,
    /// in percent. All times of a trial together vary by a fifth of that.
    #[serde(default)]
    pub noise_percent: f64,
    /// Mode of the bus, as in [`find_ceiling`](device::find_ceiling).
    pub bus: String,
    /// Largest request of the host.
    pub max_request_kib: u64,
    /// Time without a request after which an open transfer is ended.
    pub timer_ms: u64,
    /// Time of CMD23; `None` for a host without it.
    pub set_count_us: Option<f64>,
    /// Depth of the card's queue; without a queue, the card takes one request at a time.
    pub queue_depth: Option<u32>,
    /// Number of queued requests that the card processes in parallel.
    #[serde(default = "one")]
    pub units: u32,
    /// Costs of reads.
    pub read: ReadCosts,
    /// Costs of writes.
    pub write: WriteCosts,
    /// Volatile write cache.
    pub cache: Option<Cache>,
    /// Address map in flash, which is loaded by regions.
    pub map: Option<Map>,
    /// Garbage collection after random writes.
    pub gc: Option<Gc>,
    /// Area of the flash that is written fast and emptied later.
    pub slc: Option<Slc>,
    /// Layout of the flash.
    pub flash: Option<Flash>,
}

const fn usual_gib() -> u64 {
    8
}

const fn one() -> u32 {
    1
}

/// Costs of reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCosts {
    /// Time to open a transfer, for both directions, and to end a closed one: driver,
    /// interrupts, command, firmware.
    pub command_us: f64,
    /// Extra time of each of the first blocks, which cannot be prefetched.
    pub ramp_us: f64,
    /// Number of blocks in the ramp.
    pub ramp_blocks: u64,
    /// Time of each block on the bus; if absent, the time of the bus mode.
    pub block_us: Option<f64>,
    /// Time to end an open transfer.
    pub break_us: f64,
    /// Time to continue an open transfer.
    pub resume_us: f64,
}

/// Costs of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteCosts {
    /// Time to program the last transferred data.
    pub program_us: f64,
    /// Extra time of each of the first blocks, which are programmed without parallelism.
    pub ramp_us: f64,
    /// Number of blocks in the ramp.
    pub ramp_blocks: u64,
    /// Time of each block on the bus, including the card's handling.
    pub block_us: f64,
    /// Time to end an open transfer.
    pub break_us: f64,
}

/// A volatile cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Capacity of the cache.
    pub size_kib: u64,
    /// Time for each block that leaves the cache.
    pub drain_us: f64,
    /// Fixed time of a flush, in addition to that of the cached data.
    pub flush_us: f64,
}

/// Loading of the address map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// Data size that one region of the map covers.
    pub region_kib: u64,
    /// Number of regions in memory.
    pub regions: u32,
    /// Time to load a region.
    pub load_us: f64,
}

/// Garbage collection, which runs in the background until its reserve is used up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gc {
    /// Time for each block that does not follow the previous one.
    pub block_us: f64,
    /// Amount of writes after which garbage collection cannot be deferred.
    pub reserve_kib: u64,
}

/// A pseudo-SLC area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slc {
    /// Capacity of the pseudo-SLC area.
    pub size_kib: u64,
    /// Time for each block that is folded out of the area, in the background until the area is
    /// full.
    pub fold_us: f64,
}

/// Pages, erase units, and mapping units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Size of a page.
    pub page_kib: u64,
    /// Time for each page that is read beyond the minimum for the request's length.
    pub page_us: f64,
    /// Size of an erase unit.
    pub unit_kib: u64,
    /// Time for each erase unit that is read beyond the minimum for the request's length.
    pub unit_us: f64,
    /// Size of a mapping unit, the data to which one address refers.
    pub map_kib: u64,
    /// Time for each mapping unit that a write covers partially.
    pub rmw_us: f64,
    /// Number of erase units that can be written at the same time.
    pub open_units: u32,
    /// Time to close a unit before another is opened.
    pub close_us: f64,
}

/// Built-in parts, as TOML.
const KNOWN: [&str; 3] = [
    include_str!("../parts/rtsx-sd-pro-plus-128.toml"),
    include_str!("../parts/emmc-8gb-hs400.toml"),
    include_str!("../parts/ufs-128gb-g3x2.toml"),
];

impl DeviceModel {
    /// Parses and checks a part.
    ///
    /// # Errors
    /// The first problem of the text.
    pub fn parse(text: &str) -> Result<Self, FlashError> {
        let part: Self = toml::from_str(text)
            .map_err(|error| FlashError(format!("it is not a valid part: {}", one_line(&error))))?;
        part.check()?;
        Ok(part)
    }

    /// Returns the built-in parts.
    pub fn known() -> Vec<Self> {
        let parts = KNOWN.iter().filter_map(|text| Self::parse(text).ok());
        parts.collect()
    }

    /// Returns the names of the built-in parts, for a message.
    pub fn known_names() -> String {
        let names = Self::known().into_iter().map(|part| part.name);
        names.collect::<Vec<_>>().join(", ")
    }

    /// Returns the built-in part with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::known().into_iter().find(|part| part.name == name)
    }

    /// Returns the name of the built-in part that is most similar to a kind of device, with
    /// which fits start.
    pub const fn name_like(kind: &DeviceKind) -> &'static str {
        match kind {
            DeviceKind::Emmc => "emmc-8gb-hs400",
            DeviceKind::Ufs => "ufs-128gb-g3x2",
            _ => "rtsx-sd-pro-plus-128",
        }
    }

    /// Checks that all numbers are in their ranges.
    ///
    /// # Errors
    /// The first number out of range.
    pub fn check(&self) -> Result<(), FlashError> {
        if device::find_ceiling(&self.bus).is_none() {
            return Err(FlashError(format!(
                "no bus is called '{}': assay model limits lists them",
                self.bus
            )));
        }
        let refused = |field: &str, value: &dyn Display, range: &str| {
            Err(FlashError(format!(
                "{field} is {value}: it must be {range}"
            )))
        };
        if !(0.0..=MOST_NOISE).contains(&self.noise_percent) {
            let range = format!("from 0 to {MOST_NOISE}");
            return refused("noise_percent", &self.noise_percent, &range);
        }
        for (field, value) in self.times() {
            let least = least_us(field);
            if !(least..=MOST_US).contains(&value) {
                return refused(field, &value, &format!("from {least} to {MOST_US} µs"));
            }
        }
        for (field, value, range) in self.counts() {
            if !range.contains(&value) {
                let range = format!("from {} to {}", range.start(), range.end());
                return refused(field, &value, &range);
            }
        }
        Ok(())
    }

    fn times(&self) -> Vec<(&'static str, f64)> {
        let mut times = vec![
            ("read.command_us", self.read.command_us),
            ("read.ramp_us", self.read.ramp_us),
            ("read.break_us", self.read.break_us),
            ("read.resume_us", self.read.resume_us),
            ("write.program_us", self.write.program_us),
            ("write.ramp_us", self.write.ramp_us),
            ("write.block_us", self.write.block_us),
            ("write.break_us", self.write.break_us),
        ];
        times.extend(self.read.block_us.map(|us| ("read.block_us", us)));
        times.extend(self.set_count_us.map(|us| ("set_count_us", us)));
        if let Some(cache) = &self.cache {
            times.push(("cache.drain_us", cache.drain_us));
            times.push(("cache.flush_us", cache.flush_us));
        }
        times.extend(self.map.as_ref().map(|map| ("map.load_us", map.load_us)));
        times.extend(self.gc.as_ref().map(|gc| ("gc.block_us", gc.block_us)));
        if let Some(flash) = &self.flash {
            times.push(("flash.page_us", flash.page_us));
            times.push(("flash.unit_us", flash.unit_us));
            times.push(("flash.rmw_us", flash.rmw_us));
            times.push(("flash.close_us", flash.close_us));
        }
        times.extend(self.slc.as_ref().map(|slc| ("slc.fold_us", slc.fold_us)));
        times
    }

    /// Returns names, values and allowed ranges.
    fn counts(&self) -> Vec<(&'static str, u64, RangeInclusive<u64>)> {
        let mut counts = vec![
            ("max_request_kib", self.max_request_kib, 1..=MOST_KIB),
            ("size_gib", self.size_gib, 1..=MOST_GIB),
            ("timer_ms", self.timer_ms, 1..=MOST_MS),
            ("units", self.units.into(), 1..=MOST_AT_ONCE),
            ("read.ramp_blocks", self.read.ramp_blocks, 0..=MOST_KIB),
            ("write.ramp_blocks", self.write.ramp_blocks, 0..=MOST_KIB),
        ];
        let depth = self.queue_depth.map(u64::from);
        counts.extend(depth.map(|depth| ("queue_depth", depth, 1..=MOST_AT_ONCE)));
        if let Some(cache) = &self.cache {
            counts.push(("cache.size_kib", cache.size_kib, 0..=MOST_KIB));
        }
        if let Some(map) = &self.map {
            counts.push(("map.region_kib", map.region_kib, 1..=MOST_KIB));
            counts.push(("map.regions", map.regions.into(), 1..=MOST_REGIONS));
        }
        if let Some(gc) = &self.gc {
            counts.push(("gc.reserve_kib", gc.reserve_kib, 0..=MOST_KIB));
        }
        if let Some(flash) = &self.flash {
            counts.push(("flash.page_kib", flash.page_kib, 1..=MOST_KIB));
            counts.push(("flash.unit_kib", flash.unit_kib, 1..=MOST_KIB));
            counts.push(("flash.map_kib", flash.map_kib, 1..=MOST_KIB));
            counts.push(("flash.open_units", flash.open_units.into(), 1..=MOST_OPEN));
        }
        if let Some(slc) = &self.slc {
            counts.push(("slc.size_kib", slc.size_kib, 0..=MOST_KIB));
        }
        counts
    }

    /// Returns the part as TOML, which [`parse`](Self::parse) accepts.
    pub fn to_toml(&self) -> String {
        // Tables of numbers and text can always be serialized.
        toml::to_string(self).unwrap_or_default()
    }

    /// Returns the number of blocks of the largest request.
    pub fn max_request_blocks(&self) -> u64 {
        blocks(self.max_request_kib)
    }

    /// Returns the time of a read block on the bus.
    pub fn read_block(&self) -> Picos {
        let wire = || device::find_ceiling(&self.bus).map_or(0.0, |bus| 512e6 / bus.read);
        Picos::from_us(self.read.block_us.unwrap_or_else(wire))
    }
}

/// Returns the minimum of a time. If an I/O took no time, a job with a time limit would never
/// end. No real command or bus is faster.
fn least_us(field: &str) -> f64 {
    match field {
        "read.command_us" => 0.1,
        "read.block_us" | "write.block_us" => 0.001,
        _ => 0.0,
    }
}

/// Maximum of all times.
const MOST_US: f64 = 1e7;
/// Maximum of all sizes: 1 TiB.
const MOST_KIB: u64 = 1 << 30;
/// Maximum capacity: 1 TiB.
const MOST_GIB: u64 = 1 << 10;
/// Maximum variation. Above it, some commands would take no time.
const MOST_NOISE: f64 = 50.0;
/// Maximum of the timer.
const MOST_MS: u64 = 1_000_000;
/// Maximum queue depth; no queue of eMMC or UFS is deeper.
const MOST_AT_ONCE: u64 = 64;
/// Maximum number of open units, whose list is searched for each write.
const MOST_OPEN: u64 = 256;
/// Maximum number of regions, each of which takes memory.
const MOST_REGIONS: u64 = 1 << 16;

/// Returns the number of blocks in `kib` KiB.
pub const fn blocks(kib: u64) -> u64 {
    kib.saturating_mul(1024 / BLOCK_BYTES)
}

fn one_line(error: &toml::de::Error) -> String {
    let words: Vec<&str> = error.message().split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_known_parts_can_be_used_and_say_where_they_come_from() {
        let parts = DeviceModel::known();
        assert_eq!(parts.len(), KNOWN.len());
        for part in parts {
            assert!(
                !part.source.is_empty() && !part.about.is_empty(),
                "{}",
                part.name
            );
            assert_eq!(DeviceModel::find(&part.name), Some(part));
        }
    }

    #[test]
    fn what_is_wrong_with_a_part_is_named() {
        let good = KNOWN[0];
        for (from, to, expected) in [
            ("break_us = 138.9", "break_us = -1", "read.break_us is -1"),
            ("break_us = 138.9", "break_us = nan", "read.break_us is NaN"),
            (
                "max_request_kib = 512",
                "max_request_kib = 0",
                "max_request_kib is 0",
            ),
            (
                "[write]",
                "block_us = 0\n[write]",
                "read.block_us is 0: it must be from 0.001",
            ),
            ("sdr104", "sdr105", "no bus is called 'sdr105'"),
            ("timer_ms", "timers_ms", "unknown field `timers_ms`"),
            ("[write]", "[wri", "it is not a valid part"),
        ] {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good, "{from}");
            let error = DeviceModel::parse(&text).expect_err(to).to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
