//! A derived figure, and the units it may have.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Unit of a metric; written in JSON as its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSec,
    /// I/O operations per second.
    #[serde(rename = "IOPS")]
    Iops,
    /// Transactions per second.
    #[serde(rename = "TPS")]
    Tps,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// A share, 0 to 1.
    #[serde(rename = "ratio")]
    Ratio,
    /// A number of things.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// The symbol, as in JSON.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::BytesPerSec => "B/s",
            Self::Iops => "IOPS",
            Self::Tps => "TPS",
            Self::Bytes => "B",
            Self::Nanos => "ns",
            Self::Ratio => "ratio",
            Self::Count => "count",
        }
    }

    /// The unit of a [`symbol`](Self::symbol); `None` for those of others.
    #[must_use]
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        let all = [
            Self::BytesPerSec,
            Self::Iops,
            Self::Tps,
            Self::Bytes,
            Self::Nanos,
            Self::Ratio,
            Self::Count,
        ];
        all.into_iter().find(|unit| unit.symbol() == symbol)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// One derived figure of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// For example `read_bw`, `write_lat_p99`, `longest_gap`.
    pub name: String,
    /// Unit of `value`.
    pub unit: Unit,
    /// The figure.
    pub value: f64,
}
