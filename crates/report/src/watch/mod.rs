//! Output of `assay watch`: a growing table, CSV, JSON, and at the end the bytes that reached the
//! device and their timing.

mod csv;
mod document;
mod ending;
mod table;
#[cfg(test)]
mod tests;

pub use csv::Csv;
pub use document::document;
pub use ending::{Name, sentences};
pub use table::WatchTable;

use assay_model::work::watch::{DiskCounters, WatchSample};
use assay_stats::watch::{IoStat, VmStat, busiest, iostat, seconds, vmstat};

/// Figures between a sample and the previous one.
struct WatchRow<'a> {
    now: &'a WatchSample,
    vmstat: Option<VmStat>,
    /// Device to report: of several, the busiest so far.
    disk: Option<&'a DiskCounters>,
    iostat: Option<IoStat>,
}

impl<'a> WatchRow<'a> {
    /// Computes the figures. `first` is the first sample of all, `before` the previous one.
    fn of(first: Option<&WatchSample>, before: Option<&WatchSample>, now: &'a WatchSample) -> Self {
        let disk = busiest(first.unwrap_or(now), now);
        let iostat = disk.zip(before).and_then(|(disk, before)| {
            let was = of_name(before, &disk.counters.name)?;
            iostat(was, disk, seconds(before, now)?)
        });
        Self {
            now,
            vmstat: before.and_then(|before| vmstat(before, now)),
            disk,
            iostat,
        }
    }
}

fn of_name<'a>(sample: &'a WatchSample, name: &str) -> Option<&'a DiskCounters> {
    sample.disks.iter().find(|disk| disk.counters.name == name)
}
