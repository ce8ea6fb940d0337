//! Statistics of a recording.

use crate::fit::alignment;
use crate::recording::{RecordedStep, Recording};
use crate::{Action, RecordedIo};
use assay_model::load::{Ddir, PerDirection};
use assay_model::number::as_f64;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Number of equal parts of the time for which rates are given.
const PARTS: usize = 20;

/// Maximum number of I/Os counted as in flight, because a trace may have lost completions.
const MOST_UNDER_WAY: usize = 16_384;

/// Statistics of a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// Format of the trace.
    pub format: &'static str,
    /// Time from the first I/O or flush to the last, in nanoseconds.
    pub span_ns: u64,
    /// Files of the recording, each with the end of its last I/O, in bytes.
    pub files: Vec<(String, u64)>,
    /// I/O of each direction.
    pub directions: PerDirection<DirectionUse>,
    /// Number of fsync, fdatasync and device flushes.
    pub flushes: u64,
    /// Largest power of two up to 4096 of which all offsets and lengths are multiples.
    pub alignment_bytes: u64,
    /// Number of I/Os in flight when an I/O began, if the trace contains completions.
    pub depth: Option<Depth>,
    /// I/Os and bytes of equal parts of the span.
    pub rate: Vec<Rate>,
}

/// I/O of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DirectionUse {
    /// Number of I/Os.
    pub ios: u64,
    /// Total bytes of the I/Os.
    pub bytes: u64,
    /// Number of I/Os that began where the previous one, of the same file and direction, had ended.
    pub sequential_ios: u64,
    /// Pairs of length and number of I/Os, the most frequent first.
    pub sizes: Vec<(u32, u64)>,
}

/// Number of I/Os in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Depth {
    /// Mean at the start of each I/O, including that I/O.
    pub mean: f64,
    /// Maximum.
    pub max: u64,
}

/// I/O in a part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Number of I/Os that began.
    pub ios: u64,
    /// Bytes of these I/Os; trims count as none.
    pub bytes: u64,
}

/// Describes a recording.
pub fn describe(recording: &Recording) -> Description {
    let mut tally = TraceTally::default();
    for step in &recording.steps {
        tally.add(step);
    }
    let begun = |step: &&RecordedStep| {
        matches!(step.action, Action::Io(_) | Action::Sync | Action::Datasync)
    };
    let mut begun = recording.steps.iter().filter(begun);
    let first_ns = begun.clone().next().map_or(0, |step| step.at_ns);
    let span_ns = begun.next_back().map_or(0, |step| step.at_ns - first_ns);
    let files = recording.files.iter().enumerate().map(|(index, file)| {
        let extent = tally.extents.get(&index).copied().unwrap_or(0);
        (file.display().to_string(), extent)
    });
    Description {
        format: recording.format,
        span_ns,
        files: files.collect(),
        flushes: tally.flushes,
        alignment_bytes: alignment(recording),
        depth: depth(&recording.steps),
        rate: rates(&recording.steps, first_ns, span_ns),
        directions: PerDirection::from_fn(|ddir| tally.direction(ddir)),
    }
}

#[derive(Default)]
struct TraceTally {
    uses: PerDirection<DirectionUse>,
    sizes: PerDirection<BTreeMap<u32, u64>>,
    /// End offset of the latest I/O of each file and direction.
    ends: HashMap<(usize, &'static str), u64>,
    extents: HashMap<usize, u64>,
    flushes: u64,
}

impl TraceTally {
    fn add(&mut self, step: &RecordedStep) {
        let io = match step.action {
            Action::Io(io) => io,
            Action::Sync | Action::Datasync => {
                self.flushes += 1;
                return;
            }
            Action::Done(_) | Action::Open | Action::Close => return,
        };
        let RecordedIo {
            ddir,
            offset,
            length,
        } = io;
        let last = self.ends.insert((step.file, ddir.name()), io.end());
        let usage = &mut self.uses[ddir];
        usage.ios += 1;
        usage.bytes = usage.bytes.saturating_add(u64::from(length));
        usage.sequential_ios += u64::from(last == Some(offset));
        *self.sizes[ddir].entry(length).or_default() += 1;
        let extent = self.extents.entry(step.file).or_default();
        *extent = (*extent).max(io.end());
    }

    fn direction(&mut self, ddir: Ddir) -> DirectionUse {
        let mut sizes: Vec<(u32, u64)> = self.sizes[ddir].iter().map(|(l, n)| (*l, *n)).collect();
        sizes.sort_by_key(|&(length, count)| (std::cmp::Reverse(count), length));
        DirectionUse {
            sizes,
            ..std::mem::take(&mut self.uses[ddir])
        }
    }
}

/// Computes the number of I/Os in flight. A completion ends all I/Os in flight that begin in its
/// range, because a request may consist of several I/Os.
fn depth(steps: &[RecordedStep]) -> Option<Depth> {
    let mut under_way: VecDeque<(usize, u64)> = VecDeque::new();
    let (mut ios, mut sum, mut max, mut completed) = (0_u64, 0_u64, 0_u64, false);
    for step in steps {
        match step.action {
            Action::Io(io) => {
                under_way.push_back((step.file, io.offset));
                if under_way.len() > MOST_UNDER_WAY {
                    under_way.pop_front();
                }
                let depth = under_way.len() as u64;
                (ios, sum, max) = (ios + 1, sum + depth, max.max(depth));
            }
            Action::Done(io) => {
                completed = true;
                let covered = io.offset..io.end();
                under_way.retain(|&(file, at)| file != step.file || !covered.contains(&at));
            }
            Action::Sync | Action::Datasync | Action::Open | Action::Close => {}
        }
    }
    completed.then(|| Depth {
        mean: as_f64(sum) / as_f64(ios.max(1)),
        max,
    })
}

fn rates(steps: &[RecordedStep], first_ns: u64, span_ns: u64) -> Vec<Rate> {
    let mut rates = vec![Rate::default(); PARTS];
    for step in steps {
        if let Action::Io(RecordedIo { ddir, length, .. }) = step.action {
            let since = u128::from(step.at_ns.saturating_sub(first_ns));
            let part = since * PARTS as u128 / u128::from(span_ns.saturating_add(1));
            let part = usize::try_from(part).unwrap_or(PARTS).min(PARTS - 1);
            rates[part].ios += 1;
            if ddir != Ddir::Trim {
                rates[part].bytes = rates[part].bytes.saturating_add(u64::from(length));
            }
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mix_sizes_order_and_flushes_are_counted() {
        let text = "fio version 3 iolog\n0 f add\n0 f write 0 4096\n10 f write 4096 4096\n\
                    20 f sync 0 0\n20 f write 65536 512\n100 f read 512 512\n";
        let described = describe(&Recording::read(text.as_bytes()).unwrap());
        let writes = &described.directions.write;
        assert_eq!(
            (writes.ios, writes.bytes, writes.sequential_ios),
            (3, 8_704, 1)
        );
        assert_eq!(writes.sizes, [(4096, 2), (512, 1)]);
        assert_eq!((described.flushes, described.alignment_bytes), (1, 512));
        assert_eq!(described.span_ns, 100_000);
        assert_eq!(described.files, [("f".to_owned(), 66_048)]);
        assert_eq!(described.depth, None, "nothing says when they were done");
        let ios: Vec<u64> = described.rate.iter().map(|rate| rate.ios).collect();
        assert_eq!(ios.iter().sum::<u64>(), 4);
        assert_eq!((ios[0], ios[PARTS - 1]), (1, 1));
    }

    #[test]
    fn depths_are_those_between_begin_and_completion() {
        let text = "\
x-1 [0] 1.000001: block_bio_queue: 8,0 W 8 + 8 [x]
x-1 [0] 1.000002: block_bio_queue: 8,0 W 16 + 8 [x]
x-1 [0] 1.000003: block_rq_complete: 8,0 W () 8 + 16 [0]
x-1 [0] 1.000004: block_bio_queue: 8,0 W 8 + 8 [x]
";
        let described = describe(&Recording::read(text.as_bytes()).unwrap());
        let depth = described.depth.unwrap();
        assert_eq!(depth.max, 2);
        assert!((depth.mean - 4.0 / 3.0).abs() < 1e-9, "{depth:?}");
    }
}
