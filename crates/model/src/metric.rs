//! A derived figure, and its possible units.

use serde::{Deserialize, Serialize};

crate::named! {
    /// Unit of a metric; written in JSON as its symbol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Unit {
        /// Bytes per second.
        #[serde(rename = "B/s")]
        BytesPerSec = "B/s",
        /// I/O operations per second.
        #[serde(rename = "IOPS")]
        Iops = "IOPS",
        /// Transactions per second.
        #[serde(rename = "TPS")]
        Tps = "TPS",
        /// Bytes.
        #[serde(rename = "B")]
        Bytes = "B",
        /// Nanoseconds.
        #[serde(rename = "ns")]
        Nanos = "ns",
        /// A share, 0 to 1.
        #[serde(rename = "ratio")]
        Ratio = "ratio",
        /// A number of objects or events.
        #[serde(rename = "count")]
        Count = "count",
    }
}

/// One derived figure of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name, for example `read_bw`, `write_lat_p99`, `longest_gap`.
    pub name: String,
    /// Unit of `value`.
    pub unit: Unit,
    /// Value of the metric.
    pub value: f64,
}
