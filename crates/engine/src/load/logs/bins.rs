//! Histograms of completion latencies over intervals of time.

use super::samples::IoSample;
use assay_model::load::{Ddir, PerDirection};
use assay_stats::histogram::bucket_index;
use std::io::{self, Write};

/// Number of fio's bins: 29 groups of 64. They equal those of assay's histograms up to 17 s;
/// longer latencies are in the last bin.
const BINS: usize = 29 * 64;

/// The histograms of a stream.
#[derive(Debug)]
pub(super) struct BinLog {
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
pub(super) struct Interval {
    /// End of the interval, in nanoseconds.
    at_ns: u64,
    ddir: Ddir,
    bytes: u32,
    /// Pairs of bin and number of I/Os, for the bins in use.
    bins: Vec<(usize, u64)>,
}

impl BinLog {
    pub(super) fn new(width_ns: u64) -> Self {
        Self {
            width_ns,
            index: 0,
            current: PerDirection::default(),
            closed: Vec::new(),
        }
    }

    /// Counts an I/O.
    #[inline]
    pub(super) fn add(&mut self, sample: &IoSample) {
        let counts = &mut self.current[sample.ddir];
        let bin = (bucket_index(sample.clat_ns) as usize).min(BINS - 1);
        counts.bins[bin] += 1;
        counts.ios += 1;
        counts.bytes = sample.bytes;
    }

    /// Closes the current interval if it ended by `at_ns`. Returns the end of the next one.
    pub(super) fn close(&mut self, at_ns: u64) -> u64 {
        let index = at_ns / self.width_ns;
        if index > self.index {
            self.keep((self.index + 1) * self.width_ns);
            self.index = index;
        }
        (self.index + 1).saturating_mul(self.width_ns)
    }

    /// Closes the last interval when the stream ends. (fio drops an incomplete one.)
    pub(super) fn finish(&mut self, end_ns: u64) {
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
    pub(super) fn intervals(&self) -> &[Interval] {
        &self.closed
    }
}

impl Interval {
    /// Returns the end of the interval in milliseconds, from the start of the stream plus
    /// `epoch_ms`.
    pub(super) fn at_ms(&self, epoch_ms: u64) -> u64 {
        epoch_ms + self.at_ns / 1_000_000
    }

    /// Writes the interval's row: time (ms), direction, block size, and the I/Os of each bin, with
    /// 2 to the power of `coarseness` bins merged into one.
    pub(super) fn write(
        &self,
        epoch_ms: u64,
        coarseness: u8,
        out: &mut impl Write,
    ) -> io::Result<()> {
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
