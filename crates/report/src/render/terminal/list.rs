//! The list of stored runs.

use super::Style;
use crate::words::format::utc;
use crate::words::style::Tone;
use crate::words::text::{beginning, clean, pad, shorten, width};
use assay_lang::{key, tr, translated};
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
    /// Data was not kept.
    pub data_lost: bool,
}

const HEADER: [&str; COLUMNS] = [
    key!("RUN"),
    key!("STARTED (UTC)"),
    key!("STATUS"),
    key!("PATH"),
    key!("DEVICE"),
];
const COLUMNS: usize = 5;
const PATH: usize = 3;
const DEVICE: usize = 4;
/// Gap between columns.
const GAP: usize = 2;
/// Path and device share what is left, but are never narrower.
const NARROWEST: usize = 12;

/// Writes one line per run, in the given order, under a header. Paths and
/// devices are shortened to the width.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_list(rows: &[ListRow], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<[String; COLUMNS]> = rows.iter().map(cells).collect();
    let widths = widths(&cells, style.columns());
    let header = line(&header(), &widths);
    writeln!(out, "{}", style.paint(Tone::Strong, &header))?;
    for row in &cells {
        writeln!(out, "{}", line(row, &widths))?;
    }
    Ok(())
}

fn header() -> [String; COLUMNS] {
    HEADER.map(|name| translated(name).to_owned())
}

fn cells(row: &ListRow) -> [String; COLUMNS] {
    let mut status = clean(translated(&row.status));
    if row.trials != row.planned {
        status.push_str(&format!(" {}/{}", row.trials, row.planned));
    }
    if row.data_lost {
        status = tr!("{status}, DATA LOST", status);
    }
    let started = utc(row.started_unix_ms);
    [
        clean(&row.id),
        started.trim_end_matches(" UTC").to_owned(),
        status,
        clean(&row.path),
        clean(&row.device),
    ]
}

/// Each column as wide as its widest cell; path and device give way, the path
/// last: it is what tells runs apart.
fn widths(cells: &[[String; COLUMNS]], columns: usize) -> [usize; COLUMNS] {
    let mut widths = header().map(|name| width(&name));
    for row in cells {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let fixed: usize = widths[..PATH].iter().sum::<usize>() + GAP * (COLUMNS - 1);
    let left = columns.saturating_sub(fixed).max(2 * NARROWEST);
    if widths[PATH] + widths[DEVICE] > left {
        let device = left.saturating_sub(widths[PATH]).max(NARROWEST);
        widths[DEVICE] = widths[DEVICE].min(device);
        widths[PATH] = left - widths[DEVICE];
    }
    widths
}

fn line(cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(index, (cell, columns))| {
            let cell = match index {
                DEVICE => cut(cell, *columns),
                _ => shorten(cell, *columns),
            };
            pad(&cell, *columns)
        });
    let joined = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
    joined.trim_end().to_owned()
}

/// What a device is stands at the beginning of its words.
fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = beginning(text, columns.saturating_sub(1));
    format!("{}…", kept.trim_end_matches([',', ' ']))
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
            data_lost: false,
        }
    }

    fn written(rows: &[ListRow]) -> String {
        let style = Style {
            color: false,
            width: 80,
            ascii: false,
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
        let lines: Vec<&str> = text.lines().collect();
        let devices = [lines[1].find("eMMC DG4032"), lines[0].find("DEVICE")];
        assert_eq!(devices[0], devices[1], "{text}");
        assert!(lines[2].contains('…') && !lines[1].contains('…'), "{text}");
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
        assert!(written(&[unfinished]).contains("interrupted 5/24"));
    }
}
