//! A complete trace of any format.

use crate::{
    Action, BlktraceSource, BlockEvent, BlockStage, ByteOrder, EventTime, IologSource, RecordedIo,
    TraceEvent, TraceSource, damaged, parse_block_event,
};
use assay_model::load::{Ddir, PerDirection};
use assay_model::units::as_f64;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use std::io;
use std::io::{BufRead, Read};
use std::path::PathBuf;

/// Maximum line length of the known formats.
const LONGEST_LINE: u64 = 64 * 1024;

/// A step of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    /// Time since the first step, in nanoseconds.
    pub at_ns: u64,
    /// Index into [`Recording::files`].
    pub file: usize,
    /// Action of the step.
    pub action: Action,
}

/// A complete trace, with its steps ordered by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Name of the format.
    pub format: &'static str,
    /// Paths of the files, or `MAJOR:MINOR` of the devices.
    pub files: Vec<PathBuf>,
    /// Steps of the recording, in the order of their times.
    pub steps: Vec<RecordedStep>,
}

impl Recording {
    /// Reads a trace to its end. Its first bytes determine the format.
    ///
    /// # Errors
    /// If the format is unknown, or the trace is damaged or contains no I/O.
    pub fn read(mut input: impl BufRead) -> io::Result<Self> {
        let start = input.fill_buf()?;
        let recording = if let Some(order) = ByteOrder::of(start) {
            let names = Box::new(|major, minor| Some(PathBuf::from(format!("{major}:{minor}"))));
            Self::of("blktrace", BlktraceSource::new(input, order, 0, names))?
        } else if start.starts_with(b"fio version") {
            Self::of("iolog", IologSource::open(input)?)?
        } else {
            Self::of_text(input)?
        };
        let is_io = |step: &RecordedStep| matches!(step.action, Action::Io(_));
        if recording.steps.iter().any(is_io) {
            return Ok(recording);
        }
        Err(damaged(match recording.format {
            "" => {
                "neither an iolog of fio (version 2 or 3), nor a trace of blktrace, nor text of \
                 blkparse, trace-cmd report, perf script or /sys/kernel/tracing/trace with block events"
            }
            _ => "the recording contains no I/O",
        }))
    }

    fn of(format: &'static str, mut source: impl TraceSource) -> io::Result<Self> {
        let mut steps = Vec::new();
        let mut now_ns: Option<u64> = None;
        while let Some(TraceEvent { file, action, time }) = source.next_event()? {
            let at_ns = match time {
                EventTime::At(at_ns) => at_ns.max(now_ns.unwrap_or(0)),
                EventTime::After(wait_ns) => now_ns.unwrap_or(0).saturating_add(wait_ns),
            };
            now_ns = Some(at_ns);
            steps.push(RecordedStep {
                at_ns,
                file,
                action,
            });
        }
        Ok(Self {
            format,
            files: source.files().to_vec(),
            steps: from_zero(steps),
        })
    }

    /// Reads a text trace. Uses the queued I/Os if the trace contains them, else those issued to
    /// the driver.
    fn of_text(mut input: impl BufRead) -> io::Result<Self> {
        let mut seen = Vec::new();
        let mut files = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = (&mut input)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            if read as u64 == LONGEST_LINE && seen.is_empty() {
                break;
            }
            let Some(event) = parse_block_event(&String::from_utf8_lossy(&line), number)? else {
                continue;
            };
            let name = PathBuf::from(&event.device);
            let file = files.iter().position(|known| *known == name);
            let file = file.unwrap_or_else(|| {
                files.push(name);
                files.len() - 1
            });
            seen.push((event, file));
        }
        let queued = |(event, _): &(BlockEvent, usize)| {
            event.stage == BlockStage::Queued && event.action.is_some()
        };
        let wanted = match seen.iter().any(queued) {
            true => BlockStage::Queued,
            false => BlockStage::Issued,
        };
        let mut steps = Vec::with_capacity(seen.len());
        for (event, file) in seen {
            if event.stage != wanted && event.stage != BlockStage::Done {
                continue;
            }
            let flush = (event.flush && event.stage == wanted).then_some(Action::Sync);
            steps.extend(
                flush
                    .into_iter()
                    .chain(event.action)
                    .map(|action| RecordedStep {
                        at_ns: event.at_ns,
                        file,
                        action,
                    }),
            );
        }
        steps.sort_by_key(|step| step.at_ns);
        Ok(Self {
            format: match (steps.is_empty(), wanted) {
                (true, _) => "",
                (_, BlockStage::Queued) => "block events (queued)",
                (_, _) => "block events (issued)",
            },
            files,
            steps: from_zero(steps),
        })
    }
}

/// Makes all times relative to the first step.
fn from_zero(mut steps: Vec<RecordedStep>) -> Vec<RecordedStep> {
    let first_ns = steps.first().map_or(0, |step| step.at_ns);
    for step in &mut steps {
        step.at_ns -= first_ns;
    }
    steps
}

/// Alignment of the files of a recording, which are placed one after the other on the
/// target.
const FILES_ALIGN: u64 = 1 << 20;

/// Treatment of I/O beyond the end of storage that is smaller than the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// Wraps around to the start: sequential I/O stays sequential.
    Wrap,
    /// Scales all offsets by the same factor: distant offsets stay distant.
    Scale,
}

/// A recording adapted to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// Steps on a single file, without openings, closings and completions.
    pub steps: Vec<RecordedStep>,
    /// Largest end of an I/O, in bytes.
    pub extent: u64,
    /// Number of I/Os that are not at the recorded offset.
    pub moved: u64,
}

/// Returns the total size of a recording's files, placed one after the other.
pub fn extent(recording: &Recording) -> u64 {
    let extents = extents(recording);
    let reached = bases(&extents).into_iter().zip(&extents);
    // A file without I/O takes no space.
    let ends = reached.filter(|(_, extent)| **extent > 0);
    ends.map(|(base, extent)| base.saturating_add(*extent))
        .max()
        .unwrap_or(0)
}

/// Adapts a recording to a file or device of `size` bytes.
///
/// # Errors
/// If an I/O is longer than `size`.
pub fn fit(recording: &Recording, size: u64, shrink: Shrink) -> io::Result<Fitted> {
    let total = extent(recording);
    let bases = bases(&extents(recording));
    let align = alignment(recording);
    let mut fitted = Fitted {
        steps: Vec::with_capacity(recording.steps.len()),
        extent: 0,
        moved: 0,
    };
    for step in &recording.steps {
        let action = match step.action {
            Action::Open | Action::Close | Action::Done(_) => continue,
            Action::Io(io) => {
                let RecordedIo { offset, length, .. } = io;
                let there = bases[step.file].saturating_add(offset);
                let last = size.checked_sub(u64::from(length)).ok_or_else(|| {
                    damaged(&format!(
                        "an I/O of {length} bytes does not fit: the storage has {size} bytes"
                    ))
                })?;
                let placed = place(there, total, size, shrink).min(last);
                let placed = placed - placed % align;
                fitted.moved += u64::from(placed != offset);
                fitted.extent = fitted.extent.max(placed + u64::from(length));
                Action::Io(RecordedIo {
                    offset: placed,
                    ..io
                })
            }
            other => other,
        };
        fitted.steps.push(RecordedStep {
            file: 0,
            action,
            ..*step
        });
    }
    Ok(fitted)
}

fn place(offset: u64, total: u64, size: u64, shrink: Shrink) -> u64 {
    if total <= size {
        return offset;
    }
    match shrink {
        Shrink::Wrap => offset % size,
        Shrink::Scale => {
            let scaled = u128::from(offset) * u128::from(size) / u128::from(total);
            u64::try_from(scaled).unwrap_or(u64::MAX)
        }
    }
}

/// Returns fio's iolog, version 3, with one file called `f`. Times are in µs.
pub fn iolog(steps: &[RecordedStep]) -> String {
    let mut log = String::from("fio version 3 iolog\n0 f add\n");
    for step in steps {
        let at_us = step.at_ns / 1_000;
        // Writing to a string does not fail.
        let _ = match step.action {
            Action::Io(RecordedIo {
                ddir,
                offset,
                length,
            }) => writeln!(log, "{at_us} f {} {offset} {length}", ddir.name()),
            Action::Sync => writeln!(log, "{at_us} f sync 0 0"),
            Action::Datasync => writeln!(log, "{at_us} f datasync 0 0"),
            Action::Open | Action::Close | Action::Done(_) => Ok(()),
        };
    }
    log
}

/// Returns the largest power of two up to 4096 of which all offsets and lengths are
/// multiples.
pub fn alignment(recording: &Recording) -> u64 {
    let bits = recording
        .steps
        .iter()
        .fold(4096, |bits, step| match step.action {
            Action::Io(io) => bits | io.offset | u64::from(io.length),
            _ => bits,
        });
    1 << bits.trailing_zeros()
}

/// Returns the end of the last I/O in each file.
fn extents(recording: &Recording) -> Vec<u64> {
    let mut extents = vec![0_u64; recording.files.len()];
    for step in &recording.steps {
        if let Action::Io(io) = step.action {
            let extent = &mut extents[step.file];
            *extent = (*extent).max(io.end());
        }
    }
    extents
}

/// Returns the start of each file in the joint address space.
fn bases(extents: &[u64]) -> Vec<u64> {
    let mut next = 0_u64;
    let base = |extent: &u64| {
        let base = next;
        let end = next.saturating_add(*extent);
        next = end
            .checked_next_multiple_of(FILES_ALIGN)
            .unwrap_or(u64::MAX);
        base
    };
    extents.iter().map(base).collect()
}

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
    use crate::RecordedIo;
    use assay_model::load::Ddir;
    use proptest::prelude::*;

    fn read(text: &str) -> io::Result<Recording> {
        Recording::read(text.as_bytes())
    }

    #[test]
    fn queued_events_are_taken_before_issued_ones() {
        let text = "\
x-1 [0] 5.000001: block_bio_queue: 8,0 W 8 + 8 [x]
x-1 [0] 5.000002: block_rq_issue: 8,0 W 4096 () 8 + 8 [x]
x-1 [0] 5.000009: block_rq_complete: 8,0 W () 8 + 8 [0]
";
        let recording = read(text).unwrap();
        assert_eq!(recording.format, "block events (queued)");
        assert_eq!(recording.files, [PathBuf::from("8:0")]);
        let at: Vec<u64> = recording.steps.iter().map(|step| step.at_ns).collect();
        assert_eq!(at, [0, 8_000]);
        let issued = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        assert_eq!(read(&issued).unwrap().format, "block events (issued)");
    }

    #[test]
    fn an_iolog_is_read_with_its_times() {
        let recording = read("fio version 3 iolog\n5 f add\n7 f write 0 512\n9 f sync 0 0\n");
        let recording = recording.unwrap();
        let step = Action::Io(RecordedIo {
            ddir: Ddir::Write,
            offset: 0,
            length: 512,
        });
        let steps: Vec<(u64, Action)> = recording
            .steps
            .iter()
            .map(|s| (s.at_ns, s.action))
            .collect();
        assert_eq!(steps, [(0, step), (2_000, Action::Sync)]);
    }

    #[test]
    fn a_file_that_is_no_trace_is_refused_with_the_reason() {
        for (text, words) in [
            ("", "neither an iolog"),
            ("hello\nworld\n", "neither an iolog"),
            ("fio version 3 iolog\n", "no I/O"),
            (
                "x-1 [0] 5.1: block_rq_issue: 8,0 FF 0 () 0 + 0 [x]\n",
                "no I/O",
            ),
        ] {
            let problem = read(text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text:?}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(block_rq_issue: |8,0 |W |[0-9]{1,20} |\\+ |: |\n|.){0,60}") {
            let _ = read(&text);
        }
    }

    fn recording(text: &str) -> Recording {
        let text = format!("fio version 3 iolog\n0 a add\n0 b add\n{text}");
        Recording::read(text.as_bytes()).unwrap()
    }

    fn offsets(fitted: &Fitted) -> Vec<u64> {
        let offset = |step: &RecordedStep| match step.action {
            Action::Io(io) => Some(io.offset),
            _ => None,
        };
        fitted.steps.iter().filter_map(offset).collect()
    }

    #[test]
    fn offsets_that_fit_are_unchanged() {
        let recording = recording("1 a write 8192 4096\n2 a read 0 4096\n");
        let fitted = fit(&recording, 12_288, Shrink::Wrap).unwrap();
        assert_eq!((offsets(&fitted), fitted.moved), (vec![8192, 0], 0));
        assert_eq!(fitted.extent, 12_288);
    }

    #[test]
    fn files_lie_behind_each_other() {
        let recording = recording("1 a write 0 512\n2 b write 512 512\n");
        assert_eq!(extent(&recording), (1 << 20) + 1024);
        let fitted = fit(&recording, 1 << 30, Shrink::Wrap).unwrap();
        assert_eq!(offsets(&fitted), [0, (1 << 20) + 512]);
        assert_eq!(fitted.moved, 1);
    }

    #[test]
    fn smaller_storage_wraps_or_scales_and_never_reaches_behind_its_end() {
        let recording = recording("1 a write 0 4096\n2 a write 61440 4096\n3 a write 40960 4096\n");
        let wrapped = fit(&recording, 16_384, Shrink::Wrap).unwrap();
        assert_eq!(offsets(&wrapped), [0, 12_288, 8_192]);
        let scaled = fit(&recording, 16_384, Shrink::Scale).unwrap();
        assert_eq!(offsets(&scaled), [0, 12_288, 8_192]);
        for fitted in [wrapped, scaled] {
            assert!(fitted.extent <= 16_384);
            assert_eq!(fitted.moved, 2);
        }
        assert!(fit(&recording, 4_095, Shrink::Wrap).is_err());
    }

    #[test]
    fn as_an_iolog_it_is_the_same() {
        let text = "0 a write 8192 4096\n2 a trim 0 4096\n3 a datasync 0 0\n9 a read 0 512\n";
        let recording = recording(text);
        let fitted = fit(&recording, 1 << 20, Shrink::Wrap).unwrap();
        let again = Recording::read(iolog(&fitted.steps).as_bytes()).unwrap();
        assert_eq!(again.steps, fitted.steps);
    }

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
