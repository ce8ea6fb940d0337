//! Random orders that need no map in memory, and random numbers with different frequencies.

use crate::EngineError;
use crate::extra::Loads;
use assay_model::load::blocks::Distribution;
use assay_model::rng::SplitMix64;
use assay_model::units::as_u64;

/// Rounds of the mixer. With four, some seeds still prefer small steps; from
/// five on the steps are spread as in a fair shuffle (tested below).
const ROUNDS: usize = 5;

/// A random permutation of `0..len` that needs no memory: block `i` of a pass
/// is computed from `i`. Every number occurs exactly once, for any `len`.
///
/// It is a bijective mixer on the next power of two (multiplication by odd
/// numbers, addition and xor-shift modulo 2^k are all invertible); results
/// outside `0..len` are fed back until they fall inside ("cycle walking",
/// Black and Rogaway 2002), on average less than once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    factors: [u64; ROUNDS],
    addends: [u64; ROUNDS],
}

impl Permutation {
    /// Creates the permutation of `0..len` for `seed`.
    pub(crate) fn new(len: u64, seed: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        let mut rng = SplitMix64::new(seed);
        Self {
            len,
            mask,
            shift: bits.div_ceil(2).max(1),
            factors: std::array::from_fn(|_| rng.next_u64() | 1),
            addends: std::array::from_fn(|_| rng.next_u64()),
        }
    }

    /// Returns the number of ordered values.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number at position `index`, which must be below `len`.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.len);
        let mut x = self.mix(index);
        while x >= self.len {
            x = self.mix(x);
        }
        x
    }

    /// Replaces the first `count` of `numbers` by the numbers at these
    /// positions. Results outside the range are collected without a branch,
    /// which the processor could not predict, and mixed again together.
    #[inline]
    fn all_at(&self, numbers: &mut [u64; Ahead::BATCH], count: usize) {
        let mut outside: [usize; Ahead::BATCH] = std::array::from_fn(|place| place);
        let mut left = count;
        while left > 0 {
            let mut still = 0;
            for at in 0..left {
                let place = outside[at];
                let x = self.mix(numbers[place]);
                numbers[place] = x;
                outside[still] = place;
                still += usize::from(x >= self.len);
            }
            left = still;
        }
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for (factor, addend) in self.factors.iter().zip(&self.addends) {
            x = x.wrapping_mul(*factor).wrapping_add(*addend) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

/// Block numbers computed in batches. One number is a chain of dependent
/// multiplications; the processor overlaps those of a batch, which makes each
/// number about four times cheaper.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    order: Permutation,
    numbers: [u64; Self::BATCH],
    /// Next position in `numbers`; `BATCH` when a new batch is needed.
    next: usize,
    computed: u64,
}

impl Ahead {
    const BATCH: usize = 64;

    /// Creates a source of the numbers of `order`, from its first position.
    pub(crate) fn new(order: Permutation) -> Self {
        Self {
            order,
            numbers: [0; Self::BATCH],
            next: Self::BATCH,
            computed: 0,
        }
    }

    /// Returns the next number. The caller counts the positions of a pass.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        if self.next >= Self::BATCH {
            self.compute();
        }
        let number = self.numbers[self.next];
        self.next += 1;
        number
    }

    #[inline(never)]
    fn compute(&mut self) {
        let places = self.computed..self.order.len();
        let mut batch = 0;
        for (number, place) in self.numbers.iter_mut().zip(places) {
            *number = place;
            batch += 1;
        }
        self.order.all_at(&mut self.numbers, batch);
        self.computed += batch as u64;
        self.next = 0;
    }
}

/// Draws numbers below a bound by some distribution.
#[derive(Clone, Debug)]
pub(super) struct Skewed {
    law: Law,
    bound: u64,
    /// Mapping of frequency ranks to numbers; `None` if the rank is the number,
    /// or the distribution has no ranks.
    scatter: Option<Scatter>,
}

/// Distributes ranks over the numbers, so that frequent numbers are not
/// adjacent. It is a permutation, so that no two ranks share a number.
#[derive(Clone, Copy, Debug)]
struct Scatter {
    order: Permutation,
    /// Offset that moves the most frequent number to the requested position.
    shift: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Zipf(Zipf),
    /// Rank = bound * uniform ^ exponent.
    Pareto {
        exponent: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl Skewed {
    /// Creates Zipf's distribution: rank k is drawn in proportion to
    /// k^-`theta`.
    pub(super) fn zipf(bound: u64, theta: f64) -> Self {
        Self::of(Law::Zipf(Zipf::new(bound, theta)), bound)
    }

    /// Creates the self-similar distribution (fio's pareto): at power h, the
    /// most frequent share of h gets 1 - h of all draws, and recursively within
    /// it (Gray et al., "Quickly generating billion-record synthetic
    /// databases", 1994).
    pub(super) fn pareto(bound: u64, power: f64) -> Self {
        let power = power.clamp(1e-9, 1.0 - 1e-9);
        let exponent = power.ln() / (1.0 - power).ln();
        Self::of(Law::Pareto { exponent }, bound)
    }

    /// Creates the normal distribution, with a deviation in percent of the
    /// bound, around `center` (0 to 1 of the bound). Numbers outside the bound
    /// are drawn again.
    pub(super) fn normal(bound: u64, deviation_percent: f64, center: Option<f64>) -> Self {
        let law = Law::Normal {
            mean: bound as f64 * center.unwrap_or(0.5).clamp(0.0, 1.0),
            deviation: bound as f64 * deviation_percent.clamp(0.0, 100.0) / 100.0,
        };
        Self::of(law, bound)
    }

    fn of(law: Law, bound: u64) -> Self {
        Self {
            law,
            bound: bound.max(1),
            scatter: None,
        }
    }

    /// Distributes the ranks over the numbers in an order that `seed`
    /// determines. The most frequent number is at `center` (0 to 1 of the
    /// bound), if given. Not for the normal distribution, which has no ranks.
    pub(super) fn scattered(mut self, center: Option<f64>, seed: u64) -> Self {
        let order = Permutation::new(self.bound, seed);
        let shift = center.map_or(0, |center| {
            let wanted = share(self.bound, center).min(self.bound - 1);
            (wanted + self.bound - order.at(0)) % self.bound
        });
        self.scatter = Some(Scatter { order, shift });
        self
    }

    /// Returns the next number.
    pub(super) fn draw(&self, rng: &mut SplitMix64) -> u64 {
        let number = match &self.law {
            Law::Zipf(zipf) => zipf.rank(rng),
            Law::Pareto { exponent } => share(self.bound, rng.fraction().powf(*exponent)),
            Law::Normal { mean, deviation } => normal(self.bound, *mean, *deviation, rng),
        }
        .min(self.bound - 1);
        match &self.scatter {
            Some(scatter) => (scatter.order.at(number) + scatter.shift) % self.bound,
            None => number,
        }
    }
}

/// Returns a share of `bound`, rounded down.
fn share(bound: u64, share: f64) -> u64 {
    as_u64(bound as f64 * share.clamp(0.0, 1.0))
}

/// Draws a normal number in `0..bound` (Box and Muller 1958). For any mean
/// within the bound and any deviation up to the bound, at least a third of the
/// draws is inside.
fn normal(bound: u64, mean: f64, deviation: f64, rng: &mut SplitMix64) -> u64 {
    if deviation == 0.0 {
        return as_u64(mean);
    }
    loop {
        let radius = (-2.0 * (1.0 - rng.fraction()).ln()).sqrt();
        let angle = std::f64::consts::TAU * rng.fraction();
        let number = mean + deviation * radius * angle.cos();
        if number >= 0.0 && number < bound as f64 {
            return as_u64(number);
        }
    }
}

/// Zipf's distribution without a table, by rejection-inversion (Hörmann and
/// Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", 1996). It is exact for any number of ranks, at the cost of a
/// few powers.
#[derive(Clone, Debug)]
struct Zipf {
    theta: f64,
    ranks: f64,
    /// Integral up to the first rank, minus that rank's weight.
    first: f64,
    /// Integral up to the last rank.
    last: f64,
    /// Distance to a rank within which a draw is accepted without computing the
    /// weight.
    near: f64,
}

impl Zipf {
    fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self {
            theta,
            ranks: ranks.max(1) as f64,
            first: 0.0,
            last: 0.0,
            near: 0.0,
        };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.ranks + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    /// Integral of the weight from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            x.ln()
        } else {
            (x.powf(power) - 1.0) / power
        }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            area.exp()
        } else {
            (1.0 + area * power).max(0.0).powf(1.0 / power)
        }
    }

    /// Draws a rank, from 0.
    fn rank(&self, rng: &mut SplitMix64) -> u64 {
        loop {
            let area = self.last + rng.fraction() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.near || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return as_u64(rank) - 1;
            }
        }
    }
}

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
    use proptest::prelude::*;

    const DRAWS: usize = 200_000;

    fn counts(skewed: &Skewed, bound: usize) -> Vec<f64> {
        let mut rng = SplitMix64::new(5);
        let mut counts = vec![0.0; bound];
        for _ in 0..DRAWS {
            counts[usize::try_from(skewed.draw(&mut rng)).unwrap()] += 1.0;
        }
        counts
    }

    /// Checks that each count lies within five standard deviations.
    fn close(counts: &[f64], chance: impl Fn(usize) -> f64) {
        for (number, count) in counts.iter().enumerate() {
            let mean = DRAWS as f64 * chance(number);
            let limit = 5.0 * mean.sqrt() + 5.0;
            assert!((count - mean).abs() < limit, "{number}: {count}, {mean}");
        }
    }

    #[test]
    fn zipf_ranks_come_in_proportion_to_their_weight() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            let weight = |rank: usize| (rank as f64 + 1.0).powf(-theta);
            let sum: f64 = (0..1000).map(weight).sum();
            close(&counts(&Skewed::zipf(1000, theta), 1000), |rank| {
                weight(rank) / sum
            });
        }
    }

    #[test]
    fn pareto_gives_the_most_frequent_fifth_four_fifths() {
        let skewed = Skewed::pareto(1000, 0.2);
        let counts = counts(&skewed, 1000);
        let share = counts[..200].iter().sum::<f64>() / DRAWS as f64;
        assert!((share - 0.8).abs() < 0.01, "{share}");
        let share = counts[..40].iter().sum::<f64>() / DRAWS as f64;
        assert!((share - 0.64).abs() < 0.01, "{share}");
    }

    #[test]
    fn scattering_moves_ranks_and_keeps_their_counts() {
        let plain = Skewed::zipf(500, 1.2);
        let moved = plain.clone().scattered(Some(0.25), 9);
        let (mut plain, mut moved) = (counts(&plain, 500), counts(&moved, 500));
        let top = (0..500).max_by(|&a, &b| moved[a].total_cmp(&moved[b]));
        assert_eq!(top, Some(125));
        assert_ne!(plain, moved);
        plain.sort_by(f64::total_cmp);
        moved.sort_by(f64::total_cmp);
        assert_eq!(plain, moved);
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        let counts = counts(&Skewed::normal(10_000, 10.0, Some(0.4)), 10_000);
        let draws = DRAWS as f64;
        let moment = |about: f64, power: i32| {
            let sum: f64 = counts
                .iter()
                .enumerate()
                .map(|(number, count)| count * (number as f64 + 0.5 - about).powi(power))
                .sum();
            sum / draws
        };
        let mean = moment(0.0, 1);
        assert!((mean - 4000.0).abs() < 15.0, "{mean}");
        let deviation = moment(mean, 2).sqrt();
        assert!((deviation - 1000.0).abs() < 15.0, "{deviation}");
    }

    #[test]
    fn one_number_and_extreme_parameters_stay_in_bounds() {
        let mut rng = SplitMix64::new(1);
        for bound in [1, 2, 1 << 50] {
            for skewed in [
                Skewed::zipf(bound, 0.001),
                Skewed::zipf(bound, 40.0),
                Skewed::pareto(bound, 0.0),
                Skewed::pareto(bound, 1.0),
                Skewed::normal(bound, 0.0, Some(1.0)),
                Skewed::normal(bound, 100.0, Some(0.0)),
            ] {
                let skewed = skewed.scattered(Some(1.0), 3);
                assert!((0..1000).all(|_| skewed.draw(&mut rng) < bound));
            }
        }
    }

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

    proptest! {
        #[test]
        fn every_number_comes_exactly_once(len in 1u64..5000, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut seen = vec![false; usize::try_from(len).unwrap()];
            for i in 0..len {
                let slot = &mut seen[usize::try_from(order.at(i)).unwrap()];
                prop_assert!(!*slot);
                *slot = true;
            }
        }

        #[test]
        fn batches_give_the_same_numbers(len in 1u64..5000, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut ahead = Ahead::new(order);
            for i in 0..len {
                prop_assert_eq!(ahead.next(), order.at(i));
            }
        }

        #[test]
        fn huge_lengths_stay_inside(len in (1u64 << 40)..u64::MAX, seed: u64, at: u64) {
            prop_assert!(Permutation::new(len, seed).at(at % len) < len);
        }
    }

    /// Neighbours in the order must not be neighbours on the device: the share
    /// of small steps in either direction is that of a fair shuffle.
    #[test]
    fn the_order_has_no_locality() {
        for bits in [10, 13, 16, 18] {
            let len = 1_u64 << bits;
            let chance = 2.0 / 64.0;
            let mut squares = 0.0;
            for seed in 0..60 {
                let order = Permutation::new(len, seed);
                let near = (1..len)
                    .filter(|&i| order.at(i).abs_diff(order.at(i - 1)) < len / 64)
                    .count();
                let steps = (len - 1) as f64;
                let z = (near as f64 - steps * chance) / (steps * chance * (1.0 - chance)).sqrt();
                assert!(z.abs() < 4.5, "{bits} bits, seed {seed}: z = {z:.1}");
                squares += z * z;
            }
            // The mean of 60 squared standard normals is 1 +- 0.18.
            let mean_square = squares / 60.0;
            assert!(
                mean_square < 1.8,
                "{bits} bits: mean square {mean_square:.2}"
            );
        }
    }
}
