//! Live line: the last line of a terminal, redrawn repeatedly.
//!
//! It never fills the terminal's width. `indicatif` (0.18) pads each of its lines to the last
//! column, independent of the template (`DrawState::draw_to_term`); the `^C` that a terminal echoes
//! then wraps, and the line is left behind. It would save some 100 lines here and in
//! [`block`](super::block): most of `progress` is names, forecasts and reports between processes.

use crate::child;
use crate::output::{colour_wanted, say, talk_columns};
use assay_model::text::clean;
use assay_report::text::beginning;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of columns left free at the end of the line.
const FREE: usize = 3;
/// Minimum width of a terminal that has space for a bar, in columns.
const WIDE: usize = 78;
/// Width of the bar, in characters.
const BAR: usize = 20;
/// Carriage return and ECMA-48 "erase in line" for the whole line.
pub const CLEAR: &str = "\r\u{1b}[2K";

/// Prefix of a live line for the parent process: a character that [`clean`] removes.
const REPORT: char = '\u{1e}';
/// Separator between the fields of such a line.
const BETWEEN: char = '\u{1f}';

/// Output of messages on standard error that keeps the live line intact. The live line exists only
/// on a terminal, or in a child process, whose parent shows it. Can be used from several threads.
#[derive(Clone)]
pub struct Voice {
    /// Live line; `None` if it cannot be redrawn.
    shown: Option<Arc<Mutex<String>>>,
    /// `true` if the parent process shows the line.
    is_reported: bool,
}

/// Content of a live line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Number of finished steps.
    pub done: usize,
    /// Number of all steps.
    pub of: usize,
    /// Description of the step under way.
    pub text: String,
}

impl Reported {
    /// Formats the line for the parent process.
    fn write(&self) -> String {
        let Self { done, of, text } = self;
        format!("{REPORT}{done}{BETWEEN}{of}{BETWEEN}{text}")
    }

    /// Parses such a line; `None` for lines for the user.
    pub fn read(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix(REPORT)?.splitn(3, BETWEEN);
        Some(Self {
            done: parts.next()?.parse().ok()?,
            of: parts.next()?.parse().ok()?,
            text: clean(parts.next()?),
        })
    }
}

/// `true` if standard error is a terminal that can draw over its last lines.
pub fn is_live() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !dumb
}

impl Voice {
    /// Makes a voice, with a live line if the terminal can redraw its last line, or the parent shows it.
    pub fn new() -> Self {
        let is_reported = child::this().is_some_and(|part| part.live);
        Self {
            shown: (is_reported || is_live()).then(Arc::default),
            is_reported,
        }
    }

    /// `true` if there is a live line.
    pub fn is_live(&self) -> bool {
        self.shown.is_some()
    }

    /// Prints a message above the live line.
    pub fn say(&self, line: &str) {
        match self.lock() {
            None => say(line),
            Some(_) if self.is_reported => say(line),
            Some(shown) => draw(&format!("{CLEAR}{line}\n{shown}", shown = *shown)),
        }
    }

    /// Replaces the live line: the number of finished steps, that of all steps, and the current step.
    pub fn show(&self, done: usize, of: usize, text: &str) {
        let Some(mut shown) = self.lock() else { return };
        if self.is_reported {
            let text = text.to_owned();
            say(&Reported { done, of, text }.write());
            return;
        }
        let line = line(
            done,
            of,
            text,
            talk_columns().unwrap_or(WIDE),
            colour_wanted(),
        );
        if *shown != line {
            draw(&format!("{CLEAR}{line}"));
            *shown = line;
        }
    }

    /// Removes the live line.
    pub fn clear(&self) {
        if let Some(mut shown) = self.lock() {
            shown.clear();
            if !self.is_reported {
                draw(CLEAR);
            }
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, String>> {
        let shown = self.shown.as_ref()?;
        Some(shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes to standard error; a failed write is ignored, because the run must continue.
pub fn draw(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// Formats the line, with a bar if there is space for one.
pub fn line(done: usize, of: usize, text: &str, columns: usize, colour: bool) -> String {
    let start = format!("{done:>3}/{of} ");
    let bar = (columns >= WIDE).then(|| bar(done, of, colour));
    let taken = start.len() + FREE + bar.as_ref().map_or(0, |_| BAR + 1);
    let text = beginning(text, columns.saturating_sub(taken));
    match bar {
        Some(bar) => format!("{start}{bar} {text}"),
        None => format!("{start}{text}"),
    }
}

fn bar(done: usize, of: usize, colour: bool) -> String {
    let filled = done.min(of) * BAR / of.max(1);
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
    if colour {
        format!("\u{1b}[36m{bar}\u{1b}[0m")
    } else {
        bar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_never_reaches_the_last_columns() {
        for columns in [40, 50, 77, 78, 80, 200] {
            let line = line(12, 61, &"x".repeat(300), columns, false);
            assert_eq!(line.chars().count(), columns - FREE, "{columns}: {line}");
        }
    }

    #[test]
    fn what_is_shown_elsewhere_is_no_line_for_the_user() {
        let text = "0:07 left".to_owned();
        let (done, of) = (3, 45);
        let reported = Reported { done, of, text };
        assert_eq!(Reported::read(&reported.write()), Some(reported));
        for line in [
            "",
            "[ 3/45] rand-read-4k",
            "\u{1e}3\u{1f}x\u{1f}y",
            "\u{1e}3",
        ] {
            assert_eq!(Reported::read(line), None, "{line:?}");
        }
    }

    #[test]
    fn narrow_terminals_have_no_bar() {
        assert_eq!(line(3, 45, "0:07 left", 50, true), "  3/45 0:07 left");
        let wide = line(15, 60, "0:07 left", 80, false);
        assert_eq!(wide, " 15/60 █████░░░░░░░░░░░░░░░ 0:07 left");
    }

    #[test]
    fn a_bar_of_nothing_is_empty() {
        assert!(bar(0, 0, false).starts_with('░'));
    }
}
