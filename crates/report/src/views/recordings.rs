//! Properties of recordings, one or two side by side.

use crate::document::{Cell, Column, Document, Section, Table, TableRow};
use crate::words::clean;
use assay_lang::tr;
use assay_model::load::Ddir;
use assay_model::units::{Bytes, Nanos, as_f64};
use assay_trace::recording::{Description, Rate};

/// Maximum number of I/O sizes listed for each direction.
const SIZES: usize = 4;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];

/// Returns properties of recordings, a column for each. `ascii` draws curves with ASCII only.
pub fn document(all: &[(String, Description)], ascii: bool) -> Document {
    let recordings: Vec<Vec<(String, String)>> =
        all.iter().map(|(_, trace)| rows(trace, ascii)).collect();
    let mut names = all.iter().map(|(name, _)| clean(name));
    let mut table = Table::default();
    table.columns.push(Column::text(""));
    table.columns.extend(names.clone().map(Column::text));
    for at in 0..recordings.first().map_or(0, Vec::len) {
        let values = recordings.iter().map(|rows| rows[at].1.clone());
        let values: Vec<String> = values.collect();
        // Rows without any value are omitted.
        if values.iter().any(|value| value != NONE) {
            let name = recordings[0][at].0.clone();
            let cells = std::iter::once(name).chain(values).map(Cell::Text);
            table.rows.push(TableRow::new(cells.collect()));
        }
    }
    let mut document = Document::new(names.by_ref().collect::<Vec<_>>().join(", "));
    let mut section = Section::new("recordings", "");
    section.table(table);
    document.push(section);
    document
}

/// Placeholder for a missing value.
const NONE: &str = "-";

/// Returns the description of a recording: the same rows in the same order for each.
fn rows(trace: &Description, ascii: bool) -> Vec<(String, String)> {
    let directions = &trace.directions;
    let ios: u64 = directions.iter().map(|(_, usage)| usage.ios).sum();
    let bytes = directions.read.bytes + directions.write.bytes;
    let seconds = Nanos(trace.span_ns).as_secs_f64();
    let mut rows = vec![
        (tr!("format").to_owned(), trace.format.to_owned()),
        (tr!("time").to_owned(), Nanos(trace.span_ns).to_string()),
        (tr!("files").to_owned(), files(trace)),
        (
            tr!("rate").to_owned(),
            match seconds > 0.0 {
                true => format!(
                    "{:.0} IOPS, {:.2} MB/s",
                    as_f64(ios) / seconds,
                    as_f64(bytes) / seconds / 1e6
                ),
                false => NONE.to_owned(),
            },
        ),
        (tr!("flushes").to_owned(), trace.flushes.to_string()),
        (
            tr!("aligned to").to_owned(),
            Bytes(trace.alignment_bytes).to_string(),
        ),
        (
            tr!("queue depth").to_owned(),
            trace.depth.map_or_else(
                || NONE.to_owned(),
                |depth| {
                    tr!(
                        "{mean} on average, {max} at most",
                        mean = format!("{:.1}", depth.mean),
                        max = depth.max
                    )
                },
            ),
        ),
        (
            tr!("I/Os over time").to_owned(),
            line(&trace.rate, ascii, |rate| rate.ios),
        ),
        (
            tr!("bytes over time").to_owned(),
            line(&trace.rate, ascii, |rate| rate.bytes),
        ),
    ];
    for ddir in Ddir::ALL {
        let usage = &directions[ddir];
        let share =
            |part: u64, of: u64| format!("{:.0} %", as_f64(part) * 100.0 / as_f64(of.max(1)));
        let none = usage.ios == 0;
        let value = |value: String| if none { NONE.to_owned() } else { value };
        let name = ddir.name();
        rows.push((
            name.to_owned(),
            value(tr!(
                "{ios} I/Os ({share}), {bytes}",
                ios = usage.ios,
                share = share(usage.ios, ios),
                bytes = Bytes(usage.bytes)
            )),
        ));
        rows.push((
            tr!("{name}, sequential", name),
            value(share(usage.sequential_ios, usage.ios)),
        ));
        let sizes = usage.sizes.iter().take(SIZES);
        let mut sizes: Vec<String> = sizes
            .map(|&(length, count)| format!("{} {}", Bytes(length.into()), share(count, usage.ios)))
            .collect();
        if usage.sizes.len() > SIZES {
            sizes.push(tr!("{n} other lengths", n = usage.sizes.len() - SIZES));
        }
        rows.push((tr!("{name}, lengths", name), value(sizes.join(", "))));
    }
    rows
}

fn files(trace: &Description) -> String {
    match trace.files.as_slice() {
        [(name, extent)] => tr!(
            "{name}, to {extent}",
            name = clean(name),
            extent = Bytes(*extent)
        ),
        several => {
            let most = several.iter().map(|(_, extent)| *extent).max().unwrap_or(0);
            tr!(
                "{n}, to {extent} at most",
                n = several.len(),
                extent = Bytes(most)
            )
        }
    }
}

/// Draws a block for each part of the time, with a height relative to the highest.
fn line(rates: &[Rate], ascii: bool, of: impl Fn(&Rate) -> u64) -> String {
    let most = rates.iter().map(&of).max().unwrap_or(0).max(1);
    let block = |rate: &Rate| {
        let height = (u128::from(of(rate)) * 8).div_ceil(u128::from(most));
        let height = usize::try_from(height).unwrap_or(8).min(8);
        if ascii { ASCII[height] } else { BLOCKS[height] }
    };
    format!("|{}|", rates.iter().map(block).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal::{Style, write};
    use assay_trace::recording::{Recording, describe};

    #[test]
    fn two_recordings_stand_side_by_side() {
        let recorded = |text: &str| {
            let text = format!("fio version 3 iolog\n0 f add\n{text}");
            describe(&Recording::read(text.as_bytes()).unwrap())
        };
        let all = [
            (
                "a".to_owned(),
                recorded("0 f write 0 4096\n1000000 f write 4096 4096\n"),
            ),
            (
                "b".to_owned(),
                recorded("0 f read 0 512\n500000 f sync 0 0\n"),
            ),
        ];
        let mut out = Vec::new();
        let style = Style {
            color: false,
            width: 100,
            ascii: true,
        };
        write(&document(&all, true), style, &[], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let words = |label: &str| {
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(label))
                .unwrap();
            line.split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
        };
        assert_eq!(words("flushes"), ["flushes", "0", "1"]);
        assert_eq!(
            words("write, sequential"),
            ["write, sequential", "50 %", "-"]
        );
        assert_eq!(
            words("read, lengths"),
            ["read, lengths", "-", "512 B 100 %"]
        );
        assert!(!text.contains("trim"), "{text}");
        assert!(!text.contains("queue depth"), "{text}");
    }
}
