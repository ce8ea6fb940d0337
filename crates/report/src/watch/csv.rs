//! Samples as CSV: one header, one row per sample. Sizes are in bytes, shares are 0 to 1; unknown
//! values are empty.

use super::WatchRow;
use assay_model::evidence::DeviceCounters;
use assay_model::work::watch::WatchSample;
use assay_stats::watch::{IoStat, Requests, free};
use std::io::{self, Write};

/// Writer of samples as CSV, one at a time.
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
