//! Adaptation of a recording to storage of another size.

use crate::recording::{RecordedStep, Recording};
use crate::{Action, RecordedIo, damaged};
use std::fmt::Write;
use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_fits_stays_where_it_was() {
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
}
