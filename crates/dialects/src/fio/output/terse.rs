//! Terse output: one line per job, fields separated by `;`. Its numbers, with few digits and a
//! prefix, are also those of the normal output.

use super::entry::{EntryDirection, JobEntry, Traffic, moments, percentiles};
use super::{Figures, Presentation, disks, entry};
use assay_model::load::Ddir;
use assay_model::load::report::{StatsOptions, Unified};
use assay_model::measurement::LatencyRecord;
use std::io;
use std::io::Write;

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
        let depths = entry::depth_shares(&entry.depths.level);
        self.fields
            .extend(depths.map(|percent| format!("{percent:.1}%")));
        let mut us = entry.classes.us;
        us[0] += entry.classes.ns.iter().sum::<u64>();
        let us = entry::class_shares(&us, entry.ios());
        let ms = entry::class_shares(&entry.classes.ms, entry.ios());
        let classes = us.into_iter().chain(ms);
        self.fields
            .extend(classes.map(|percent| format!("{percent:.2}%")));
    }
}

const SI: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const IEC: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Formats a number with at most `digits` places, including the decimal point,
/// and its prefix.
///
/// The number is divided by 1000 (by 1024 with `binary`) until its integer part
/// fits; the remaining places hold decimals of the last division. fio rounds
/// those decimals and truncates all others, and so does this function, so that
/// figures match fio's.
fn prefixed(number: u128, digits: u8, binary: bool) -> String {
    let (step, prefixes) = if binary { (1024, IEC) } else { (1000, SI) };
    let places = |n: u128| n.checked_ilog10().unwrap_or(0) + 1;
    let (mut whole, mut rest, mut power) = (number, None, 0);
    while places(whole) > u32::from(digits) && power + 1 < prefixes.len() {
        rest = Some(whole % step);
        whole /= step;
        power += 1;
    }
    let prefix = prefixes[power];
    let Some(rest) = rest else {
        return format!("{whole}{prefix}");
    };
    let decimals = u32::from(digits).saturating_sub(places(whole) + 1);
    if decimals == 0 {
        let up = u128::from(rest * 2 >= step);
        return format!("{}{prefix}", whole + up);
    }
    let share = rest as f64 / step as f64;
    let share = format!("{share:.*}", decimals as usize);
    let (up, share) = share.split_once('.').unwrap_or(("0", ""));
    let whole = whole + u128::from(up == "1");
    format!("{whole}.{share}{prefix}")
}

/// Formats a count: `12.3k`.
pub(super) fn count(number: u64, digits: u8) -> String {
    prefixed(u128::from(number), digits, false)
}

/// Format of a job's sizes and rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberScale {
    /// Number of places.
    pub digits: u8,
    /// Set if the first of a pair is in powers of 1024 and the second in powers
    /// of 1000; otherwise reversed.
    pub binary: bool,
    /// Set if rates are in bits.
    pub bits: bool,
}

impl NumberScale {
    pub(super) const fn of(stats: &StatsOptions) -> Self {
        Self {
            digits: stats.significant_figures,
            binary: !stats.kb_base_1000,
            bits: stats.in_bits,
        }
    }

    /// Formats a size: `(528KiB, 541kB)`.
    pub(super) fn sizes(self, bytes: u64) -> (String, String) {
        self.both(|binary| {
            let number = prefixed(u128::from(bytes), self.digits, binary);
            format!("{number}B")
        })
    }

    /// Formats a rate: `(43.0MiB/s, 45.1MB/s)`.
    pub(super) fn rates(self, bytes_per_s: u64) -> (String, String) {
        let (factor, unit) = if self.bits { (8, "bit/s") } else { (1, "B/s") };
        let number = u128::from(bytes_per_s) * factor;
        self.both(|binary| format!("{}{unit}", prefixed(number, self.digits, binary)))
    }

    fn both(self, text: impl Fn(bool) -> String) -> (String, String) {
        (text(self.binary), text(!self.binary))
    }
}

/// Unit of latencies in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Nanos,
    Micros,
    Millis,
}

impl TimeUnit {
    /// Returns the largest unit in which a range has enough digits, by fio's
    /// limits.
    pub(super) const fn of_range(min_ns: u64, max_ns: u64) -> Self {
        if min_ns > 2_000_000 && max_ns > 99_999_999 {
            Self::Millis
        } else if min_ns > 2_000 && max_ns > 99_999 {
            Self::Micros
        } else {
            Self::Nanos
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nanos => "nsec",
            Self::Micros => "usec",
            Self::Millis => "msec",
        }
    }

    pub(super) const fn ns(self) -> u64 {
        match self {
            Self::Nanos => 1,
            Self::Micros => 1_000,
            Self::Millis => 1_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: NumberScale = NumberScale {
        digits: 4,
        binary: true,
        bits: false,
    };

    /// Compares with fio 3.33: `io_bytes`, `bw_bytes` and `iops` of its JSON
    /// against its normal output of the same run.
    #[test]
    fn sizes_are_those_of_fio() {
        for (bytes, first, second) in [
            (4096, "4096B", "4096B"),
            (16_384, "16.0KiB", "16.4kB"),
            (1_048_576, "1024KiB", "1049kB"),
            (524_288, "512KiB", "524kB"),
            (528 << 10, "528KiB", "541kB"),
            (2480 << 10, "2480KiB", "2540kB"),
            (8192 << 10, "8192KiB", "8389kB"),
            (7568 << 10, "7568KiB", "7750kB"),
            (80 << 10, "80.0KiB", "81.9kB"),
            (16_520 << 20, "16.1GiB", "17.3GB"),
            (3261 << 20, "3261MiB", "3419MB"),
            (0, "0B", "0B"),
        ] {
            assert_eq!(KIB.sizes(bytes), (first.to_owned(), second.to_owned()));
        }
    }

    #[test]
    fn rates_are_those_of_fio() {
        for (bytes, first, second) in [
            (524_288_000, "500MiB/s", "524MB/s"),
            (45_056_000, "43.0MiB/s", "45.1MB/s"),
            (4_093_836, "3998KiB/s", "4094kB/s"),
            (87_381_333, "83.3MiB/s", "87.4MB/s"),
            (362_788_571, "346MiB/s", "363MB/s"),
        ] {
            assert_eq!(KIB.rates(bytes), (first.to_owned(), second.to_owned()));
        }
    }

    #[test]
    fn kb_base_swaps_the_pair_and_unit_base_counts_bits() {
        let bits = NumberScale {
            binary: false,
            bits: true,
            ..KIB
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            bits.rates(349_000_000),
            pair("2792Mbit/s", "2663Mibit/s"),
            "fio 3.33: 349 blocks of 3000 B in 3 ms"
        );
        assert_eq!(bits.sizes(3_145_728), pair("3146kB", "3072KiB"));
        let wide = NumberScale { digits: 6, ..KIB };
        assert_eq!(wide.rates(10_973_341_696), pair("10465MiB/s", "10973MB/s"));
        assert_eq!(wide.sizes(20_940 << 20), pair("20940MiB", "21957MB"));
    }

    #[test]
    fn counts_are_those_of_fio() {
        for (number, text) in [
            (275, "275"),
            (6883, "6883"),
            (10_333, "10.3k"),
            (11_000, "11.0k"),
            (128_000, "128k"),
            (409_600, "410k"),
            (1_678_000, "1678k"),
            (99_999, "100.0k"),
            (9_999_999, "10000k"),
        ] {
            assert_eq!(count(number, 4), text, "{number}");
        }
        assert_eq!(count(2_679_015, 6), "2679.0k");
        assert_eq!(count(1_816_491, 6), "1816.5k");
        assert_eq!(count(641_835, 6), "641835");
        assert_eq!(count(u64::MAX, 4), "18.4E");
    }

    #[test]
    fn the_unit_of_a_range_leaves_digits() {
        assert_eq!(TimeUnit::of_range(1_431, 206_878), TimeUnit::Nanos);
        assert_eq!(TimeUnit::of_range(61_000, 641_000), TimeUnit::Micros);
        assert_eq!(
            TimeUnit::of_range(16_198_000, 128_688_000),
            TimeUnit::Millis
        );
        assert_eq!(TimeUnit::of_range(2_000, u64::MAX), TimeUnit::Nanos);
    }

    proptest! {
        /// Rounding may add one place, as in fio (99.96k is 100.0k), but no
        /// more.
        #[test]
        fn a_number_keeps_to_its_places(number: u64, digits in 4u8..=6, binary: bool) {
            let text = prefixed(u128::from(number), digits, binary);
            let figures = text.trim_end_matches(char::is_alphabetic);
            prop_assert!(figures.len() <= usize::from(digits) + 1, "{text}");
        }
    }
}
