//! Imported results, and recordings of I/O that can be replayed.

use super::provenance::annotated;
use super::run::header;
use super::run::page::drawn;
use super::{provenance, ranking};
use crate::charts::Gallery;
use crate::document::{Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::machine::import::{HEADER, cells};
use crate::results::comparison::Ranked;
use crate::results::sweep::Sweep;
use crate::words::{Tone, clean, utc};
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::{Figure, Import};
use assay_model::load::Ddir;
use assay_model::units::{Bytes, Nanos, as_f64};
use assay_trace::recording::{Description, Rate};

/// Maximum number of a mail's lines on the circumstances stated in the results.
const BRIEF: usize = 12;
/// Maximum number of such lines on a terminal.
const LONG: usize = 24;
/// Columns of numbers, which are aligned to the right.
const NUMBERS: std::ops::RangeInclusive<usize> = 2..=4;

const METHOD: &str = key!(
    "Results of another tool, imported unchanged: assay has no evidence of what \
     reached the device. A figure has a label only if the results state one."
);
const MEANS: &str = key!("Means of results are arithmetic.");

/// Returns an import for a terminal.
pub fn document(import: &Import) -> Document {
    let mut document = Document::new(title(import));
    document.header = annotated(&import.annotation);
    let mut origin = Section::new("origin", "");
    let files = clean(&import.files.join(", "));
    let when = utc(import.imported_unix_ms);
    let id = clean(&import.id);
    origin.say(
        tr!("import {id}, {when}, of {files}", id, when, files),
        None,
    );
    for line in circumstances(import, LONG) {
        origin.say(line, None);
    }
    document.push(origin);
    let figures: Vec<&Figure> = import.results.figures.iter().collect();
    document.push(results(&figures, tr!("Results")));
    document.push(unknown(import));
    document
}

/// Returns an import for a mail; `ranked` exists if it has several conditions.
pub fn mail(import: &Import, ranked: Option<&Ranked<'_>>) -> Document {
    let mut document = Document::new(title(import));
    document.header = annotated(&import.annotation);
    if let Some(ranked) = ranked {
        for section in ranking::sections(ranked, &Sweep::default()) {
            document.push(section);
        }
    }
    let is_ranked = |figure: &&Figure| {
        let ranked = ranked.into_iter();
        let mut metrics = ranked.flat_map(|ranked| &ranked.ranking.metrics);
        metrics.any(|metric| metric.metric == figure.metric)
    };
    let figures = import.results.figures.iter();
    let others: Vec<&Figure> = figures.filter(|figure| !is_ranked(figure)).collect();
    let heading = match ranked {
        Some(_) => tr!("Other results"),
        None => tr!("Results"),
    };
    document.push(results(&others, heading));
    document.push(unknown(import));
    document.push(origin(import));
    let mut method = Section::new("method", tr!("Method"));
    method.say(translated(METHOD), None);
    if !others.is_empty() {
        method.say(translated(MEANS), None);
    }
    if ranked.is_some() {
        method.say(translated(ranking::METHOD), None);
    }
    document.push(method);
    document
}

/// Returns an import with its charts for a page; sections on its conditions come `first`.
pub(crate) fn page(import: &Import, gallery: &Gallery, first: Vec<Section>) -> Document {
    let results = &import.results;
    let title = format!("{}: {}", results.tool, import.files.join(", "));
    let mut document = Document::new(clean(&title));
    let origin = format!("{} {}", tr!("import"), taken_in(import));
    document.header = header(origin, &import.annotation);
    document.sections = first;
    let figures: Vec<&Figure> = results.figures.iter().collect();
    let mut table = self::results(&figures, tr!("Results"));
    table.say(translated(METHOD), Some(Tone::Soft));
    document.push(table);
    document.push(drawn(
        "trials",
        tr!("Trials and intervals"),
        tr!("Every trial that was handed down is a mark; the bar is the 95 % interval of the geometric mean, its long \
             tick the median."),
        &gallery.trials,
    ));
    let mut told = Section::new("circumstances", tr!("Details stated in the results"));
    told.list(
        results
            .circumstances
            .iter()
            .map(|line| clean(line))
            .collect(),
    );
    document.push(told);
    document.push(unknown(import));
    let mut limits = Section::new("method", tr!("Method and limits"));
    let points = [
        tr!(
            "In the results a mean is arithmetic, and a standard deviation that of the trials (n - 1), as they were handed down or follow from the trials. Conditions are judged by geometric means."
        ),
        tr!(
            "Whether a figure is the device's or the page cache's is only known where the results say so."
        ),
        tr!(
            "Conditions that others varied may differ in more than their names: heat, wear, fill and order are not known."
        ),
    ];
    limits.list(points.map(str::to_owned).into());
    limits.blocks.extend(provenance::label_meanings());
    document.push(limits);
    document
}

fn title(import: &Import) -> String {
    let results = &import.results;
    let figures = counted!(results.figures.len(), "{n} figure", "{n} figures");
    format!("{}: {figures}", clean(&results.tool))
}

/// Returns a row for each figure. Every format omits columns without any text.
pub(crate) fn results(figures: &[&Figure], title: &str) -> Section {
    let columns = HEADER.iter().enumerate().map(|(at, name)| {
        let name = translated(name);
        match NUMBERS.contains(&at) {
            true => Column::number(name),
            // In a table that is too wide, condition and label are moved below their rows.
            false if at == 0 || at + 1 == HEADER.len() => Column::text(name).keep(Keep::IfRoom),
            false => Column::text(name),
        }
    });
    let rows = figures.iter().map(|figure| {
        let cells = cells(figure).map(Cell::Text);
        TableRow::new(cells.into())
    });
    let mut section = Section::new("results", title);
    section.table(Table {
        columns: columns.collect(),
        rows: rows.collect(),
    });
    section
}

fn unknown(import: &Import) -> Section {
    let mut section = Section::new("notes", tr!("Not known, or left out"));
    section.list(
        import
            .results
            .notes
            .iter()
            .map(|note| clean(note))
            .collect(),
    );
    section
}

/// Describes the origin of the results, with the circumstances that they state.
fn origin(import: &Import) -> Section {
    let mut section = Section::new("where", tr!("Where"));
    let facts = [
        (tr!("files"), clean(&import.files.join(", "))),
        (tr!("import"), taken_in(import)),
    ];
    section.facts(facts);
    let mut told = circumstances(import, BRIEF);
    if told.is_empty() {
        told.push(tr!("kernel and device are not stated").to_owned());
    }
    section.list(told);
    section
}

fn taken_in(import: &Import) -> String {
    tr!(
        "{id}, {when}, by assay {version}",
        id = clean(&import.id),
        when = utc(import.imported_unix_ms),
        version = clean(&import.assay_version)
    )
}

fn circumstances(import: &Import, most: usize) -> Vec<String> {
    let all = &import.results.circumstances;
    let mut told: Vec<String> = all.iter().take(most).map(|line| clean(line)).collect();
    let more = all.len().saturating_sub(most);
    if more > 0 {
        told.push(counted!(more, "and {n} more line", "and {n} more lines"));
    }
    told
}

/// Maximum number of I/O sizes listed for each direction.
const SIZES_NAMED: usize = 4;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];

/// Returns properties of recordings, a column for each. `ascii` draws curves with ASCII only.
pub fn recordings(all: &[(String, Description)], ascii: bool) -> Document {
    let recordings: Vec<Vec<(String, String)>> = all
        .iter()
        .map(|(_, trace)| recording_rows(trace, ascii))
        .collect();
    let mut names = all.iter().map(|(name, _)| clean(name));
    let mut table = Table::default();
    table.columns.push(Column::text(""));
    table.columns.extend(names.clone().map(Column::text));
    for at in 0..recordings.first().map_or(0, Vec::len) {
        let values = recordings.iter().map(|rows| rows[at].1.clone());
        let values: Vec<String> = values.collect();
        // Rows without any value are omitted.
        if values.iter().any(|value| value != NO_VALUE) {
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
const NO_VALUE: &str = "-";

/// Returns the description of a recording: the same rows in the same order for each.
fn recording_rows(trace: &Description, ascii: bool) -> Vec<(String, String)> {
    let directions = &trace.directions;
    let ios: u64 = directions.iter().map(|(_, usage)| usage.ios).sum();
    let bytes = directions.read.bytes + directions.write.bytes;
    let seconds = Nanos(trace.span_ns).as_secs_f64();
    let mut rows = vec![
        (tr!("format").to_owned(), trace.format.to_owned()),
        (tr!("time").to_owned(), Nanos(trace.span_ns).to_string()),
        (tr!("files").to_owned(), recorded_files(trace)),
        (
            tr!("rate").to_owned(),
            match seconds > 0.0 {
                true => format!(
                    "{:.0} IOPS, {:.2} MB/s",
                    as_f64(ios) / seconds,
                    as_f64(bytes) / seconds / 1e6
                ),
                false => NO_VALUE.to_owned(),
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
                || NO_VALUE.to_owned(),
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
            rate_line(&trace.rate, ascii, |rate| rate.ios),
        ),
        (
            tr!("bytes over time").to_owned(),
            rate_line(&trace.rate, ascii, |rate| rate.bytes),
        ),
    ];
    for ddir in Ddir::ALL {
        let usage = &directions[ddir];
        let share =
            |part: u64, of: u64| format!("{:.0} %", as_f64(part) * 100.0 / as_f64(of.max(1)));
        let none = usage.ios == 0;
        let value = |value: String| if none { NO_VALUE.to_owned() } else { value };
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
        let sizes = usage.sizes.iter().take(SIZES_NAMED);
        let mut sizes: Vec<String> = sizes
            .map(|&(length, count)| format!("{} {}", Bytes(length.into()), share(count, usage.ios)))
            .collect();
        if usage.sizes.len() > SIZES_NAMED {
            sizes.push(tr!(
                "{n} other lengths",
                n = usage.sizes.len() - SIZES_NAMED
            ));
        }
        rows.push((tr!("{name}, lengths", name), value(sizes.join(", "))));
    }
    rows
}

fn recorded_files(trace: &Description) -> String {
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
fn rate_line(rates: &[Rate], ascii: bool, of: impl Fn(&Rate) -> u64) -> String {
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
        write(&recordings(&all, true), style, &[], &mut out).unwrap();
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
