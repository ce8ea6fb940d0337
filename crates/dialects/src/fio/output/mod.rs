//! A load's report in fio's formats: normal, terse, JSON, JSON+.
//!
//! Layout, keys, units and rounding are those of fio 3.33, so that its users
//! and programs can read the output. Intended differences:
//!
//! - Intervals in which nothing completed count in minimum, mean, deviation and
//!   number of the bandwidth and IOPS samples. fio leaves them out, so that a
//!   stalled device looks steady (`samples`).
//! - Several streams that are reported together have the samples of their sum,
//!   interval by interval. fio adds up their minima and their maxima.
//! - Percentiles have no ceiling; fio's is 17 s (`latency`).
//! - Classes of latency are counted from the bins, so an I/O within 1/128 of
//!   the end of a class may count in the next one.
//! - Shares of queue depths are shares of all counts and add up to 100 %.
//! - `fdatasync` calls count as flushes; fio 3.33 counts them as short I/Os.
//! - Bandwidth samples with `kb_base=1000` are in the unit that is printed, a
//!   steady state's bandwidth differs between its two units, and rates below 1
//!   KiB/s are not 0 in the line with the time left. fio 3.33 is wrong in these
//!   cases.
//! - With `unified_rw_reporting=both`, the figures of `mixed` are those of all
//!   directions together; fio 3.33 writes zeros in the normal output.
//! - A job that failed before its first I/O appears in the normal output.
//! - `job_start`, `read_sectors` and `write_sectors` come from newer versions
//!   of fio.
//! - `global options` and `job options` are always present.
//! - Strings in JSON are escaped completely.
//! - Each job has one more line and object with the label of its figures
//!   (`evidence`).
//!
//! To add a figure: add a field of `assay_model::load::report::StreamReport`, which
//! `assay_engine::load::worker::report` fills. The figures of a job's copies must be poolable
//! (`entry`).

mod disks;
mod entry;
mod eta;
mod evidence;
mod group;
mod json;
mod latency;
mod normal;
mod number;
mod opening;
mod samples;
mod steady;
mod terse;
mod tree;

#[cfg(test)]
mod tests;

pub use eta::Eta;
pub use json::write_json;
pub use normal::write_normal;
pub use opening::opening;
pub use terse::{TerseVersion, write_terse};

use super::JobText;
use assay_judge::Judgement;
use assay_model::load::report::{LoadReport, StreamReport};
use assay_model::load::{Load, Stream};
use entry::JobEntry;
use group::RunGroup;
use std::collections::BTreeSet;

/// Data of an output.
#[derive(Clone, Debug)]
pub struct Presentation<'a> {
    /// Load that was run.
    pub load: &'a Load,
    /// Report of the load.
    pub report: &'a LoadReport,
    /// Options of each stream of the load, in its order.
    pub jobs: &'a [JobText],
    /// Options of the global sections, as written.
    pub global_options: &'a [(String, Option<String>)],
    /// Labels of each stream's figures; `None` if nothing was measured.
    pub judgements: &'a [Option<Judgement>],
    /// Version string, such as `fio-3.41-assay-0.1.0`.
    pub version: &'a str,
    /// Time of the output, in milliseconds since the epoch.
    pub timestamp_ms: u64,
    /// Time of the output as text, such as `Fri Nov 20 18:33:09 2026`.
    pub time_text: String,
    /// Remaining time in seconds, see [`Eta::seconds_left`]; 0 when the load
    /// has ended.
    pub eta_s: u64,
}

/// Stream with its index and its report.
type Member<'a> = (usize, &'a Stream, &'a StreamReport);

/// Figures that all formats use.
struct Figures<'a> {
    entries: Vec<JobEntry<'a>>,
    groups: Vec<RunGroup>,
}

impl<'a> Figures<'a> {
    fn of(p: &Presentation<'a>) -> Self {
        let entries = JobEntry::all(p);
        let numbers: BTreeSet<u32> = p.load.streams.iter().map(|s| s.group).collect();
        let groups = numbers.into_iter();
        Self {
            groups: groups
                .map(|number| RunGroup::of(number, &entries))
                .collect(),
            entries,
        }
    }

    fn group(&self, entry: &JobEntry<'_>) -> Option<&RunGroup> {
        let mut groups = self.groups.iter();
        groups.find(|group| group.number == entry.stream.group)
    }
}

/// Mean bandwidth as a share of its group's, in percent, at most 100.
fn percent_of_group(mean: f64, base: u64, group_bytes_per_s: u64) -> f64 {
    if group_bytes_per_s <= 1024 {
        return 100.0;
    }
    (100.0 * mean * base as f64 / group_bytes_per_s as f64).min(100.0)
}
