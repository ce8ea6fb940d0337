//! Reading blocks of the input.

use super::{Copier, Halt};
use crate::copy::copier::DropCache;
use crate::copy::ends::End;
use crate::observer::nanos;
use crate::{Context, copy};
use assay_model::act::copy::FileCopy;
use assay_model::job::Direction;
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::{Errno, read};
use std::time::Instant;

/// State of reading.
#[derive(Debug)]
pub(in crate::copy) struct ReadState {
    /// Current offset in the input, if the input is seekable.
    pub(in crate::copy) offset: u64,
    /// Reason why it is not seekable.
    pub(in crate::copy) no_places: Option<Errno>,
    /// Warn if another read follows a short one.
    warn_short: bool,
    /// Bytes returned by the last read.
    last: usize,
    /// Bytes in the last short block.
    short: usize,
    cache: DropCache,
    /// The end of the input was reached.
    pub(in crate::copy) ended: bool,
}

impl ReadState {
    pub(in crate::copy) fn new(work: &FileCopy, input: &End) -> Self {
        let place = seek(&input.fd, SeekFrom::Current(0));
        let flags = work.input_flags;
        let counts = !work.skip.is_empty() && work.skip.blocks > 0
            || work.count.is_some_and(|count| count.blocks > 0)
            || flags.direct
            || work.output_flags.direct;
        Self {
            offset: place.unwrap_or(0),
            no_places: place.err(),
            warn_short: !work.reblock && !flags.full_block && counts,
            last: 0,
            short: 0,
            cache: DropCache::new(&input.fd),
            ended: false,
        }
    }
}

/// Result of reading a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::copy) enum Come {
    /// Number of bytes, including padding.
    Bytes(usize),
    /// End of the input, or of the requested count.
    End,
}

impl Copier<'_> {
    /// Reads the next block into a buffer of an input block's size.
    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    pub(in crate::copy) fn next_block(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Result<Come, Halt> {
        loop {
            self.report_progress(context);
            let Some(wanted) = self.wanted(buffer.len()) else {
                return Ok(Come::End);
            };
            let treatment = self.work.treatment;
            if treatment.pad && treatment.go_on {
                // Bytes that a failed read does not deliver are padding.
                let padding = self.padding();
                buffer.fill(padding);
            }
            let count = match self.read_block(&mut buffer[..wanted], context)? {
                Ok(0) => {
                    self.reading.ended = true;
                    self.writing.drop_to_end = !treatment.keep_length;
                    return Ok(Come::End);
                }
                Ok(count) => {
                    self.passed(count as u64);
                    count
                }
                Err(why) => {
                    if !self.read_failed(buffer.len(), why, context) {
                        return Ok(Come::End);
                    }
                    if !treatment.pad || self.reading.short > 0 {
                        continue;
                    }
                    0
                }
            };
            return Ok(Come::Bytes(self.count_block(buffer, count)));
        }
    }

    /// Returns the bytes of a block that may still be read; `None` if the count is reached.
    fn wanted(&self, block: usize) -> Option<usize> {
        let Some(count) = self.work.count else {
            return Some(block);
        };
        let blocks = self.report.read_full + self.report.read_partial;
        if blocks < count.blocks {
            Some(block)
        } else if blocks == count.blocks && count.bytes > 0 {
            usize::try_from(count.bytes).ok()
        } else {
            None
        }
    }

    /// Counts a block, and pads it if requested.
    fn count_block(&mut self, buffer: &mut [u8], count: usize) -> usize {
        if count == buffer.len() {
            self.report.read_full += 1;
            self.reading.short = 0;
            return count;
        }
        self.report.read_partial += 1;
        self.reading.short = count;
        let treatment = self.work.treatment;
        if !treatment.pad {
            return count;
        }
        if !treatment.go_on {
            let padding = self.padding();
            buffer[count..].fill(padding);
        }
        buffer.len()
    }

    /// Records that input was read or skipped.
    pub(in crate::copy) fn passed(&mut self, bytes: u64) {
        self.reading.offset = self.reading.offset.saturating_add(bytes);
        if self.work.input_flags.nocache {
            self.reading.cache.copied(&self.ends.input.fd, bytes);
        }
    }

    /// Fills a buffer with one read, or with as many as necessary.
    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    pub(in crate::copy) fn read_block(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Result<Result<usize, Errno>, Halt> {
        if self.work.input_flags.full_block {
            self.read_fully(buffer, context)
        } else {
            self.read_once(buffer, context)
        }
    }

    fn read_fully(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Result<Result<usize, Errno>, Halt> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_once(&mut buffer[filled..], context)? {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(filled))
    }

    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    fn read_once(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Result<Result<usize, Errno>, Halt> {
        let count = loop {
            self.attend(context)?;
            let begun = Instant::now();
            match read(&self.ends.input.fd, &mut *buffer) {
                Err(Errno::INTR) => {}
                // Direct I/O after a short end of a file.
                Err(Errno::INVAL) if self.after_short_direct(buffer.len()) => break 0,
                Err(why) => return Ok(Err(why)),
                // The end of the input does not count as an I/O.
                Ok(0) => break 0,
                Ok(count) => {
                    self.reads.record(nanos(begun.elapsed()));
                    break count;
                }
            }
        };
        self.report.read_bytes += count as u64;
        if count > 0 && self.reading.warn_short && self.reading.last > 0 {
            self.warn_of_short(buffer.len(), context);
        }
        self.reading.last = count;
        Ok(Ok(count))
    }

    fn after_short_direct(&self, wanted: usize) -> bool {
        let last = self.reading.last;
        last > 0 && last < wanted && self.ends.input.flags.contains(OFlags::DIRECT)
    }

    /// Warns once that a short read was followed by more data, so that a count of blocks covers
    /// less data than the user expects.
    fn warn_of_short(&mut self, wanted: usize, context: &mut Context<'_>) {
        let last = self.reading.last;
        if last >= wanted {
            return;
        }
        self.reading.warn_short = false;
        let bytes = if last == 1 { "byte" } else { "bytes" };
        self.warn(
            format!("warning: partial read ({last} {bytes}); suggest iflag=fullblock"),
            context,
        );
    }

    /// Handles a failed read; returns `true` to continue.
    fn read_failed(&mut self, block: usize, why: Errno, context: &mut Context<'_>) -> bool {
        self.record_error(Some(Direction::Read), block, why);
        let text = copy::failed(
            &format!("error reading {}", self.ends.input.name.quoted()),
            why,
        );
        if !self.work.treatment.go_on {
            self.fail(text, context);
            return false;
        }
        self.warn(text, context);
        self.send_interim_report(context);
        let bad = (block - self.reading.short.min(block)) as u64;
        if !self.pass_bad_block(bad, context) {
            self.report.failed = true;
            // Prevents repeated messages.
            self.reading.no_places = Some(Errno::SPIPE);
        }
        true
    }

    /// Continues after a block that cannot be read.
    fn pass_bad_block(&mut self, bytes: u64, context: &mut Context<'_>) -> bool {
        let why = match self.reading.no_places {
            Some(Errno::SPIPE) => return true,
            Some(why) => why,
            None => match self.seek_behind(bytes, context) {
                Ok(()) => return true,
                Err(why) => why,
            },
        };
        let text = copy::failed(
            &format!("{}: cannot seek", self.ends.input.name.leading()),
            why,
        );
        self.fail(text, context);
        false
    }

    fn seek_behind(&mut self, bytes: u64, context: &mut Context<'_>) -> Result<(), Errno> {
        self.passed(bytes);
        let wanted = self.reading.offset;
        let here = seek(&self.ends.input.fd, SeekFrom::Current(0))?;
        if here == wanted {
            return Ok(());
        }
        if here > wanted || wanted - here > bytes {
            self.warn(
                "warning: invalid file offset after failed read".to_owned(),
                context,
            );
        }
        seek(&self.ends.input.fd, SeekFrom::Start(wanted)).map(drop)
    }

    /// Drops the pages that `nocache` requests; without a copied byte, those of the whole file.
    pub(in crate::copy) fn drop_rest(&mut self, context: &mut Context<'_>) {
        let idle = self.work.count.is_some_and(|count| count.is_empty());
        if self.work.input_flags.nocache {
            let to_end = idle || self.reading.ended;
            if idle {
                self.reading.cache.moved(&self.ends.input.fd);
            }
            let came = self.reading.cache.rest(&self.ends.input.fd, to_end);
            if let (true, Err(why)) = (idle, came) {
                self.not_dropped(&self.ends.input.name.quoted(), why, context);
            }
        }
        if self.work.output_flags.nocache
            || self.writing.drop_to_end && self.work.output_flags.direct
        {
            let to_end = idle || self.writing.drop_to_end;
            let came = self.writing.cache.rest(&self.ends.output.fd, to_end);
            if let (true, Err(why)) = (idle, came) {
                self.not_dropped(&self.ends.output.name.quoted(), why, context);
            }
        }
    }

    fn not_dropped(&mut self, name: &str, why: Errno, context: &mut Context<'_>) {
        let what = format!("failed to discard cache for: {name}");
        self.fail(copy::failed(&what, why), context);
    }
}
