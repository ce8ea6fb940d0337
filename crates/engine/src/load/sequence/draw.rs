//! Independent random block numbers, which may repeat.

use super::skewed::Skewed;
use crate::error::EngineError;
use crate::extra::Loads;
use assay_model::load::blocks::Distribution;
use assay_model::rng::SplitMix64;

/// Draws block numbers for one file and direction.
#[derive(Clone, Debug)]
pub(super) enum Draw {
    Uniform,
    Skewed(Skewed, Loads),
    Zones(Vec<Zone>, Loads),
}

/// A part of the region and its share of the I/Os.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    /// Share of the I/Os, in percent.
    share: u32,
    /// Number of the first block.
    first: u64,
    blocks: u64,
}

impl Draw {
    /// Creates a draw by `distribution` for `blocks` blocks that start every
    /// `align` bytes. `seed` determines the order of frequencies over the
    /// blocks.
    ///
    /// # Errors
    /// If zones exceed the region; the message names `job`.
    pub(super) fn new(
        distribution: &Distribution,
        blocks: u64,
        align: u32,
        seed: u64,
        job: &str,
    ) -> Result<Self, EngineError> {
        let Some(loads) = Loads::here() else {
            return Ok(Self::Uniform);
        };
        let skewed = |skewed| Self::Skewed(skewed, loads);
        let zoned = |zones: Option<Vec<Zone>>| match zones {
            Some(zones) => Ok(Self::Zones(zones, loads)),
            None => Err(exceeding(job)),
        };
        Ok(match distribution {
            Distribution::Uniform => Self::Uniform,
            Distribution::Zipf { theta, center } => {
                skewed(Skewed::zipf(blocks, *theta).scattered(*center, seed))
            }
            Distribution::Pareto { power, center } => {
                skewed(Skewed::pareto(blocks, *power).scattered(*center, seed))
            }
            Distribution::Normal { deviation, center } => {
                skewed(Skewed::normal(blocks, *deviation, *center))
            }
            Distribution::Zoned(zones) => {
                let ends = running_ends(zones.iter().map(|&(io, size)| (io, u64::from(size))));
                let part = |percent: u64| blocks / 100 * percent + blocks % 100 * percent / 100;
                zoned(zones_between(
                    ends.map(|(io, percent)| (io, part(percent))),
                    blocks,
                ))?
            }
            Distribution::ZonedAbsolute(zones) => {
                let ends = running_ends(zones.iter().copied());
                let ends = ends.map(|(io, end)| (io, end / u64::from(align)));
                zoned(zones_between(ends, blocks))?
            }
        })
    }

    /// Returns the next number, below `blocks`.
    pub(super) fn number(&self, rng: &mut SplitMix64, blocks: u64) -> u64 {
        match self {
            Self::Uniform => rng.below(blocks),
            // The last window of a strided region may be smaller.
            Self::Skewed(skewed, _) => skewed.draw(rng) % blocks.max(1),
            Self::Zones(zones, _) => in_zones(zones, rng) % blocks.max(1),
        }
    }
}

/// Returns the shares with the ends of consecutive zones.
fn running_ends(zones: impl Iterator<Item = (u8, u64)>) -> impl Iterator<Item = (u8, u64)> {
    zones.scan(0_u64, |end, (io, size)| {
        *end = end.saturating_add(size);
        Some((io, *end))
    })
}

/// Creates zones from their ends in blocks. The remaining I/Os go to the
/// remainder of the region. `None` if the zones do not fit.
fn zones_between(ends: impl Iterator<Item = (u8, u64)>, blocks: u64) -> Option<Vec<Zone>> {
    let mut zones = Vec::new();
    let (mut first, mut shares) = (0, 0);
    for (share, end) in ends {
        if end > blocks {
            return None;
        }
        let share = u32::from(share);
        // A zone smaller than a block is the block in which it lies.
        zones.push(Zone {
            share,
            first: first.min(blocks.saturating_sub(1)),
            blocks: (end - first).max(1),
        });
        (first, shares) = (end, shares + share);
    }
    if shares < 100 {
        let rest = if first < blocks { first } else { 0 };
        zones.push(Zone {
            share: 100 - shares,
            first: rest,
            blocks: blocks - rest,
        });
    }
    Some(zones)
}

fn in_zones(zones: &[Zone], rng: &mut SplitMix64) -> u64 {
    let mut at = rng.below(100);
    for zone in zones {
        match at.checked_sub(u64::from(zone.share)) {
            Some(left) => at = left,
            None => return zone.first + rng.below(zone.blocks),
        }
    }
    0
}

fn exceeding(job: &str) -> EngineError {
    EngineError::Job {
        job: job.to_owned(),
        problem: "the zones of random_distribution exceed the region: make them smaller or the file larger".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(distribution: &Distribution, bounds: &[u64]) -> Vec<u64> {
        let draw = Draw::new(distribution, 1000, 4096, 1, "t").unwrap();
        let mut rng = SplitMix64::new(4);
        let mut counts = vec![0; bounds.len()];
        for _ in 0..100_000 {
            let number = draw.number(&mut rng, 1000);
            let zone = bounds.iter().position(|&end| number < end).unwrap();
            counts[zone] += 1;
        }
        counts
    }

    #[test]
    fn zones_get_their_shares() {
        let percent = Distribution::Zoned(vec![(60, 10), (30, 20), (8, 30), (2, 40)]);
        let absolute =
            Distribution::ZonedAbsolute(vec![(60, 100 * 4096), (30, 200 * 4096), (8, 300 * 4096)]);
        for distribution in [percent, absolute] {
            let counts = shares(&distribution, &[100, 300, 600, 1000]);
            for (count, percent) in counts.iter().zip([60, 30, 8, 2]) {
                // The largest standard deviation is 155.
                assert!(count.abs_diff(percent * 1000) < 700, "{counts:?}");
            }
        }
    }

    #[test]
    fn zones_beyond_the_region_are_refused() {
        for distribution in [
            Distribution::Zoned(vec![(50, 60), (50, 60)]),
            Distribution::ZonedAbsolute(vec![(100, 1001 * 4096)]),
        ] {
            let error = Draw::new(&distribution, 1000, 4096, 1, "t").unwrap_err();
            assert!(error.to_string().contains("exceed"), "{error}");
        }
    }
}
