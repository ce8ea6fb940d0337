//! The published table: an SD host driver before and after a patch.

use assay_model::job::Direction;

/// Publication of the figures.
pub const SOURCE: &str =
    "mmc: rtsx, patch version 3, December 2021; SD card Samsung Pro Plus 128 GB";

assay_model::named! {
    /// The tool that measured a figure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Tool {
        /// GNOME Disks: samples of 10 MiB.
        Disks = "gnome-disks",
        /// fio: psync, direct, one I/O at a time.
        Fio = "fio",
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedRow {
    /// Tool that measured the row.
    pub tool: Tool,
    /// Workload of the row.
    pub workload: &'static str,
    /// Size of an I/O, as published.
    pub block_size: &'static str,
    /// Direction of the row.
    pub direction: Direction,
    /// Size of an I/O in bytes.
    pub bytes: u64,
    /// Unit of the figures.
    pub unit: &'static str,
    /// Factor from the unit to bytes per second.
    pub unit_bytes: f64,
    /// Rate with the policy `closed`.
    pub before: f64,
    /// Rate with the policy `open`.
    pub after: f64,
}

/// Returns the table.
pub fn rows() -> Vec<PublishedRow> {
    use Direction::{Read, Write};
    use Tool::{Disks, Fio};
    let row = |tool, workload, direction, block_size, unit, before, after| PublishedRow {
        tool,
        workload,
        block_size,
        direction,
        bytes: bytes(block_size),
        unit,
        unit_bytes: unit_bytes(unit),
        before,
        after,
    };
    vec![
        row(Disks, "seq read", Read, "10M", "MB/s", 86.9, 91.5),
        row(Disks, "seq write", Write, "10M", "MB/s", 38.3, 55.5),
        row(Fio, "randread", Read, "8k", "MiB/s", 16.5, 12.4),
        row(Fio, "randread", Read, "16k", "MiB/s", 23.3, 20.0),
        row(Fio, "randread", Read, "1M", "MiB/s", 85.1, 86.6),
        row(Fio, "randwrite", Write, "8k", "KiB/s", 4060.0, 4215.0),
        row(Fio, "randwrite", Write, "16k", "KiB/s", 7201.0, 6499.0),
        row(Fio, "randwrite", Write, "1M", "MiB/s", 38.4, 39.3),
    ]
}

fn bytes(size: &str) -> u64 {
    match size {
        "8k" => 8 << 10,
        "16k" => 16 << 10,
        "1M" => 1 << 20,
        _ => 10 << 20,
    }
}

fn unit_bytes(unit: &str) -> f64 {
    match unit {
        "KiB/s" => 1024.0,
        "MiB/s" => 1_048_576.0,
        _ => 1e6,
    }
}
