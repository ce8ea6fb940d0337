//! Live line with the progress of a load, redrawn on standard output as fio does it.

use crate::output::{print, print_columns};
use assay_dialects::fio::output::Eta;
use assay_model::load::Load;
use assay_model::load::report::LoadProgress;
use std::time::{Duration, Instant};

/// Live line and its display settings.
pub struct LiveLine<'a> {
    eta: Eta<'a>,
    /// Display state; `None` if the line is not shown.
    shown: Option<Shown>,
}

struct Shown {
    /// Minimum time between two updates.
    interval: Duration,
    /// Time after which the line is ended, so that it stays on the screen.
    newline_after: Option<Duration>,
    drawn: Option<Instant>,
    standing: Instant,
    /// `true` if the cursor is behind a line that is not ended.
    open: bool,
}

impl<'a> LiveLine<'a> {
    /// Makes a line that is drawn at most every `interval`, and not at all unless `shown`.
    pub fn new(
        load: &'a Load,
        shown: bool,
        interval: Duration,
        newline_after: Option<Duration>,
    ) -> Self {
        Self {
            eta: Eta::new(load),
            shown: shown.then(|| Shown {
                interval,
                newline_after,
                drawn: None,
                standing: Instant::now(),
                open: false,
            }),
        }
    }

    /// Redraws the line if the interval has passed.
    pub fn update(&mut self, progress: &LoadProgress) {
        let Some(shown) = &mut self.shown else {
            self.eta.update(progress);
            return;
        };
        let now = Instant::now();
        if shown
            .drawn
            .is_some_and(|drawn| now - drawn < shown.interval)
        {
            return;
        }
        self.eta.update(progress);
        let ends = shown
            .newline_after
            .is_some_and(|after| now - shown.standing >= after);
        if ends {
            shown.standing = now;
        }
        shown.drawn = Some(now);
        shown.open = !ends;
        // One column stays free: a terminal wraps after the last one.
        let width = print_columns().map(|columns| columns.saturating_sub(1));
        let line = self.eta.line(width);
        let end = if ends { '\n' } else { '\r' };
        // The load continues if the reader of standard output is gone.
        let _ = print(|out| write!(out, "{line}{end}"));
    }

    /// Ends the line, so that other text can follow.
    pub fn close(&mut self) {
        if let Some(shown) = &mut self.shown
            && std::mem::take(&mut shown.open)
        {
            let _ = print(|out| writeln!(out));
        }
    }

    /// Returns the remaining seconds, as fio's JSON has them.
    pub fn seconds_left(&self) -> u64 {
        self.eta.seconds_left()
    }
}
