//! Reading back and verifying blocks, and the trims that belong to it.

use super::issue::{Next, Role, UnitInFlight};
use super::{Phase, Worker};
use crate::buffer::Filler;
use crate::engines::{IoEngine, IoUnit};
use crate::held::shown;
use crate::load::Note;
use crate::load::sequence::Step;
use crate::load::source::Given;
use crate::sys::Clock;
use crate::verify::{Check, CheckPool, Checked, Expected, Mismatch, Verifier, VerifyState};
use crate::{EngineError, page_cache, verify};
use assay_model::job::FlushCall;
use assay_model::load::blocks::{SaveState, TrimOptions, Verify, VerifyKind};
use assay_model::load::report::StreamState;
use assay_model::load::{Ddir, Stream};
use assay_model::rng::SplitMix64;
use assay_model::trial::IoErrorRecord;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// State of a stream with verification.
pub(in crate::load) struct Checks {
    spec: Verify,
    verifier: Arc<Verifier>,
    pool: Option<CheckPool>,
    /// True if the job only reads, so that its own reads are verified.
    reads: bool,
    /// True if written blocks are recorded to be read back.
    remembers: bool,
    history: History,
    /// Base of the content seeds.
    seed: u64,
    /// Number of writes so far (of reads, for a stream that only reads).
    number: u64,
    /// Number of the job's own reads in this pass.
    reads_made: u64,
    /// Writes that did not complete.
    lost: Vec<verify::InFlight>,
    /// Writes of an interrupted run.
    before: Option<VerifyState>,
    /// The last completed writes, newest first.
    completed: VecDeque<(u64, u64)>,
    /// Folder of auxiliary files.
    folder: PathBuf,
}

impl Checks {
    /// Creates the verification by `spec`, for a stream whose engine moves data. Auxiliary files
    /// are in `folder`.
    ///
    /// # Errors
    /// If threads cannot be started, blocks are too small for a header, or a state cannot be read.
    pub(in crate::load) fn new(
        spec: &Verify,
        stream: &Stream,
        folder: &Path,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let thread = u16::try_from(stream.number).unwrap_or(u16::MAX);
        let verifier = Arc::new(Verifier::new(spec, thread).with_content(&stream.content));
        refuse_small_blocks(spec, stream, &verifier)?;
        let pool = match spec.threads {
            0 => None,
            threads => Some(CheckPool::new(threads, &spec.thread_cpus, &verifier)?),
        };
        let before = match spec.load_state {
            true => Some(VerifyState::load(&state_path(spec, stream, folder))?),
            false => None,
        };
        let rw = &stream.blocks.rw;
        Ok(Self {
            verifier,
            pool,
            reads: rw.read && !rw.write,
            remembers: rw.write && (spec.read_back || spec.backlog > 0),
            history: History::new(spec, stream.trim, seed),
            seed,
            number: 0,
            reads_made: 0,
            lost: Vec::new(),
            before,
            completed: VecDeque::new(),
            folder: folder.to_owned(),
            spec: spec.clone(),
        })
    }

    /// Returns true if nothing is written, only verified.
    pub(super) const fn only(&self) -> bool {
        self.spec.only
    }

    /// Fills a block that will be written.
    pub(super) fn stamp(
        &mut self,
        block: &mut [u8],
        step: &Step,
        mark: &mut UnitInFlight,
        filler: &mut Filler,
    ) {
        mark.number = self.number;
        self.number += 1;
        if self.spec.kind == VerifyKind::Null {
            filler.fill(block, step.offset);
            return;
        }
        let mark = verify::BlockMark {
            offset: step.offset,
            seed: self.content_seed(mark.number),
            number: mark.number,
            time: wall_time(),
        };
        self.verifier.stamp(block, mark);
    }

    /// Returns the content seed of a write, which can be derived again when the block is read back.
    fn content_seed(&self, number: u64) -> u64 {
        SplitMix64::new(self.seed.wrapping_add(number)).next_u64()
    }

    fn wrote(&mut self, unit: &IoUnit, mark: UnitInFlight, depth: usize) {
        if self.spec.save_state != SaveState::Never {
            self.completed.truncate(depth.saturating_sub(1));
            self.completed
                .push_front((u64::from(unit.file), unit.offset));
        }
        if self.remembers {
            let step = step_of(unit);
            self.history.wrote(&step, Some(mark.number));
        }
    }

    /// Returns the expected content of a block that was read, if any is known.
    fn expected(&mut self, unit: &IoUnit, mark: UnitInFlight) -> Option<Expected> {
        let number = match mark.role {
            Role::Check if mark.number != NOT_KNOWN => Some(mark.number),
            Role::Check => None,
            Role::Act if self.reads && self.was_written(mark.number, unit) => None,
            Role::Act => return None,
        };
        Some(Expected {
            offset: unit.offset,
            number: number.filter(|_| self.spec.check_number),
            seed: (number.filter(|_| self.spec.check_seed)).map(|number| self.content_seed(number)),
        })
    }

    /// Resets the number of reads at the start of a pass, from which an interrupted run counts its
    /// writes.
    pub(super) const fn begin_pass(&mut self) {
        self.reads_made = 0;
    }

    /// Returns the number of the next read of the job itself.
    pub(super) const fn number_read(&mut self) -> u64 {
        self.reads_made += 1;
        self.reads_made - 1
    }

    /// Records a failed write, after which the content of the block is unknown.
    pub(super) fn lost(&mut self, unit: &IoUnit, number: u64) {
        let step = step_of(unit);
        self.history.forget(&step);
        self.lost.push(verify::InFlight {
            number,
            file: u64::from(unit.file),
            offset: unit.offset,
            length: u64::from(unit.length),
        });
    }

    /// Returns true if an interrupted run is known to have written that block.
    fn was_written(&self, number: u64, unit: &IoUnit) -> bool {
        let bytes = unit.offset..unit.offset + u64::from(unit.length);
        self.before
            .as_ref()
            .is_none_or(|state| state.should_verify(number, u64::from(unit.file), &bytes))
    }
}

/// Number for a write of another run.
const NOT_KNOWN: u64 = u64::MAX;

fn step_of(unit: &IoUnit) -> Step {
    Step {
        ddir: unit.ddir,
        file: unit.file,
        offset: unit.offset,
        length: unit.length,
    }
}

/// Checks that a block has room for a header and at least one byte to verify.
fn refuse_small_blocks(
    spec: &Verify,
    stream: &Stream,
    verifier: &Verifier,
) -> Result<(), EngineError> {
    let sizes = &stream.blocks.sizes;
    let smallest = match spec.interval {
        0 => u64::from(sizes.read.min.min(sizes.write.min)),
        interval => u64::from(interval),
    };
    let needed = verifier.smallest_interval();
    if smallest >= needed || verifier.header_bytes() == 0 {
        return Ok(());
    }
    Err(EngineError::Job {
        job: stream.name.clone(),
        problem: format!(
            "verify needs blocks (or a verify_interval) of at least {needed} bytes, not {smallest}"
        ),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "headers have 32 bits for the seconds; they only tell blocks apart"
)]
fn wall_time() -> (u32, u32) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or((0, 0), |since| {
        (since.as_secs() as u32, since.subsec_nanos())
    })
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Reads back all written blocks, if requested.
    pub(super) fn check(&mut self) -> Result<(), EngineError> {
        let Some(checks) = self.checks.as_mut() else {
            return Ok(());
        };
        if !checks.remembers || self.stopping {
            return Ok(());
        }
        if !checks.spec.read_back {
            checks.history.forget_all();
            return Ok(());
        }
        checks.history.plan_all();
        self.phase = Phase::Check;
        self.stopped_ns = None;
        self.enter(StreamState::Verifying, self.clock.now());
        self.forget_pages()?;
        self.drive()?;
        self.await_checks();
        self.leave();
        Ok(())
    }

    /// Drops the files' pages, so that blocks are read back from the device: dirty pages are
    /// written first, then evicted from memory.
    fn forget_pages(&mut self) -> Result<(), EngineError> {
        let numbers: Vec<u32> = self.files.open_numbers().collect();
        for number in numbers {
            let Some(file) = self.files.get(number) else {
                continue;
            };
            let opens = self.stream.engine.kind.properties().paths.opens();
            if self.stream.durability.direct || !opens {
                continue;
            }
            let flushed = self.engine.flush(file, FlushCall::Fsync);
            flushed.map_err(|errno| EngineError::file("flush", &file.path, errno.into()))?;
            page_cache::evict(&file.file, &file.path)?;
        }
        Ok(())
    }

    /// Runs through one pass without any I/O, to determine the blocks that it would have written,
    /// which are then verified.
    pub(super) fn pretend_to_write(&mut self) {
        self.goal.take_one_pass(self.pass_bytes);
        while let Given::Step(step) = self.source.peek(&self.goal, None, 0) {
            self.source.taken();
            self.goal.take(step.length);
            self.tick_if_due();
            let Some(checks) = self.checks.as_mut().filter(|_| !self.stopping) else {
                return;
            };
            if step.ddir != Ddir::Write {
                continue;
            }
            let number = checks.number;
            checks.number += 1;
            let bytes = step.offset..step.offset + u64::from(step.length);
            let known = (checks.before.as_ref())
                .is_none_or(|state| state.should_verify(number, u64::from(step.file), &bytes));
            if known {
                checks.history.wrote(&step, None);
            }
        }
    }

    /// Returns the next block to be trimmed or read back, if any is due.
    pub(super) fn next_check(&mut self) -> Option<Next> {
        self.take_checked();
        loop {
            let step = self.checks.as_mut()?.history.due()?;
            if self.tags.conflicts(&step) || self.free.is_empty() {
                return Some(Next::Blocked);
            }
            if self.few_open
                && let Some(wait) = self.want_file(step.file)
            {
                return Some(wait);
            }
            // The block was written again and becomes due later.
            let Some(known) = self.checks.as_mut()?.history.take_due() else {
                continue;
            };
            let next = self.unit(&step, Role::Check);
            if let Next::Unit(unit) = &next {
                let mark = self.tags.mark(unit.tag);
                mark.number = known.number.unwrap_or(NOT_KNOWN);
                mark.trimmed = known.trimmed;
            }
            return Some(next);
        }
    }

    /// Handles an I/O that completed on a stream with verification.
    pub(super) fn attend_checked(&mut self, mut unit: IoUnit, mark: UnitInFlight, now_ns: u64) {
        let Some(checks) = self.checks.as_mut() else {
            self.free.push(unit.buf);
            return;
        };
        match unit.ddir {
            Ddir::Write => checks.wrote(&unit, mark, self.depth as usize),
            Ddir::Trim => checks
                .history
                .trimmed(&step_of(&unit), mark.role == Role::Check),
            Ddir::Read if mark.trimmed => {
                let block = &unit.buf.block_mut()[..unit.length as usize];
                if let Err(mismatch) = verify::check_zero(block, unit.offset) {
                    self.mismatch(unit.file, &mismatch, now_ns);
                }
            }
            Ddir::Read => {
                if let Some(expected) = checks.expected(&unit, mark) {
                    self.check_block(unit, expected, now_ns);
                    return;
                }
            }
        }
        self.free.push(unit.buf);
    }

    /// Verifies a block on a thread of the pool, or on this thread without a pool.
    fn check_block(&mut self, unit: IoUnit, expected: Expected, now_ns: u64) {
        let Some(checks) = self.checks.as_mut() else {
            return;
        };
        let mut check = Check {
            buf: unit.buf,
            length: unit.length,
            expected,
            tag: u64::from(unit.file),
        };
        if let Some(pool) = &checks.pool {
            match pool.submit(check) {
                Ok(()) => return,
                // The pool is full, so this thread checks the block.
                Err(back) => check = back,
            }
        }
        let block = &mut check.buf.block_mut()[..check.length as usize];
        let result = checks.verifier.check(block, expected);
        self.checked(Checked { check, result }, now_ns);
    }

    fn checked(&mut self, checked: Checked, now_ns: u64) {
        let Checked { mut check, result } = checked;
        if let Err(mismatch) = result {
            let file = u32::try_from(check.tag).unwrap_or(u32::MAX);
            self.dump(file, &mut check, &mismatch);
            self.mismatch(file, &mismatch, now_ns);
        }
        self.free.push(check.buf);
    }

    /// Handles the blocks that other threads have verified.
    fn take_checked(&mut self) {
        let pool = self.checks.as_ref().and_then(|checks| checks.pool.as_ref());
        let Some(pool) = pool else {
            return;
        };
        let done = pool.take_done();
        let now_ns = self.clock.now();
        for checked in done {
            self.checked(checked, now_ns);
        }
    }

    /// Waits until other threads have verified all their blocks.
    pub(super) fn await_checks(&mut self) {
        loop {
            let pool = self.checks.as_ref().and_then(|checks| checks.pool.as_ref());
            let done = pool.map_or_else(Vec::new, CheckPool::wait_done);
            if done.is_empty() {
                return;
            }
            let now_ns = self.clock.now();
            for checked in done {
                self.checked(checked, now_ns);
            }
        }
    }

    fn dump(&mut self, file: u32, check: &mut Check, mismatch: &Mismatch) {
        let Some(checks) = self.checks.as_ref() else {
            return;
        };
        let Some(file) = self.files.get(file).filter(|_| checks.spec.dump) else {
            return;
        };
        let block = &mut check.buf.block_mut()[..check.length as usize];
        let dumped =
            checks
                .verifier
                .dump(&checks.folder, &file.path, block, check.expected, mismatch);
        if let Err(error) = dumped {
            self.notes.push(Note::Warning(error.to_string()));
        }
    }

    /// Handles a block that differs from the data written.
    #[cold]
    fn mismatch(&mut self, file: u32, mismatch: &Mismatch, now_ns: u64) {
        self.mismatches += 1;
        let path = self
            .files
            .get(file)
            .map_or_else(String::new, |file| shown(&file.path));
        let text = format!("{path}: {mismatch}");
        let errors = &self.stream.errors;
        let fatal = self.checks.as_ref().is_some_and(|checks| checks.spec.fatal);
        let record = IoErrorRecord {
            direction: Some(assay_model::job::Direction::Read),
            offset: mismatch.offset,
            length: u64::from(mismatch.length),
            errno: Some(libc::EILSEQ),
            message: text.clone(),
            at_ns: 0,
        };
        self.recorder.error(record, now_ns);
        if errors.ignore_verify.contains(&libc::EILSEQ) {
            return;
        }
        self.total_errors += 1;
        if errors.continue_on_verify && !fatal {
            if self.mismatches <= MAX_MISMATCHES_REPORTED {
                let name = &self.stream.name;
                self.notes.push(Note::Error(format!("{name}: {text}")));
            }
        } else {
            self.fail_stream(libc::EILSEQ, text);
        }
    }
}

/// Maximum number of mismatches reported to the user.
const MAX_MISMATCHES_REPORTED: u64 = 16;

/// Returns the path of a stream's state.
pub(in crate::load) fn state_path(spec: &Verify, stream: &Stream, folder: &Path) -> PathBuf {
    match &spec.state_path {
        Some(path) => folder.join(path),
        None => VerifyState::path(folder, &stream.name, u64::from(stream.number) - 1),
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Saves the writes of a stream that was stopped while it wrote, or of any stream that writes,
    /// as the job requests.
    pub(in crate::load::worker) fn save_state(&mut self) {
        let Some(checks) = self.checks.as_ref() else {
            return;
        };
        let interrupted = self.phase == Phase::Act && self.shared.is_stopped();
        let wanted = match checks.spec.save_state {
            SaveState::Never => false,
            SaveState::WhenStopped => interrupted,
            SaveState::Always => true,
        };
        let wrote = checks.number > 0 && self.stream.blocks.rw.write && !checks.spec.only;
        if !wanted || !wrote {
            return;
        }
        let saved = checks.state(self.stream);
        let path = state_path(&checks.spec, self.stream, &checks.folder);
        if let Err(error) = saved.save(&path) {
            self.notes.push(Note::Warning(error.to_string()));
        }
    }
}

impl Checks {
    fn state(&self, stream: &Stream) -> VerifyState {
        VerifyState {
            name: stream.name.clone(),
            stream: u64::from(stream.number) - 1,
            depth: stream.engine.iodepth,
            files: u32::try_from(stream.files.paths.len()).unwrap_or(u32::MAX),
            issued: self.number,
            completed: self.completed.iter().copied().collect(),
            // All other I/Os in flight have completed.
            in_flight: Some(self.lost.clone()),
        }
    }
}

/// File and offset of a block.
type BlockAddress = (u32, u64);

/// Information about a written block.
#[derive(Clone, Copy, Debug)]
struct Written {
    length: u32,
    /// Number of the write in the stream; `None` if an earlier run wrote it.
    number: Option<u64>,
    trimmed: bool,
}

/// Writes not yet read back, and the steps that are due.
#[derive(Debug)]
struct History {
    backlog: u64,
    /// Number of blocks in one check; 0 means all.
    batch: u64,
    by_offset: bool,
    trims: TrimOptions,
    rng: SplitMix64,
    blocks: BTreeMap<BlockAddress, Written>,
    /// Blocks in the order of writing, if there is a backlog.
    order: Queue,
    since_check: u64,
    /// Steps to be done next: trims or reads.
    due: VecDeque<Step>,
    to_trim: Queue,
}

/// Blocks in order, each at most once, so that a block that is written
/// repeatedly needs no more memory.
#[derive(Debug, Default)]
struct Queue {
    places: VecDeque<BlockAddress>,
    inside: HashSet<BlockAddress>,
}

impl Queue {
    fn push(&mut self, place: BlockAddress) {
        if self.inside.insert(place) {
            self.places.push_back(place);
        }
    }

    fn pop(&mut self) -> Option<BlockAddress> {
        let place = self.places.pop_front()?;
        self.inside.remove(&place);
        Some(place)
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn clear(&mut self) {
        self.places.clear();
        self.inside.clear();
    }
}

impl History {
    fn new(spec: &Verify, trims: TrimOptions, seed: u64) -> Self {
        Self {
            backlog: spec.backlog,
            batch: spec.backlog_batch,
            by_offset: spec.sort,
            trims,
            rng: SplitMix64::new(!seed),
            blocks: BTreeMap::new(),
            order: Queue::default(),
            since_check: 0,
            due: VecDeque::new(),
            to_trim: Queue::default(),
        }
    }

    /// Records a written block, which replaces all earlier blocks that it
    /// overlaps.
    fn wrote(&mut self, step: &Step, number: Option<u64>) {
        let place = (step.file, step.offset);
        self.forget(step);
        self.blocks.insert(
            place,
            Written {
                length: step.length,
                number,
                trimmed: false,
            },
        );
        if self.backlog > 0 && number.is_some() {
            self.order.push(place);
            self.since_check += 1;
        }
        let percent = u64::from(self.trims.percent);
        if self.trims.backlog > 0 && self.rng.next_u64() % 100 < percent {
            self.to_trim.push(place);
        }
        self.check_backlogs();
    }

    /// Records a trimmed block. Its content is zeros, or unknown.
    fn trimmed(&mut self, step: &Step, for_check: bool) {
        if for_check && self.trims.verify_zero {
            if let Some(written) = self.blocks.get_mut(&(step.file, step.offset)) {
                written.trimmed = true;
            }
        } else {
            self.forget(step);
        }
    }

    fn forget_all(&mut self) {
        self.blocks.clear();
        self.order.clear();
        self.due.clear();
        self.to_trim.clear();
    }

    /// Removes all recorded blocks that overlap a step.
    fn forget(&mut self, step: &Step) {
        let (file, from) = (step.file, step.offset);
        let to = from + u64::from(step.length);
        let before = self.blocks.range((file, 0)..(file, from)).next_back();
        let reaches_in =
            before.filter(|((_, offset), written)| offset + u64::from(written.length) > from);
        if let Some((&place, _)) = reaches_in {
            self.blocks.remove(&place);
        }
        while let Some((&place, _)) = self.blocks.range((file, from)..(file, to)).next() {
            self.blocks.remove(&place);
        }
    }

    /// Plans trims or a check if enough was written.
    fn check_backlogs(&mut self) {
        if self.trims.backlog > 0 && self.to_trim.len() as u64 >= self.trims.backlog {
            self.plan_trims();
        }
        if self.backlog > 0 && self.since_check >= self.backlog {
            self.since_check = 0;
            self.plan_backlog();
        }
    }

    fn plan_backlog(&mut self) {
        let mut left = match self.batch {
            0 => u64::MAX,
            batch => batch,
        };
        while left > 0
            && let Some(place) = self.order.pop()
        {
            if let Some(written) = self.blocks.get(&place) {
                self.due.push_back(step(Ddir::Read, place, written.length));
                left -= 1;
            }
        }
    }

    fn plan_trims(&mut self) {
        let batch = match self.trims.backlog_batch {
            0 => self.to_trim.len(),
            batch => usize::try_from(batch).unwrap_or(usize::MAX),
        };
        let batch = batch.min(self.to_trim.len());
        for _ in 0..batch {
            let Some(place) = self.to_trim.pop() else {
                break;
            };
            if let Some(written) = self.blocks.get(&place) {
                self.due.push_back(step(Ddir::Trim, place, written.length));
            }
        }
    }

    /// Makes all remaining blocks due.
    fn plan_all(&mut self) {
        self.order.clear();
        self.to_trim.clear();
        self.since_check = 0;
        let mut blocks: Vec<_> = self.blocks.iter().collect();
        if !self.by_offset {
            blocks.sort_by_key(|(_, written)| written.number);
        }
        self.due = blocks
            .into_iter()
            .map(|(place, written)| step(Ddir::Read, *place, written.length))
            .collect();
    }

    /// Returns the next step that is due.
    fn due(&self) -> Option<Step> {
        self.due.front().copied()
    }

    /// Removes the due step and returns the information about its block, unless
    /// the block was overwritten since the step became due. Blocks that are
    /// read back are removed from the history.
    fn take_due(&mut self) -> Option<Written> {
        let step = self.due.pop_front()?;
        let place = (step.file, step.offset);
        let known = *self.blocks.get(&place)?;
        if known.length != step.length {
            return None;
        }
        if step.ddir == Ddir::Read {
            self.blocks.remove(&place);
        }
        Some(known)
    }
}

const fn step(ddir: Ddir, (file, offset): BlockAddress, length: u32) -> Step {
    Step {
        ddir,
        file,
        offset,
        length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::blocks::VerifyKind;

    fn write(offset: u64, length: u32) -> Step {
        step(Ddir::Write, (0, offset), length)
    }

    fn due(history: &mut History) -> Vec<(u64, u32, Option<u64>)> {
        let mut found = Vec::new();
        while let Some(step) = history.due() {
            if let Some(known) = history.take_due() {
                found.push((step.offset, step.length, known.number));
            }
        }
        found
    }

    #[test]
    fn what_was_overwritten_is_not_expected_any_more() {
        let spec = Verify::new(VerifyKind::Md5);
        let mut history = History::new(&spec, TrimOptions::default(), 1);
        history.wrote(&write(0, 4096), Some(0));
        history.wrote(&write(4096, 4096), Some(1));
        history.wrote(&write(8192, 512), Some(2));
        history.wrote(&write(2048, 4096), Some(3));
        history.wrote(&write(8192, 512), Some(4));
        history.plan_all();
        assert_eq!(
            due(&mut history),
            [(2048, 4096, Some(3)), (8192, 512, Some(4))]
        );
        history.plan_all();
        assert_eq!(due(&mut history), [], "each is read back once");
    }

    #[test]
    fn a_backlog_is_checked_in_the_order_of_writing() {
        let mut spec = Verify::new(VerifyKind::Md5);
        spec.backlog = 3;
        spec.backlog_batch = 2;
        let mut history = History::new(&spec, TrimOptions::default(), 1);
        for (number, offset) in [(0, 8192), (1, 0)] {
            history.wrote(&write(offset, 512), Some(number));
            assert_eq!(history.due(), None);
        }
        history.wrote(&write(4096, 512), Some(2));
        assert_eq!(due(&mut history), [(8192, 512, Some(0)), (0, 512, Some(1))]);
        history.plan_all();
        assert_eq!(due(&mut history), [(4096, 512, Some(2))]);
    }

    #[test]
    fn trimmed_blocks_are_expected_to_be_zero_or_forgotten() {
        let spec = Verify::new(VerifyKind::Md5);
        for verify_zero in [true, false] {
            let trims = TrimOptions {
                percent: 100,
                verify_zero,
                backlog: 2,
                backlog_batch: 1,
            };
            let mut history = History::new(&spec, trims, 1);
            history.wrote(&write(0, 512), Some(0));
            history.wrote(&write(512, 512), Some(1));
            let trim = history.due().unwrap();
            assert_eq!((trim.ddir, trim.offset), (Ddir::Trim, 0));
            history.take_due().unwrap();
            assert_eq!(history.due(), None, "a batch of one");
            history.trimmed(&trim, true);
            history.plan_all();
            assert_eq!(history.due().unwrap().offset == 0, verify_zero);
            assert_eq!(history.take_due().unwrap().trimmed, verify_zero);
        }
    }
}
