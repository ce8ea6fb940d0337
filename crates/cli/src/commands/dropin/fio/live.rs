//! The line that says how far a load is, drawn over on standard output as fio
//! does it.

use crate::output::{print, print_columns};
use assay_dialects::fio::output::Eta;
use assay_model::load::Load;
use assay_model::load::report::LoadProgress;
use std::time::{Duration, Instant};

/// Display settings of the live line.
pub struct LiveLine<'a> {
    eta: Eta<'a>,
    /// `None`: not at all.
    shown: Option<Shown>,
}

struct Shown {
    /// Least time between two lines.
    interval: Duration,
    /// After that time a line is left standing.
    newline_after: Option<Duration>,
    drawn: Option<Instant>,
    standing: Instant,
    /// The cursor is behind a line that is not ended.
    open: bool,
}

impl<'a> LiveLine<'a> {
    /// `shown`: whether it is drawn at all, `interval` apart.
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

    /// Draws it anew when it is time to.
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
        // One column stays free: a terminal wraps behind the last.
        let width = print_columns().map(|columns| columns.saturating_sub(1));
        let line = self.eta.line(width);
        let end = if ends { '\n' } else { '\r' };
        // Nobody who looks at it is no reason to stop.
        let _ = print(|out| write!(out, "{line}{end}"));
    }

    /// Ends the line, for something else to be said.
    pub fn close(&mut self) {
        if let Some(shown) = &mut self.shown
            && std::mem::take(&mut shown.open)
        {
            let _ = print(|out| writeln!(out));
        }
    }

    /// Seconds that are left, as fio's JSON has them.
    pub fn seconds_left(&self) -> u64 {
        self.eta.seconds_left()
    }
}
