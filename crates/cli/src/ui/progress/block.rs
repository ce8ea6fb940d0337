//! Block of live lines at the end of a terminal, one for each run under way. If the output is no
//! such terminal, only messages are written.

use super::live::{CLEAR, Reported, draw, is_live, line};
use crate::output::{colour_wanted, say, talk_columns, talk_rows};
use std::collections::BTreeMap;

/// Default number of columns.
const COLUMNS: usize = 78;
/// Default number of rows.
const ROWS: usize = 24;
/// Maximum length of a target's name in front of its line, in characters.
const NAME: usize = 28;

/// Lines that are redrawn.
pub struct LiveBlock {
    /// `true` if lines are redrawn.
    pub is_live: bool,
    /// Line above all others.
    pub title: String,
    rows: BTreeMap<usize, TargetRow>,
    /// Lines that are on the terminal now.
    shown: Vec<String>,
}

struct TargetRow {
    name: String,
    reported: Reported,
}

impl LiveBlock {
    /// Makes an empty block, which is live on a terminal that can move the cursor.
    pub fn new() -> Self {
        Self {
            is_live: is_live(),
            title: String::new(),
            rows: BTreeMap::new(),
            shown: Vec::new(),
        }
    }

    /// Adds a line for a run.
    pub fn add(&mut self, number: usize, name: &str) {
        let name = name.chars().take(NAME).collect();
        let reported = Reported::default();
        self.rows.insert(number, TargetRow { name, reported });
    }

    /// Updates the progress of a run.
    pub fn show(&mut self, number: usize, reported: &Reported) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.reported.clone_from(reported);
        }
    }

    /// Removes the line of a run that has ended.
    pub fn remove(&mut self, number: usize) {
        self.rows.remove(&number);
    }

    /// Prints a line above the live ones.
    pub fn say(&mut self, line: &str) {
        let shown = std::mem::take(&mut self.shown);
        draw(&erase(shown.len()));
        say(line);
        self.put(shown);
    }

    /// Redraws the lines that have changed.
    pub fn draw(&mut self) {
        if !self.is_live {
            return;
        }
        let lines = self.lines(
            talk_columns().unwrap_or(COLUMNS),
            talk_rows().unwrap_or(ROWS),
        );
        if lines != self.shown {
            draw(&erase(self.shown.len()));
            self.put(lines);
        }
    }

    /// Removes the lines from the terminal.
    pub fn clear(&mut self) {
        draw(&erase(self.shown.len()));
        self.shown.clear();
    }

    fn put(&mut self, lines: Vec<String>) {
        draw(&lines.join("\n"));
        self.shown = lines;
    }

    /// Returns as many lines as fit: the oldest runs first.
    fn lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let width = self.rows.values().map(|row| row.name.chars().count()).max();
        let width = width.unwrap_or(0).min(columns / 3);
        let titles = usize::from(!self.title.is_empty());
        // Two rows stay free: one for typed input, and one for the number of hidden lines.
        let room = rows.saturating_sub(titles + 2).max(1);
        let fit = |text: &str| text.chars().take(columns.saturating_sub(1)).collect();
        let mut lines: Vec<String> = Vec::new();
        lines.extend((titles > 0).then(|| fit(&self.title)));
        lines.extend(self.rows.values().take(room).map(|row| {
            let Reported { done, of, text } = &row.reported;
            let rest = columns.saturating_sub(width + 1);
            let rest = line(*done, *of, text, rest, colour_wanted());
            format!("{:<width$.width$} {rest}", row.name)
        }));
        if self.rows.len() > room {
            lines.push(fit(&format!("and {} more", self.rows.len() - room)));
        }
        lines
    }
}

/// Returns the sequence that erases lines, with the cursor in the last of them.
fn erase(lines: usize) -> String {
    match lines {
        0 => String::new(),
        // ECMA-48: cursor up, for all but the first.
        _ => CLEAR.to_owned() + &format!("\u{1b}[1A{CLEAR}").repeat(lines - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rows: usize) -> LiveBlock {
        let mut block = LiveBlock::new();
        for number in 0..rows {
            block.add(number, &format!("ssh://board-{number}"));
            let text = "0:07 left  rand-read-4k #2".to_owned();
            let (done, of) = (3, 45);
            block.show(number, &Reported { done, of, text });
        }
        block
    }

    #[test]
    fn each_run_has_a_line_that_fits() {
        let mut block = block(2);
        block.title = "2 under way".to_owned();
        let lines = block.lines(60, 24);
        assert_eq!(lines[0], "2 under way");
        assert_eq!(lines[1], "ssh://board-0   3/45 0:07 left  rand-read-4k #2");
        assert_eq!(lines.len(), 3);
        for columns in [10, 30, 80, 200] {
            for line in block.lines(columns, 24) {
                // The bar's colours take no room.
                let line = line.replace("\u{1b}[36m", "").replace("\u{1b}[0m", "");
                let width = line.chars().count();
                assert!(width < columns.max(20), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn more_runs_than_rows_are_counted() {
        let lines = block(50).lines(80, 24);
        assert_eq!(lines.len(), 23);
        assert_eq!(lines[22], "and 28 more");
        assert_eq!(block(1).lines(80, 1).len(), 1);
    }
}
