//! State of a copy: its loop, its counters, and its reaction to requests.

mod reading;

use super::ends::Ends;
use super::{Buffers, Converter, Halt, Sink};
use crate::observer::nanos;
use crate::{Context, copy};
use assay_model::act::copy::{CopyReport, FLUSHING, FileCopy, Records};
use assay_model::act::{ActProgress, ActReport, ProgressUnit};
use assay_model::job::{Direction, Job};
use assay_model::trial::{DirectionTotals, IoErrorRecord, IoErrors, Measurement};
use assay_model::wire::NoteWeight;
use assay_stats::histogram::Histogram;
use reading::Come;
use rustix::fs::{
    Advice, FileType, OFlags, SeekFrom, fadvise, fcntl_getfl, fcntl_setfl, fdatasync, fstat, fsync,
    ftruncate, seek,
};
use rustix::io::{Errno, write};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Interval of progress reports.
const TICK: Duration = Duration::from_secs(1);

/// A copy in progress.
pub(super) struct Copier<'a> {
    pub(super) work: &'a FileCopy,
    pub(super) ends: Ends,
    pub(super) report: CopyReport,
    pub(super) started: Instant,
    pub(super) reads: Histogram,
    pub(super) writes: Histogram,
    pub(super) flushes: Histogram,
    errors: IoErrors,
    failure: Option<String>,
    pub(super) reading: reading::ReadState,
    pub(super) writing: WriteState,
    /// Time of the next progress report.
    tick: Instant,
    /// Bytes at the last progress report.
    told: Option<u64>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(work: &'a FileCopy, ends: Ends) -> Self {
        let report = CopyReport {
            input: ends.input.kind,
            output: ends.output.kind,
            ..CopyReport::default()
        };
        let reading = reading::ReadState::new(work, &ends.input);
        let writing = WriteState {
            sparse: work.treatment.sparse,
            last_was_hole: false,
            fdatasync: work.treatment.fdatasync,
            fsync: work.treatment.fsync,
            drop_to_end: false,
            cache: DropCache::new(&ends.output.fd),
        };
        let started = Instant::now();
        Self {
            work,
            ends,
            report,
            started,
            reads: Histogram::new(),
            writes: Histogram::new(),
            flushes: Histogram::new(),
            errors: IoErrors::default(),
            failure: None,
            reading,
            writing,
            tick: started + TICK,
            told: None,
        }
    }

    /// Starts the clock.
    pub(super) fn start(&mut self) {
        self.started = Instant::now();
        self.tick = self.started + TICK;
    }

    /// Returns the first failure.
    pub(super) fn error(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Copies until the end of the input, a stop, or an error.
    pub(super) fn run(
        &mut self,
        mut buffers: Buffers,
        context: &mut Context<'_>,
    ) -> Result<(), Halt> {
        if let Some(problem) = self.ends.problem.take() {
            self.fail(problem, context);
        }
        self.skip(&mut buffers, context)?;
        self.seek(&mut buffers, context)?;
        if self.work.count.is_some_and(|count| count.is_empty()) {
            return Ok(());
        }
        let Buffers { mut input, output } = buffers;
        let input = input.bytes_mut();
        match output {
            None => self.straight(input, context)?,
            Some(mut output) => {
                let mut converter = Converter::new(self.work);
                let came = self.converted(input, output.bytes_mut(), &mut converter, context);
                self.report.truncated = converter.truncated;
                came?;
            }
        }
        self.end_hole(context)?;
        self.announce_flush(context);
        Ok(())
    }

    /// Copies blocks as they are read, without conversion.
    fn straight(&mut self, buffer: &mut [u8], context: &mut Context<'_>) -> Result<(), Halt> {
        while let Come::Bytes(count) = self.next_block(buffer, context)? {
            let written = self.write(&buffer[..count], context)?;
            self.report.bytes += written.bytes;
            if let Some(why) = written.error {
                self.write_failed("error writing", why, context);
                return Ok(());
            }
            if count == buffer.len() {
                self.report.written_full += 1;
            } else {
                self.report.written_partial += 1;
            }
        }
        Ok(())
    }

    /// Converts the input and assembles new output blocks.
    fn converted(
        &mut self,
        input: &mut [u8],
        output: &mut [u8],
        converter: &mut Converter,
        context: &mut Context<'_>,
    ) -> Result<(), Halt> {
        let mut reblock = Reblock::new(self, output, context);
        while let Come::Bytes(count) = reblock.next_block(input)? {
            // Updated each time for statistics that may be requested meanwhile.
            reblock.truncated(converter.truncated);
            converter.feed(&mut input[..count], &mut reblock)?;
        }
        converter.close(&mut reblock)?;
        reblock.close()
    }

    /// Completes a hole at the end of the output: the file must be extended to its end.
    fn end_hole(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        if !self.writing.last_was_hole || self.failure_of_writing() {
            return Ok(());
        }
        let output = &self.ends.output;
        let name = output.name.quoted();
        let stat = match fstat(&output.fd) {
            Ok(stat) => stat,
            Err(why) => {
                return self.give_up(super::failed(&format!("cannot fstat {name}"), why), context);
            }
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(());
        }
        let here = seek(&output.fd, SeekFrom::Current(0)).unwrap_or(0);
        if here > u64::try_from(stat.st_size).unwrap_or(0)
            && let Err(why) = ftruncate(&output.fd, here)
        {
            let what = format!("failed to truncate to {here} bytes in output file {name}");
            return self.give_up(super::failed(&what, why), context);
        }
        Ok(())
    }

    fn failure_of_writing(&self) -> bool {
        let mut errors = self.errors.first.iter();
        errors.any(|error| error.direction == Some(Direction::Write))
    }

    /// Completes the copy after success or failure, up to the last flush.
    pub(super) fn finish(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        if context.stopped() {
            self.report.stopped = true;
            self.report.elapsed_ns = self.elapsed_ns();
            return Err(Halt::Stopped);
        }
        let flushed = self.flush(context);
        self.drop_rest(context);
        self.report.elapsed_ns = self.elapsed_ns();
        flushed
    }

    fn elapsed_ns(&self) -> u64 {
        nanos(self.started.elapsed())
    }

    /// Handles requests to report or to stop. Called before each system call that may
    /// block.
    #[inline]
    pub(super) fn attend(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        if context.report_wanted() {
            self.send_interim_report(context);
        }
        if context.stopped() {
            return Err(Halt::Stopped);
        }
        Ok(())
    }

    /// Sends an interim report.
    pub(super) fn send_interim_report(&mut self, context: &mut Context<'_>) {
        self.report.elapsed_ns = self.elapsed_ns();
        context
            .observer
            .interim_report(ActReport::Copy(self.report.clone()));
    }

    /// Reports the progress about once a second, if requested.
    pub(super) fn report_progress(&mut self, context: &mut Context<'_>) {
        if self.work.progress && Instant::now() >= self.tick {
            self.tick += TICK;
            self.progress("", context);
        }
    }

    /// Reports the progress before a flush if bytes were copied since the last report,
    /// because a flush can take long.
    fn announce_flush(&mut self, context: &mut Context<'_>) {
        let flushes = self.writing.fdatasync || self.writing.fsync;
        let news = self.told.is_some_and(|told| told < self.report.bytes);
        if self.work.progress && flushes && news {
            self.progress(FLUSHING, context);
        }
    }

    fn progress(&mut self, step: &str, context: &mut Context<'_>) {
        self.told = Some(self.report.bytes);
        context.observer.progress(&ActProgress {
            step: step.to_owned(),
            steps_done: 0,
            unit: ProgressUnit::Bytes,
            done: self.report.bytes,
            total: None,
            elapsed_ns: self.elapsed_ns(),
        });
    }

    /// Reports a warning, unless only errors are requested.
    pub(super) fn warn(&self, text: String, context: &mut Context<'_>) {
        if !self.work.quiet {
            context.observer.note(NoteWeight::Warning, text);
        }
    }

    /// Reports an error; the copy may continue.
    pub(super) fn fail(&mut self, text: String, context: &mut Context<'_>) {
        context.observer.note(NoteWeight::Error, text.clone());
        self.failure.get_or_insert(text);
        self.report.failed = true;
    }

    /// Reports an error that ends the copy.
    pub(super) fn give_up<T>(
        &mut self,
        text: String,
        context: &mut Context<'_>,
    ) -> Result<T, Halt> {
        self.fail(text, context);
        Err(Halt::Failed)
    }

    /// Records a failed read, write or flush (`None`).
    pub(super) fn record_error(&mut self, direction: Option<Direction>, length: usize, why: Errno) {
        let offset = match direction {
            Some(Direction::Read) => self.report.read_bytes,
            Some(Direction::Write) | None => self.report.bytes,
        };
        let error = IoErrorRecord {
            direction,
            offset,
            length: length as u64,
            errno: Some(why.raw_os_error()),
            message: super::errno(why),
            at_ns: self.elapsed_ns(),
        };
        count_error(&mut self.errors, error);
    }

    pub(super) fn write_failed(&mut self, doing: &str, why: Errno, context: &mut Context<'_>) {
        if why == Errno::PIPE {
            // A signal terminates dd in this case, without a message.
            self.report.reader_gone = true;
            self.failure.get_or_insert(super::errno(why));
            return;
        }
        let text = super::failed(&format!("{doing} {}", self.ends.output.name.quoted()), why);
        self.fail(text, context);
    }

    /// Returns the byte that pads short blocks.
    pub(super) const fn padding(&self) -> u8 {
        match self.work.conversion.records {
            Some(Records::Block | Records::Unblock) => b' ',
            None => 0,
        }
    }

    /// Returns the raw results. Of two files, only the one whose storage is evidence
    /// counts as measured; figures of the other are in the report.
    pub(super) fn results(mut self, job: &Job) -> (Measurement, CopyReport) {
        self.report.read_latency = self.reads.to_record();
        let written = DirectionTotals {
            ios: self.writes.count(),
            bytes: self.report.bytes - self.report.hole_bytes,
            latency: self.writes.to_record(),
            ..DirectionTotals::default()
        };
        let read = DirectionTotals {
            ios: self.reads.count(),
            bytes: self.report.read_bytes,
            latency: self.report.read_latency.clone(),
            ..DirectionTotals::default()
        };
        let mut measured = Measurement {
            elapsed_ns: self.report.elapsed_ns,
            flush: self.flushes.to_record(),
            ..Measurement::default()
        };
        measured.errors = self.errors;
        if job.rw.writes() {
            measured.write = written;
        } else {
            measured.read = read;
        }
        (measured, self.report)
    }
}

impl Sink for Reblock<'_, '_, '_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        self.add(bytes)
    }
}

/// Errors located for each of reading, writing and flushing, at most; all are counted.
/// Many errors of one kind do not displace those of another.
const KEPT_ERRORS: usize = 8;

/// Counts an error, and keeps the first ones of its direction.
fn count_error(errors: &mut IoErrors, error: IoErrorRecord) {
    errors.count += 1;
    let alike = errors.first.iter();
    let alike = alike.filter(|known| known.direction == error.direction);
    if alike.count() < KEPT_ERRORS {
        errors.first.push(error);
    }
}

/// An output block that is being filled.
struct Reblock<'r, 'a, 'c> {
    copier: &'r mut Copier<'a>,
    context: &'r mut Context<'c>,
    block: &'r mut [u8],
    filled: usize,
}

impl<'r, 'a, 'c> Reblock<'r, 'a, 'c> {
    fn new(copier: &'r mut Copier<'a>, block: &'r mut [u8], context: &'r mut Context<'c>) -> Self {
        Self {
            copier,
            context,
            block,
            filled: 0,
        }
    }

    fn next_block(&mut self, input: &mut [u8]) -> Result<Come, Halt> {
        self.copier.next_block(input, self.context)
    }

    fn truncated(&mut self, lines: u64) {
        self.copier.report.truncated = lines;
    }

    /// Adds bytes, and writes each block that is full.
    #[inline]
    fn add(&mut self, mut bytes: &[u8]) -> Result<(), Halt> {
        while !bytes.is_empty() {
            let fits = bytes.len().min(self.block.len() - self.filled);
            let (now, later) = bytes.split_at(fits);
            self.block[self.filled..self.filled + fits].copy_from_slice(now);
            self.filled += fits;
            bytes = later;
            if self.filled == self.block.len() {
                self.write_full()?;
            }
        }
        Ok(())
    }

    fn write_full(&mut self) -> Result<(), Halt> {
        self.filled = 0;
        let written = self.copier.write(self.block, self.context)?;
        self.copier.report.bytes += written.bytes;
        let Some(why) = written.error else {
            self.copier.report.written_full += 1;
            return Ok(());
        };
        self.copier.write_failed("writing to", why, self.context);
        if written.bytes > 0 {
            self.copier.report.written_partial += 1;
        }
        Err(Halt::Failed)
    }

    /// Writes the incomplete last block.
    fn close(self) -> Result<(), Halt> {
        if self.filled == 0 {
            return Ok(());
        }
        let rest = &self.block[..self.filled];
        let written = self.copier.write(rest, self.context)?;
        self.copier.report.bytes += written.bytes;
        if written.bytes > 0 {
            self.copier.report.written_partial += 1;
        }
        if let Some(why) = written.error {
            self.copier.write_failed("error writing", why, self.context);
        }
        Ok(())
    }
}

/// State of writing.
#[derive(Debug)]
pub(super) struct WriteState {
    /// Blocks of zeros become holes.
    pub(super) sparse: bool,
    /// The last block became a hole.
    pub(super) last_was_hole: bool,
    /// Flushes that remain to be made.
    pub(super) fdatasync: bool,
    pub(super) fsync: bool,
    /// True if `nocache` drops the pages up to the end of the output.
    pub(super) drop_to_end: bool,
    pub(super) cache: DropCache,
}

/// Result of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteResult {
    pub(super) bytes: u64,
    /// Error that ended the write early.
    pub(super) error: Option<Errno>,
}

impl Copier<'_> {
    /// Writes all of a block, with several calls if necessary.
    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        block: &[u8],
        context: &mut Context<'_>,
    ) -> Result<WriteResult, Halt> {
        if self.work.output_flags.direct && (block.len() as u64) < self.work.output_block {
            self.end_direct(context);
        }
        let mut done = 0;
        let mut error = None;
        while done < block.len() {
            self.attend(context)?;
            self.writing.last_was_hole = false;
            if self.writing.sparse && self.becomes_hole(block) {
                self.writing.last_was_hole = true;
                self.report.hole_bytes += block.len() as u64;
                done = block.len();
                break;
            }
            let begun = Instant::now();
            match write(&self.ends.output.fd, &block[done..]) {
                Err(Errno::INTR) => {}
                Err(why) => {
                    error = Some(why);
                    break;
                }
                // Some drivers return 0 at the end of a device.
                Ok(0) => {
                    error = Some(Errno::NOSPC);
                    break;
                }
                Ok(count) => {
                    self.writes.record(nanos(begun.elapsed()));
                    done += count;
                }
            }
        }
        if let Some(why) = error {
            self.record_error(Some(Direction::Write), block.len() - done, why);
        }
        if self.work.output_flags.nocache && done > 0 {
            self.writing.cache.copied(&self.ends.output.fd, done as u64);
        }
        Ok(WriteResult {
            bytes: done as u64,
            error,
        })
    }

    /// Skips a block of zeros, if the output supports holes; `true` if it did.
    fn becomes_hole(&mut self, block: &[u8]) -> bool {
        if !is_zero(block) {
            return false;
        }
        let length = i64::try_from(block.len()).unwrap_or(i64::MAX);
        let moved = seek(&self.ends.output.fd, SeekFrom::Current(length)).is_ok();
        self.writing.sparse = moved;
        moved
    }

    /// Ends direct I/O for a block that is too short for it, usually the last one. It and all
    /// following blocks go through the page cache, so they are flushed and dropped from there.
    fn end_direct(&mut self, context: &mut Context<'_>) {
        let output = &self.ends.output.fd;
        let cleared =
            fcntl_getfl(output).and_then(|flags| fcntl_setfl(output, flags - OFlags::DIRECT));
        match cleared {
            Ok(()) => {
                if !std::mem::replace(&mut self.report.left_direct, true) {
                    self.report.direct_bytes = self.report.bytes - self.report.hole_bytes;
                }
            }
            Err(why) => {
                let name = self.ends.output.name.quoted();
                self.warn(
                    copy::failed(&format!("failed to turn off O_DIRECT: {name}"), why),
                    context,
                );
            }
        }
        self.writing.drop_to_end = true;
        self.writing.fsync = true;
    }

    /// Makes each requested flush once.
    pub(super) fn flush(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        if std::mem::take(&mut self.writing.fdatasync)
            && let Err(why) = self.flush_by(|output| fdatasync(output), context)
        {
            // If fdatasync is not supported, fsync may be.
            let cannot = matches!(why, Errno::NOSYS | Errno::INVAL);
            if !cannot {
                self.flush_failed("fdatasync", why, context);
            }
            self.writing.fsync = true;
        }
        if std::mem::take(&mut self.writing.fsync)
            && let Err(why) = self.flush_by(|output| fsync(output), context)
        {
            self.flush_failed("fsync", why, context);
        }
        Ok(())
    }

    fn flush_by(
        &mut self,
        call: impl Fn(&copy::ends::Descriptor) -> Result<(), Errno>,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        loop {
            let begun = Instant::now();
            match call(&self.ends.output.fd) {
                Err(Errno::INTR) if !context.stopped() => {}
                Err(why) => return Err(why),
                Ok(()) => {
                    self.flushes.record(nanos(begun.elapsed()));
                    return Ok(());
                }
            }
        }
    }

    fn flush_failed(&mut self, call: &str, why: Errno, context: &mut Context<'_>) {
        // A pipe that cannot be flushed is not an error of storage, and neither is an interrupted
        // flush.
        if self.ends.output.kind.is_storage() && why != Errno::INTR {
            self.record_error(None, 0, why);
        }
        let text = copy::failed(
            &format!("{call} failed for {}", self.ends.output.name.quoted()),
            why,
        );
        self.fail(text, context);
    }
}

/// Returns true if a block contains only zeros. Most data differs from that in its first bytes.
fn is_zero(block: &[u8]) -> bool {
    let (words, rest) = block.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0)
}

/// Bytes dropped at a time, so that small blocks do not need a call each.
const AT_ONCE: u64 = 128 << 10;

/// State of dropping one file's pages.
#[derive(Debug)]
pub(super) struct DropCache {
    /// Offset up to which pages are dropped; `None` if the file is not seekable.
    dropped_to: Option<u64>,
    pending: u64,
}

impl DropCache {
    pub(super) fn new(end: impl AsFd) -> Self {
        Self {
            dropped_to: seek(end, SeekFrom::Current(0)).ok(),
            pending: 0,
        }
    }

    /// Continues from the file's current offset.
    pub(super) fn moved(&mut self, end: impl AsFd) {
        self.dropped_to = seek(end, SeekFrom::Current(0)).ok();
    }

    /// Records that more bytes were copied.
    pub(super) fn copied(&mut self, end: impl AsFd, bytes: u64) {
        self.pending += bytes;
        if self.pending >= AT_ONCE {
            // A failure is ignored, because the call is only advice.
            let _ = self.drop_pending(end);
        }
    }

    fn drop_pending(&mut self, end: impl AsFd) -> Result<(), Errno> {
        let start = self.dropped_to.ok_or(Errno::SPIPE)?;
        let dropped = fadvise(end, start, NonZeroU64::new(self.pending), Advice::DontNeed);
        self.dropped_to = Some(start + self.pending);
        self.pending = 0;
        dropped
    }

    /// Drops the remaining copied data; with `to_end`, everything up to the end of the
    /// file.
    pub(super) fn rest(&mut self, end: impl AsFd, to_end: bool) -> Result<(), Errno> {
        if !to_end && self.pending > 0 {
            return self.drop_pending(end);
        }
        let start = self.dropped_to.ok_or(Errno::SPIPE)?;
        if to_end {
            return fadvise(end, start, None, Advice::DontNeed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Direction;

    #[test]
    fn many_errors_are_counted_and_hide_none_of_another_kind() {
        let mut errors = IoErrors::default();
        let of = |direction| IoErrorRecord {
            direction,
            offset: 0,
            length: 512,
            errno: Some(5),
            message: "Input/output error".to_owned(),
            at_ns: 0,
        };
        for _ in 0..1000 {
            count_error(&mut errors, of(Some(Direction::Read)));
        }
        count_error(&mut errors, of(None));
        assert_eq!(errors.count, 1001);
        assert_eq!(errors.first.len(), KEPT_ERRORS + 1);
        assert_eq!(errors.first[KEPT_ERRORS].direction, None);
    }
}
