//! Series as a list with unresolved slowdowns first, one series as a trend, and the news of changes
//! for a mail.

use crate::charts::course;
use crate::document::{Block, Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::results::changes::{self, ListedSeries, day, device, name, sentence};
use crate::words::{Tone, clean, utc};
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::{Opinion, SeriesChange, SeriesPoint, StoredSeries, Turn};

/// State of an accepted change.
const ACCEPTED: &str = key!("accepted");
/// State of an open slowdown: no user has accepted it.
const OPEN: &str = key!("open");

/// Returns series with their last changes: the answer, open slowdowns, then all series.
pub fn list(all: &[ListedSeries], since_unix_ms: Option<u64>) -> Document {
    let mut document = Document::new(tr!("Series").to_owned());
    document.push(answer(all, since_unix_ms));
    if all.is_empty() {
        return document;
    }
    let mut table = Section::new("series", tr!("All series"));
    table.table(Table {
        columns: columns(),
        rows: rows(all),
    });
    document.push(table);
    document
}

/// Counts and lists the open slowdowns.
fn answer(all: &[ListedSeries], since_unix_ms: Option<u64>) -> Section {
    let mut answer = Section::new("verdict", "");
    if all.is_empty() {
        answer.say(none(since_unix_ms), Some(Tone::Strong));
        return answer;
    }
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
        (true, _) => answer.say(tr!("No open slowdowns.").to_owned(), Some(Tone::Good)),
        (false, None) => answer.say(format!("{said}."), Some(Tone::Bad)),
        (false, Some(since)) if new == open.len() => answer.say(
            tr!(
                "{slowdowns}, found since {moment}.",
                slowdowns = said,
                moment = utc(since)
            ),
            Some(Tone::Bad),
        ),
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

/// Reports that no series was checked, which must not look like a good result.
fn none(since_unix_ms: Option<u64>) -> String {
    match since_unix_ms {
        None => tr!("There is no such series.").to_owned(),
        Some(since) => tr!(
            "No such series has a run since {moment}.",
            moment = utc(since)
        ),
    }
}

fn point(listed: &ListedSeries) -> Option<String> {
    let change = listed.change.as_ref()?;
    Some(change_in_words(&listed.series, change))
}

/// Describes a change with its series, its events and where to look.
fn change_in_words(series: &StoredSeries, change: &SeriesChange) -> String {
    tr!(
        "{change}. {device}; {events}. assay series {key}",
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

/// Returns rows under the headings of their devices.
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

/// Names the device, with the project if it is not the default one.
fn titled(series: &StoredSeries) -> String {
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

/// Returns the state of a change in a word.
fn state(change: &SeriesChange) -> String {
    let word = match (change.accepted, change.turn) {
        (true, _) => ACCEPTED,
        (false, Turn::Slower) => OPEN,
        (false, Turn::Faster) => Turn::Faster.name(),
    };
    translated(word).to_owned()
}

/// Returns one series: its current state, its runs as a chart, its changes with their events.
pub fn trend(
    series: &StoredSeries,
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
    if points.len() > 1 {
        let mut drawn = Section::new("trend", tr!("Runs"));
        drawn.charts(&[course::draw_trend(series, points, changes)]);
        document.push(drawn);
    }
    document.push(all_changes(series, changes, opinions));
    document.push(last_runs(series, points));
    document
}

fn answer_trend(series: &StoredSeries, changes: &[SeriesChange], answer: &mut Section) {
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

fn all_changes(series: &StoredSeries, changes: &[SeriesChange], opinions: &[Opinion]) -> Section {
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

/// Number of runs in the table of a trend.
const LAST: usize = 10;

fn last_runs(series: &StoredSeries, points: &[SeriesPoint]) -> Section {
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

/// Returns new changes as the text of a mail, whose subject is the title.
pub fn news(new: &[(StoredSeries, SeriesChange)], since_unix_ms: Option<u64>) -> Document {
    let slower = |(_, change): &&(StoredSeries, SeriesChange)| change.is_open();
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
                .map(|(series, change)| change_in_words(series, change))
                .collect(),
        );
        document.push(section);
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal::{Style, write};
    use crate::render::{Form, write_mail};
    use assay_model::figures::{Better, ChangeSide, CircumstanceChange, OpinionState, Unit};

    const DAY_MS: u64 = 86_400_000;
    /// Start of the first run: 2026-03-01.
    const FIRST_MS: u64 = 20_513 * DAY_MS;

    fn series(key: &str, job: &str) -> StoredSeries {
        StoredSeries {
            key: key.to_owned(),
            project: "default".to_owned(),
            model: "eMMC DG4032, 29.1 GiB".to_owned(),
            unit: String::new(),
            target: "board-7".to_owned(),
            job: job.to_owned(),
            job_hash: "0123456789ab".to_owned(),
            condition: String::new(),
            metric: "read_iops".to_owned(),
            label: "device".to_owned(),
            unit_of_measure: Unit::Iops,
            better: Some(Better::Higher),
            primary: true,
            tail: false,
            runs: 12,
            first_unix_ms: FIRST_MS,
            last_unix_ms: FIRST_MS + 11 * DAY_MS,
            last_centre: 5200.0,
        }
    }

    fn change(turn: Turn, accepted: bool) -> SeriesChange {
        SeriesChange {
            run: "night08".to_owned(),
            before_run: "night07".to_owned(),
            started_unix_ms: FIRST_MS + 8 * DAY_MS,
            found_unix_ms: FIRST_MS + 10 * DAY_MS,
            turn,
            effect_percent: Some(if turn == Turn::Slower { -8.04 } else { 9.1 }),
            effect_interval: Some((-8.9, -7.1)),
            before: ChangeSide {
                runs: 8,
                centre: 5650.0,
            },
            after: ChangeSide {
                runs: 4,
                centre: 5200.0,
            },
            p: 0.000_002,
            events: vec![CircumstanceChange {
                circumstance: "firmware".to_owned(),
                before: "3.1\u{1b}[2J".to_owned(),
                after: "3.2".to_owned(),
            }],
            method: "e-divisive/1".to_owned(),
            accepted,
        }
    }

    fn listed(key: &str, job: &str, change: Option<SeriesChange>, is_new: bool) -> ListedSeries {
        ListedSeries {
            series: series(key, job),
            change,
            is_new,
        }
    }

    fn points() -> Vec<SeriesPoint> {
        let point = |night: u64| {
            let centre = if night < 8 { 5650.0 } else { 5200.0 } + (night % 3) as f64 * 9.0;
            SeriesPoint {
                run: format!("night{night:02}"),
                started_unix_ms: FIRST_MS + night * DAY_MS,
                n: 3,
                centre,
                samples: vec![centre; 3],
            }
        };
        (0..12).map(point).collect()
    }

    fn terminal(document: &Document) -> String {
        let style = Style {
            color: false,
            width: 100,
            ascii: false,
        };
        let mut out = Vec::new();
        write(document, style, &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn new_slowdowns_come_first() {
        let all = [
            listed("aaaa00000001", "rand-read-4k", None, false),
            listed(
                "aaaa00000002",
                "seq-read-1m",
                Some(change(Turn::Slower, false)),
                false,
            ),
            listed(
                "aaaa00000003",
                "rand-read-8k",
                Some(change(Turn::Slower, false)),
                true,
            ),
            listed(
                "aaaa00000004",
                "rand-read-16k",
                Some(change(Turn::Slower, true)),
                false,
            ),
            listed(
                "aaaa00000005",
                "rand-read-1m",
                Some(change(Turn::Faster, false)),
                false,
            ),
        ];
        let text = terminal(&list(&all, Some(FIRST_MS)));
        let (_, answer) = text.split_once("\nAnswer\n").unwrap();
        let place = |word: &str| answer.find(word).unwrap();
        assert!(place("2 slowdowns") < place("rand-read-8k: "));
        assert!(place("rand-read-8k: ") < place("seq-read-1m: "));
        assert!(!text.contains('\u{1b}'), "{text}");
        insta::assert_snapshot!(text);
        let quiet = terminal(&list(&all[..1], None));
        assert!(quiet.contains("No open slowdowns."), "{quiet}");
        let new = terminal(&list(&all[2..3], Some(FIRST_MS)));
        assert!(new.contains("nobody accepted, found since"), "{new}");
        let nothing = terminal(&list(&[], None));
        assert!(nothing.contains("There is no such series."), "{nothing}");
        let nothing = terminal(&list(&[], Some(FIRST_MS)));
        assert!(nothing.contains("has a run since 2026-03-01"), "{nothing}");
    }

    #[test]
    fn a_trend_shows_its_change_with_the_event_and_what_was_said() {
        let accepted = Opinion {
            series: "aaaa00000002".to_owned(),
            run: "night08".to_owned(),
            state: OpinionState::Accepted,
            note: "new firmware".to_owned(),
            author: "kim".to_owned(),
            at_unix_ms: FIRST_MS + 12 * DAY_MS,
        };
        let changes = [change(Turn::Slower, true)];
        let of = series("aaaa00000002", "seq-read-1m");
        let document = trend(&of, &points(), &changes, &[accepted]);
        insta::assert_snapshot!(terminal(&document));
    }

    #[test]
    fn news_fit_a_mail() {
        let new = [
            (
                series("aaaa00000002", "seq-read-1m"),
                change(Turn::Slower, false),
            ),
            (
                series("aaaa00000005", "rand-read-1m"),
                change(Turn::Faster, false),
            ),
        ];
        let mut out = Vec::new();
        write_mail(&news(&new, Some(FIRST_MS)), Form::Text, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 72));
        insta::assert_snapshot!(text);
        let mut out = Vec::new();
        write_mail(&news(&[], None), Form::Text, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().starts_with("No new change"));
    }
}
