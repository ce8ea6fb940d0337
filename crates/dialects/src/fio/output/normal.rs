//! Normal output, for people.

mod direction;

use super::entry::{JobEntry, Traffic};
use super::latency::{CLASSES, CLASSES_MS};
use super::number::NumberScale;
use super::steady;
use super::{Figures, Presentation, disks, latency};
use assay_model::load::Ddir;
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
        direction::write(
            entry,
            *way,
            traffic,
            group.map_or(0, |g| g.bytes_per_s(*way)),
            out,
        )?;
    }
    write_classes(entry, out)?;
    direction::write_sync(entry, out)?;
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
            steady::line(steady, NumberScale::of(entry.stats()))
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
            &latency::class_shares(&classes.ns, ios)[..],
        ),
        (
            "usec",
            below(&CLASSES),
            &latency::class_shares(&classes.us, ios)[..],
        ),
        (
            "msec",
            ends_ms,
            &latency::class_shares(&classes.ms, ios)[..],
        ),
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
        let percents = names.iter().zip(latency::depth_shares(counts));
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
