//! A latency distribution in its stored form: sparse and exact.

use serde::{Deserialize, Serialize};

/// Latencies of one kind of operation. The bins are those of `assay_stats::histogram` (log-linear,
/// error at most 1/128); count, extremes and sums are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// Number of operations.
    pub count: u64,
    /// Shortest latency; 0 when there was no operation.
    pub min_ns: u64,
    /// Longest latency.
    pub max_ns: u64,
    /// Sum of all latencies.
    pub sum_ns: u64,
    /// Sum of the squares of all latencies.
    #[serde(with = "wide")]
    pub sum_sq_ns2: u128,
    /// Bins in use, ascending: bin index and number of operations.
    pub bins: Vec<(u32, u64)>,
}

/// Serializes `u128` as text: many JSON readers cannot read numbers of that size.
mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}
