//! Properties of a stream's I/O, expressed as those of a job.

use assay_lang::tr;
use assay_model::job::{Direction, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::load::blocks::Sequencer;
use assay_model::load::report::StreamReport;
use assay_model::load::{Ddir, Extent, Stream};
use assay_model::units::Bytes;

/// A stream of a wave with its report.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) index: usize,
    pub(super) stream: &'a Stream,
    pub(super) came: &'a StreamReport,
    /// `true` if the report is the final one.
    pub(super) ended: bool,
    /// Sync mode in force for the writes.
    pub(super) sync: OpenSync,
}

impl Member<'_> {
    /// Bytes moved, ramp and checks included.
    pub(super) fn moved(&self, direction: Direction) -> u64 {
        self.came.moved_bytes[ddir(direction)]
    }

    /// Bytes read and written.
    pub(super) fn moved_both_ways(&self) -> u64 {
        self.moved(Direction::Read)
            .saturating_add(self.moved(Direction::Write))
    }

    /// `true` if the stream uses direct I/O. Memory maps do not support `O_DIRECT`.
    pub(super) fn is_direct(&self) -> bool {
        self.stream.durability.direct && !self.stream.engine.kind.maps_memory()
    }

    /// `true` if `msync(2)` follows each store into a map.
    pub(super) fn syncs_map(&self) -> bool {
        self.stream.durability.direct && self.stream.engine.kind.maps_memory()
    }

    /// `true` if the stream ended without an error.
    pub(super) fn completed(&self) -> bool {
        self.ended && self.came.errno == 0 && self.came.total_errors == 0
    }

    /// Returns the flushes that the report shows; an interrupted stream may have skipped the last.
    pub(super) fn flush(&self) -> Flush {
        let durability = &self.stream.durability;
        if let Some(left) = self.came.unflushed_bytes {
            let call = match durability.fdatasync > 0 {
                true => FlushCall::Fdatasync,
                false => FlushCall::Fsync,
            };
            return Flush {
                every: None,
                at_end: (left == 0).then_some(call),
            };
        }
        let made = self.came.sync.count.saturating_sub(self.came.range_syncs);
        let writes = self.came.directions.write.ios;
        let (every, call) = match (durability.fsync, durability.fdatasync) {
            (0, every) => (every, FlushCall::Fdatasync),
            (every, _) => (every, FlushCall::Fsync),
        };
        let on_the_way = writes.checked_div(u64::from(every)).unwrap_or(0);
        let on_close = durability.fsync_on_close.then_some(FlushCall::Fsync);
        Flush {
            every: (every > 0 && made >= on_the_way && self.flushes_cover_writes())
                .then_some((every, call)),
            at_end: (on_close.or(durability.at_end)).filter(|_| self.came.flushed_at_end),
        }
    }

    /// `true` if a flush between writes covers all writes before it: none of them is still in
    /// flight.
    fn flushes_cover_writes(&self) -> bool {
        let engine = &self.stream.engine;
        let one_at_a_time = !engine.kind.is_asynchronous() || engine.iodepth <= 1;
        one_at_a_time || self.stream.durability.drained
    }

    /// `true` if everything that the stream wrote was flushed, or written through, before it ended.
    pub(super) fn is_durable(&self) -> bool {
        let job = self.job();
        job.sync != OpenSync::None || (self.completed() && job.ends_durable())
    }

    /// `true` if written data may still be in the page cache when the stream ends.
    pub(super) fn leaves_pages(&self) -> bool {
        self.moved(Direction::Write) > 0 && !self.is_direct() && !self.is_durable()
    }

    /// Returns the number of flush calls, plus the writes that are durable when they return.
    pub(super) fn flush_calls(&self) -> u64 {
        let synced = match self.sync {
            OpenSync::None => 0,
            _ => self.came.directions.write.ios,
        };
        self.came.sync.count + synced
    }

    /// Returns the stream's own properties as a job. The group fills in sizes and counts.
    pub(super) fn job(&self) -> Job {
        Job {
            ioengine: self.stream.engine.kind,
            direct: self.is_direct(),
            sync: self.sync,
            flush: self.flush(),
            ..Job::new(&self.stream.name, Rw::Rw, Bytes(4096), Bytes(0))
        }
    }

    /// Returns the bytes that are requested from the block layer if nothing is cached: whole pages,
    /// a separate one for each small random read.
    pub(super) fn pages_asked(&self) -> u64 {
        const PAGE_BYTES: u64 = 4096;
        let moved = self.moved(Direction::Read);
        let reads = &self.came.directions.read;
        let mean = reads.bytes.checked_div(reads.ios);
        match mean {
            Some(mean @ 1..PAGE_BYTES) if self.stream.blocks.rw.random && !self.is_direct() => {
                moved.div_ceil(mean).saturating_mul(PAGE_BYTES)
            }
            _ => moved,
        }
    }

    /// Returns the number of reads, including those of the ramp.
    pub(super) fn reads(&self) -> u64 {
        let reads = &self.came.directions.read;
        let mean = reads.bytes.checked_div(reads.ios).unwrap_or(0);
        self.moved(Direction::Read).checked_div(mean).unwrap_or(0)
    }

    /// Returns a lower bound of the device requests that the reads need if nothing is cached:
    /// buffered reads at random offsets do not share a request. Reads that follow such a read
    /// sequentially may.
    pub(super) fn requests_needed(&self) -> u64 {
        let blocks = &self.stream.blocks;
        if !blocks.rw.random || self.is_direct() {
            return 0;
        }
        let in_a_row = match blocks.rw.sequencer {
            Sequencer::Sequential => u64::from(blocks.rw.every.max(1)),
            Sequencer::Identical => 1,
        };
        let percent = u128::from(blocks.percentage_random.read);
        let random = u128::from(self.reads() / in_a_row) * percent / 100;
        u64::try_from(random).unwrap_or(u64::MAX)
    }

    /// Returns the most requests that the reads are likely to have made beyond
    /// [`Self::requests_needed`]; another job must not count them as its own.
    pub(super) fn other_requests(&self) -> u64 {
        /// Size that every device accepts as one request.
        const REQUEST_BYTES: u64 = 64 << 10;
        let moved = self.moved(Direction::Read);
        let all = self.reads().max(moved.div_ceil(REQUEST_BYTES));
        all.saturating_sub(self.requests_needed())
    }

    /// Returns the reason why the writes are not judged: a write or a flush failed. Uses the
    /// counters, because only the first errors are stored in detail.
    pub(super) fn write_failure(&self) -> Option<String> {
        let (stream, came) = (self.stream, self.came);
        let filled = stream.length.fill_device && came.total_errors == 0;
        let dropped = came.directions.write.dropped_ios > 0 && !filled;
        // Errors without an I/O: of a flush, or of the engine itself.
        let flush = stream.blocks.rw.write && came.total_errors > came.errors.count;
        (dropped || flush).then(|| self.error_in_words(Some(Direction::Write)))
    }

    /// Returns the error of a trim.
    pub(super) fn trim_failure(&self) -> Option<String> {
        (self.came.directions.trim.dropped_ios > 0).then(|| self.error_in_words(None))
    }

    fn error_in_words(&self, direction: Option<Direction>) -> String {
        let mut located = self.came.errors.first.iter();
        let located = located.find(|error| error.direction == direction);
        let words = located.map(|error| error.message.clone());
        let words = words.or_else(|| self.came.problem.clone());
        let words = words.unwrap_or_else(|| tr!("it was to be ignored").to_owned());
        tr!("job {name}: {words}", name = self.stream.name, words)
    }

    /// Returns the bytes of one pass over the region, where the parts of the files are not known.
    pub(super) fn pass_bytes(&self) -> u64 {
        let files: u64 = self.came.files.iter().map(|(_, size)| size.0).sum();
        let region = match self.stream.region.size {
            Some(Extent::Bytes(size)) => size,
            _ => files,
        };
        if files > 0 { region.min(files) } else { region }
    }

    /// Returns the mean size of the reads.
    pub(super) fn mean_read(&self) -> Option<u64> {
        let reads = &self.came.directions.read;
        reads.bytes.checked_div(reads.ios)
    }

    /// Returns the times of the first I/O and of the last, on the load's clock.
    pub(super) fn span_ns(&self) -> (u64, u64) {
        let took = self
            .came
            .runtime_ns
            .saturating_add(self.stream.length.ramp_time.0);
        let ended = self.came.elapsed_ns;
        let stopped = self.came.stopped_ns.unwrap_or(ended);
        // The run time includes the reading back.
        let until = if self.reads_back() { ended } else { stopped };
        (until.saturating_sub(took), stopped)
    }

    /// `true` if the stream read its data back after its clock had stopped.
    pub(super) fn reads_back(&self) -> bool {
        let verify = self.stream.verify.as_ref();
        self.stream.blocks.rw.write && verify.is_some_and(|verify| verify.read_back)
    }
}

pub(super) const fn ddir(direction: Direction) -> Ddir {
    match direction {
        Direction::Read => Ddir::Read,
        Direction::Write => Ddir::Write,
    }
}
