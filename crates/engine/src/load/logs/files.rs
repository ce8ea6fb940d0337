//! The files: names, sharing between streams, and output.

use super::{BinLog, Entries, LogKind, LogRow, LogSet, Pieces, Setup, Windows};
use crate::EngineError;
use assay_model::load::Logs;
#[cfg(feature = "loads")]
use assay_model::load::report::StatsOptions;
use miniz_oxide::deflate::compress_to_vec_zlib;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Number of bytes compressed together by default.
const COMPRESSED_PIECE: u64 = 1 << 20;
/// Compression level; zlib's default.
const LEVEL: u8 = 6;

/// The logs of a stream that has ended.
struct EndedStream {
    setup: Setup,
    entries: EndedEntries,
    histograms: Option<BinLog>,
}

enum EndedEntries {
    Nothing,
    Every(Pieces),
    Averaged(Box<Windows>),
}

/// A stream's part of a file.
#[derive(Clone, Copy)]
struct StreamLog<'a> {
    of: &'a EndedStream,
    kind: LogKind,
}

/// Writes the logs of all streams of a load into `folder`. Streams whose logs
/// have the same name (`per_job_logs=0`) are merged by time, so all must be
/// written by one call: existing files are replaced.
///
/// # Errors
/// The first error; the remaining files are written anyway.
pub(crate) fn write_logs(sets: Vec<LogSet>, folder: &Path) -> Result<(), EngineError> {
    let ended: Result<Vec<EndedStream>, io::Error> =
        sets.into_iter().map(EndedStream::from).collect();
    let ended = ended.map_err(|source| EngineError::file("write logs into", folder, source))?;
    let mut files: BTreeMap<PathBuf, Vec<StreamLog>> = BTreeMap::new();
    for of in &ended {
        for (kind, prefix) in &of.setup.wanted {
            let path = folder.join(file_name(&of.setup.options, of.setup.number, *kind, prefix));
            let part = StreamLog { of, kind: *kind };
            files.entry(path).or_default().push(part);
        }
    }
    let mut answer = Ok(());
    for (path, parts) in &files {
        let written = write_file(path, parts);
        answer = answer.and(written.map_err(|source| EngineError::file("write", path, source)));
    }
    answer
}

/// Returns the names of the logs that stream `number` (from 1) of a job would
/// write.
#[cfg(feature = "loads")]
pub(crate) fn log_names(
    options: &Logs,
    stats: &StatsOptions,
    job_name: &str,
    number: u32,
) -> Vec<String> {
    let wanted = super::wanted(options, stats, job_name).into_iter();
    let name = |(kind, prefix): (LogKind, String)| file_name(options, number, kind, &prefix);
    wanted.map(name).collect()
}

/// Returns fio's name of a file. Histograms have no compressed form.
fn file_name(options: &Logs, number: u32, kind: LogKind, prefix: &str) -> String {
    let number = match options.shared {
        true => String::new(),
        false => format!(".{number}"),
    };
    let suffix = match is_stored_compressed(options, kind) {
        true => "log.fz",
        false => "log",
    };
    format!("{prefix}_{}{number}.{suffix}", kind.name())
}

fn is_stored_compressed(options: &Logs, kind: LogKind) -> bool {
    options.store_compressed && kind != LogKind::Histogram
}

impl EndedStream {
    fn from(set: LogSet) -> io::Result<Self> {
        let entries = match set.entries {
            Entries::Nothing => EndedEntries::Nothing,
            Entries::Every(samples) => EndedEntries::Every(samples.into_pieces()?),
            Entries::Averaged(windows) => EndedEntries::Averaged(windows),
        };
        Ok(Self {
            setup: set.setup,
            entries,
            histograms: set.histograms,
        })
    }
}

impl<'a> StreamLog<'a> {
    /// Returns the rows, ordered by time.
    fn rows(self) -> Box<dyn Iterator<Item = io::Result<LogRow>> + 'a> {
        let priority = self.of.setup.priority;
        match &self.of.entries {
            EndedEntries::Nothing => Box::new(std::iter::empty()),
            EndedEntries::Every(pieces) => {
                let rows = pieces.iter().map(move |sample| {
                    sample.map(|sample| LogRow::of(&sample, self.kind, priority))
                });
                Box::new(rows.filter_map(Result::transpose))
            }
            EndedEntries::Averaged(windows) => {
                Box::new(windows.rows(self.kind).into_iter().map(Ok))
            }
        }
    }
}

/// Writes a log file. All parts are of the same kind and format.
fn write_file(path: &Path, parts: &[StreamLog]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let Some(first) = parts.first() else {
        return Ok(());
    };
    if first.kind == LogKind::Histogram {
        write_histograms(parts, &mut out)?;
    } else if is_stored_compressed(&first.of.setup.options, first.kind) {
        write_compressed(parts, &mut out)?;
    } else {
        merged(
            parts.iter().map(|part| part.rows()).collect(),
            |part, row| row.at_ms(parts[part].of.setup.epoch_ms),
            |part, row| {
                let setup = &parts[part].of.setup;
                row.write_text(setup.epoch_ms, &setup.options, &mut out)
            },
        )?;
    }
    out.flush()
}

fn write_histograms(parts: &[StreamLog], out: &mut impl Write) -> io::Result<()> {
    let intervals = parts.iter().map(|part| {
        let histograms = part.of.histograms.iter();
        histograms.flat_map(|log| log.intervals()).map(Ok)
    });
    merged(
        intervals.collect(),
        |part, interval| interval.at_ms(parts[part].of.setup.epoch_ms),
        |part, interval| {
            let setup = &parts[part].of.setup;
            interval.write(setup.epoch_ms, setup.options.histogram_coarseness, out)
        },
    )
}

/// Writes consecutive zlib streams, each with whole rows.
fn write_compressed(parts: &[StreamLog], out: &mut impl Write) -> io::Result<()> {
    let wanted = parts.iter().map(|part| part.of.setup.options.compress_from);
    let piece = match wanted.max() {
        None | Some(0) => COMPRESSED_PIECE,
        Some(bytes) => bytes,
    };
    let mut rows = Vec::new();
    merged(
        parts.iter().map(|part| part.rows()).collect(),
        |part, row| row.at_ms(parts[part].of.setup.epoch_ms),
        |part, row| {
            let setup = &parts[part].of.setup;
            row.write_binary(setup.epoch_ms, &setup.options, &mut rows)?;
            if rows.len() as u64 >= piece {
                out.write_all(&compress_to_vec_zlib(&rows, LEVEL))?;
                rows.clear();
            }
            Ok(())
        },
    )?;
    match rows.is_empty() {
        true => Ok(()),
        false => out.write_all(&compress_to_vec_zlib(&rows, LEVEL)),
    }
}

/// Passes all items of several sequences to `write`, ordered by time, and for
/// equal times by sequence.
fn merged<T>(
    mut sequences: Vec<impl Iterator<Item = io::Result<T>>>,
    at_ms: impl Fn(usize, &T) -> u64,
    mut write: impl FnMut(usize, &T) -> io::Result<()>,
) -> io::Result<()> {
    let mut heads: Vec<Option<T>> = Vec::with_capacity(sequences.len());
    let mut earliest = BinaryHeap::new();
    for (index, sequence) in sequences.iter_mut().enumerate() {
        let head = sequence.next().transpose()?;
        earliest.extend(
            head.as_ref()
                .map(|head| Reverse((at_ms(index, head), index))),
        );
        heads.push(head);
    }
    while let Some(Reverse((_, index))) = earliest.pop() {
        let next = sequences[index].next().transpose()?;
        earliest.extend(
            next.as_ref()
                .map(|next| Reverse((at_ms(index, next), index))),
        );
        if let Some(head) = std::mem::replace(&mut heads[index], next) {
            write(index, &head)?;
        }
    }
    Ok(())
}
