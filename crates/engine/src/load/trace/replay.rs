//! Conversion of a trace's events under the replay options.

use super::TraceStep;
use crate::error::EngineError;
use assay_model::load::trace::Trace;
use assay_trace::{Action, EventTime, RecordedIo, TraceEvent, TraceSource};
use std::path::{Path, PathBuf};

/// Index of the file that receives all I/O with `replay_redirect`.
const REDIRECTED: usize = 0;

/// Source of the steps of a trace.
pub(super) struct Replay {
    source: Box<dyn TraceSource + Send>,
    path: PathBuf,
    options: Trace,
    /// Time of the latest event; `None` before the first. `stepped_ns` is the
    /// time of the latest step.
    now_ns: Option<u64>,
    stepped_ns: u64,
    /// True for the files that are open.
    open: Vec<bool>,
    /// Step that follows the opening of its file.
    held: Option<TraceStep>,
}

impl Replay {
    pub(super) fn new(source: Box<dyn TraceSource + Send>, path: &Path, options: &Trace) -> Self {
        Self {
            source,
            path: path.to_owned(),
            options: options.clone(),
            now_ns: None,
            stepped_ns: 0,
            open: Vec::new(),
            held: None,
        }
    }

    /// Returns the files of all steps so far.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match &self.options.redirect {
            Some(path) => vec![path.clone()],
            None => self.source.files().to_vec(),
        }
    }

    /// Returns the next step; `None` at the end.
    pub(super) fn next_step(&mut self) -> Result<Option<TraceStep>, EngineError> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        while let Some(event) = self.next_event()? {
            self.advance(event.time);
            if let Some(step) = self.step_for(&event) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    fn next_event(&mut self) -> Result<Option<TraceEvent>, EngineError> {
        let event = self.source.next_event();
        event.map_err(|source| EngineError::file("read the trace", &self.path, source))
    }

    /// Advances to the time of an event. If the trace's clock goes back, time
    /// stands still until the clock has passed its former value.
    fn advance(&mut self, time: EventTime) {
        let now_ns = match (time, self.now_ns) {
            (EventTime::At(at_ns), Some(now_ns)) => now_ns.max(at_ns),
            (EventTime::At(at_ns), None) => {
                self.stepped_ns = at_ns;
                at_ns
            }
            (EventTime::After(wait_ns), now_ns) => now_ns.unwrap_or(0).saturating_add(wait_ns),
        };
        self.now_ns = Some(now_ns);
    }

    /// Returns the step for an event; `None` if it is skipped. The time of a
    /// skipped event is added to the next step.
    fn step_for(&mut self, event: &TraceEvent) -> Option<TraceStep> {
        let file = match self.options.redirect {
            Some(_) => REDIRECTED,
            None => event.file,
        };
        if self.open.len() <= file {
            self.open.resize(file + 1, false);
        }
        let action = match event.action {
            Action::Done(_) => return None,
            Action::Open if self.open[file] => return None,
            Action::Close if !self.open[file] => return None,
            Action::Sync | Action::Datasync if self.options.skip_sync => return None,
            Action::Io(io) if self.options.skip[io.ddir] => return None,
            action => self.placed(action),
        };
        let was_open = self.open[file];
        self.open[file] = action != Action::Close;
        let delay_ns = self.delay();
        let step = |action, delay_ns| TraceStep {
            file,
            action,
            delay_ns,
        };
        if was_open || action == Action::Open {
            return Some(step(action, delay_ns));
        }
        self.held = Some(step(action, 0));
        Some(step(Action::Open, delay_ns))
    }

    /// Applies scale and alignment to the offset of an I/O.
    fn placed(&self, action: Action) -> Action {
        let Action::Io(io) = action else {
            return action;
        };
        let scaled = io.offset / u64::from(self.options.scale.max(1));
        let align = u64::from(self.options.align.max(1));
        Action::Io(RecordedIo {
            offset: scaled - scaled % align,
            ..io
        })
    }

    /// Returns the replayed time since the previous step. At 200 percent of the
    /// rate, it is half.
    fn delay(&mut self) -> u64 {
        let now_ns = self.now_ns.unwrap_or(0);
        let passed_ns = now_ns.saturating_sub(self.stepped_ns);
        self.stepped_ns = now_ns;
        if self.options.no_stall {
            return 0;
        }
        let percent = u128::from(self.options.time_scale_percent.max(1));
        u64::try_from(u128::from(passed_ns) * 100 / percent).unwrap_or(u64::MAX)
    }
}

/// Checks that the options are valid.
pub(super) fn check(options: &Trace, path: &Path) -> Result<(), EngineError> {
    if options.align > 0 && !options.align.is_power_of_two() {
        return Err(super::damaged(
            path,
            &format!("replay_align={} is not a power of two", options.align),
        ));
    }
    if options.time_scale_percent == 0 {
        return Err(super::damaged(
            path,
            "replay_time_scale=0 would never end: 100 is the original speed",
        ));
    }
    Ok(())
}
