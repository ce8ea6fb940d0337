//! Where samples are taken.

use assay_model::rng::SplitMix64;

/// So many places, evenly over a length, each at the begin of a page.
pub(super) fn offsets(length: u64, samples: u32, page: u64) -> Vec<u64> {
    let samples = u64::from(samples.max(1));
    let last_page = (length / page).saturating_sub(1) * page;
    (0..samples)
        .map(|number| {
            let exact = u128::from(length) * u128::from(number) / u128::from(samples);
            let exact = u64::try_from(exact).unwrap_or(u64::MAX);
            (exact - exact % page).min(last_page)
        })
        .collect()
}

/// So many pages of a length at random; they may come twice.
pub(super) fn random(length: u64, samples: u32, page: u64, seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    let pages = (length / page).max(1);
    (0..samples).map(|_| rng.below(pages) * page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_even_and_begin_with_a_page() {
        assert_eq!(offsets(1 << 20, 4, 4_096), [0, 262_144, 524_288, 786_432]);
        assert_eq!(offsets(10_000, 3, 4_096), [0, 0, 4_096]);
        // Each has a whole page.
        assert_eq!(offsets(8_200, 500, 4_096)[499], 4_096);
        // 2^63 bytes times 1000 samples needs more than 64 bits.
        let far = offsets(1 << 63, 1_000, 4_096);
        assert_eq!(far[500], 1 << 62);
    }

    #[test]
    fn random_places_are_whole_pages_within_and_follow_from_the_seed() {
        let some = random(100 * 4_096 + 10, 1_000, 4_096, 7);
        assert_eq!(some, random(100 * 4_096 + 10, 1_000, 4_096, 7));
        assert_ne!(some, random(100 * 4_096 + 10, 1_000, 4_096, 8));
        assert!(some.iter().all(|at| at % 4_096 == 0 && *at < 100 * 4_096));
        assert!(some.contains(&0) && some.contains(&(99 * 4_096)));
    }
}
