//! Latency steps of a growing working set, which show the caches as a program sees them.

/// Smallest ratio to the latency of the next smaller set that counts as a rise.
const RISE: f64 = 1.25;

/// Latency of one working set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Size of the set in bytes.
    pub set_bytes: u64,
    /// Nanoseconds per load.
    pub load_ns: f64,
}

/// Sets over which latency rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// Last set before the rise.
    pub from: Point,
    /// First set at the end of the rise.
    pub to: Point,
}

impl Rise {
    /// `true` if a cache of this size would explain the rise: sets that fit into the cache come
    /// before its end, and larger ones after its start. A tolerance of half a set allows for other
    /// data in the cache.
    pub const fn fits(&self, cache_bytes: u64) -> bool {
        cache_bytes >= self.from.set_bytes / 2 && cache_bytes <= self.to.set_bytes
    }
}

/// Returns all rises, in order of size. Neighbouring sets that both rise count as one.
pub fn rises(points: &[Point]) -> Vec<Rise> {
    let mut found: Vec<Rise> = Vec::new();
    for pair in points.windows(2) {
        let &[from, to] = pair else { continue };
        if to.load_ns < from.load_ns * RISE {
            continue;
        }
        match found.last_mut().filter(|rise| rise.to == from) {
            Some(rise) => rise.to = to,
            None => found.push(Rise { from, to }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(latencies: &[f64]) -> Vec<Point> {
        let sizes = (0..).map(|n| 4096_u64 << n);
        let all = sizes.zip(latencies);
        all.map(|(set_bytes, &load_ns)| Point { set_bytes, load_ns })
            .collect()
    }

    #[test]
    fn rises_lie_between_the_levels_and_fit_their_caches() {
        // 4K 8K 16K 32K | 64K 128K 256K .. 512K | 1M 2M
        let found = rises(&points(&[
            1.0, 1.0, 1.0, 1.1, 3.5, 4.0, 4.1, 9.0, 30.0, 31.0,
        ]));
        let sizes: Vec<_> = found
            .iter()
            .map(|rise| (rise.from.set_bytes >> 10, rise.to.set_bytes >> 10))
            .collect();
        assert_eq!(sizes, [(32, 64), (256, 1024)]);
        assert!(found[0].fits(32 << 10) && found[0].fits(48 << 10));
        assert!(!found[0].fits(512 << 10));
        assert!(found[1].fits(512 << 10));
    }

    #[test]
    fn a_slow_climb_and_a_fall_are_no_rises() {
        assert_eq!(rises(&points(&[1.0, 1.2, 1.4, 0.5, 0.6])), []);
        assert_eq!(rises(&[]), []);
    }
}
