//! List of stored runs.

use super::Style;
use crate::words::{Tone, beginning, clean, pad, shorten, utc, width};
use assay_lang::{key, tr, translated};
use std::io::{self, Write};

/// Stored run or import in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRow {
    /// Id of the run.
    pub id: String,
    /// Name given by the user; empty without one.
    pub name: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Command that started the run.
    pub command: String,
    /// Measured path.
    pub path: String,
    /// Description of the device in a few words.
    pub device: String,
    /// `running`, `finished`, `interrupted`, `failed` or `imported`.
    pub status: String,
    /// Trials stored.
    pub trials: u64,
    /// Trials planned.
    pub planned: u64,
    /// True if data was lost.
    pub data_lost: bool,
    /// Key figure with its unit, or a finding; empty before there is any.
    pub figure: String,
    /// Label of the key figure; empty if it is not known.
    pub measured: String,
    /// Size of the measured device; empty if it is not known.
    pub size: String,
    /// Tags, separated by commas.
    pub tags: String,
}

const HEADER: [&str; COLUMNS] = [
    key!("RUN"),
    key!("NAME"),
    key!("STARTED (UTC)"),
    key!("COMMAND"),
    key!("STATUS"),
    key!("PATH"),
    key!("DEVICE"),
    key!("KEY FIGURE"),
    key!("MEASURED"),
    key!("SIZE"),
    key!("TAGS"),
];
const COLUMNS: usize = 11;
const NAME: usize = 1;
const STARTED: usize = 2;
const COMMAND: usize = 3;
const STATUS: usize = 4;
const PATH: usize = 5;
const DEVICE: usize = 6;
const FIGURE: usize = 7;
const MEASURED: usize = 8;
const SIZE: usize = 9;
const TAGS: usize = 10;
/// Gap between columns.
const GAP: usize = 2;
/// Columns that are dropped if space is limited, in this order. The status is never dropped if a
/// run did not end normally.
const DISPENSABLE: [usize; 9] = [
    TAGS, PATH, STATUS, SIZE, COMMAND, STARTED, MEASURED, DEVICE, NAME,
];
/// Columns that can be narrowed, with their minimum width.
const YIELDING: [(usize, usize); 6] = [
    (TAGS, 8),
    (PATH, 12),
    (DEVICE, 9),
    (NAME, 8),
    (COMMAND, 7),
    (FIGURE, 20),
];
/// Width of a date without the time.
const DATE: usize = 10;

/// Writes one line per run under a header, in the given order. Columns are shortened and dropped to
/// fit `columns`; `None` writes all in full.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_list(
    rows: &[ListRow],
    style: Style,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cells: Vec<[String; COLUMNS]> = rows.iter().map(cells).collect();
    let regular = |row: &ListRow| {
        let ended = matches!(row.status.as_str(), "finished" | "imported");
        ended && row.trials == row.planned && !row.data_lost
    };
    let widths = widths(&cells, columns, rows.iter().all(regular));
    let mut titles = header();
    if widths[STARTED] < width(&titles[STARTED]) {
        titles[STARTED] = tr!("STARTED").to_owned();
    }
    let header = line(&titles, &widths);
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
        clean(&row.name),
        started.trim_end_matches(" UTC").to_owned(),
        clean(&row.command),
        status,
        clean(&row.path),
        clean(&row.device),
        clean(&row.figure),
        clean(translated(&row.measured)),
        clean(&row.size),
        clean(&row.tags),
    ]
}

/// Returns the width of each column; 0 for a dropped one.
fn widths(cells: &[[String; COLUMNS]], columns: Option<usize>, regular: bool) -> [usize; COLUMNS] {
    let mut widths = [0; COLUMNS];
    for row in cells {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let titles = header().map(|name| width(&name));
    for (index, widest) in widths.iter_mut().enumerate() {
        // Names and tags are optional: without any, their columns are dropped.
        if !cells.is_empty() && (*widest > 0 || !matches!(index, NAME | TAGS)) {
            *widest = (*widest).max(titles[index]);
        }
    }
    let Some(columns) = columns else {
        return widths;
    };
    let total = |widths: &[usize; COLUMNS]| {
        let shown = widths.iter().filter(|width| **width > 0);
        let count = shown.clone().count();
        shown.sum::<usize>() + GAP * count.saturating_sub(1)
    };
    let least = |widths: &[usize; COLUMNS]| {
        let mut least = *widths;
        for (index, narrowest) in YIELDING {
            least[index] = least[index].min(narrowest);
        }
        total(&least)
    };
    for index in DISPENSABLE {
        if index == SIZE && least(&widths) > columns {
            widths[STARTED] = widths[STARTED].min(DATE);
        }
        if least(&widths) > columns && (index != STATUS || regular) {
            widths[index] = 0;
        }
    }
    for (index, narrowest) in YIELDING {
        let over = total(&widths).saturating_sub(columns);
        let can = widths[index].saturating_sub(narrowest);
        widths[index] -= over.min(can);
    }
    widths
}

fn line(cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let shown = cells.iter().zip(widths).enumerate();
    let shown = shown.filter(|(_, (_, columns))| **columns > 0);
    let padded = shown.map(|(index, (cell, columns))| {
        let cell = match index {
            // Both ends of a path identify it better than its beginning.
            PATH => shorten(cell, *columns),
            STARTED => beginning(cell, *columns),
            _ => cut(cell, *columns),
        };
        pad(&cell, *columns)
    });
    let joined = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
    joined.trim_end().to_owned()
}

/// Cuts a device's description at the end, because its beginning identifies the device.
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
            command: "androbench".to_owned(),
            path: path.to_owned(),
            device: device.to_owned(),
            status: "finished".to_owned(),
            trials: 24,
            planned: 24,
            figure: "seq-read-1m 166 MB/s".to_owned(),
            measured: "device-unflushed".to_owned(),
            size: "256 MiB".to_owned(),
            ..ListRow::default()
        }
    }

    fn written_in(rows: &[ListRow], columns: Option<usize>) -> String {
        let style = Style {
            color: false,
            width: 80,
            ascii: false,
        };
        let mut out = Vec::new();
        write_list(rows, style, columns, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn written(rows: &[ListRow]) -> String {
        written_in(rows, Some(80))
    }

    #[test]
    fn every_width_is_kept_and_a_pipe_gets_all() {
        let named = ListRow {
            name: "before the patch of the scheduler".to_owned(),
            tags: "nightly, lab-3".to_owned(),
            data_lost: true,
            ..row("/mnt/somewhere/deep/down", "eMMC SanDisk DG4032, 29 GiB")
        };
        for columns in [40, 60, 80, 100, 120, 200] {
            let text = written_in(&[named.clone(), row("/data", "")], Some(columns));
            for line in text.lines() {
                let count = line.chars().count();
                assert!(count <= columns.max(80), "{columns}: {count}\n{text}");
            }
            assert!(text.contains("DATA LOST"), "{text}");
        }
        let all = written_in(std::slice::from_ref(&named), None);
        for cell in [
            &named.name,
            &named.path,
            &named.device,
            &named.tags,
            &named.size,
        ] {
            assert!(all.contains(cell.as_str()), "{all}");
        }
    }

    #[test]
    fn a_narrow_terminal_shows_fewer_columns_and_not_stumps_of_all() {
        let rows = [row("/data", "eMMC SanDisk DG4032, 29 GiB")];
        let titles = |columns| {
            let text = written_in(&rows, Some(columns));
            assert!(text.contains("seq-read-1m 166 MB/s"), "{columns}: {text}");
            let titles = text.lines().next().unwrap_or_default();
            titles.split("  ").filter(|title| !title.is_empty()).count()
        };
        assert_eq!([80, 60, 50, 40].map(titles), [6, 4, 3, 2]);
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
        let column = |line: &str, word| line.find(word).map(|at| line[..at].chars().count());
        let devices = [column(lines[1], "eMMC"), column(lines[0], "DEVICE")];
        assert_eq!(devices[0], devices[1], "{text}");
        assert!(lines[2].contains('…'), "{text}");
        assert!(lines[1].contains("166 MB/s"), "{text}");
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
