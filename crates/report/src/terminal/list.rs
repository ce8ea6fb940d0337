//! The list of stored runs.

use super::Style;
use super::style::Tone;
use crate::format::utc;
use crate::text::{clean, shorten};
use std::io::{self, Write};

/// One stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its id.
    pub id: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Path it ran on.
    pub path: String,
    /// Device in a few words.
    pub device: String,
    /// `running`, `finished`, `interrupted` or `failed`.
    pub status: String,
    /// Trials stored.
    pub trials: u64,
    /// Trials planned.
    pub planned: u64,
}

const HEADER: [&str; 6] = ["RUN", "STARTED", "PATH", "DEVICE", "STATUS", "TRIALS"];
/// Gap between columns.
const GAP: usize = 2;
/// Path and device share what is left, but are never narrower.
const NARROWEST: usize = 10;

/// Writes one line per run, in the given order, under a header. Paths and
/// devices are shortened to the width.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_list(rows: &[ListRow], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let widths = widths(&cells, style.columns());
    let header = line(&HEADER.map(str::to_owned), &widths);
    writeln!(out, "{}", style.paint(Tone::Strong, &header))?;
    for row in &cells {
        writeln!(out, "{}", line(row, &widths))?;
    }
    Ok(())
}

fn cells(row: &ListRow) -> [String; 6] {
    let trials = if row.trials == row.planned {
        row.trials.to_string()
    } else {
        format!("{} of {}", row.trials, row.planned)
    };
    [
        clean(&row.id),
        utc(row.started_unix_ms),
        clean(&row.path),
        clean(&row.device),
        clean(&row.status),
        trials,
    ]
}

/// Each column as wide as its widest cell; path and device give way.
fn widths(cells: &[[String; 6]], columns: usize) -> [usize; 6] {
    let mut widths = HEADER.map(str::len);
    for row in cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let fixed = widths[0] + widths[1] + widths[4] + widths[5] + GAP * 5;
    let left = columns.saturating_sub(fixed).max(2 * NARROWEST);
    let (path, device) = (widths[2], widths[3]);
    if path + device > left {
        let half = left / 2;
        widths[2] = if device < half {
            left - device
        } else {
            path.min(half)
        };
        widths[3] = left - widths[2];
    }
    widths
}

fn line(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| {
        let cell = shorten(cell, *width);
        format!("{cell:<width$}")
    });
    let joined = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
    joined.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, device: &str) -> ListRow {
        ListRow {
            id: "k3v9d2ma".to_owned(),
            started_unix_ms: 1_773_480_413_589,
            path: path.to_owned(),
            device: device.to_owned(),
            status: "finished".to_owned(),
            trials: 24,
            planned: 24,
        }
    }

    fn written(rows: &[ListRow]) -> String {
        let style = Style {
            color: false,
            width: 80,
        };
        let mut out = Vec::new();
        write_list(rows, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_fit_the_width_and_line_up() {
        let text = written(&[
            row("/data", "eMMC DG4032"),
            row(
                "/a/very/long/path/that/does/not/fit/anywhere/at/all",
                "A maker with a long name and a model with one too",
            ),
        ]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let column = |line: &str| line.find("finished");
        let lines: Vec<&str> = text.lines().collect();
        let cut = |line: &str| line.chars().collect::<Vec<_>>();
        assert!(column(lines[1]).is_some());
        assert_eq!(cut(lines[1]).len() - 2, cut(lines[2]).len() - 2, "{text}");
    }

    #[test]
    fn hostile_names_cannot_steer_the_terminal() {
        let text = written(&[row("/mnt/\u{1b}[2J", "x\ny")]);
        assert!(
            !text.contains('\u{1b}') && text.lines().count() == 2,
            "{text}"
        );
    }

    #[test]
    fn an_unfinished_run_tells_how_far_it_came() {
        let unfinished = ListRow {
            trials: 5,
            status: "interrupted".to_owned(),
            ..row("/data", "eMMC")
        };
        assert!(written(&[unfinished]).contains("5 of 24"));
    }
}
