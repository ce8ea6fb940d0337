//! Terse output: one line per job, fields separated by `;`.

use super::entry::{EntryDirection, JobEntry, Traffic};
use super::latency::{moments, percentiles};
use super::{Figures, Presentation, disks, latency};
use assay_model::latency::LatencyRecord;
use assay_model::load::Ddir;
use assay_model::load::stats::Unified;
use std::io::{self, Write};

/// Version of the terse format, which determines its fields. Version 3 is fio's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    /// Without fio's version and disks.
    V2 = 2,
    /// Without trims.
    #[default]
    V3,
    /// With trims.
    V4,
    /// With trims and the samples of IOPS.
    V5,
}

impl TerseVersion {
    /// Returns a version by its number.
    pub fn from_number(number: u8) -> Option<Self> {
        let all = [Self::V2, Self::V3, Self::V4, Self::V5];
        all.into_iter().find(|version| *version as u8 == number)
    }
}

/// Number of fields for percentiles, the limit of fio's lists.
const PERCENTILES: usize = 20;

/// Writes the report in fio's terse format. It contains no labels: an additional field
/// would break programs that read it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_terse(
    p: &Presentation<'_>,
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    let figures = Figures::of(p);
    for entry in &figures.entries {
        let group = figures.group(entry);
        let group_bytes_per_s = |way| group.map_or(0, |group| group.bytes_per_s(way));
        let mut line = TerseLine {
            version,
            fields: Vec::new(),
        };
        line.add_head(p, entry);
        for (way, traffic) in fields_of(entry, version) {
            line.add_direction(entry, traffic, group_bytes_per_s(way));
        }
        line.add_cpu(entry);
        line.add_depths_and_classes(entry);
        if version != TerseVersion::V2 {
            line.fields.extend(disks::terse_fields(&p.report.disks));
        }
        if entry.goes_on_after_errors() {
            line.add(&entry.total_errors);
            line.add(&entry.errno);
        }
        write!(out, "{}", line.fields.join(";"))?;
        if let Some(description) = &entry.stream.description {
            let apart = if version == TerseVersion::V2 {
                "\n"
            } else {
                ""
            };
            write!(out, "{apart};{description}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the directions that have fields, in order.
fn fields_of<'a>(
    entry: &'a JobEntry<'_>,
    version: TerseVersion,
) -> impl Iterator<Item = (EntryDirection, &'a Traffic)> {
    let with_trims = version != TerseVersion::V3;
    let with_mixed = entry.stats().unified != Unified::Split;
    let shown = move |way: EntryDirection| match way {
        EntryDirection::One(Ddir::Trim) => with_trims,
        EntryDirection::One(_) => true,
        EntryDirection::Mixed => with_mixed,
    };
    let all = entry.traffic.iter().map(|(way, traffic)| (*way, traffic));
    all.filter(move |(way, _)| shown(*way))
}

/// Line while it is built.
struct TerseLine {
    version: TerseVersion,
    fields: Vec<String>,
}

impl TerseLine {
    fn add(&mut self, field: &dyn ToString) {
        self.fields.push(field.to_string());
    }

    fn add_real(&mut self, value: f64) {
        self.fields.push(format!("{value:.6}"));
    }

    fn add_head(&mut self, p: &Presentation<'_>, entry: &JobEntry<'_>) {
        self.add(&(self.version as u8));
        if self.version != TerseVersion::V2 {
            self.add(&p.version);
        }
        self.add(&entry.stream.name);
        self.add(&entry.stream.group);
        self.add(&entry.errno);
    }

    fn add_direction(&mut self, entry: &JobEntry<'_>, traffic: &Traffic, group_bytes_per_s: u64) {
        self.add(&(traffic.bytes / 1024));
        self.add(&(traffic.bytes_per_s() / 1024));
        self.add(&traffic.iops());
        self.add(&traffic.runtime_ms);
        self.add_moments(&traffic.submission);
        self.add_moments(&traffic.completion);
        self.add_percentiles(entry, traffic);
        self.add_moments(&traffic.total);
        self.add_bandwidth(traffic, group_bytes_per_s);
        if self.version == TerseVersion::V5 {
            let iops = traffic.samples.iops().unwrap_or_default();
            self.add(&traffic.samples.bandwidth(1024).unwrap_or_default().count);
            self.add(&iops.min);
            self.add(&iops.max);
            self.add_real(iops.mean);
            self.add_real(iops.stdev);
            self.add(&iops.count);
        }
    }

    /// Adds the moments in microseconds.
    fn add_moments(&mut self, record: &LatencyRecord) {
        let figures = moments(record).unwrap_or_default();
        self.add(&(figures.min_ns / 1000));
        self.add(&(figures.max_ns / 1000));
        self.add_real(figures.mean_ns / 1000.0);
        self.add_real(figures.stdev_ns / 1000.0);
    }

    /// Adds the percentiles of total latency if enabled, otherwise of completion latency.
    fn add_percentiles(&mut self, entry: &JobEntry<'_>, traffic: &Traffic) {
        let stats = entry.stats();
        let record = match (stats.lat_percentiles, stats.clat_percentiles) {
            (true, _) => Some(&traffic.total),
            (false, true) => Some(&traffic.completion),
            (false, false) => None,
        };
        let shown = record.map_or_else(Vec::new, |record| percentiles(record, &stats.percentiles));
        for place in 0..PERCENTILES {
            self.fields.push(match shown.get(place) {
                Some((percent, ns)) => format!("{percent:.6}%={}", ns / 1000),
                None => "0%=0".to_owned(),
            });
        }
    }

    fn add_bandwidth(&mut self, traffic: &Traffic, group_bytes_per_s: u64) {
        let found = traffic.samples.bandwidth(1024);
        let share = found.map_or(0.0, |bw| {
            super::percent_of_group(bw.mean, 1024, group_bytes_per_s)
        });
        let bw = found.unwrap_or_default();
        self.add(&bw.min);
        self.add(&bw.max);
        self.fields.push(format!("{share:.6}%"));
        self.add_real(bw.mean);
        self.add_real(bw.stdev);
    }

    fn add_cpu(&mut self, entry: &JobEntry<'_>) {
        self.fields.push(format!("{:.6}%", entry.user_percent));
        self.fields.push(format!("{:.6}%", entry.system_percent));
        self.add(&entry.switches);
        self.add(&entry.major_faults);
        self.add(&entry.minor_faults);
    }

    /// Adds shares of depths and latency classes. The format has no nanoseconds, so they
    /// count as the first class of microseconds.
    fn add_depths_and_classes(&mut self, entry: &JobEntry<'_>) {
        let depths = latency::depth_shares(&entry.depths.level);
        self.fields
            .extend(depths.map(|percent| format!("{percent:.1}%")));
        let mut us = entry.classes.us;
        us[0] += entry.classes.ns.iter().sum::<u64>();
        let us = latency::class_shares(&us, entry.ios());
        let ms = latency::class_shares(&entry.classes.ms, entry.ios());
        let classes = us.into_iter().chain(ms);
        self.fields
            .extend(classes.map(|percent| format!("{percent:.2}%")));
    }
}
