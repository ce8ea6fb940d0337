//! Table that grows during the command.

use super::WatchRow;
use crate::words::text::clean;
use assay_model::units::{KIB, three_digits};
use assay_model::work::watch::WatchSample;

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
