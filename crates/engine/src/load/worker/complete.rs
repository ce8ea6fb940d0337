//! Handling of completed I/Os.

use super::issue::{Role, UnitInFlight};
use super::{Failure, Worker};
use crate::clock::Clock;
use crate::error::EngineError;
use crate::held::shown;
use crate::io::{Completion, IoEngine, IoUnit};
use crate::load::Note;
use crate::load::pace::DepthDecision;
use assay_model::job::Direction;
use assay_model::load::Ddir;
use assay_model::trial::IoErrorRecord;

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Returns true if some part of the worker needs to see each completion.
    pub(super) fn must_attend(&self) -> bool {
        let limits = &self.stream.pace.max_latency;
        self.checks.is_some()
            || self.logs.is_some()
            || self.pacing.is_some()
            || self.search.is_some()
            || self.flushes.any_durable()
            || self.priorities.is_some()
            || self.stream.trim.percent > 0
            || limits.iter().any(|(_, limit)| limit.0 > 0)
    }

    /// Handles a completed I/O.
    #[inline]
    pub(super) fn complete(&mut self, completion: Completion, now_ns: u64) {
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
        let Completion { mut unit, result } = completion;
        match result {
            Ok(bytes) if bytes == unit.left() => self.succeed(unit, now_ns),
            Ok(bytes) if bytes > 0 => {
                self.recorder.short(unit.ddir);
                unit.moved += bytes;
                self.again.push(unit);
            }
            Ok(_) => self.fail(unit, None, now_ns),
            Err(errno) => self.fail(unit, Some(errno), now_ns),
        }
    }

    #[inline]
    fn succeed(&mut self, unit: IoUnit, now_ns: u64) {
        let mark = self.tags.give_back(unit.tag);
        if self.few_open {
            self.files.ended(unit.file);
        }
        let total_ns = now_ns.saturating_sub(unit.submitted_ns);
        let completion_ns = if self.engine.is_asynchronous() && mark.issued_ns > 0 {
            let submission_ns = mark.issued_ns.saturating_sub(unit.submitted_ns);
            self.recorder.submitted(unit.ddir, submission_ns);
            now_ns.saturating_sub(mark.issued_ns)
        } else {
            total_ns
        };
        if self.engine.is_asynchronous() {
            self.recorder.in_total(unit.ddir, total_ns);
        }
        self.recorder
            .completed(now_ns, unit.ddir, unit.length, completion_ns);
        if self.attentive {
            self.attend(unit, mark, now_ns, completion_ns, total_ns);
        } else {
            self.free.push(unit.buf);
        }
    }

    /// Updates logs, statistics, pacing and verification for a completed I/O.
    fn attend(
        &mut self,
        unit: IoUnit,
        mark: UnitInFlight,
        now_ns: u64,
        completion_ns: u64,
        total_ns: u64,
    ) {
        if let Some(logs) = self.logs.as_mut()
            && self.ramp_end_ns.is_none()
        {
            let slat_ns = self
                .engine
                .is_asynchronous()
                .then(|| total_ns - completion_ns);
            let at_ns = now_ns.saturating_sub(self.start_ns);
            logs.completed(
                at_ns,
                unit.ddir,
                unit.length,
                unit.offset,
                unit.priority,
                slat_ns,
                completion_ns,
                total_ns,
            );
        }
        if let Some(priorities) = self.priorities.as_ref() {
            let latency_ns = match self.stream.stats.lat_percentiles {
                true => total_ns,
                false => completion_ns,
            };
            let priority = priorities.in_force(unit.priority);
            self.recorder.prioritized(unit.ddir, priority, latency_ns);
        }
        self.flushes.ended(&unit, true);
        if let Some(pacing) = &mut self.pacing {
            pacing.completed(unit.ddir, unit.length);
        }
        if let Some(search) = &mut self.search {
            let finding = search.completed(completion_ns, now_ns);
            self.follow(finding, now_ns);
        }
        let limit = self.stream.pace.max_latency[unit.ddir].0;
        if limit > 0 && total_ns > limit {
            self.too_late(&unit, total_ns, limit);
        }
        self.attend_checked(unit, mark, now_ns);
    }

    /// Applies the result of the search for a depth.
    fn follow(&mut self, finding: DepthDecision, now_ns: u64) {
        match finding {
            DepthDecision::GoOn => {}
            DepthDecision::Changed => self.changes_depth = true,
            DepthDecision::Found => self.begin_anew(now_ns),
            DepthDecision::Done => {
                self.timed_out = true;
                self.goal.give_up();
            }
            DepthDecision::Missed => self.fail_stream(
                libc::ETIMEDOUT,
                "not even one I/O at a time keeps the latency_target".to_owned(),
            ),
        }
    }

    #[cold]
    fn too_late(&mut self, unit: &IoUnit, total_ns: u64, limit_ns: u64) {
        self.fail_stream(
            libc::ETIMEDOUT,
            format!(
                "{} at offset {} took {} us, more than max_latency ({} us)",
                unit.ddir.name(),
                unit.offset,
                total_ns / 1000,
                limit_ns / 1000
            ),
        );
    }

    /// Handles a failed I/O: records the error, and ends the stream unless its options continue
    /// after errors.
    #[cold]
    fn fail(&mut self, unit: IoUnit, errno: Option<i32>, now_ns: u64) {
        let mark = self.tags.give_back(unit.tag);
        if self.few_open {
            self.files.ended(unit.file);
        }
        let errors = &self.stream.errors;
        let number = errno.unwrap_or(libc::EIO);
        let (ignored, go_on) = match unit.ddir {
            _ if mark.role == Role::Check => (&errors.ignore_verify, errors.continue_on_verify),
            Ddir::Read => (&errors.ignore_read, errors.continue_on_read),
            Ddir::Write | Ddir::Trim => (&errors.ignore_write, errors.continue_on_write),
        };
        let is_full = number == libc::ENOSPC && self.stream.length.fill_device;
        if is_full {
            self.goal.give_up();
        } else if !ignored.contains(&number) {
            self.record_error(&unit, errno, now_ns);
            self.total_errors += 1;
            let text = self.describe(&unit, errno);
            if !go_on && !self.passes_bad_spot(errno) {
                self.fail_stream(number, text);
            }
        } else if errors.say_ignored {
            let text = self.describe(&unit, errno);
            let note = format!("{}: ignored: {text}", self.stream.name);
            self.notes.push(Note::Info(note));
        }
        if let Some(checks) = self.checks.as_mut()
            && unit.ddir == Ddir::Write
        {
            checks.lost(&unit, mark.number);
        }
        self.flushes.ended(&unit, false);
        self.dropped[unit.ddir] += 1;
        self.free.push(unit.buf);
    }

    /// Returns true if the error concerns only one spot of the medium, and the number of bad
    /// spots is within the limit.
    fn passes_bad_spot(&self, errno: Option<i32>) -> bool {
        matches!(errno, Some(libc::EIO | libc::EILSEQ | libc::ENODATA))
            && self.recorder.errors().count <= u64::from(self.stream.errors.bad_spots)
    }

    fn describe(&self, unit: &IoUnit, errno: Option<i32>) -> String {
        let path = self
            .files
            .get(unit.file)
            .map_or_else(String::new, |file| shown(&file.path));
        format!(
            "{} of {} bytes at offset {} of {path}: {}",
            unit.ddir.name(),
            unit.left(),
            unit.offset + u64::from(unit.moved),
            errno_in_words(errno),
        )
    }

    fn record_error(&mut self, unit: &IoUnit, errno: Option<i32>, now_ns: u64) {
        let record = IoErrorRecord {
            direction: match unit.ddir {
                Ddir::Read => Some(Direction::Read),
                Ddir::Write => Some(Direction::Write),
                Ddir::Trim => None,
            },
            offset: unit.offset + u64::from(unit.moved),
            length: u64::from(unit.left()),
            errno,
            message: errno_in_words(errno),
            at_ns: 0,
        };
        self.recorder.error(record, now_ns);
    }

    /// Ends the stream with this error, unless it already has one.
    pub(super) fn fail_stream(&mut self, errno: i32, problem: String) {
        self.stopping = true;
        if self.failure.is_none() {
            self.failure = Some(Failure { errno, problem });
        }
    }

    #[cold]
    pub(super) fn fail_with(&mut self, error: EngineError) {
        self.total_errors += 1;
        self.fail_stream(error.errno().unwrap_or(libc::EIO), error.to_string());
        self.error.get_or_insert(error);
    }
}

/// Returns the kernel's error of an I/O as text. Without one, the I/O reached the end of the
/// file.
fn errno_in_words(errno: Option<i32>) -> String {
    errno.map_or_else(
        || "unexpected end of file".to_owned(),
        |errno| std::io::Error::from_raw_os_error(errno).to_string(),
    )
}
