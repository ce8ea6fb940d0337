//! Flush calls: after a number of writes, and at the end.

use super::Worker;
use crate::engines::{IoEngine, IoUnit};
use crate::held::shown;
use crate::load::sequence::Step;
use crate::sys;
use crate::sys::Clock;
use assay_model::job::FlushCall;
use assay_model::load::report::StreamState;
use assay_model::load::{Ddir, Durability, SyncFileRange};
use assay_model::trial::IoErrorRecord;
use rustix::io::Errno;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of groups that wait for a flush; older ones are not measured.
const MAX_GROUPS: usize = 1 << 12;

/// Schedule of flushes.
#[derive(Clone, Debug)]
pub(super) struct Flushes {
    fsync: u32,
    fdatasync: u32,
    range: Option<SyncFileRange>,
    writes: u64,
    /// The last write, until its flush is evaluated.
    last: Option<(u32, u64, u64)>,
    /// Start of the range that the next `sync_file_range` covers.
    from: u64,
    to: u64,
    groups: Groups,
    /// Bytes of each file that were written since its last flush.
    unflushed: BTreeMap<u32, u64>,
}

/// The writes between two requested flushes, until they are durable.
#[derive(Clone, Copy, Debug)]
struct FlushGroup {
    /// Time of the first write.
    start_ns: u64,
    file: u32,
    in_flight: u32,
    /// True if a write failed, or was to another file than the flush.
    spoiled: bool,
}

/// Groups that were not flushed yet, oldest first.
#[derive(Clone, Debug, Default)]
struct Groups {
    waiting: VecDeque<FlushGroup>,
    /// True if the last group still grows.
    growing: bool,
}

impl Groups {
    fn began(&mut self, file: u32, now_ns: u64) {
        if !self.growing {
            if self.waiting.len() >= MAX_GROUPS {
                self.waiting.pop_front();
            }
            self.growing = true;
            self.waiting.push_back(FlushGroup {
                start_ns: now_ns,
                file,
                in_flight: 0,
                spoiled: false,
            });
        }
        if let Some(last) = self.waiting.back_mut() {
            last.in_flight += 1;
            last.spoiled |= last.file != file;
        }
    }

    /// Records the end of a write that was submitted at `submitted_ns`.
    fn ended(&mut self, submitted_ns: u64, succeeded: bool) {
        let mut groups = self.waiting.iter_mut().rev();
        if let Some(group) = groups.find(|group| group.start_ns <= submitted_ns) {
            group.in_flight = group.in_flight.saturating_sub(1);
            group.spoiled |= !succeeded;
        }
    }

    /// Removes the groups that a flush of `file` has made durable. Groups with writes in
    /// flight are left to the next flush.
    fn flushed(&mut self, file: u32, mut durable: impl FnMut(u64)) {
        self.growing = false;
        self.waiting.retain(|group| {
            let covered = group.in_flight == 0 && (group.file == file || group.spoiled);
            if covered && !group.spoiled {
                durable(group.start_ns);
            }
            !covered
        });
    }
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
            groups: Groups::default(),
            unflushed: BTreeMap::new(),
        }
    }

    /// Returns true if any flush is made between I/Os.
    pub(super) const fn any(&self) -> bool {
        self.fsync > 0 || self.fdatasync > 0 || self.range.is_some()
    }

    /// Returns true if any flush makes earlier writes durable: a `sync_file_range` does not.
    pub(super) const fn any_durable(&self) -> bool {
        self.fsync > 0 || self.fdatasync > 0
    }

    /// Records the end of a write, successful or not.
    pub(super) fn ended(&mut self, unit: &IoUnit, succeeded: bool) {
        if unit.ddir == Ddir::Write && self.any_durable() {
            self.groups.ended(unit.submitted_ns, succeeded);
        }
    }

    /// Counts a write that is issued.
    #[inline]
    pub(super) fn count(&mut self, step: &Step, now_ns: u64) {
        if step.ddir == Ddir::Write {
            if self.any_durable() {
                self.groups.began(step.file, now_ns);
            }
            self.writes += 1;
            *self.unflushed.entry(step.file).or_default() += u64::from(step.length);
            self.from = self.from.min(step.offset);
            self.to = self.to.max(step.offset + u64::from(step.length));
            self.last = Some((step.file, step.offset, u64::from(step.length)));
        }
    }

    /// Returns the number of bytes that no flush has covered yet.
    pub(super) fn unflushed(&self) -> u64 {
        self.unflushed.values().sum()
    }

    /// Returns true if a flush is due with the last write.
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
    /// Returns true if a flush is due that must wait for the I/Os in flight.
    pub(super) fn must_drain(&self) -> bool {
        self.stream.durability.drained && self.in_flight > 0 && self.flushes.is_any_due()
    }

    /// Makes the flushes that are due after the last write.
    pub(super) fn flush_if_due(&mut self) {
        let Some((file, ..)) = self.flushes.last.take() else {
            return;
        };
        if self.flushes.is_due(self.flushes.fsync) {
            self.flush_group(file, FlushCall::Fsync);
        }
        if self.flushes.is_due(self.flushes.fdatasync) {
            self.flush_group(file, FlushCall::Fdatasync);
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

    /// Flushes a file after a group of writes. The group's latency is from its first write
    /// to the end of the flush.
    fn flush_group(&mut self, file: u32, call: FlushCall) {
        let Some(now_ns) = self.flush(file, call) else {
            return;
        };
        let recorder = &mut self.recorder;
        (self.flushes.groups).flushed(file, |start_ns| {
            recorder.made_durable(now_ns.saturating_sub(start_ns));
        });
    }

    /// Flushes a file. Returns the time of its end; `None` on failure.
    pub(super) fn flush(&mut self, file: u32, call: FlushCall) -> Option<u64> {
        let done_ns = self.timed(file, |engine, file| engine.flush(file, call));
        // Writes that were in flight may not be covered by the flush.
        if done_ns.is_some() && self.in_flight == 0 {
            self.flushes.unflushed.remove(&file);
        }
        if let Some(trace) = self.trace.as_mut() {
            let at_ns = self.clock.now().saturating_sub(self.start_ns);
            trace.flushed(at_ns, file, call);
        }
        done_ns
    }

    fn timed(
        &mut self,
        number: u32,
        call: impl FnOnce(&mut E, &crate::engines::OpenFile) -> Result<(), Errno>,
    ) -> Option<u64> {
        // Queued writes must be submitted before the flush.
        if let Err(error) = self.commit() {
            self.fail_with(error);
            return None;
        }
        let before_ns = self.clock.now();
        let file = self.files.get(number)?;
        let answer = call(&mut self.engine, file);
        let path = shown(&file.path);
        let now_ns = self.clock.now();
        let done = answer.is_ok();
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
        done.then_some(now_ns)
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

    /// Makes the flush that is due after the last write, and the one that the job requests
    /// at its end.
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
            // Files that were closed earlier were flushed only if the job flushes on each
            // close.
            let all = !self.few_open || on_close.is_some();
            self.flushed_at_end = all && self.failure.is_none();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts of the groups that a flush of a file makes durable.
    fn flushed(groups: &mut Groups, file: u32) -> Vec<u64> {
        let mut starts = Vec::new();
        groups.flushed(file, |start_ns| starts.push(start_ns));
        starts
    }

    #[test]
    fn a_flush_covers_what_had_come_back_before_it() {
        let mut groups = Groups::default();
        groups.began(0, 10);
        assert_eq!(flushed(&mut groups, 0), [0_u64; 0], "in flight");
        groups.began(0, 20);
        groups.ended(11, true);
        assert_eq!(flushed(&mut groups, 0), [10]);
        groups.ended(21, true);
        assert_eq!(flushed(&mut groups, 0), [20]);
        assert_eq!(flushed(&mut groups, 0), [0_u64; 0], "once only");
    }

    #[test]
    fn a_flush_of_one_file_says_nothing_of_another() {
        let mut groups = Groups::default();
        groups.began(0, 10);
        groups.began(1, 20);
        groups.ended(11, true);
        groups.ended(21, true);
        assert_eq!(flushed(&mut groups, 1), [0_u64; 0]);
        groups.began(0, 30);
        groups.ended(31, false);
        assert_eq!(flushed(&mut groups, 0), [0_u64; 0], "a write failed");
        groups.began(0, 40);
        groups.ended(41, true);
        assert_eq!(flushed(&mut groups, 0), [40]);
    }
}
