//! Copying like GNU dd: the same bytes, records and error messages.
//!
//! A copy is one step. Its clock runs like that of dd: from the moment both files are open until
//! the output is flushed, if that is requested.

mod copier;
mod ends;

use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_engine::held::{named, shown};
use assay_engine::{Waker, held, own_file_table};
use assay_model::act::copy::{Extent, FileCopy, Records};
use assay_model::act::{ActReport, StepDetail};
use assay_model::job::Job;
use assay_model::text;
use assay_model::text::{Base, quoted, quoted_if_needed};
use assay_model::trial::Outcome;
use assay_model::wire::NoteWeight;
use copier::Copier;
use ends::Ends;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, read};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which a request to stop or to report is noticed while the copy waits for a pipe or a
/// terminal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Reason why a copy ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Halt {
    /// A stop was requested.
    Stopped,
    /// An error occurred and was reported.
    Failed,
}

/// Copies, once or several times in a row; returns the report of the last copy.
pub(crate) fn run(work: &FileCopy, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    // Before any file is opened, so that no other thread shares a descriptor, and a pipe ends when
    // the copy closes it.
    own_file_table();
    let mut report = step(work, context)?;
    for next in &work.then {
        if context.stopped() {
            break;
        }
        report = step(next, context)?;
    }
    Ok(report)
}

/// Makes one copy. A failure after both files are open is reported, and included in the report.
fn step(work: &FileCopy, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    let ends = interruptible(context, |context| Ends::open(work, context))?;
    let buffers = match Buffers::new(work) {
        Ok(buffers) => buffers,
        Err(error) => {
            tidy(work, context);
            return Err(error);
        }
    };
    let job = ends::describe_job(work, &ends);
    let evidence = ends.evidence_path();
    let paths: Vec<&Path> = evidence.iter().map(AsRef::as_ref).collect();
    let step = ObservedStep {
        job: &job,
        paths: &paths,
    };
    context.observer.begins(step);
    context.observer.clock_starts(step);
    let (outcome, came) = measured(work, &job, ends, buffers, context);
    tidy(work, context);
    let report = came.detail.clone();
    context.observer.ended(outcome, came);
    context.observer.keep();
    match report {
        Some(StepDetail::Copy(report)) => Ok(ActReport::Copy(report)),
        _ => Ok(ActReport::Steps),
    }
}

/// Removes or syncs the output, if requested. A failure does not affect the figures of this copy.
fn tidy(work: &FileCopy, context: &mut Context<'_>) {
    let Some(output) = &work.output else {
        return;
    };
    if work.remove_output {
        if let Err(error) = held::remove_file(output) {
            let path = shown(output);
            let text = format!("{path} could not be removed: {error}");
            context.observer.note(NoteWeight::Warning, text);
        }
    } else if work.settle
        && let Ok(file) = held::open_to_read(output)
    {
        let _ = file.sync_all();
    }
}

/// Runs the copy from the start of the clock until it stops.
fn measured(
    work: &FileCopy,
    job: &Job,
    ends: Ends,
    buffers: Buffers,
    context: &mut Context<'_>,
) -> (Outcome, StepOutcome) {
    let mut copier = Copier::new(work, ends);
    let came = interruptible(context, |context| {
        // The watching thread had shared the table of open files again.
        own_file_table();
        copier.start();
        let came = copier.run(buffers, context);
        came.and(copier.finish(context))
    });
    context.observer.clock_stopped();
    let outcome = match came {
        Err(Halt::Stopped) => Outcome::Interrupted,
        Ok(()) if copier.error().is_none() => Outcome::Completed,
        Ok(()) | Err(Halt::Failed) => Outcome::Failed {
            error: copier.error().unwrap_or("the copy failed").to_owned(),
        },
    };
    let (measurement, report) = copier.results(job);
    let came = StepOutcome {
        measured: Some(measurement),
        detail: Some(StepDetail::Copy(report)),
    };
    (outcome, came)
}

/// Runs a function in which the thread may block in a system call for an unlimited time: a stop or
/// a request for a report interrupts the call.
fn interruptible<'c, T>(context: &mut Context<'c>, act: impl FnOnce(&mut Context<'c>) -> T) -> T {
    let Ok(waker) = Waker::of_this_thread() else {
        return act(context);
    };
    let (stop, report_now) = (context.stop, context.report_now);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = std::thread::Builder::new().spawn_scoped(scope, || {
            while !over.load(Ordering::Acquire) {
                if stop.load(Ordering::Relaxed) || report_now.load(Ordering::Relaxed) {
                    waker.wake();
                }
                std::thread::park_timeout(LOOK_EVERY);
            }
        });
        let came = act(context);
        over.store(true, Ordering::Release);
        // Without the watching thread, the call is not interrupted.
        if let Ok(watch) = watch {
            watch.thread().unpark();
        }
        came
    })
}

/// Displayed name of an input or output.
#[derive(Clone, Debug)]
struct Name(std::ffi::OsString);

impl Name {
    fn of(path: Option<&Path>, otherwise: &str) -> Self {
        let name = path.map(named);
        let name = name
            .as_deref()
            .map_or(OsStr::new(otherwise), Path::as_os_str);
        Self(name.to_owned())
    }

    /// Returns the name in quotes.
    fn quoted(&self) -> String {
        quoted(&self.0)
    }

    /// Returns the name for the beginning of a message.
    fn leading(&self) -> String {
        quoted_if_needed(&self.0)
    }
}

/// Returns the text of an error number, as in the C library.
fn errno(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Builds the message of a failure and its cause.
fn failed(what: &str, why: Errno) -> String {
    format!("{what}: {}", errno(why))
}

/// Receiver of the converted bytes.
trait Sink {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Halt>;
}

/// State of a conversion.
#[derive(Debug)]
struct Converter {
    table: Option<Box<[u8; 256]>>,
    swap_pairs: bool,
    /// First byte of a pair whose second byte was not read yet.
    single: Option<u8>,
    records: Option<Records>,
    newline: u8,
    space: u8,
    /// Bytes of a record.
    width: u64,
    /// Position in the line or record.
    column: u64,
    /// Pending spaces, which are output only if another byte follows.
    spaces: u64,
    /// Lines that were longer than a record.
    truncated: u64,
}

impl Converter {
    fn new(work: &FileCopy) -> Self {
        let conversion = &work.conversion;
        let table: Option<[u8; 256]> = conversion.table.as_slice().try_into().ok();
        Self {
            table: table.map(Box::new),
            swap_pairs: conversion.swap_pairs,
            single: None,
            records: conversion.records,
            newline: conversion.newline,
            space: conversion.space,
            width: work.record,
            column: 0,
            spaces: 0,
            truncated: 0,
        }
    }

    /// Converts the bytes of a read, in place if possible.
    fn feed(&mut self, bytes: &mut [u8], sink: &mut impl Sink) -> Result<(), Halt> {
        if let Some(table) = &self.table {
            for byte in bytes.iter_mut() {
                *byte = table[usize::from(*byte)];
            }
        }
        if self.swap_pairs {
            self.swapped(bytes, sink)
        } else {
            self.recorded(bytes, sink)
        }
    }

    /// Completes incomplete records after the last read.
    fn close(&mut self, sink: &mut impl Sink) -> Result<(), Halt> {
        if let Some(single) = self.single.take() {
            self.recorded(&[single], sink)?;
        }
        match self.records {
            Some(Records::Block) if self.column > 0 => self.pad(sink),
            Some(Records::Unblock) if self.column > 0 => sink.put(&[self.newline]),
            _ => Ok(()),
        }
    }

    fn swapped(&mut self, bytes: &mut [u8], sink: &mut impl Sink) -> Result<(), Halt> {
        let mut rest = bytes;
        if let Some(first) = self.single.take() {
            let Some((second, after)) = rest.split_first_mut() else {
                self.single = Some(first);
                return Ok(());
            };
            self.recorded(&[*second, first], sink)?;
            rest = after;
        }
        let (pairs, single) = rest.as_chunks_mut::<2>();
        for pair in pairs.iter_mut() {
            pair.reverse();
        }
        self.single = single.first().copied();
        let even = rest.len() & !1;
        self.recorded(&rest[..even], sink)
    }

    fn recorded(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Halt> {
        match self.records {
            None => sink.put(bytes),
            Some(Records::Block) => bytes.iter().try_for_each(|&byte| self.block(byte, sink)),
            Some(Records::Unblock) => bytes.iter().try_for_each(|&byte| self.unblock(byte, sink)),
        }
    }

    /// Converts a line into a record: pads it with spaces, and truncates it if it is too
    /// long.
    fn block(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Halt> {
        if byte == self.newline {
            self.pad(sink)?;
            self.column = 0;
            return Ok(());
        }
        if self.column == self.width {
            self.truncated += 1;
        } else if self.column < self.width {
            sink.put(&[byte])?;
        }
        self.column += 1;
        Ok(())
    }

    fn pad(&self, sink: &mut impl Sink) -> Result<(), Halt> {
        (self.column..self.width).try_for_each(|_| sink.put(&[self.space]))
    }

    /// Converts a record into a line: removes trailing spaces.
    fn unblock(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Halt> {
        if self.column == self.width {
            self.spaces = 0;
            self.column = 0;
            sink.put(&[self.newline])?;
        }
        self.column += 1;
        if byte == self.space {
            self.spaces += 1;
            return Ok(());
        }
        for _ in 0..std::mem::take(&mut self.spaces) {
            sink.put(&[self.space])?;
        }
        sink.put(&[byte])
    }
}

/// Alignment that is sufficient for direct I/O on every system.
const ALIGNMENT: usize = 4096;

/// A block aligned to a page. Memory that is not touched is not allocated by the kernel.
#[derive(Debug)]
struct PageAlignedBlock {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageAlignedBlock {
    /// Allocates a block; `None` if there is not enough memory.
    fn new(length: u64) -> Option<Self> {
        let length = usize::try_from(length).ok()?;
        let size = length.checked_add(ALIGNMENT)?;
        // Checked first, because a failed allocation below would abort the process.
        Vec::<u8>::new().try_reserve_exact(size).ok()?;
        let memory = vec![0; size];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Some(Self {
            memory,
            start,
            length,
        })
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// Blocks of a copy.
#[derive(Debug)]
struct Buffers {
    input: PageAlignedBlock,
    /// `None` if data is written from the input block.
    output: Option<PageAlignedBlock>,
}

impl Buffers {
    fn new(work: &FileCopy) -> Result<Self, ActError> {
        // Nothing will be read: dd does not allocate the memory either.
        let idle = work.count.is_some_and(Extent::is_empty);
        let size = |block: u64| {
            if idle && work.seek.is_empty() && work.skip.is_empty() {
                1
            } else {
                block
            }
        };
        let block = |what: &str, length: u64| {
            PageAlignedBlock::new(size(length)).ok_or_else(|| exhausted(what, length))
        };
        Ok(Self {
            input: block("input", work.input_block)?,
            output: match work.reblock {
                true => Some(block("output", work.output_block)?),
                false => None,
            },
        })
    }
}

fn exhausted(what: &str, length: u64) -> ActError {
    ActError::failed(format!(
        "memory exhausted by {what} buffer of size {length} bytes ({})",
        text::gnu_size(length, Base::Binary)
    ))
}

impl Copier<'_> {
    /// Skips the beginning of the input.
    fn skip(&mut self, buffers: &mut Buffers, context: &mut Context<'_>) -> Result<(), Halt> {
        let wanted = self.work.skip;
        if wanted.is_empty() {
            return Ok(());
        }
        let begin = self.reading.offset;
        let length = exact(wanted, self.work.input_block);
        let moved = match length {
            Some(length) => self.seek_input(length),
            None => Err(Errno::OVERFLOW),
        };
        let all = match moved {
            Ok(all) => all,
            Err(why) => self.read_over(buffers, why, context)?,
        };
        let passed = self.reading.offset - begin;
        if !all || length.is_some_and(|length| passed < length) {
            let name = self.ends.input.name.leading();
            self.warn(format!("{name}: cannot skip to specified offset"), context);
        }
        Ok(())
    }

    /// Seeks in the input; `true` if all of it could be skipped, `false` if the file is
    /// shorter.
    fn seek_input(&mut self, length: u64) -> Result<bool, Errno> {
        let forward = i64::try_from(length).map_err(|_| Errno::OVERFLOW)?;
        seek(&self.ends.input.fd, SeekFrom::Current(forward))?;
        let left = self.ends.input.size.filter(|&size| size > 0);
        let left = left.map(|size| size.saturating_sub(self.reading.offset));
        let passed = left.map_or(length, |left| left.min(length));
        self.passed(passed);
        Ok(passed == length)
    }

    /// Skips the beginning of an unseekable input by reading.
    fn read_over(
        &mut self,
        buffers: &mut Buffers,
        why: Errno,
        context: &mut Context<'_>,
    ) -> Result<bool, Halt> {
        let input = &self.ends.input;
        if seek(&input.fd, SeekFrom::End(0)).is_ok() {
            let text = failed(&format!("{}: cannot skip", input.name.leading()), why);
            return self.give_up(text, context);
        }
        let Extent { mut blocks, bytes } = self.work.skip;
        let mut last = usize::try_from(bytes).unwrap_or(0);
        while blocks > 0 || last > 0 {
            let buffer = buffers.input.bytes_mut();
            let wanted = if blocks > 0 { buffer.len() } else { last };
            match self.read_block(&mut buffer[..wanted], context)? {
                Ok(0) => return Ok(false),
                Ok(count) => self.passed(count as u64),
                Err(why) => {
                    let name = self.ends.input.name.quoted();
                    let text = failed(&format!("error reading {name}"), why);
                    if self.work.treatment.go_on {
                        self.send_interim_report(context);
                    }
                    return self.give_up(text, context);
                }
            }
            if blocks > 0 {
                blocks -= 1;
            } else {
                last = 0;
            }
        }
        // Skipped data does not count as copied.
        self.report.read_bytes = 0;
        Ok(true)
    }

    /// Skips the beginning of the output.
    fn seek(&mut self, buffers: &mut Buffers, context: &mut Context<'_>) -> Result<(), Halt> {
        let wanted = self.work.seek;
        if wanted.is_empty() {
            return Ok(());
        }
        let length = exact(wanted, self.work.output_block);
        let forward = length.and_then(|length| i64::try_from(length).ok());
        let moved = match forward {
            Some(forward) => seek(&self.ends.output.fd, SeekFrom::Current(forward)),
            None => Err(Errno::OVERFLOW),
        };
        self.writing.cache.moved(&self.ends.output.fd);
        match moved {
            Ok(_) => Ok(()),
            Err(why) => self.go_over_output(buffers, why, context),
        }
    }

    /// Skips the beginning of an unseekable output, such as a tape, by reading, and pads
    /// it with zeros if it is too short.
    fn go_over_output(
        &mut self,
        buffers: &mut Buffers,
        why: Errno,
        context: &mut Context<'_>,
    ) -> Result<(), Halt> {
        let cannot = failed(
            &format!("{}: cannot seek", self.ends.output.name.leading()),
            why,
        );
        if seek(&self.ends.output.fd, SeekFrom::End(0)).is_ok() {
            return self.give_up(cannot, context);
        }
        let Buffers { input, output } = buffers;
        let buffer = output.as_mut().unwrap_or(input).bytes_mut();
        let Extent { mut blocks, bytes } = self.work.seek;
        let mut last = usize::try_from(bytes).unwrap_or(0);
        let mut readable = true;
        while blocks > 0 || last > 0 {
            let size = if blocks > 0 { buffer.len() } else { last };
            if readable {
                self.attend(context)?;
                match read(&self.ends.output.fd, &mut buffer[..size]) {
                    Err(Errno::INTR) => continue,
                    Err(_) => return self.give_up(cannot, context),
                    Ok(0) => {
                        readable = false;
                        buffer.fill(0);
                        continue;
                    }
                    Ok(_) => {}
                }
            } else if let Some(why) = self.write(&buffer[..size], context)?.error {
                self.write_failed("writing to", why, context);
                return Err(Halt::Failed);
            }
            if blocks > 0 {
                blocks -= 1;
            } else {
                last = 0;
            }
        }
        Ok(())
    }
}

/// Returns an extent in bytes, if that is a valid file offset.
fn exact(extent: Extent, block: u64) -> Option<u64> {
    let bytes = extent
        .blocks
        .checked_mul(block)?
        .checked_add(extent.bytes)?;
    i64::try_from(bytes).is_ok().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::recording::Recording;
    use std::fs;

    fn with_context<T>(act: impl FnOnce(&mut Context<'_>) -> T) -> (T, Recording) {
        let mut recording = Recording::default();
        let (stop, report_now) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut context = Context {
            seed: 1,
            folder: None,
            stop: &stop,
            report_now: &report_now,
            observer: &mut recording,
        };
        let came = act(&mut context);
        (came, recording)
    }

    fn removing(output: &Path) -> FileCopy {
        FileCopy {
            input: Some("/dev/null".into()),
            output: Some(output.to_owned()),
            remove_output: true,
            ..FileCopy::default()
        }
    }

    #[test]
    fn a_copy_removes_only_the_output_that_it_made() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        fs::write(&output, "somebody else's").unwrap();
        let (came, _) = with_context(|context| run(&removing(&output), context));
        assert!(came.is_err());
        assert_eq!(fs::read(&output).unwrap(), b"somebody else's");
        fs::remove_file(&output).unwrap();
        let (came, recording) = with_context(|context| run(&removing(&output), context));
        assert!(came.is_ok());
        assert!(!output.exists());
        assert_eq!(recording.notes, Vec::<String>::new());
    }

    #[test]
    fn a_copy_without_memory_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let copy = FileCopy {
            input_block: u64::MAX,
            ..removing(&output)
        };
        let (came, _) = with_context(|context| run(&copy, context));
        assert!(came.is_err());
        assert!(!output.exists());
    }

    #[test]
    fn an_output_that_cannot_be_removed_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("gone");
        let ((), recording) = with_context(|context| tidy(&removing(&output), context));
        assert!(recording.notes[0].contains("could not be removed"));
    }

    #[test]
    fn a_block_begins_with_a_page_and_is_zero() {
        for length in [1, 512, 1 << 20] {
            let mut block = PageAlignedBlock::new(length).unwrap();
            let bytes = block.bytes_mut();
            assert_eq!(bytes.len() as u64, length);
            assert_eq!(bytes.as_ptr() as usize % ALIGNMENT, 0);
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        assert!(PageAlignedBlock::new(u64::MAX).is_none());
    }
}
