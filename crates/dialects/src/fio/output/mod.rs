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
//! - Percentiles have no ceiling; fio's is 17 s.
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
//! `assay_engine::load::worker::complete` fills. The figures of a job's copies must be poolable
//! (`entry`).
//!
//! `serde_json` writes the JSON, in fio's layout: members in order, `"key" : value`, two spaces per
//! level, six decimals. Its type `Value` would sort the members. Its feature `preserve_order` is no
//! solution: cargo enables it for the whole program, where it would change the order of other JSON
//! output.

mod disks;
mod entry;
mod eta;
mod evidence;
mod json;
mod samples;
mod text;

pub use eta::Eta;
pub use json::write_json;
pub use text::{TerseVersion, write_normal, write_terse};

use super::JobText;
use assay_judge::Judgement;
use assay_model::load::blocks::RwPattern;
use assay_model::load::report::{LoadReport, StreamReport};
use assay_model::load::{Ddir, Load, Stream};
use entry::{EntryDirection, JobEntry, per_second};
use serde::ser::{Serialize, Serializer};
use serde_json::ser::Formatter;
use std::collections::BTreeSet;
use std::io;
use std::io::Write;
use text::NumberScale;

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

/// Writes a line for each job, the version and the number of streams. Used only
/// for the normal output.
///
/// # Errors
/// When `out` cannot be written.
pub fn opening(load: &Load, version: &str, out: &mut dyn Write) -> io::Result<()> {
    for stream in &load.streams {
        match stream.clone {
            0 => write_job(stream, out)?,
            1 => writeln!(out, "...")?,
            _ => {}
        }
    }
    writeln!(out, "{version}")?;
    let processes = load.streams.iter().filter(|s| s.process.forked).count();
    let threads = load.streams.len() - processes;
    let counts = [(threads, "thread", "s"), (processes, "process", "es")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {one}{}", if *count > 1 { many } else { "" }))
        .collect();
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "Starting {}", counts.join(" and "))
}

fn write_job(stream: &Stream, out: &mut dyn Write) -> io::Result<()> {
    let scale = NumberScale {
        bits: false,
        ..NumberScale::of(&stream.stats)
    };
    let range = |ddir: Ddir| {
        let sizes = &stream.blocks.sizes[ddir];
        let size = |bytes: u32| scale.sizes(u64::from(bytes)).0;
        format!("{}-{}", size(sizes.min), size(sizes.max.max(sizes.min)))
    };
    // With sizes by order, the third pair is unused.
    let last = match stream.blocks.sizes_by_order {
        true => "bs_is_seq_rand".to_owned(),
        false => format!("(T) {}", range(Ddir::Trim)),
    };
    writeln!(
        out,
        "{}: (g={}): rw={}, bs=(R) {}, (W) {}, {last}, ioengine={}, iodepth={}",
        stream.name,
        stream.group,
        rw_name(&stream.blocks.rw),
        range(Ddir::Read),
        range(Ddir::Write),
        stream.engine.kind.name(),
        stream.engine.iodepth
    )
}

fn rw_name(rw: &RwPattern) -> String {
    let what = match rw {
        RwPattern {
            trim_then_write: true,
            ..
        } => "trimwrite",
        RwPattern {
            read: true,
            write: true,
            ..
        } => "rw",
        RwPattern { write: true, .. } => "write",
        RwPattern { trim: true, .. } => "trim",
        _ => "read",
    };
    format!("{}{what}", if rw.random { "rand" } else { "" })
}

/// Group of jobs.
#[derive(Debug)]
struct RunGroup {
    pub number: u32,
    scale: NumberScale,
    lines: Vec<(EntryDirection, GroupRates)>,
}

#[derive(Clone, Copy, Debug)]
struct GroupRates {
    bytes: u64,
    /// Rate of all entries together over the longest run time, in bytes per
    /// second.
    bytes_per_s: u64,
    least_bytes_per_s: u64,
    most_bytes_per_s: u64,
    shortest_ms: u64,
    longest_ms: u64,
}

impl RunGroup {
    /// Makes the group with this number from all entries.
    fn of(number: u32, entries: &[JobEntry<'_>]) -> Self {
        let members = || entries.iter().filter(move |e| e.stream.group == number);
        let scale = members()
            .next_back()
            .map(|entry| NumberScale::of(entry.stats()));
        let lines = EntryDirection::ALL.into_iter().filter_map(|way| {
            let traffic = members().filter_map(|entry| entry.way(way));
            let ran = traffic.filter(|traffic| traffic.runtime_ms > 0);
            let lines = ran.map(|traffic| GroupRates {
                bytes: traffic.bytes,
                bytes_per_s: 0,
                least_bytes_per_s: traffic.bytes_per_s(),
                most_bytes_per_s: traffic.bytes_per_s(),
                shortest_ms: traffic.runtime_ms,
                longest_ms: traffic.runtime_ms,
            });
            Some((way, lines.reduce(GroupRates::with)?.rated()))
        });
        Self {
            number,
            scale: scale.unwrap_or(NumberScale {
                digits: 4,
                binary: true,
                bits: false,
            }),
            lines: lines.collect(),
        }
    }

    /// Bytes per second of all entries together in a scope.
    fn bytes_per_s(&self, wanted: EntryDirection) -> u64 {
        let line = self.lines.iter().find(|(way, _)| *way == wanted);
        line.map_or(0, |(_, line)| line.bytes_per_s)
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\nRun status group {} (all jobs):", self.number)?;
        for (way, line) in &self.lines {
            let (bw, bw_other) = self.scale.rates(line.bytes_per_s);
            let (least, least_other) = self.scale.rates(line.least_bytes_per_s);
            let (most, most_other) = self.scale.rates(line.most_bytes_per_s);
            let (io, io_other) = self.scale.sizes(line.bytes);
            let GroupRates {
                shortest_ms,
                longest_ms,
                ..
            } = line;
            writeln!(
                out,
                "{:>7}: bw={bw} ({bw_other}), {least}-{most} ({least_other}-{most_other}), \
                 io={io} ({io_other}), run={shortest_ms}-{longest_ms}msec",
                way.name().to_uppercase()
            )?;
        }
        Ok(())
    }
}

impl GroupRates {
    fn with(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            bytes_per_s: 0,
            least_bytes_per_s: self.least_bytes_per_s.min(other.least_bytes_per_s),
            most_bytes_per_s: self.most_bytes_per_s.max(other.most_bytes_per_s),
            shortest_ms: self.shortest_ms.min(other.shortest_ms),
            longest_ms: self.longest_ms.max(other.longest_ms),
        }
    }

    fn rated(self) -> Self {
        Self {
            bytes_per_s: per_second(self.bytes, self.longest_ms),
            ..self
        }
    }
}

/// Any JSON value.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum JsonValue {
    Null,
    Flag(bool),
    Whole(u64),
    Real(f64),
    Text(String),
    List(Vec<JsonValue>),
    Map(Map),
}

/// Object that keeps the order of its members.
struct Map(Vec<(String, JsonValue)>);

impl Map {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn add(&mut self, key: &str, value: impl Into<JsonValue>) {
        self.0.push((key.to_owned(), value.into()));
    }
}

impl From<u64> for JsonValue {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for JsonValue {
    fn from(value: u32) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<f64> for JsonValue {
    /// Converts a number; JSON has no infinity.
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Real(value)
        } else {
            Self::Null
        }
    }
}

impl From<&str> for JsonValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Map> for JsonValue {
    fn from(value: Map) -> Self {
        Self::Map(value)
    }
}

impl From<Vec<Self>> for JsonValue {
    fn from(value: Vec<Self>) -> Self {
        Self::List(value)
    }
}

/// An absent value is `null`, not zero.
impl<T: Into<Self>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Writes an object and a line end.
fn write(map: &Map, out: &mut dyn Write) -> io::Result<()> {
    let formatter = Layout { level: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, formatter);
    map.serialize(&mut serializer)?;
    writeln!(out)
}

struct Layout {
    level: usize,
}

impl Layout {
    fn open<W: ?Sized + Write>(&mut self, bracket: &str, out: &mut W) -> io::Result<()> {
        self.level += 1;
        writeln!(out, "{bracket}")
    }

    fn close<W: ?Sized + Write>(&mut self, bracket: &str, out: &mut W) -> io::Result<()> {
        self.level -= 1;
        write!(out, "\n{:1$}{bracket}", "", self.level * 2)
    }

    fn next<W: ?Sized + Write>(&self, first: bool, out: &mut W) -> io::Result<()> {
        let separator = if first { "" } else { ",\n" };
        write!(out, "{separator}{:1$}", "", self.level * 2)
    }
}

impl Formatter for Layout {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value:.6}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open("[", out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close("]", out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(first, out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open("{", out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close("}", out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(first, out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b" : ")
    }
}

#[cfg(test)]
mod tests;
