//! Averages over windows of time.
//!
//! Windows have a fixed grid: an I/O counts in the window of its completion,
//! and a window without I/O has a bandwidth of 0. (fio omits such windows, so
//! that a stalled device is not visible in its log.)

use super::LogKind;
use super::rows::LogRow;
use super::samples::IoSample;
use assay_model::load::logs::WindowValue;
use assay_model::load::priority::IoPriority;
use assay_model::load::{Ddir, PerDirection};

/// The windows of a stream.
#[derive(Debug)]
pub(super) struct Windows {
    width_ns: u64,
    /// Latency values to log for a window.
    value: WindowValue,
    /// Number of the current window.
    index: u64,
    current: PerDirection<Tally>,
    /// Windows with I/O, in order.
    closed: Vec<Window>,
    /// Length of the last window, which is shorter than the others.
    rest_ns: u64,
}

/// Counters of one direction in a window.
#[derive(Clone, Copy, Debug)]
struct Window {
    index: u64,
    ddir: Ddir,
    tally: Tally,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    ios: u64,
    bytes: u64,
    slat: Latency,
    clat: Latency,
    lat: Latency,
}

#[derive(Clone, Copy, Debug, Default)]
struct Latency {
    count: u64,
    sum_ns: u64,
    max_ns: u64,
}

/// Value of a row, and the maximum if both are logged.
type Values = (u64, Option<u64>);

impl Latency {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Returns the values to log, with a rounded mean; `None` if there was no
    /// I/O.
    fn values(&self, which: WindowValue) -> Option<Values> {
        let mean = self
            .sum_ns
            .saturating_add(self.count / 2)
            .checked_div(self.count)?;
        Some(match which {
            WindowValue::Mean => (mean, None),
            WindowValue::Max => (self.max_ns, None),
            WindowValue::Both => (mean, Some(self.max_ns)),
        })
    }
}

impl Windows {
    pub(super) fn new(width_ns: u64, value: WindowValue) -> Self {
        Self {
            width_ns,
            value,
            index: 0,
            current: PerDirection::default(),
            closed: Vec::new(),
            rest_ns: 0,
        }
    }

    /// Counts an I/O. The caller has closed earlier windows.
    #[inline]
    pub(super) fn add(&mut self, sample: &IoSample) {
        let tally = &mut self.current[sample.ddir];
        tally.ios += 1;
        tally.bytes += u64::from(sample.bytes);
        if let Some(slat_ns) = sample.slat_ns() {
            tally.slat.add(slat_ns);
        }
        tally.clat.add(sample.clat_ns);
        tally.lat.add(sample.lat_ns);
    }

    /// Closes the windows that end up to `at_ns`. Returns the end of the next
    /// one.
    pub(super) fn close(&mut self, at_ns: u64) -> u64 {
        let index = at_ns / self.width_ns;
        if index > self.index {
            self.keep();
            self.index = index;
        }
        (self.index + 1).saturating_mul(self.width_ns)
    }

    /// Closes the last window when the stream ends.
    pub(super) fn finish(&mut self, end_ns: u64) {
        self.close(end_ns);
        self.keep();
        self.rest_ns = end_ns % self.width_ns;
    }

    fn keep(&mut self) {
        let current = std::mem::take(&mut self.current);
        for (ddir, &tally) in current.iter().filter(|(_, tally)| tally.ios > 0) {
            self.closed.push(Window {
                index: self.index,
                ddir,
                tally,
            });
        }
    }

    /// Returns the rows of a log.
    pub(super) fn rows(&self, kind: LogKind) -> Vec<LogRow> {
        match kind {
            LogKind::Bandwidth => self.rates(|tally| tally.bytes, 1024),
            LogKind::Iops => self.rates(|tally| tally.ios, 1),
            LogKind::Submission => self.latencies(|tally| &tally.slat),
            LogKind::Completion => self.latencies(|tally| &tally.clat),
            LogKind::Total => self.latencies(|tally| &tally.lat),
            LogKind::Histogram => Vec::new(),
        }
    }

    /// Returns rates per second, in units of `unit`, of each direction that has
    /// any I/O. The last window is included only if it is at least half as long
    /// as the others, because the rate of a very short window is not
    /// meaningful.
    fn rates(&self, amount: fn(&Tally) -> u64, unit: u64) -> Vec<LogRow> {
        let used: Vec<Ddir> = Ddir::ALL
            .into_iter()
            .filter(|&ddir| self.closed.iter().any(|window| window.ddir == ddir))
            .collect();
        let windows = self.index + u64::from(self.rest_ns >= self.width_ns.div_ceil(2));
        let mut closed = self.closed.iter().peekable();
        let mut rows = Vec::new();
        for index in 0..windows {
            for &ddir in &used {
                let here = closed.next_if(|window| (window.index, window.ddir) == (index, ddir));
                let amount = here.map_or(0, |window| amount(&window.tally));
                let per_second = u128::from(amount) * 1_000_000_000
                    / u128::from(self.length_ns(index).max(1))
                    / u128::from(unit);
                let value = u64::try_from(per_second).unwrap_or(u64::MAX);
                let second = (self.value == WindowValue::Both).then_some(value);
                rows.push(self.row(index, ddir, (value, second)));
            }
        }
        rows
    }

    /// Returns latencies. A window without I/O has none.
    fn latencies(&self, of: fn(&Tally) -> &Latency) -> Vec<LogRow> {
        let values = |window: &Window| of(&window.tally).values(self.value);
        let rows = self.closed.iter().filter_map(|window| {
            values(window).map(|values| self.row(window.index, window.ddir, values))
        });
        rows.collect()
    }

    fn row(&self, index: u64, ddir: Ddir, (value, max): Values) -> LogRow {
        LogRow {
            at_ns: index * self.width_ns + self.length_ns(index),
            value,
            max,
            ddir,
            bytes: 0,
            offset: 0,
            priority: IoPriority::NONE,
            issued_ns: 0,
        }
    }

    fn length_ns(&self, index: u64) -> u64 {
        match index == self.index {
            true => self.rest_ns,
            false => self.width_ns,
        }
    }
}
