//! A latency distribution as it is stored and sent: sparse and exact.

use serde::{Deserialize, Serialize};

/// Latencies of one kind of operation. Bins are those of
/// `assay_stats::histogram` (log-linear, error at most 1/128); count, extremes
/// and sums are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// Number of operations.
    pub count: u64,
    /// Shortest; 0 when there was none.
    pub min_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Sum of all.
    pub sum_ns: u64,
    /// Sum of squares.
    #[serde(with = "wide")]
    pub sum_sq_ns2: u128,
    /// (bin index, operations), ascending, only bins in use.
    pub bins: Vec<(u32, u64)>,
}

/// `u128` as text: JSON numbers of that size do not survive other readers.
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
