//! Log files: every I/O, or averages over time, as rows of numbers.
//!
//! While the clock runs, an I/O costs one entry of 48 bytes for all files together ([`samples`]),
//! or with averaging a few additions ([`windows`], [`bins`]). The text is created afterwards
//! ([`rows`], [`files`]).

mod bins;
mod files;
mod rows;
mod samples;
#[cfg(test)]
mod tests;
mod windows;

#[cfg(feature = "loads")]
pub(crate) use files::log_names;
pub(crate) use files::write_logs;

use crate::error::EngineError;
use assay_model::load::Ddir;
use assay_model::load::logs::Logs;
use assay_model::load::priority::IoPriority;
use assay_model::load::schedule::Process;
use assay_model::load::stats::StatsOptions;
use bins::BinLog;
use rustix::time::{ClockId, clock_gettime};
use samples::{IoSample, Samples};
use windows::Windows;

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
