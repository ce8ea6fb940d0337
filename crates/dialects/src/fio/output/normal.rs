//! Normal output, for people.

use super::entry::{CLASSES, CLASSES_MS, JobEntry, Traffic};
use super::terse::NumberScale;
use super::{Figures, Presentation, disks, entry, samples};
use crate::fio::output::entry::{EntryDirection, LatencyMoments, moments, percentiles};
use crate::fio::output::percent_of_group;
use crate::fio::output::samples::Samples;
use crate::fio::output::terse::{TimeUnit, count};
use assay_model::load::Ddir;
use assay_model::load::report::StatsOptions;
use assay_model::measurement::LatencyRecord;
use std::io;
use std::io::Write;

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
        write(
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
            samples::steady_line(steady, NumberScale::of(entry.stats()))
        ),
        None => Ok(()),
    }
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
const LINE: usize = 80;

fn write(
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
            let value = scaled(*ns, unit);
            format!(" {percent:wide$.decimals$}th=[{value:places$}]")
        })
        .collect();
    writeln!(out, "    {name} percentiles ({}):", unit.name())?;
    let per_line = (LINE - 7) / (decimals + 10 + places);
    let lines: Vec<String> = texts
        .chunks(per_line.max(1))
        .map(|line| line.join(","))
        .collect();
    writeln!(out, "     |{}", lines.join(",\n     |"))
}

/// Converts to a unit, rounding up as fio does (in two steps to milliseconds).
fn scaled(ns: u64, unit: TimeUnit) -> u64 {
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
