//! Text outputs: the normal one, for people, and the terse one, a line per job with fields
//! separated by `;`. Both print numbers with few digits and a prefix.

use super::entry::{
    self, CLASSES, CLASSES_MS, EntryDirection, JobEntry, LatencyMoments, Traffic, moments,
    percentiles,
};
use super::samples::Samples;
use super::{Figures, Presentation, disks, percent_of_group};
use assay_model::evidence::LatencyRecord;
use assay_model::load::Ddir;
use assay_model::load::report::{StatsOptions, SteadyCriterion, SteadyStateReached, Unified};
use std::io::{self, Write};

/// Writes the report as fio's normal output does, with an additional line for
/// each job that labels its figures.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_normal(p: &Presentation<'_>, out: &mut dyn Write) -> io::Result<()> {
    let figures = Figures::of(p);
    writeln!(out)?;
    for entry in figures.entries.iter().filter(|entry| entry.did_anything()) {
        write_entry(p, entry, &figures, out)?;
    }
    for group in &figures.groups {
        group.write(out)?;
    }
    disks::write_normal(&p.report.disks, out)
}

fn write_entry(
    p: &Presentation<'_>,
    entry: &JobEntry<'_>,
    figures: &Figures<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_head(p, entry, out)?;
    let group = figures.group(entry);
    for (way, traffic) in entry.traffic.iter().filter(|(_, t)| t.bytes > 0) {
        write_direction(
            entry,
            *way,
            traffic,
            group.map_or(0, |g| g.bytes_per_s(*way)),
            out,
        )?;
    }
    write_classes(entry, out)?;
    write_sync(entry, out)?;
    writeln!(
        out,
        "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}",
        entry.user_percent,
        entry.system_percent,
        entry.switches,
        entry.major_faults,
        entry.minor_faults
    )?;
    write_depths(entry, out)?;
    write_issued(entry, out)?;
    if entry.goes_on_after_errors() {
        let words = entry.problem.unwrap_or("Success");
        let (total, first) = (entry.total_errors, entry.errno);
        writeln!(
            out,
            "     errors    : total={total}, first_error={first}/<{words}>"
        )?;
    }
    write_latency_target(entry, out)?;
    if let Some(line) = entry.evidence.line() {
        writeln!(out, "  evidence     : {line}")?;
    }
    if let Some(line) = entry.evidence.durable_line() {
        writeln!(out, "  durable lat  : {line}")?;
    }
    if let Some(line) = entry.evidence.limit_line() {
        writeln!(out, "  tool limit   : {line}")?;
    }
    match &entry.first.steady_state {
        Some(steady) => writeln!(
            out,
            "{}",
            steady_line(steady, NumberScale::of(entry.stats()))
        ),
        None => Ok(()),
    }
}

/// Returns the name of the criterion, and `true` if it is a slope.
pub(super) const fn criterion_name(criterion: SteadyCriterion) -> (&'static str, bool) {
    match criterion {
        SteadyCriterion::Iops => ("iops", false),
        SteadyCriterion::IopsSlope => ("iops", true),
        SteadyCriterion::Bw => ("bw", false),
        SteadyCriterion::BwSlope => ("bw", true),
        SteadyCriterion::Lat => ("lat", false),
        SteadyCriterion::LatSlope => ("lat", true),
    }
}

pub(super) fn mean_of(values: &[u64]) -> u64 {
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    let mean = sum.checked_div(values.len() as u128);
    u64::try_from(mean.unwrap_or(0)).unwrap_or(u64::MAX)
}

pub(super) const fn percent_sign(steady: &SteadyStateReached) -> &'static str {
    if steady.percent { "%" } else { "" }
}

/// Formats the result of the steady-state check. (fio 3.33 writes the same number in both units of the
/// bandwidth; here they differ.)
fn steady_line(steady: &SteadyStateReached, scale: NumberScale) -> String {
    let (bw, bw_other) = scale.rates(mean_of(&steady.bw));
    let (what, slope) = criterion_name(steady.criterion);
    format!(
        "  steadystate  : attained={}, bw={bw} ({bw_other}), iops={}, {what}{}={:.3}{}",
        if steady.attained { "yes" } else { "no" },
        count(mean_of(&steady.iops), scale.digits),
        if slope { " slope" } else { " mean dev" },
        steady.value,
        percent_sign(steady)
    )
}

fn write_head(p: &Presentation<'_>, entry: &JobEntry<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (name, group, jobs) = (&entry.stream.name, entry.stream.group, entry.members);
    let problem = match entry.errno {
        0 => String::new(),
        _ => format!(" ({})", entry.problem.unwrap_or("unknown error")),
    };
    writeln!(
        out,
        "{name}: (groupid={group}, jobs={jobs}): err={:2}{problem}: pid={}: {}",
        entry.errno,
        entry.first.tid,
        p.time_text.trim_end()
    )?;
    match &entry.stream.description {
        Some(text) => writeln!(out, "  Description  : [{text}]"),
        None => Ok(()),
    }
}

/// Writes the latency classes that are not empty, five per line.
fn write_classes(entry: &JobEntry<'_>, out: &mut dyn Write) -> io::Result<()> {
    let ios = entry.ios();
    let below = |ends: &[u64]| ends.iter().map(u64::to_string).collect::<Vec<_>>();
    let mut ends_ms = below(&CLASSES_MS);
    ends_ms.push(">=2000".to_owned());
    let classes = &entry.classes;
    for (unit, ends, percents) in [
        (
            "nsec",
            below(&CLASSES),
            &entry::class_shares(&classes.ns, ios)[..],
        ),
        (
            "usec",
            below(&CLASSES),
            &entry::class_shares(&classes.us, ios)[..],
        ),
        ("msec", ends_ms, &entry::class_shares(&classes.ms, ios)[..]),
    ] {
        let used = ends
            .iter()
            .zip(percents)
            .filter(|(_, percent)| **percent > 0.0);
        let texts: Vec<String> = used.map(|(end, p)| format!("{end}={p:.2}%")).collect();
        for five in texts.chunks(5) {
            writeln!(out, "  lat ({unit})   : {}", five.join(", "))?;
        }
    }
    Ok(())
}

fn write_depths(entry: &JobEntry<'_>, out: &mut dyn Write) -> io::Result<()> {
    let depths = &entry.depths;
    for (title, names, counts) in [
        (
            "  IO depths    ",
            ["1", "2", "4", "8", "16", "32", ">=64"],
            &depths.level,
        ),
        (
            "     submit    ",
            ["0", "4", "8", "16", "32", "64", ">=64"],
            &depths.submit,
        ),
        (
            "     complete  ",
            ["0", "4", "8", "16", "32", "64", ">=64"],
            &depths.complete,
        ),
    ] {
        let percents = names.iter().zip(entry::depth_shares(counts));
        let texts: Vec<String> = percents
            .map(|(name, p)| format!("{name}={p:.1}%"))
            .collect();
        writeln!(out, "{title}: {}", texts.join(", "))?;
    }
    Ok(())
}

fn write_issued(entry: &JobEntry<'_>, out: &mut dyn Write) -> io::Result<()> {
    let each = |number: fn(&Traffic) -> u64| {
        let numbers = Ddir::ALL.map(|ddir| entry.direction(ddir).map_or(0, number));
        numbers.map(|number| number.to_string()).join(",")
    };
    writeln!(
        out,
        "     issued rwts: total={},{} short={},0 dropped={},0",
        each(|t| t.ios),
        entry.sync.count,
        each(|t| t.short_ios),
        each(|t| t.dropped_ios)
    )
}

fn write_latency_target(entry: &JobEntry<'_>, out: &mut dyn Write) -> io::Result<()> {
    let target = entry.stream.pace.latency_target;
    let depth = entry.latency_depth();
    writeln!(
        out,
        "     latency   : target={}, window={}, percentile={:.2}%, depth={depth}",
        target.map_or(0, |target| target.target.0),
        target.map_or(0, |target| target.window.0 / 1000),
        target.map_or(100.0, |target| target.percentile),
    )
}

/// Number of digits of minimum and maximum latencies.
const LATENCY_DIGITS: u8 = 6;
/// Largest width of a line of percentiles.
const LINE_COLUMNS: usize = 80;

fn write_direction(
    entry: &JobEntry<'_>,
    way: EntryDirection,
    traffic: &Traffic,
    group_bytes_per_s: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let stats = entry.stats();
    let scale = NumberScale::of(stats);
    let (bw, bw_other) = scale.rates(traffic.bytes_per_s());
    let (size, _) = scale.sizes(traffic.bytes);
    // assay supports no zoned devices, but programs expect the text.
    let zones = match way {
        EntryDirection::One(Ddir::Write) => "; 0 zone resets",
        _ => "",
    };
    writeln!(
        out,
        "  {}: IOPS={}, BW={bw} ({bw_other})({size}/{}msec){zones}",
        way.name(),
        count(traffic.iops(), scale.digits),
        traffic.runtime_ms
    )?;
    let latencies = [
        ("slat", &traffic.submission, stats.slat_percentiles),
        ("clat", &traffic.completion, stats.clat_percentiles),
        (" lat", &traffic.total, stats.lat_percentiles),
    ];
    for (name, record, _) in latencies {
        write_moments(name, record, out)?;
    }
    let kind = if stats.lat_percentiles { "lat" } else { "clat" };
    for (priority, record) in &traffic.priorities {
        let name = format!("{kind} prio {}/{}", priority.class(), priority.level());
        write_moments(&name, record, out)?;
    }
    for (name, record, _) in latencies.into_iter().filter(|(_, _, shown)| *shown) {
        write_percentiles(name.trim_start(), record, stats, out)?;
    }
    if stats.clat_percentiles || stats.lat_percentiles {
        let ios: u64 = traffic.priorities.iter().map(|(_, r)| r.count).sum();
        for (priority, record) in &traffic.priorities {
            let (class, level) = (priority.class(), priority.level());
            let percent = 100.0 * record.count as f64 / ios as f64;
            let name = format!("{kind} prio {class}/{level} ({percent:.2}% of IOs)");
            write_percentiles(&name, record, stats, out)?;
        }
    }
    write_bandwidth(&traffic.samples, stats, group_bytes_per_s, out)?;
    match traffic.samples.iops() {
        Some(iops) => writeln!(
            out,
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            iops.min, iops.max, iops.mean, iops.stdev, iops.count
        ),
        None => Ok(()),
    }
}

/// Writes the latencies of flush calls.
fn write_sync(entry: &JobEntry<'_>, out: &mut dyn Write) -> io::Result<()> {
    if entry.sync.count == 0 {
        return Ok(());
    }
    writeln!(out, "  fsync/fdatasync/sync_file_range:")?;
    write_moments("sync", &entry.sync, out)?;
    write_percentiles("sync", &entry.sync, entry.stats(), out)
}

fn write_moments(name: &str, record: &LatencyRecord, out: &mut dyn Write) -> io::Result<()> {
    let Some(figures) = moments(record) else {
        return Ok(());
    };
    let unit = unit_of(&figures);
    let extreme = |ns: u64| count(ns / unit.ns(), LATENCY_DIGITS);
    let average = |ns: f64| ns / unit.ns() as f64;
    writeln!(
        out,
        "    {name} ({}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        unit.name(),
        extreme(figures.min_ns),
        extreme(figures.max_ns),
        average(figures.mean_ns),
        average(figures.stdev_ns)
    )
}

/// Returns the largest unit in which the deviation is more than one, too.
fn unit_of(figures: &LatencyMoments) -> TimeUnit {
    let unit = TimeUnit::of_range(figures.min_ns, figures.max_ns);
    let smaller = TimeUnit::of_range(figures.min_ns, figures.max_ns.min(99_999_999));
    [unit, smaller]
        .into_iter()
        .find(|unit| figures.stdev_ns > unit.ns() as f64)
        .unwrap_or(TimeUnit::Nanos)
}

fn write_percentiles(
    name: &str,
    record: &LatencyRecord,
    stats: &StatsOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    if record.count == 0 {
        return Ok(());
    }
    let found = percentiles(record, &stats.percentiles);
    let (Some((_, least)), Some((_, most))) = (found.first(), found.last()) else {
        return Ok(());
    };
    let unit = TimeUnit::of_range(*least, *most);
    let decimals = decimals(&stats.percentiles);
    let places = (most / unit.ns()).checked_ilog10().unwrap_or(0) as usize + 1;
    let (wide, places) = (decimals + 3, places.max(5));
    let texts: Vec<String> = found
        .iter()
        .map(|(percent, ns)| {
            let value = scaled_down(*ns, unit);
            format!(" {percent:wide$.decimals$}th=[{value:places$}]")
        })
        .collect();
    writeln!(out, "    {name} percentiles ({}):", unit.name())?;
    let per_line = (LINE_COLUMNS - 7) / (decimals + 10 + places);
    let lines: Vec<String> = texts
        .chunks(per_line.max(1))
        .map(|line| line.join(","))
        .collect();
    writeln!(out, "     |{}", lines.join(",\n     |"))
}

/// Converts to a unit, rounding up as fio does (in two steps to milliseconds).
fn scaled_down(ns: u64, unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Nanos => ns,
        TimeUnit::Micros => ns.div_ceil(1000),
        TimeUnit::Millis => ns.div_ceil(1000).div_ceil(1000),
    }
}

/// Number of decimals of percentages: as many as the list needs, but two for
/// fio's default list.
fn decimals(percents: &[f64]) -> usize {
    if *percents == StatsOptions::default().percentiles {
        return 2;
    }
    let written = percents.iter().map(f64::to_string);
    let decimals = written.map(|text| text.split_once('.').map_or(0, |(_, d)| d.len()));
    decimals.max().unwrap_or(0).min(6)
}

/// Writes the bandwidth in the unit that is printed. With `kb_base=1000`, fio
/// divides by 1024 but prints `kB`.
fn write_bandwidth(
    samples: &Samples,
    stats: &StatsOptions,
    group_bytes_per_s: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let base = if stats.kb_base_1000 { 1000 } else { 1024 };
    let Some(bw) = samples.bandwidth(base) else {
        return Ok(());
    };
    let share = percent_of_group(bw.mean, base, group_bytes_per_s);
    let bits = if stats.in_bits { 8 } else { 1 };
    let mean = bw.mean * bits as f64;
    let large = mean > (base * base) as f64;
    let divisor = if large { base } else { 1 };
    let prefix = match (large, stats.kb_base_1000) {
        (false, false) => "Ki",
        (false, true) => "k",
        (true, false) => "Mi",
        (true, true) => "M",
    };
    let unit = format!("{prefix}{}", if stats.in_bits { "bit" } else { "B" });
    writeln!(
        out,
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={share:.2}%, avg={:5.2}, \
         stdev={:5.2}, samples={}",
        bw.min * bits / divisor,
        bw.max * bits / divisor,
        mean / divisor as f64,
        bw.stdev * bits as f64 / divisor as f64,
        bw.count
    )
}

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
const TERSE_PERCENTILES: usize = 20;

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
        for place in 0..TERSE_PERCENTILES {
            self.fields.push(match shown.get(place) {
                Some((percent, ns)) => format!("{percent:.6}%={}", ns / 1000),
                None => "0%=0".to_owned(),
            });
        }
    }

    fn add_bandwidth(&mut self, traffic: &Traffic, group_bytes_per_s: u64) {
        let found = traffic.samples.bandwidth(1024);
        let share = found.map_or(0.0, |bw| percent_of_group(bw.mean, 1024, group_bytes_per_s));
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
