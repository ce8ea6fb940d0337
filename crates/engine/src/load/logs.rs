//! Log files: every I/O, or averages over time, as rows of numbers.
//!
//! While the clock runs, an I/O costs one entry of 48 bytes for all files together ([`Samples`]),
//! or with averaging a few additions (`Windows`, `BinLog`). The text is created afterwards
//! (`LogRow`, [`files`]).
//!
//! Windows have a fixed grid: an I/O counts in the window of its completion,
//! and a window without I/O has a bandwidth of 0. (fio omits such windows, so
//! that a stalled device is not visible in its log.)

mod files;

pub(crate) use files::write_logs;

use crate::EngineError;
use assay_model::load::report::StatsOptions;
use assay_model::load::{Ddir, IoPriority, Logs, PerDirection, Process, WindowValue};
use assay_stats::histogram::bin_index;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use rustix::time::{ClockId, clock_gettime};
use std::io::Write;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

#[cfg(feature = "loads")]
pub(crate) use files::log_names;

/// Kind of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LogKind {
    Bandwidth,
    Iops,
    Submission,
    Completion,
    Total,
    Histogram,
}

impl LogKind {
    /// Returns fio's name of the kind, used in file names.
    const fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bw",
            Self::Iops => "iops",
            Self::Submission => "slat",
            Self::Completion => "clat",
            Self::Total => "lat",
            Self::Histogram => "clat_hist",
        }
    }
}

/// Record of the I/Os for all log files except histograms.
#[derive(Debug)]
enum Entries {
    Nothing,
    /// Every I/O.
    Every(Samples),
    /// Averages over time.
    Averaged(Box<Windows>),
}

/// Requested logs, and the values common to all rows.
#[derive(Debug)]
struct Setup {
    options: Logs,
    /// Kinds of files with the prefixes of their names.
    wanted: Vec<(LogKind, String)>,
    /// Number of the stream, from 1.
    number: u32,
    /// Priority of I/Os without their own.
    priority: IoPriority,
    clock: Option<ClockId>,
    /// Time of the log's clock when the stream's clock started, in milliseconds; added to all
    /// times.
    epoch_ms: u64,
}

/// The logs of one stream.
#[derive(Debug)]
pub(crate) struct LogSet {
    setup: Setup,
    entries: Entries,
    histograms: Option<BinLog>,
    /// Time until which an I/O only needs to be counted.
    next_ns: u64,
}

impl LogSet {
    /// Opens the logs that stream `number` (from 1) of the job `job_name` requests; `None` if it
    /// requests none.
    ///
    /// # Errors
    /// If the clock for the times is unknown, or the thread that compresses cannot be started.
    pub(crate) fn open(
        options: &Logs,
        stats: &StatsOptions,
        process: &Process,
        job_name: &str,
        number: u32,
    ) -> Result<Option<Self>, EngineError> {
        let wanted = wanted(options, stats, job_name);
        if wanted.is_empty() {
            return Ok(None);
        }
        let has_rows = wanted.iter().any(|(kind, _)| *kind != LogKind::Histogram);
        let entries = match options.average.0 {
            _ if !has_rows => Entries::Nothing,
            0 => Entries::Every(Samples::new(options.compress_from)?),
            width_ns => Entries::Averaged(Box::new(Windows::new(width_ns, options.window_value))),
        };
        // Without an interval, fio's file stays empty; here it has one histogram of each direction.
        let width_ns = match options.histogram_interval.0 {
            0 => u64::MAX,
            width_ns => width_ns,
        };
        let histograms = options.histogram.as_ref().map(|_| BinLog::new(width_ns));
        let mut set = Self {
            setup: Setup {
                options: options.clone(),
                wanted,
                number,
                priority: process.priority(),
                clock: clock(options, job_name)?,
                epoch_ms: 0,
            },
            entries,
            histograms,
            next_ns: 0,
        };
        set.close(0);
        Ok(Some(set))
    }

    /// Records the time of the log's clock when the stream's clock starts.
    pub(crate) fn begin(&mut self) {
        if let Some(clock) = self.setup.clock {
            let now = clock_gettime(clock);
            // Both values are positive for every clock that counts from an epoch.
            let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
            let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
            self.setup.epoch_ms = seconds * 1_000 + nanos / 1_000_000;
        }
    }

    /// Records an I/O that completed `at_ns` after the start of the stream. `slat_ns` is `None` for
    /// synchronous engines, which have no submission latency.
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "one entry's fields, in the hot loop"
    )]
    pub(crate) fn completed(
        &mut self,
        at_ns: u64,
        ddir: Ddir,
        bytes: u32,
        offset: u64,
        priority: IoPriority,
        slat_ns: Option<u64>,
        clat_ns: u64,
        lat_ns: u64,
    ) {
        self.tick(at_ns);
        let mut sample = IoSample::new(at_ns, ddir, bytes, offset, slat_ns, clat_ns, lat_ns);
        sample.priority = priority;
        match &mut self.entries {
            Entries::Nothing => {}
            Entries::Every(samples) => samples.push(sample),
            Entries::Averaged(windows) => windows.add(&sample),
        }
        if let Some(histograms) = &mut self.histograms {
            histograms.add(&sample);
        }
    }

    /// Closes the windows that have ended, without an I/O.
    #[inline]
    pub(crate) fn tick(&mut self, at_ns: u64) {
        if at_ns >= self.next_ns {
            self.close(at_ns);
        }
    }

    /// Closes the open windows when the stream's clock stops.
    pub(crate) fn finish(&mut self, end_ns: u64) {
        if let Entries::Averaged(windows) = &mut self.entries {
            windows.finish(end_ns);
        }
        if let Some(histograms) = &mut self.histograms {
            histograms.finish(end_ns);
        }
    }

    /// Closes the windows that end up to `at_ns`.
    #[cold]
    fn close(&mut self, at_ns: u64) {
        let windows_ns = match &mut self.entries {
            Entries::Averaged(windows) => windows.close(at_ns),
            Entries::Nothing | Entries::Every(_) => u64::MAX,
        };
        let histograms_ns = match &mut self.histograms {
            Some(histograms) => histograms.close(at_ns),
            None => u64::MAX,
        };
        self.next_ns = windows_ns.min(histograms_ns);
    }
}

/// Returns the requested files. A latency that is not measured has no file.
fn wanted(options: &Logs, stats: &StatsOptions, job_name: &str) -> Vec<(LogKind, String)> {
    let prefix = |name: &String| match name.as_str() {
        "" => job_name.to_owned(),
        name => name.to_owned(),
    };
    [
        (LogKind::Bandwidth, &options.bandwidth, true),
        (LogKind::Iops, &options.iops, true),
        (LogKind::Submission, &options.latency, stats.slat),
        (LogKind::Completion, &options.latency, stats.clat),
        (LogKind::Total, &options.latency, stats.lat),
        (LogKind::Histogram, &options.histogram, true),
    ]
    .into_iter()
    .filter(|&(_, _, measured)| measured)
    .filter_map(|(kind, name, _)| name.as_ref().map(|name| (kind, prefix(name))))
    .collect()
}

/// Returns the clock whose time is added to the rows; `None` for times since the start.
fn clock(options: &Logs, job_name: &str) -> Result<Option<ClockId>, EngineError> {
    if let Some(id) = options.epoch_clock {
        return ClockId::try_from(id)
            .map(Some)
            .map_err(|_| EngineError::Job {
                job: job_name.to_owned(),
                problem: format!(
                    "log_alternate_epoch_clock_id={id} is not a clock of this system; 0 is the \
                     time since 1970, 1 the time since boot"
                ),
            });
    }
    Ok(options.unix_epoch.then_some(ClockId::Realtime))
}

/// Flag of the binary form: the offset follows.
const HAS_OFFSET: u32 = 1 << 31;
/// Flag: the priority is valid.
const HAS_PRIORITY: u32 = 1 << 30;
/// Flag: the largest value follows.
const HAS_MAX: u32 = 1 << 29;
/// Flag: the time of issue follows.
const HAS_ISSUE_TIME: u32 = 1 << 28;
/// Class of real-time I/O priorities.
const REAL_TIME: u16 = 1;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LogRow {
    /// Time since the start of the stream.
    at_ns: u64,
    value: u64,
    /// Largest value, if it is logged in addition to the mean.
    max: Option<u64>,
    ddir: Ddir,
    bytes: u32,
    offset: u64,
    priority: IoPriority,
    /// Time of issue since the start of the stream; 0 in logs without it, as in fio.
    issued_ns: u64,
}

impl LogRow {
    /// Returns the row of one I/O in a log; `None` if it has none there. All rows of an I/O have its
    /// completion time. (In fio, rows of the submission latency have the submission time.) `priority`
    /// applies to I/Os without their own.
    fn of(sample: &IoSample, kind: LogKind, priority: IoPriority) -> Option<Self> {
        let value = match kind {
            LogKind::Bandwidth => rate(sample),
            LogKind::Iops => 1,
            LogKind::Submission => sample.slat_ns()?,
            LogKind::Completion => sample.clat_ns,
            LogKind::Total => sample.lat_ns,
            LogKind::Histogram => return None,
        };
        Some(Self {
            at_ns: sample.at_ns,
            value,
            max: None,
            ddir: sample.ddir,
            bytes: sample.bytes,
            offset: sample.offset,
            priority: match sample.priority {
                IoPriority::NONE => priority,
                own => own,
            },
            issued_ns: match kind {
                LogKind::Submission | LogKind::Completion => {
                    sample.at_ns.saturating_sub(sample.clat_ns)
                }
                _ => 0,
            },
        })
    }

    /// Returns the time in milliseconds since the start of the stream, plus `epoch_ms`.
    fn at_ms(&self, epoch_ms: u64) -> u64 {
        epoch_ms + self.at_ns / 1_000_000
    }

    /// Writes `msec, value[, largest], ddir, bs[, offset], priority[, issued]`. Without `log_prio`, the
    /// priority is 1 for the real-time class and 0 for others.
    fn write_text(&self, epoch_ms: u64, options: &Logs, out: &mut impl Write) -> io::Result<()> {
        let (ddir, bytes) = (self.ddir.number(), self.bytes);
        write!(out, "{}, {}, ", self.at_ms(epoch_ms), self.value)?;
        if let Some(max) = self.max {
            write!(out, "{max}, ")?;
        }
        write!(out, "{ddir}, {bytes}, ")?;
        if options.offset {
            write!(out, "{}, ", self.offset)?;
        }
        if options.priority {
            write!(out, "0x{:04x}", self.priority.0)?;
        } else {
            write!(out, "{}", u8::from(self.priority.class() == REAL_TIME))?;
        }
        if options.issue_time {
            write!(out, ", {}", self.issued_ns)?;
        }
        writeln!(out)
    }

    /// Writes the format that `fio --inflate-log` reads after decompression: time (ms), value,
    /// direction with flags, priority, block size, and the offset if it is logged. Fields that fio 3.33
    /// does not know follow if they are logged: the largest value and the time of issue. Fields are
    /// naturally aligned and in native byte order.
    fn write_binary(&self, epoch_ms: u64, options: &Logs, out: &mut impl Write) -> io::Result<()> {
        let offset_flag = if options.offset { HAS_OFFSET } else { 0 };
        let priority_flag = if options.priority { HAS_PRIORITY } else { 0 };
        let max_flag = if self.max.is_some() { HAS_MAX } else { 0 };
        let issue_flag = if options.issue_time {
            HAS_ISSUE_TIME
        } else {
            0
        };
        let flags = offset_flag | priority_flag | max_flag | issue_flag;
        let ddir = u32::from(self.ddir.number()) | flags;
        out.write_all(&self.at_ms(epoch_ms).to_ne_bytes())?;
        out.write_all(&self.value.to_ne_bytes())?;
        out.write_all(&ddir.to_ne_bytes())?;
        out.write_all(&self.priority.0.to_ne_bytes())?;
        out.write_all(&[0, 0])?;
        out.write_all(&u64::from(self.bytes).to_ne_bytes())?;
        if options.offset {
            out.write_all(&self.offset.to_ne_bytes())?;
        }
        if let Some(max) = self.max {
            out.write_all(&max.to_ne_bytes())?;
        }
        if options.issue_time {
            out.write_all(&self.issued_ns.to_ne_bytes())?;
        }
        Ok(())
    }
}

/// Returns the bandwidth of a single I/O as fio logs it: bytes divided by completion latency, in
/// **thousands** of bytes per second (averages are in KiB/s); 0 if the latency is 0.
fn rate(sample: &IoSample) -> u64 {
    (u64::from(sample.bytes) * 1_000_000)
        .checked_div(sample.clat_ns)
        .unwrap_or(0)
}

/// Number of fio's bins: 29 groups of 64. They equal those of assay's histograms up to 17 s;
/// longer latencies are in the last bin.
const BINS: usize = 29 * 64;

/// The histograms of a stream.
#[derive(Debug)]
struct BinLog {
    width_ns: u64,
    /// Number of the current interval.
    index: u64,
    current: PerDirection<Counts>,
    closed: Vec<Interval>,
}

/// Counters of the current interval.
#[derive(Clone, Debug)]
struct Counts {
    bins: Vec<u64>,
    ios: u64,
    /// Length of the last I/O, in bytes.
    bytes: u32,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            bins: vec![0; BINS],
            ios: 0,
            bytes: 0,
        }
    }
}

/// A closed interval with I/O.
#[derive(Debug)]
struct Interval {
    /// End of the interval, in nanoseconds.
    at_ns: u64,
    ddir: Ddir,
    bytes: u32,
    /// Pairs of bin and number of I/Os, for the bins in use.
    bins: Vec<(usize, u64)>,
}

impl BinLog {
    fn new(width_ns: u64) -> Self {
        Self {
            width_ns,
            index: 0,
            current: PerDirection::default(),
            closed: Vec::new(),
        }
    }

    /// Counts an I/O.
    #[inline]
    fn add(&mut self, sample: &IoSample) {
        let counts = &mut self.current[sample.ddir];
        let bin = (bin_index(sample.clat_ns) as usize).min(BINS - 1);
        counts.bins[bin] += 1;
        counts.ios += 1;
        counts.bytes = sample.bytes;
    }

    /// Closes the current interval if it ended by `at_ns`. Returns the end of the next one.
    fn close(&mut self, at_ns: u64) -> u64 {
        let index = at_ns / self.width_ns;
        if index > self.index {
            self.keep((self.index + 1) * self.width_ns);
            self.index = index;
        }
        (self.index + 1).saturating_mul(self.width_ns)
    }

    /// Closes the last interval when the stream ends. (fio drops an incomplete one.)
    fn finish(&mut self, end_ns: u64) {
        self.close(end_ns);
        self.keep(end_ns);
    }

    fn keep(&mut self, at_ns: u64) {
        for ddir in Ddir::ALL {
            let counts = &mut self.current[ddir];
            if counts.ios == 0 {
                continue;
            }
            let bins = counts.bins.iter().copied().enumerate();
            self.closed.push(Interval {
                at_ns,
                ddir,
                bytes: counts.bytes,
                bins: bins.filter(|&(_, ios)| ios > 0).collect(),
            });
            counts.bins.fill(0);
            counts.ios = 0;
        }
    }

    /// Returns the intervals with I/O, in order.
    fn intervals(&self) -> &[Interval] {
        &self.closed
    }
}

impl Interval {
    /// Returns the end of the interval in milliseconds, from the start of the stream plus
    /// `epoch_ms`.
    fn at_ms(&self, epoch_ms: u64) -> u64 {
        epoch_ms + self.at_ns / 1_000_000
    }

    /// Writes the interval's row: time (ms), direction, block size, and the I/Os of each bin, with
    /// 2 to the power of `coarseness` bins merged into one.
    fn write(&self, epoch_ms: u64, coarseness: u8, out: &mut impl Write) -> io::Result<()> {
        let together = 1_usize << coarseness.min(6);
        let mut bins = vec![0; BINS / together];
        for &(bin, ios) in &self.bins {
            bins[bin / together] += ios;
        }
        let at_ms = self.at_ms(epoch_ms);
        write!(out, "{at_ms}, {}, {}", self.ddir.number(), self.bytes)?;
        for ios in bins {
            write!(out, ", {ios}")?;
        }
        writeln!(out)
    }
}

/// The windows of a stream.
#[derive(Debug)]
struct Windows {
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
    fn new(width_ns: u64, value: WindowValue) -> Self {
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
    fn add(&mut self, sample: &IoSample) {
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
    fn close(&mut self, at_ns: u64) -> u64 {
        let index = at_ns / self.width_ns;
        if index > self.index {
            self.keep();
            self.index = index;
        }
        (self.index + 1).saturating_mul(self.width_ns)
    }

    /// Closes the last window when the stream ends.
    fn finish(&mut self, end_ns: u64) {
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
    fn rows(&self, kind: LogKind) -> Vec<LogRow> {
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

/// Entries of an uncompressed piece (384 KiB).
const PIECE: usize = 8192;
/// Bytes of an entry before compression.
const PACKED_BYTES: usize = 48;
/// Value for an I/O without submission latency. An `Option` would add 8 bytes
/// to each entry.
const NO_LATENCY: u64 = u64::MAX;
/// Compression level; fast, because compression takes CPU time from the
/// measured load.
const LEVEL: u8 = 1;

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoSample {
    /// Time of completion.
    pub(super) at_ns: u64,
    pub(super) offset: u64,
    slat_ns: u64,
    pub(super) clat_ns: u64,
    pub(super) lat_ns: u64,
    pub(super) bytes: u32,
    pub(super) ddir: Ddir,
    /// Priority of this I/O.
    pub(super) priority: IoPriority,
}

impl IoSample {
    #[inline]
    pub(super) fn new(
        at_ns: u64,
        ddir: Ddir,
        bytes: u32,
        offset: u64,
        slat_ns: Option<u64>,
        clat_ns: u64,
        lat_ns: u64,
    ) -> Self {
        Self {
            at_ns,
            offset,
            slat_ns: slat_ns.unwrap_or(NO_LATENCY),
            clat_ns,
            lat_ns,
            bytes,
            ddir,
            priority: IoPriority::NONE,
        }
    }

    /// Returns the time in the submission call; `None` for synchronous engines.
    #[inline]
    pub(super) fn slat_ns(&self) -> Option<u64> {
        (self.slat_ns != NO_LATENCY).then_some(self.slat_ns)
    }
}

/// Samples of the I/Os so far.
pub(super) struct Samples {
    /// The piece being filled; its capacity is its final length.
    piece: Vec<IoSample>,
    full: Full,
}

/// The full pieces.
enum Full {
    Kept(Vec<Vec<IoSample>>),
    /// A separate thread compresses the pieces, so that the stream does not.
    Packing {
        pieces: Sender<Vec<IoSample>>,
        packer: JoinHandle<Vec<Vec<u8>>>,
    },
}

impl Samples {
    /// Creates an empty store. Samples are compressed in pieces of about
    /// `compress_from` bytes; 0 disables compression.
    pub(super) fn new(compress_from: u64) -> Result<Self, EngineError> {
        if compress_from == 0 {
            return Ok(Self {
                piece: Vec::with_capacity(PIECE),
                full: Full::Kept(Vec::new()),
            });
        }
        let length = usize::try_from(compress_from).unwrap_or(usize::MAX) / PACKED_BYTES;
        let (pieces, arriving) = mpsc::channel::<Vec<IoSample>>();
        let packer = thread::Builder::new()
            .name("log-packer".to_owned())
            .spawn(move || arriving.into_iter().map(|piece| pack(&piece)).collect())
            .map_err(|source| EngineError::Threads { number: 1, source })?;
        Ok(Self {
            piece: Vec::with_capacity(length.clamp(1, 1 << 20)),
            full: Full::Packing { pieces, packer },
        })
    }

    /// Adds a sample.
    #[inline]
    pub(super) fn push(&mut self, sample: IoSample) {
        if self.piece.len() == self.piece.capacity() {
            self.next_piece();
        }
        self.piece.push(sample);
    }

    #[cold]
    fn next_piece(&mut self) {
        let empty = Vec::with_capacity(self.piece.capacity());
        let piece = std::mem::replace(&mut self.piece, empty);
        match &mut self.full {
            Full::Kept(pieces) => pieces.push(piece),
            // If the packer has ended, `into_pieces` returns the reason.
            Full::Packing { pieces, .. } => drop(pieces.send(piece)),
        }
    }

    /// Converts the samples for reading.
    pub(super) fn into_pieces(self) -> io::Result<Pieces> {
        let mut full = match self.full {
            Full::Kept(pieces) => pieces.into_iter().map(Piece::Plain).collect::<Vec<_>>(),
            Full::Packing { pieces, packer } => {
                drop(pieces);
                let packed = packer
                    .join()
                    .map_err(|_| io::Error::other("the thread that compresses panicked"))?;
                packed.into_iter().map(Piece::Packed).collect()
            }
        };
        full.push(Piece::Plain(self.piece));
        Ok(Pieces(full))
    }
}

impl fmt::Debug for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Samples").finish_non_exhaustive()
    }
}

/// Samples of a stream that has ended.
pub(super) struct Pieces(Vec<Piece>);

enum Piece {
    Plain(Vec<IoSample>),
    Packed(Vec<u8>),
}

impl Pieces {
    /// Returns the I/Os in the order of their completion.
    pub(super) fn iter(&self) -> impl Iterator<Item = io::Result<IoSample>> {
        self.0.iter().flat_map(|piece| {
            let (samples, error) = match piece {
                Piece::Plain(samples) => (samples.clone(), None),
                Piece::Packed(bytes) => match unpack(bytes) {
                    Ok(samples) => (samples, None),
                    Err(error) => (Vec::new(), Some(Err(error))),
                },
            };
            samples.into_iter().map(Ok).chain(error)
        })
    }
}

fn pack(samples: &[IoSample]) -> Vec<u8> {
    let fields = samples.iter().flat_map(|sample| {
        [
            sample.at_ns,
            sample.offset,
            sample.slat_ns,
            sample.clat_ns,
            sample.lat_ns,
            u64::from(sample.priority.0) << 48
                | u64::from(sample.ddir.number()) << 32
                | u64::from(sample.bytes),
        ]
    });
    let bytes: Vec<u8> = fields.flat_map(u64::to_le_bytes).collect();
    compress_to_vec_zlib(&bytes, LEVEL)
}

fn unpack(packed: &[u8]) -> io::Result<Vec<IoSample>> {
    let bytes =
        decompress_to_vec_zlib(packed).map_err(|error| io::Error::other(error.to_string()))?;
    let samples = bytes.chunks_exact(PACKED_BYTES).map(|entry| {
        let mut fields = entry.chunks_exact(8).map(|field| {
            let field = field.try_into().unwrap_or_default();
            u64::from_le_bytes(field)
        });
        let mut next = || fields.next().unwrap_or(0);
        let (at_ns, offset, slat_ns, clat_ns, lat_ns) = (next(), next(), next(), next(), next());
        let last = next();
        IoSample {
            at_ns,
            offset,
            slat_ns,
            clat_ns,
            lat_ns,
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            bytes: last as u32,
            priority: IoPriority((last >> 48) as u16),
            ddir: match last >> 32 & 0xffff {
                0 => Ddir::Read,
                1 => Ddir::Write,
                _ => Ddir::Trim,
            },
        }
    });
    Ok(samples.collect())
}

#[cfg(test)]
mod tests;
