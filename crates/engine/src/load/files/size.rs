//! Sizes and regions by fio's rules, without I/O.

use super::look::InspectedFile;
use super::{FileKind, FilePart, FilePlan, PlannedFile, problem};
use crate::error::EngineError;
use crate::held::shown;
use assay_model::load::pace::Range;
use assay_model::load::{Extent, Stream};
use assay_model::rng::SplitMix64;

/// Largest size of a file (`loff_t`), used as an unlimited size.
const ENDLESS: u64 = i64::MAX.unsigned_abs();

/// Determines the sizes of the files that were `found`.
pub(super) fn settle(
    stream: &Stream,
    entropy: u64,
    found: &[InspectedFile],
) -> Result<FilePlan, EngineError> {
    let mut sizing = Sizing::new(stream, entropy, found)?;
    let mut files = Vec::with_capacity(found.len());
    for file in found {
        let span = sizing.span(file)?;
        files.push(PlannedFile {
            path: file.path.clone(),
            kind: file.kind,
            file_size: size_to_have(file, span),
            span,
        });
    }
    let total_bytes = sizing.total(&files)?;
    Ok(FilePlan {
        files,
        total_bytes,
        warnings: sizing.warnings,
    })
}

fn size_to_have(file: &InspectedFile, span: FilePart) -> u64 {
    let there = file.size.unwrap_or(0);
    if span.length == 0 {
        return there;
    }
    there.max(span.end())
}

/// Returns the smallest block of a stream over all directions. As in fio, this
/// includes directions that are not used.
pub(super) fn smallest_block(stream: &Stream) -> u64 {
    let sizes = stream.blocks.sizes.iter();
    let smallest = sizes.map(|(_, sizes)| sizes.min).min().unwrap_or(1);
    u64::from(smallest.max(1))
}

struct Sizing<'a> {
    stream: &'a Stream,
    block: u64,
    /// Requested total size in bytes; 0 if none.
    size: u64,
    files: u64,
    /// Number of files that still get one extra block, because `size` is not
    /// divisible.
    larger: u64,
    /// Number of files whose size is determined.
    settled: usize,
    /// Generator for random file sizes.
    rng: SplitMix64,
    warnings: Vec<String>,
}

impl<'a> Sizing<'a> {
    fn new(stream: &'a Stream, entropy: u64, found: &[InspectedFile]) -> Result<Self, EngineError> {
        let size = match stream.region.size {
            Some(Extent::Bytes(bytes)) => bytes,
            None if stream.length.fill_device => ENDLESS,
            Some(Extent::Percent(_)) | None => 0,
        };
        let files = found.len() as u64;
        let block = smallest_block(stream);
        let known: Option<u64> = found.iter().map(|file| file.size).sum();
        let replays = stream.trace.read.is_some();
        let can_be_known = size > 0 || wanted_size(stream).is_some() || replays;
        if known.unwrap_or(0) == 0 && !can_be_known {
            return Err(problem(
                stream,
                format!(
                    "the size of {} is not known: give size= in bytes, or filesize=",
                    shown(&found[0].path)
                ),
            ));
        }
        let seed = if stream.blocks.repeat {
            stream.blocks.seed.unwrap_or(0)
        } else {
            entropy
        };
        Ok(Self {
            stream,
            block,
            size,
            files,
            larger: (size % files.max(1)) / block,
            settled: 0,
            rng: SplitMix64::new(seed ^ u64::from(stream.number).rotate_left(32)),
            warnings: Vec::new(),
        })
    }

    /// Returns the region of one file.
    fn span(&mut self, file: &InspectedFile) -> Result<FilePart, EngineError> {
        let share = self.share();
        let there = file.size.or((self.size > 0).then_some(share));
        let offset = self.offset(file, there.unwrap_or(0));
        let beyond = |end: u64| {
            let path = shown(&file.path);
            problem(
                self.stream,
                format!("offset {offset} is beyond the end of {path} ({end} bytes): lower offset="),
            )
        };
        let by_number = self.stream.files.sizes.get(self.settled).copied();
        self.settled += 1;
        let wanted = match by_number {
            Some(size) => Some(Range {
                min: size,
                max: size,
            }),
            None => wanted_size(self.stream),
        };
        let length = match wanted {
            None if share > 0 => share,
            Some(range) if !there.is_some_and(|size| range.min <= size && size <= range.max) => {
                let size = draw(&mut self.rng, range, self.block);
                size.checked_sub(offset).ok_or_else(|| beyond(size))?
            }
            _ => {
                let size = there.unwrap_or(0);
                size.checked_sub(offset).ok_or_else(|| beyond(size))?
            }
        };
        let length = self.percent_of(offset, length);
        let length = match (file.kind, file.size) {
            (FileKind::BlockDevice, Some(size)) => {
                let left = size.checked_sub(offset).filter(|&left| left > 0);
                length.min(left.ok_or_else(|| beyond(size))?)
            }
            _ => length.min(ENDLESS - offset.min(ENDLESS)),
        };
        self.check_not_empty(file, length)?;
        Ok(FilePart { offset, length })
    }

    /// Returns this file's share of `size`. Shares are equal, but the first
    /// files get one extra block each if `size` is not divisible.
    fn share(&mut self) -> u64 {
        let even = self.size / self.files;
        if self.larger == 0 {
            return even;
        }
        self.larger -= 1;
        even + self.block
    }

    fn offset(&mut self, file: &InspectedFile, there: u64) -> u64 {
        let region = &self.stream.region;
        if self.stream.files.append && matches!(file.kind, FileKind::Regular | FileKind::Missing) {
            return there;
        }
        let clone = u64::from(self.stream.clone);
        let step = of_whole(region.offset_increment, there);
        let offset = of_whole(region.offset, there).saturating_add(step.saturating_mul(clone));
        let in_percent = is_share(region.offset) || is_share(region.offset_increment) && clone > 0;
        if !in_percent {
            return offset;
        }
        if file.kind == FileKind::Missing {
            self.warnings.push(format!(
                "{}: {} does not exist yet, so an offset in percent of it is 0; it will be another one in the next run",
                self.stream.name,
                shown(&file.path)
            ));
        }
        let align = match region.offset_align {
            0 => self.block,
            align => align,
        };
        offset.div_ceil(align).saturating_mul(align)
    }

    /// Applies a `size` in percent, which is a share of the whole file, limited
    /// to its end.
    fn percent_of(&self, offset: u64, length: u64) -> u64 {
        match self.stream.region.size {
            Some(share @ Extent::Percent(percent)) if percent < 100.0 => {
                let wanted = of_whole(share, offset.saturating_add(length)).min(length);
                wanted - wanted % self.block
            }
            _ => length,
        }
    }

    fn check_not_empty(&mut self, file: &InspectedFile, length: u64) -> Result<(), EngineError> {
        if length >= self.block || self.stream.trace.read.is_some() {
            return Ok(());
        }
        let path = shown(&file.path);
        if length == 0 && file.kind == FileKind::Missing {
            return Err(problem(
                self.stream,
                format!("{path} does not exist and its size is not known: give size="),
            ));
        }
        self.warnings.push(format!(
            "{}: {path} is left out: its region of {length} bytes is smaller than the smallest block ({} bytes)",
            self.stream.name, self.block
        ));
        Ok(())
    }

    /// Returns the number of bytes that one pass transfers.
    fn total(&self, files: &[PlannedFile]) -> Result<u64, EngineError> {
        let io_size = self.stream.length.io_size;
        let share_of_io = io_size.filter(|&size| is_share(size));
        let regions = files
            .iter()
            .map(|file| share_of_io.map_or(file.span.length, |io| of_whole(io, file.span.length)))
            .fold(0, u64::saturating_add);
        let total = match self.size {
            0 => regions,
            size => size.min(regions),
        };
        let replays = self.stream.trace.read.is_some();
        let largest = files.iter().map(|file| file.span.length).max();
        if total.min(largest.unwrap_or(0)) < self.block && !replays {
            let (largest, block) = (largest.unwrap_or(0).min(total), self.block);
            return Err(problem(
                self.stream,
                format!(
                    "not one block of {block} bytes fits into its region of {largest} bytes: raise size= or lower bs="
                ),
            ));
        }
        Ok(match io_size {
            Some(Extent::Bytes(bytes)) if bytes > 0 => bytes,
            _ => total,
        })
    }
}

/// Returns `filesize`, if given.
fn wanted_size(stream: &Stream) -> Option<Range> {
    stream.files.file_size.filter(|range| range.max > 0)
}

/// Draws a size from a range, in whole blocks.
fn draw(rng: &mut SplitMix64, range: Range, block: u64) -> u64 {
    if range.max <= range.min {
        return range.min;
    }
    let size = range.min + rng.below(range.max - range.min);
    size - size % block
}

const fn is_share(extent: Extent) -> bool {
    matches!(extent, Extent::Percent(_))
}

/// Returns the bytes of an extent; percentages are of `whole`. They are
/// converted to millionths, so that whole percentages are exact for every size.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is between 0 and 100 million, and the product is divided by as much"
)]
fn of_whole(extent: Extent, whole: u64) -> u64 {
    match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => {
            let millionths = (percent.clamp(0.0, 100.0) * 1e6).round() as u128;
            (u128::from(whole) * millionths / 100_000_000) as u64
        }
    }
}
