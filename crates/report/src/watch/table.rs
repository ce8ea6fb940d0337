//! The table that grows while it is looked on.

use super::WatchRow;
use crate::words::text::clean;
use assay_model::units::{KIB, three_digits};
use assay_model::work::watch::WatchSample;

/// The headings come again after so many rows.
const ROWS_A_HEAD: usize = 20;
/// Columns: heading, and width with the space before it.
const COLUMNS: [(&str, usize); 21] = [
    ("s", 8),
    ("free", 7),
    ("cache", 7),
    ("dirty", 7),
    ("wback", 7),
    ("r", 3),
    ("b", 3),
    ("bi", 8),
    ("bo", 8),
    ("in", 6),
    ("cs", 6),
    ("us", 4),
    ("sy", 3),
    ("wa", 3),
    ("device", 10),
    ("rkB/s", 8),
    ("wkB/s", 8),
    ("w_await", 8),
    ("f/s", 6),
    ("aqu-sz", 7),
    ("%util", 6),
];

/// A table that grows by a line a sample.
#[derive(Debug, Default)]
pub struct WatchTable {
    first: Option<WatchSample>,
    before: Option<WatchSample>,
    rows: usize,
}

impl WatchTable {
    /// The lines of the next sample: with headings from time to time.
    #[must_use]
    pub fn lines(&mut self, now: &WatchSample) -> Vec<String> {
        let mut lines = Vec::new();
        if self.rows.is_multiple_of(ROWS_A_HEAD) {
            lines.push(line(&COLUMNS.map(|(heading, _)| heading.to_owned())));
        }
        let row = WatchRow::of(self.first.as_ref(), self.before.as_ref(), now);
        lines.push(line(&cells(&row)));
        self.rows += 1;
        self.first.get_or_insert_with(|| now.clone());
        self.before = Some(now.clone());
        lines
    }
}

fn line(cells: &[String; COLUMNS.len()]) -> String {
    let cells = cells.iter().zip(COLUMNS);
    // A figure that is wider than its column moves the rest, but never touches the next.
    let cells = cells.map(|(cell, (_, width))| format!("{cell:>0$}", width - 1));
    cells.collect::<Vec<_>>().join(" ")
}

fn cells(row: &WatchRow<'_>) -> [String; COLUMNS.len()] {
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
    [
        seconds(row.now.at_ns),
        size(memory.map(|m| m.free_bytes)),
        size(cache),
        size(memory.map(|m| m.dirty_bytes)),
        size(memory.map(|m| m.writeback_bytes)),
        or_dash(row.now.processor.map(|p| p.running)),
        or_dash(row.now.processor.map(|p| p.blocked)),
        rate(vmstat.map(|v| v.bi)),
        rate(vmstat.map(|v| v.bo)),
        whole(vmstat.map(|v| v.interrupts)),
        whole(vmstat.map(|v| v.cs)),
        percent(cpu.map(|cpu| cpu.us)),
        percent(cpu.map(|cpu| cpu.sy)),
        percent(cpu.map(|cpu| cpu.wa)),
        or_dash(row.disk.map(|disk| clean(&disk.counters.name))),
        rate(iostat.map(|io| io.read.bytes)),
        rate(iostat.map(|io| io.write.bytes)),
        digits(iostat.and_then(|io| io.write.await_ms)),
        whole(iostat.and_then(|io| io.flushes)),
        digits(iostat.map(|io| io.aqu_sz)),
        percent(iostat.map(|io| io.util)),
    ]
}

/// A time with the tenths that it has.
fn seconds(nanos: u64) -> String {
    let seconds = nanos as f64 / 1e9;
    format!("{seconds:.1}")
}

/// As `free -h` writes it: three digits and a letter, powers of 1024.
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
