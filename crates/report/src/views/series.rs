//! Series: a list with the changes that ask for an answer first, one series as a trend, and the
//! news of changes for a mail.

use crate::charts::data::trend;
use crate::document::{Block, Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::results::changes::{self, ListedSeries, day, device, name, sentence};
use crate::words::format::utc;
use crate::words::style::Tone;
use crate::words::text::clean;
use assay_lang::{counted, key, tr, translated};
use assay_model::series::{Opinion, Series, SeriesChange, SeriesPoint, Turn};

/// Word for a change that was accepted.
const ACCEPTED: &str = key!("accepted");
/// Word for a slowdown that nobody accepted.
const OPEN: &str = key!("open");

/// Series with their last changes: the answer, slowdowns that nobody accepted, then all.
pub fn list(all: &[ListedSeries], since_unix_ms: Option<u64>) -> Document {
    let mut document = Document::new(tr!("Series").to_owned());
    document.push(answer(all, since_unix_ms));
    let mut table = Section::new("series", tr!("All series"));
    table.table(Table {
        columns: columns(),
        rows: rows(all),
    });
    document.push(table);
    document
}

/// Whether there are slowdowns that nobody accepted, and each of them.
fn answer(all: &[ListedSeries], since_unix_ms: Option<u64>) -> Section {
    let mut answer = Section::new("verdict", "");
    let is_open = |listed: &&ListedSeries| {
        listed.series.primary && listed.change.as_ref().is_some_and(SeriesChange::is_open)
    };
    let open: Vec<&ListedSeries> = all.iter().filter(is_open).collect();
    let new = open.iter().filter(|listed| listed.is_new).count();
    let said = counted!(
        open.len(),
        "{n} slowdown that nobody accepted",
        "{n} slowdowns that nobody accepted"
    );
    match (open.is_empty(), since_unix_ms) {
        (true, _) => answer.say(tr!("No slowdown is open.").to_owned(), Some(Tone::Good)),
        (false, None) => answer.say(format!("{said}."), Some(Tone::Bad)),
        (false, Some(since)) => answer.say(
            tr!(
                "{slowdowns}, {new} of them found since {moment}.",
                slowdowns = said,
                new,
                moment = utc(since)
            ),
            Some(Tone::Bad),
        ),
    }
    let (first, later): (Vec<&ListedSeries>, Vec<&ListedSeries>) =
        open.into_iter().partition(|listed| listed.is_new);
    let points = first.into_iter().chain(later).filter_map(point);
    answer.list(points.collect());
    answer
}

fn point(listed: &ListedSeries) -> Option<String> {
    let change = listed.change.as_ref()?;
    Some(said(&listed.series, change))
}

/// A change with its series, its events and where to look.
fn said(series: &Series, change: &SeriesChange) -> String {
    tr!(
        "{change}. {device}; {events}. assay trend {key}",
        change = sentence(series, change),
        device = device(series),
        events = changes::events(change),
        key = series.key
    )
}

fn columns() -> Vec<Column> {
    vec![
        Column::text(tr!("series")),
        Column::text(tr!("job and metric")),
        Column::number(tr!("latest")),
        Column::number(tr!("runs")).keep(Keep::IfRoom),
        Column::text(tr!("label")).keep(Keep::IfRoom),
        Column::number(tr!("last change")),
        Column::text(tr!("since")),
        Column::text(tr!("state")),
    ]
}

/// Rows under headings of their devices.
fn rows(all: &[ListedSeries]) -> Vec<TableRow> {
    let mut rows = Vec::new();
    let mut last = None;
    for listed in all {
        let device = titled(&listed.series);
        if last.as_ref() != Some(&device) {
            rows.push(TableRow::heading(device.clone()));
            last = Some(device);
        }
        rows.push(row(listed));
    }
    rows
}

/// The device, with the project where it is not the default one.
fn titled(series: &Series) -> String {
    match series.project == crate::results::facts::DEFAULT_PROJECT {
        true => device(series),
        false => tr!(
            "{device}, project {project}",
            device = device(series),
            project = clean(&series.project)
        ),
    }
}

fn row(listed: &ListedSeries) -> TableRow {
    let ListedSeries { series, change, .. } = listed;
    let cells = vec![
        series.key.as_str().into(),
        name(series).into(),
        Cell::quantity(series.last_centre, series.unit_of_measure.name()),
        Cell::count(series.runs),
        clean(&series.label).into(),
        change
            .as_ref()
            .and_then(|change| change.effect_percent)
            .map_or(Cell::Empty, Cell::Change),
        change
            .as_ref()
            .map_or(Cell::Empty, |change| day(change.started_unix_ms).into()),
        change
            .as_ref()
            .map_or(Cell::Empty, |change| state(change).into()),
    ];
    TableRow::new(cells)
}

/// The state of a change in a word.
fn state(change: &SeriesChange) -> String {
    let word = match (change.accepted, change.turn) {
        (true, _) => ACCEPTED,
        (false, Turn::Slower) => OPEN,
        (false, Turn::Faster) => Turn::Faster.name(),
    };
    translated(word).to_owned()
}

/// One series: what became of it, its runs as a chart, its changes with their events.
pub fn trend(
    series: &Series,
    points: &[SeriesPoint],
    changes: &[SeriesChange],
    opinions: &[Opinion],
) -> Document {
    let mut document = Document::new(name(series));
    let mut answer = Section::new("verdict", "");
    answer_trend(series, changes, &mut answer);
    let facts = [
        (tr!("device"), device(series)),
        (tr!("project"), clean(&series.project)),
        (tr!("label"), clean(&series.label)),
        (tr!("series"), series.key.clone()),
    ];
    answer.facts(facts);
    document.push(answer);
    let mut drawn = Section::new("trend", tr!("Runs"));
    drawn.charts(&[trend::chart(series, points, changes)]);
    document.push(drawn);
    document.push(all_changes(series, changes, opinions));
    document.push(last_runs(series, points));
    document
}

fn answer_trend(series: &Series, changes: &[SeriesChange], answer: &mut Section) {
    match changes.last() {
        Some(change) => {
            let tone = match change.is_open() {
                true => Tone::Bad,
                false => Tone::Strong,
            };
            answer.say(format!("{}.", sentence(series, change)), Some(tone));
        }
        None if series.better.is_none() => {
            let text = tr!("Changes are not looked for: no direction of this metric is better.");
            answer.say(text, Some(Tone::Strong));
        }
        None => answer.say(tr!("No change was found.").to_owned(), Some(Tone::Good)),
    }
}

fn all_changes(series: &Series, changes: &[SeriesChange], opinions: &[Opinion]) -> Section {
    let mut section = Section::new("changes", tr!("Changes, newest first"));
    let mut points = Vec::new();
    for change in changes.iter().rev() {
        let mut text = format!(
            "{}. {}; {}. {}",
            sentence(series, change),
            changes::compared(change),
            changes::events(change),
            tr!(
                "Found with the run of {day}.",
                day = day(change.found_unix_ms)
            )
        );
        let own = opinions.iter().filter(|opinion| opinion.run == change.run);
        for opinion in own {
            text.push_str(&format!(" {}.", changes::opinion(opinion)));
        }
        points.push(text);
    }
    section.list(points);
    let known = |run: &String| changes.iter().any(|change| change.run == *run);
    let others = opinions.iter().filter(|opinion| !known(&opinion.run));
    let others = others.map(|opinion| {
        tr!(
            "run {run}: {opinion}",
            run = clean(&opinion.run),
            opinion = changes::opinion(opinion)
        )
    });
    section.list(others.collect());
    section
}

/// Runs in the table of a trend.
const LAST: usize = 10;

fn last_runs(series: &Series, points: &[SeriesPoint]) -> Section {
    let mut section = Section::new("runs", tr!("Last runs"));
    let rows = points.iter().rev().take(LAST).map(|point| {
        TableRow::new(vec![
            clean(&point.run).into(),
            utc(point.started_unix_ms).into(),
            Cell::quantity(point.centre, series.unit_of_measure.name()),
            Cell::count(point.n),
        ])
    });
    section.table(Table {
        columns: vec![
            Column::text(tr!("run")),
            Column::text(tr!("started")),
            Column::number(tr!("figure")),
            Column::number(tr!("trials")),
        ],
        rows: rows.collect(),
    });
    section
}

/// Changes that are new, as the text of a mail. The title is its subject.
pub fn news(new: &[(Series, SeriesChange)], since_unix_ms: Option<u64>) -> Document {
    let slower = |(_, change): &&(Series, SeriesChange)| change.is_open();
    let slowdowns = new.iter().filter(slower).count();
    let mut document = Document::new(match (new.is_empty(), slowdowns) {
        (true, _) => tr!("No new change").to_owned(),
        (false, 0) => counted!(new.len(), "{n} new change", "{n} new changes"),
        (false, _) => counted!(slowdowns, "{n} new slowdown", "{n} new slowdowns"),
    });
    if let Some(since) = since_unix_ms {
        document.header.push(Block::Paragraph {
            text: tr!("Changes found since {moment}.", moment = utc(since)),
            tone: None,
        });
    }
    let (open, others): (Vec<_>, Vec<_>) = new.iter().partition(|(_, change)| change.is_open());
    for (id, title, part) in [
        ("slowdowns", tr!("Slowdowns that nobody accepted"), open),
        ("changes", tr!("Other changes"), others),
    ] {
        let mut section = Section::new(id, title);
        section.list(
            part.iter()
                .map(|(series, change)| said(series, change))
                .collect(),
        );
        document.push(section);
    }
    document
}
