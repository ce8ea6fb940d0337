//! Output of `assay watch`: a growing table, CSV, JSON, and at the end the bytes that reached the
//! device and their timing.

use crate::words::clean;
use assay_lang::{counted, in_english, tr};
use assay_model::act::watch::{DiskCounters, Drain, Phase, WatchReport, WatchSample};
use assay_model::evidence::DeviceCounters;
use assay_model::units::{Bytes, KIB, Nanos, three_digits};
use assay_stats::watch;
use assay_stats::watch::{IoStat, Requests, VmStat, busiest, free, iostat, vmstat};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::path::Path;

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
            iostat(was, disk, watch::seconds(before, now)?)
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

/// Writer of samples as CSV, one at a time. The output has one header, and one row per sample.
/// Sizes are in bytes, shares are 0 to 1; unknown values are empty.
#[derive(Debug, Default)]
pub struct Csv {
    first: Option<WatchSample>,
    before: Option<WatchSample>,
}

impl Csv {
    /// Writes the row of the next sample, after the header if it is the first.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&mut self, now: &WatchSample, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = ::csv::Writer::from_writer(out);
        let row = WatchRow::of(self.first.as_ref(), self.before.as_ref(), now);
        let row = columns(&row);
        if self.first.is_none() {
            csv.write_record(row.iter().map(|(name, _)| name))?;
        }
        csv.write_record(row.iter().map(|(_, cell)| cell))?;
        self.first.get_or_insert_with(|| now.clone());
        self.before = Some(now.clone());
        csv.flush()
    }
}

/// Name of a column with the cell of a row.
type Cell = (&'static str, String);

/// Returns the columns. Rates are those since the previous row, so that the first row has none.
fn columns(row: &WatchRow<'_>) -> Vec<Cell> {
    let seconds = row.now.at_ns as f64 / 1e9;
    let phase = row.now.phase.name().to_owned();
    let mut columns = vec![("time_s", format!("{seconds:.3}")), ("phase", phase)];
    columns.extend(of_memory(row));
    columns.extend(of_vmstat(row));
    columns.extend(of_device(row));
    columns
}

fn of_memory(row: &WatchRow<'_>) -> [Cell; 8] {
    let memory = row.now.memory.as_ref();
    let free = memory.map(free);
    [
        ("total_bytes", or_empty(free.map(|f| f.total))),
        ("used_bytes", or_empty(free.and_then(|f| f.used))),
        ("free_bytes", or_empty(free.map(|f| f.free))),
        ("shared_bytes", or_empty(free.and_then(|f| f.shared))),
        ("buff_cache_bytes", or_empty(free.map(|f| f.buff_cache))),
        ("available_bytes", or_empty(free.and_then(|f| f.available))),
        ("dirty_bytes", or_empty(memory.map(|m| m.dirty_bytes))),
        (
            "writeback_bytes",
            or_empty(memory.map(|m| m.writeback_bytes)),
        ),
    ]
}

fn of_vmstat(row: &WatchRow<'_>) -> [Cell; 17] {
    let (memory, processor) = (row.now.memory.as_ref(), row.now.processor.as_ref());
    let vmstat = row.vmstat.as_ref();
    let cpu = vmstat.map(|v| v.cpu);
    let cache = memory.map(|m| m.cached_bytes.saturating_add(m.slab_reclaimable_bytes));
    [
        ("r", or_empty(processor.map(|p| p.running))),
        ("b", or_empty(processor.map(|p| p.blocked))),
        ("swpd_bytes", or_empty(memory.map(|m| m.swap_used_bytes))),
        ("buff_bytes", or_empty(memory.map(|m| m.buffers_bytes))),
        ("cache_bytes", or_empty(cache)),
        ("si_bytes_per_s", rounded(vmstat.map(|v| v.si))),
        ("so_bytes_per_s", rounded(vmstat.map(|v| v.so))),
        ("bi_bytes_per_s", rounded(vmstat.map(|v| v.bi))),
        ("bo_bytes_per_s", rounded(vmstat.map(|v| v.bo))),
        ("in_per_s", rounded(vmstat.map(|v| v.interrupts))),
        ("cs_per_s", rounded(vmstat.map(|v| v.cs))),
        ("us", rounded(cpu.map(|cpu| cpu.us))),
        ("sy", rounded(cpu.map(|cpu| cpu.sy))),
        ("id", rounded(cpu.map(|cpu| cpu.id))),
        ("wa", rounded(cpu.map(|cpu| cpu.wa))),
        ("st", rounded(cpu.map(|cpu| cpu.st))),
        ("gu", rounded(cpu.map(|cpu| cpu.gu))),
    ]
}

fn of_device(row: &WatchRow<'_>) -> Vec<Cell> {
    let disk = row.disk;
    let counters = disk.map(|disk| &disk.counters);
    let iostat = row.iostat.as_ref();
    let unwritten = disk.and_then(|disk| disk.unwritten_bytes);
    let counted = |of: fn(&DeviceCounters) -> u64| or_empty(counters.map(of));
    let since = |of: fn(&IoStat) -> Option<f64>| rounded(iostat.and_then(of));
    let mut columns = vec![
        ("device", or_empty(counters.map(|c| c.name.clone()))),
        ("device_dirty_bytes", or_empty(unwritten)),
        ("device_read_bytes", counted(|c| c.read_bytes)),
        ("device_written_bytes", counted(|c| c.write_bytes)),
        ("in_flight", counted(|c| c.in_flight)),
    ];
    columns.extend(of_requests(READS, iostat.map(|io| io.read)));
    columns.extend(of_requests(WRITES, iostat.map(|io| io.write)));
    columns.extend([
        ("discard_bytes_per_s", since(|io| io.discarded)),
        ("f_per_s", since(|io| io.flushes)),
        ("f_await_ms", since(|io| io.flush_await_ms)),
        ("aqu_sz", since(|io| Some(io.aqu_sz))),
        ("util", since(|io| Some(io.util))),
        (
            "device_flushes",
            or_empty(counters.and_then(|c| c.flush_ios)),
        ),
    ]);
    columns
}

const READS: [&str; 5] = [
    "r_per_s",
    "r_bytes_per_s",
    "r_merges_per_s",
    "r_await_ms",
    "r_size_bytes",
];
const WRITES: [&str; 5] = [
    "w_per_s",
    "w_bytes_per_s",
    "w_merges_per_s",
    "w_await_ms",
    "w_size_bytes",
];

fn of_requests(names: [&'static str; 5], requests: Option<Requests>) -> Vec<Cell> {
    let cells = [
        rounded(requests.map(|r| r.per_second)),
        rounded(requests.map(|r| r.bytes)),
        rounded(requests.map(|r| r.merges)),
        rounded(requests.and_then(|r| r.await_ms)),
        rounded(requests.and_then(|r| r.size)),
    ];
    names.into_iter().zip(cells).collect()
}

/// Formats a number with three decimals, the precision of the counters.
fn rounded(value: Option<f64>) -> String {
    or_empty(value.map(|value| format!("{value:.3}")))
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Version of the document; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// Returns the document: raw samples, the end of the command, the activity of the device.
pub fn document(
    command: &[OsString],
    interval_ns: u64,
    samples: &[WatchSample],
    report: &WatchReport,
) -> Value {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let (first, last) = (samples.first(), samples.last());
    let disk = first
        .zip(last)
        .and_then(|(first, last)| busiest(first, last));
    let disk = disk.map(|disk| disk.counters.name.as_str());
    json!({
        "schema": SCHEMA,
        "command": words,
        "interval_ns": interval_ns,
        "exit_code": report.ended.and_then(|end| end.exit_code),
        "signal": report.ended.and_then(|end| end.signal),
        "finished_ns": report.ended.map(|end| end.at_ns),
        "on_device_ns": on_device_ns(disk, report),
        "drain": report.drain,
        "last_writes": report.last_writes,
        "device": disk.and_then(|disk| device(disk, samples)),
        "conclusion": in_english(|| sentences(&Name::of(command), samples, report)),
        "samples": samples,
    })
}

/// Returns the activity of the device until the command ended, and in total.
fn device(name: &str, samples: &[WatchSample]) -> Option<Value> {
    let (first, last) = (samples.first()?, samples.last()?);
    let ended = samples
        .iter()
        .find(|sample| sample.phase == Phase::Draining);
    let until = |sample: &WatchSample| {
        Moved::of(name, first, sample).map(|moved| {
            json!({
                "read_bytes": moved.read_bytes,
                "written_bytes": moved.written_bytes,
                "writes": moved.writes,
                "flushes": moved.flushes,
            })
        })
    };
    Some(json!({
        "name": name,
        "until_finished": ended.and_then(until),
        "in_all": until(last),
    }))
}

/// Name of a command in sentences: the file name of its program.
#[derive(Clone, Debug)]
pub struct Name(String);

impl Name {
    /// Returns the name of a command.
    pub fn of(command: &[OsString]) -> Self {
        let program = command.first().map(Path::new);
        let name = program.and_then(|program| Some(program.file_name()?.to_string_lossy()));
        Self(name.map_or_else(|| tr!("the command").to_owned(), |name| clean(&name)))
    }
}

/// Activity of one device between two samples.
struct Moved {
    device: String,
    read_bytes: u64,
    written_bytes: u64,
    writes: u64,
    /// Number of flushes; `None` if the kernel does not count them.
    flushes: Option<u64>,
}

impl Moved {
    /// Returns the activity of a device; `None` if the device was replaced meanwhile.
    fn of(name: &str, before: &WatchSample, after: &WatchSample) -> Option<Self> {
        let (was, is) = (of_name(before, name)?, of_name(after, name)?);
        let (was, is) = (&was.counters, &is.counters);
        let flushes = was.flush_ios.zip(is.flush_ios);
        Some(Self {
            device: clean(name),
            read_bytes: is.read_bytes.checked_sub(was.read_bytes)?,
            written_bytes: is.write_bytes.checked_sub(was.write_bytes)?,
            writes: is.write_ios.checked_sub(was.write_ios)?,
            flushes: flushes.and_then(|(was, is)| is.checked_sub(was)),
        })
    }
}

/// Describes the data that the command left in memory, the time when it was written, and the
/// activity of the device until then.
pub fn sentences(name: &Name, samples: &[WatchSample], report: &WatchReport) -> Vec<String> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let disk = busiest(first, last).map(|disk| disk.counters.name.as_str());
    let moved = |after| disk.and_then(|disk| Moved::of(disk, first, after));
    let Some(end) = report.ended else {
        return moved(last)
            .map(|moved| alone(&moved, last))
            .into_iter()
            .collect();
    };
    let ended = samples
        .iter()
        .find(|sample| sample.phase == Phase::Draining);
    let ended = ended.unwrap_or(last);
    let mut lines = vec![finished(name, end.at_ns, disk, report)];
    lines.extend(moved(ended).map(|moved| then(name, &moved, ended)));
    if ended.at_ns < last.at_ns {
        lines.extend(moved(last).map(|moved| in_the_end(&moved)));
    }
    lines
}

fn finished(name: &Name, at_ns: u64, disk: Option<&str>, report: &WatchReport) -> String {
    let Name(name) = name;
    let begin = tr!("{name} finished after {time}", name, time = Nanos(at_ns));
    let device = disk.map_or_else(|| tr!("its device").to_owned(), clean);
    let still_dirty = |bytes| {
        tr!(
            "{begin}; {bytes} were still dirty",
            begin,
            bytes = Bytes(bytes)
        )
    };
    let on_device = on_device_ns(disk, report);
    match (report.drain, on_device) {
        (Some(Drain::Left { .. } | Drain::Expired { .. }), Some(then)) if then > at_ns => {
            let known = match report.drain {
                Some(Drain::Expired { age_ns, .. }) => tr!(
                    " (others kept pages dirty; known from the device, still since, and from the {age} \
                     after which the kernel writes a page)",
                    age = Nanos(age_ns)
                ),
                _ => String::new(),
            };
            tr!(
                "{begin}; the data was on {device} after {time}{known}.",
                begin,
                device,
                time = Nanos(then),
                known
            )
        }
        (
            Some(Drain::Left {
                within_bytes: 0, ..
            }),
            _,
        ) => {
            tr!("{begin}; it left nothing dirty in memory.", begin)
        }
        (Some(Drain::Left { within_bytes, .. }), _) => tr!(
            "{begin}; it left nothing dirty in memory (counted to within {bytes}).",
            begin,
            bytes = Bytes(within_bytes)
        ),
        (Some(Drain::Expired { .. }), _) => tr!(
            "{begin}; nothing of it was written to {device} after that.",
            begin,
            device
        ),
        (Some(Drain::TimedOut { unwritten_bytes }), _) => tr!(
            "{dirty} when the longest wait was over: another process keeps writing, or {device} is \
             slow, so when the data was on {device} is not known.",
            dirty = still_dirty(unwritten_bytes),
            device
        ),
        (Some(Drain::NotAwaited { unwritten_bytes }), _) => tr!(
            "{dirty} when the watching was stopped.",
            dirty = still_dirty(unwritten_bytes)
        ),
        (Some(Drain::Unknown) | None, _) => tr!(
            "{begin}; the kernel does not report when the data was on {device}.",
            begin,
            device
        ),
    }
}

/// Returns the time at which the written-back pages were on the device: that of its last write.
fn on_device_ns(disk: Option<&str>, report: &WatchReport) -> Option<u64> {
    let gone = matches!(
        report.drain,
        Some(Drain::Left { .. } | Drain::Expired { .. })
    );
    let last = report
        .last_writes
        .iter()
        .find(|last| Some(&*last.device) == disk);
    last.filter(|_| gone).map(|last| last.at_ns)
}

fn then(name: &Name, moved: &Moved, ended: &WatchSample) -> String {
    let Name(name) = name;
    let dirty = match (of_name(ended, &moved.device), ended.memory) {
        (
            Some(DiskCounters {
                unwritten_bytes: Some(bytes),
                ..
            }),
            _,
        ) => {
            tr!(", and {bytes} of its own were dirty", bytes = Bytes(*bytes))
        }
        (_, Some(memory)) => tr!(
            ", and {bytes} were dirty (of all devices)",
            bytes = Bytes(memory.unwritten_bytes())
        ),
        _ => String::new(),
    };
    tr!(
        "When {name} finished, {bytes} had been written to {device}{dirty}.",
        name,
        bytes = Bytes(moved.written_bytes),
        device = moved.device,
        dirty
    )
}

fn in_the_end(moved: &Moved) -> String {
    let flushes = match moved.flushes {
        None => String::new(),
        Some(0) => tr!(" and no flush: what the device itself caches may not be safe").to_owned(),
        Some(flushes) => tr!(" and {flushes}", flushes = flush_count(flushes)),
    };
    tr!(
        "In the end it was {bytes} in {writes}{flushes}.",
        bytes = Bytes(moved.written_bytes),
        writes = counted!(moved.writes, "{n} write", "{n} writes"),
        flushes
    )
}

fn alone(moved: &Moved, last: &WatchSample) -> String {
    tr!(
        "In {time}: {read} read from {device}, {written} written to it{flushes}.",
        time = Nanos(last.at_ns),
        read = Bytes(moved.read_bytes),
        device = moved.device,
        written = Bytes(moved.written_bytes),
        flushes = moved
            .flushes
            .map(|flushes| format!("{}{}", tr!(", "), flush_count(flushes)))
            .unwrap_or_default()
    )
}

fn flush_count(flushes: u64) -> String {
    counted!(flushes, "{n} flush", "{n} flushes")
}

/// Number of rows after which the headings are repeated.
const ROWS_A_HEAD: usize = 20;
/// Table that grows by one line per sample.
#[derive(Debug, Default)]
pub struct WatchTable {
    first: Option<WatchSample>,
    before: Option<WatchSample>,
    rows: usize,
}

impl WatchTable {
    /// Returns the lines of the next sample, with headings from time to time.
    pub fn lines(&mut self, now: &WatchSample) -> Vec<String> {
        let mut lines = Vec::new();
        let row = WatchRow::of(self.first.as_ref(), self.before.as_ref(), now);
        let row = cells(&row);
        if self.rows.is_multiple_of(ROWS_A_HEAD) {
            let heads = row.iter().map(|(head, width, _)| (*head, *width));
            lines.push(line(heads));
        }
        let cells = row.iter().map(|(_, width, cell)| (cell.as_str(), *width));
        lines.push(line(cells));
        self.rows += 1;
        self.first.get_or_insert_with(|| now.clone());
        self.before = Some(now.clone());
        lines
    }
}

/// Formats a line of cells, each with the width of its column including the space before it.
fn line<'a>(cells: impl Iterator<Item = (&'a str, usize)>) -> String {
    // A figure wider than its column shifts the rest, but never touches the next one.
    let cells = cells.map(|(cell, width)| format!("{cell:>0$}", width - 1));
    cells.collect::<Vec<_>>().join(" ")
}

/// Returns the columns with heading, width and cell.
fn cells(row: &WatchRow<'_>) -> [(&'static str, usize, String); 21] {
    let memory = row.now.memory.as_ref();
    let vmstat = row.vmstat.as_ref();
    let iostat = row.iostat.as_ref();
    let cache =
        memory.map(|m| m.cached_bytes.saturating_add(m.slab_reclaimable_bytes) + m.buffers_bytes);
    let kib = KIB as f64;
    let rate = |value: Option<f64>| or_dash(value.map(|value| format!("{:.0}", value / kib)));
    let whole = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.0}")));
    let percent = |share: Option<f64>| whole(share.map(|share| share * 100.0));
    let digits = |value: Option<f64>| or_dash(value.map(three_digits));
    let cpu = vmstat.map(|v| v.cpu);
    let device = row.disk.map(|disk| clean(&disk.counters.name));
    let wait_ms = iostat.and_then(|io| io.write.await_ms);
    [
        ("s", 8, seconds(row.now.at_ns)),
        ("free", 7, size(memory.map(|m| m.free_bytes))),
        ("cache", 7, size(cache)),
        ("dirty", 7, size(memory.map(|m| m.dirty_bytes))),
        ("wback", 7, size(memory.map(|m| m.writeback_bytes))),
        ("r", 3, or_dash(row.now.processor.map(|p| p.running))),
        ("b", 3, or_dash(row.now.processor.map(|p| p.blocked))),
        ("bi", 8, rate(vmstat.map(|v| v.bi))),
        ("bo", 8, rate(vmstat.map(|v| v.bo))),
        ("in", 6, whole(vmstat.map(|v| v.interrupts))),
        ("cs", 6, whole(vmstat.map(|v| v.cs))),
        ("us", 4, percent(cpu.map(|cpu| cpu.us))),
        ("sy", 3, percent(cpu.map(|cpu| cpu.sy))),
        ("wa", 3, percent(cpu.map(|cpu| cpu.wa))),
        ("device", 10, or_dash(device)),
        ("rkB/s", 8, rate(iostat.map(|io| io.read.bytes))),
        ("wkB/s", 8, rate(iostat.map(|io| io.write.bytes))),
        ("w_await", 8, digits(wait_ms)),
        ("f/s", 6, whole(iostat.and_then(|io| io.flushes))),
        ("aqu-sz", 7, digits(iostat.map(|io| io.aqu_sz))),
        ("%util", 6, percent(iostat.map(|io| io.util))),
    ]
}

/// Formats a time in seconds with tenths.
fn seconds(nanos: u64) -> String {
    let seconds = nanos as f64 / 1e9;
    format!("{seconds:.1}")
}

/// Formats a size like `free -h`: three digits and a letter, powers of 1024.
fn size(bytes: Option<u64>) -> String {
    const STEPS: [(u64, &str); 3] = [(KIB * KIB * KIB, "G"), (KIB * KIB, "M"), (KIB, "K")];
    let Some(bytes) = bytes else {
        return or_dash::<u64>(None);
    };
    match STEPS.iter().find(|(step, _)| bytes >= *step) {
        None => bytes.to_string(),
        Some((step, letter)) => {
            let number = bytes as f64 / *step as f64;
            format!("{}{letter}", three_digits(number))
        }
    }
}

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests;
