//! Samples as CSV: one header, one row per sample. Sizes are in bytes, shares
//! are 0 to 1; what is not known is empty.

use super::WatchRow;
use assay_model::work::watch::WatchSample;
use assay_stats::watch::{Requests, free};
use std::io::{self, Write};

/// The columns. Rates are those since the row before, so the first has none.
const COLUMNS: [&str; 48] = [
    "time_s",
    "phase",
    "total_bytes",
    "used_bytes",
    "free_bytes",
    "shared_bytes",
    "buff_cache_bytes",
    "available_bytes",
    "dirty_bytes",
    "writeback_bytes",
    "r",
    "b",
    "swpd_bytes",
    "buff_bytes",
    "cache_bytes",
    "si_bytes_per_s",
    "so_bytes_per_s",
    "bi_bytes_per_s",
    "bo_bytes_per_s",
    "in_per_s",
    "cs_per_s",
    "us",
    "sy",
    "id",
    "wa",
    "st",
    "gu",
    "device",
    "device_dirty_bytes",
    "device_read_bytes",
    "device_written_bytes",
    "in_flight",
    "r_per_s",
    "r_bytes_per_s",
    "r_merges_per_s",
    "r_await_ms",
    "r_size_bytes",
    "w_per_s",
    "w_bytes_per_s",
    "w_merges_per_s",
    "w_await_ms",
    "w_size_bytes",
    "discard_bytes_per_s",
    "f_per_s",
    "f_await_ms",
    "aqu_sz",
    "util",
    "device_flushes",
];

/// Samples as CSV, as they come.
#[derive(Debug, Default)]
pub struct Csv {
    first: Option<WatchSample>,
    before: Option<WatchSample>,
}

impl Csv {
    /// Writes the row of the next sample; before the first the header.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&mut self, now: &WatchSample, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = ::csv::Writer::from_writer(out);
        if self.first.is_none() {
            csv.write_record(COLUMNS)?;
        }
        let row = WatchRow::of(self.first.as_ref(), self.before.as_ref(), now);
        csv.write_record(cells(&row))?;
        self.first.get_or_insert_with(|| now.clone());
        self.before = Some(now.clone());
        csv.flush()
    }
}

fn cells(row: &WatchRow<'_>) -> Vec<String> {
    let seconds = row.now.at_ns as f64 / 1e9;
    let mut cells = vec![format!("{seconds:.3}"), row.now.phase.name().to_owned()];
    cells.extend(of_memory(row));
    cells.extend(of_vmstat(row));
    cells.extend(of_device(row));
    cells
}

fn of_memory(row: &WatchRow<'_>) -> [String; 8] {
    let memory = row.now.memory.as_ref();
    let free = memory.map(free);
    [
        or_empty(free.map(|f| f.total)),
        or_empty(free.and_then(|f| f.used)),
        or_empty(free.map(|f| f.free)),
        or_empty(free.and_then(|f| f.shared)),
        or_empty(free.map(|f| f.buff_cache)),
        or_empty(free.and_then(|f| f.available)),
        or_empty(memory.map(|m| m.dirty_bytes)),
        or_empty(memory.map(|m| m.writeback_bytes)),
    ]
}

fn of_vmstat(row: &WatchRow<'_>) -> [String; 17] {
    let (memory, processor) = (row.now.memory.as_ref(), row.now.processor.as_ref());
    let vmstat = row.vmstat.as_ref();
    let cpu = vmstat.map(|v| v.cpu);
    let cache = memory.map(|m| m.cached_bytes.saturating_add(m.slab_reclaimable_bytes));
    [
        or_empty(processor.map(|p| p.running)),
        or_empty(processor.map(|p| p.blocked)),
        or_empty(memory.map(|m| m.swap_used_bytes)),
        or_empty(memory.map(|m| m.buffers_bytes)),
        or_empty(cache),
        rounded(vmstat.map(|v| v.si)),
        rounded(vmstat.map(|v| v.so)),
        rounded(vmstat.map(|v| v.bi)),
        rounded(vmstat.map(|v| v.bo)),
        rounded(vmstat.map(|v| v.interrupts)),
        rounded(vmstat.map(|v| v.cs)),
        rounded(cpu.map(|cpu| cpu.us)),
        rounded(cpu.map(|cpu| cpu.sy)),
        rounded(cpu.map(|cpu| cpu.id)),
        rounded(cpu.map(|cpu| cpu.wa)),
        rounded(cpu.map(|cpu| cpu.st)),
        rounded(cpu.map(|cpu| cpu.gu)),
    ]
}

fn of_device(row: &WatchRow<'_>) -> Vec<String> {
    let disk = row.disk;
    let counters = disk.map(|disk| &disk.counters);
    let iostat = row.iostat.as_ref();
    let mut cells = vec![
        or_empty(counters.map(|c| c.name.clone())),
        or_empty(disk.and_then(|disk| disk.unwritten_bytes)),
        or_empty(counters.map(|c| c.read_bytes)),
        or_empty(counters.map(|c| c.write_bytes)),
        or_empty(counters.map(|c| c.in_flight)),
    ];
    cells.extend(of_requests(iostat.map(|io| io.read)));
    cells.extend(of_requests(iostat.map(|io| io.write)));
    cells.extend([
        rounded(iostat.and_then(|io| io.discarded)),
        rounded(iostat.and_then(|io| io.flushes)),
        rounded(iostat.and_then(|io| io.flush_await_ms)),
        rounded(iostat.map(|io| io.aqu_sz)),
        rounded(iostat.map(|io| io.util)),
        or_empty(counters.and_then(|c| c.flush_ios)),
    ]);
    cells
}

fn of_requests(requests: Option<Requests>) -> [String; 5] {
    [
        rounded(requests.map(|r| r.per_second)),
        rounded(requests.map(|r| r.bytes)),
        rounded(requests.map(|r| r.merges)),
        rounded(requests.and_then(|r| r.await_ms)),
        rounded(requests.and_then(|r| r.size)),
    ]
}

/// Three decimals are as many as the counters bear.
fn rounded(value: Option<f64>) -> String {
    or_empty(value.map(|value| format!("{value:.3}")))
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
