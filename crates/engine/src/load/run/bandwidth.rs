//! The bandwidth of all streams together over time (`--bandwidth-log`).

use crate::error::EngineError;
use assay_model::load::report::StreamProgress;
use assay_model::load::{Ddir, PerDirection};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Time between two rows, as in fio.
const WIDTH_NS: u64 = 500_000_000;
const KIB: u128 = 1024;

/// The rows written so far.
#[derive(Debug)]
pub(super) struct BandwidthLog {
    begun_ns: u64,
    /// Time of the last row, in nanoseconds.
    at_ns: u64,
    /// Bytes transferred until the last row.
    moved: PerDirection<u64>,
    /// Time since the start (ms) and bandwidth (KiB/s).
    rows: PerDirection<Vec<(u64, u64)>>,
}

impl BandwidthLog {
    pub(super) fn new(begun_ns: u64) -> Self {
        Self {
            begun_ns,
            at_ns: begun_ns,
            moved: PerDirection::default(),
            rows: PerDirection::default(),
        }
    }

    /// Adds a row to each direction when one is due.
    pub(super) fn look(&mut self, now_ns: u64, streams: impl Iterator<Item = StreamProgress>) {
        if now_ns.saturating_sub(self.at_ns) >= WIDTH_NS {
            self.add(now_ns, streams);
        }
    }

    /// Adds the last row when the load has ended, if its interval is long
    /// enough for a rate.
    pub(super) fn finish(&mut self, now_ns: u64, streams: impl Iterator<Item = StreamProgress>) {
        if now_ns.saturating_sub(self.at_ns) >= WIDTH_NS / 2 {
            self.add(now_ns, streams);
        }
    }

    fn add(&mut self, now_ns: u64, streams: impl Iterator<Item = StreamProgress>) {
        let mut moved = PerDirection::<u64>::default();
        for stream in streams {
            for (ddir, bytes) in stream.bytes.iter() {
                moved[ddir] += bytes;
            }
        }
        let width_ns = now_ns.saturating_sub(self.at_ns).max(1);
        let at_ms = now_ns.saturating_sub(self.begun_ns) / 1_000_000;
        for (ddir, &bytes) in moved.iter() {
            // A stream's counters restart when its ramp ends.
            let since = bytes.saturating_sub(self.moved[ddir]);
            let rate = u128::from(since) * 1_000_000_000 / u128::from(width_ns) / KIB;
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            self.rows[ddir].push((at_ms, rate));
        }
        self.moved = moved;
        self.at_ns = now_ns;
    }

    /// Writes a file for each direction that was used, with fio's names:
    /// `agg-read_bw.log` and so on.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<(), EngineError> {
        for (ddir, rows) in self.rows.iter() {
            if rows.iter().all(|&(_, rate)| rate == 0) {
                continue;
            }
            let mut text = String::new();
            for (at_ms, rate) in rows {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{at_ms}, {rate}, {}, 0, 0", ddir.number());
            }
            let path = folder.join(log_name(ddir));
            fs::write(&path, text).map_err(|error| EngineError::file("write", &path, error))?;
        }
        Ok(())
    }
}

fn log_name(ddir: Ddir) -> String {
    format!("agg-{}_bw.log", ddir.name())
}

/// Returns the names of all these logs.
#[cfg(feature = "loads")]
pub(in crate::load) fn log_names_of_all() -> impl Iterator<Item = String> {
    Ddir::ALL.into_iter().map(log_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: u64) -> impl Iterator<Item = StreamProgress> {
        let mut progress = StreamProgress::default();
        progress.bytes.write = bytes;
        [progress, progress].into_iter()
    }

    #[test]
    fn all_streams_are_one_and_unused_directions_have_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = BandwidthLog::new(1_000);
        log.look(1_000 + WIDTH_NS - 1, written(1 << 20));
        log.look(1_000 + WIDTH_NS, written(1 << 20));
        log.look(1_000 + 2 * WIDTH_NS, written(1 << 20));
        log.look(1_000 + 3 * WIDTH_NS, written(3 << 20));
        log.finish(1_000 + 3 * WIDTH_NS + 10, written(9 << 20));
        log.write(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join("agg-write_bw.log")).unwrap();
        assert_eq!(
            text,
            "500, 4096, 1, 0, 0\n1000, 0, 1, 0, 0\n1500, 8192, 1, 0, 0\n"
        );
        assert!(!folder.path().join("agg-read_bw.log").exists());
    }
}
