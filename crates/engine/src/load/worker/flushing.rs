//! Flush calls: after so many writes, and at the end.

use super::Worker;
use crate::clock::Clock;
use crate::io::IoEngine;
use crate::load::sequence::Step;
use crate::sys;
use assay_model::job::FlushCall;
use assay_model::load::report::StreamState;
use assay_model::load::{Ddir, Durability, SyncFileRange};
use assay_model::trial::IoErrorRecord;
use rustix::io::Errno;

/// What is to be flushed when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flushes {
    fsync: u32,
    fdatasync: u32,
    range: Option<SyncFileRange>,
    writes: u64,
    /// The last write, if its flush has not been looked at yet.
    last: Option<(u32, u64, u64)>,
    /// What the next `sync_file_range` covers.
    from: u64,
    to: u64,
}

impl Flushes {
    pub(super) fn new(durability: &Durability) -> Self {
        Self {
            fsync: durability.fsync,
            fdatasync: durability.fdatasync,
            range: durability.sync_file_range.filter(|range| range.every > 0),
            writes: 0,
            last: None,
            from: u64::MAX,
            to: 0,
        }
    }

    /// Whether there is any to be done between I/Os.
    pub(super) const fn any(&self) -> bool {
        self.fsync > 0 || self.fdatasync > 0 || self.range.is_some()
    }

    /// A write is on its way.
    #[inline]
    pub(super) fn count(&mut self, step: &Step) {
        if step.ddir == Ddir::Write {
            self.writes += 1;
            self.from = self.from.min(step.offset);
            self.to = self.to.max(step.offset + u64::from(step.length));
            self.last = Some((step.file, step.offset, u64::from(step.length)));
        }
    }

    /// Whether one is due with the last write.
    fn is_any_due(&self) -> bool {
        let range = self.range.map_or(0, |range| range.every);
        let every = [self.fsync, self.fdatasync, range];
        self.last.is_some() && every.into_iter().any(|every| self.is_due(every))
    }

    fn is_due(&self, every: u32) -> bool {
        every > 0 && self.writes.is_multiple_of(u64::from(every))
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Whether a flush is due that must wait for what is in flight.
    pub(super) fn must_drain(&self) -> bool {
        self.stream.durability.drained && self.in_flight > 0 && self.flushes.is_any_due()
    }

    /// Flushes what has become due with the last write.
    pub(super) fn flush_if_due(&mut self) {
        let Some((file, ..)) = self.flushes.last.take() else {
            return;
        };
        if self.flushes.is_due(self.flushes.fsync) {
            self.flush(file, FlushCall::Fsync);
        }
        if self.flushes.is_due(self.flushes.fdatasync) {
            self.flush(file, FlushCall::Fdatasync);
        }
        if let Some(range) = self.flushes.range
            && self.flushes.is_due(range.every)
        {
            let (from, to) = (self.flushes.from, self.flushes.to);
            (self.flushes.from, self.flushes.to) = (u64::MAX, 0);
            self.range_syncs += 1;
            self.timed(file, |_, file| {
                sys::sync_file_range(&file.file, from, to.saturating_sub(from), range)
            });
        }
    }

    /// Flushes a file.
    pub(super) fn flush(&mut self, file: u32, call: FlushCall) {
        self.timed(file, |engine, file| engine.flush(file, call));
        if let Some(trace) = self.trace.as_mut() {
            let at_ns = self.clock.now().saturating_sub(self.start_ns);
            trace.flushed(at_ns, file, call);
        }
    }

    fn timed(
        &mut self,
        number: u32,
        call: impl FnOnce(&mut E, &crate::io::OpenFile) -> Result<(), Errno>,
    ) {
        // What was made before it is under way before it.
        if let Err(error) = self.commit() {
            self.fail_with(error);
            return;
        }
        let before_ns = self.clock.now();
        let Some(file) = self.files.get(number) else {
            return;
        };
        let answer = call(&mut self.engine, file);
        let path = file.path.display().to_string();
        let now_ns = self.clock.now();
        match answer {
            Ok(()) => {
                let latency_ns = now_ns.saturating_sub(before_ns);
                self.recorder.flushed(now_ns, latency_ns);
            }
            Err(errno) => self.flush_failed(&path, errno, now_ns),
        }
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
    }

    #[cold]
    fn flush_failed(&mut self, path: &str, errno: Errno, now_ns: u64) {
        self.total_errors += 1;
        let message = std::io::Error::from(errno).to_string();
        let problem = format!("flush of {path}: {message}");
        let record = IoErrorRecord {
            direction: None,
            offset: 0,
            length: 0,
            errno: Some(errno.raw_os_error()),
            message,
            at_ns: 0,
        };
        self.recorder.error(record, now_ns);
        self.fail_stream(errno.raw_os_error(), problem);
    }

    /// The flush that came due with the last write, and the ones that the job
    /// asks for at its end.
    pub(super) fn flush_at_end(&mut self) {
        if self.failure.is_some() || self.shared.is_abandoned() {
            return;
        }
        self.flush_if_due();
        let durability = &self.stream.durability;
        let on_close = durability.fsync_on_close.then_some(FlushCall::Fsync);
        let Some(call) = on_close.or(durability.at_end) else {
            return;
        };
        if self.stream.blocks.rw.write {
            self.shared.set_state(StreamState::Flushing);
            let numbers: Vec<u32> = self.files.open_numbers().collect();
            for number in numbers {
                self.flush(number, call);
            }
            // Files that were closed on the way were flushed only if each
            // close is to flush.
            let all = !self.few_open || on_close.is_some();
            self.flushed_at_end = all && self.failure.is_none();
        }
    }
}
