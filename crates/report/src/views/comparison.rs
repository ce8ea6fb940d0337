//! Comparison of two sides: the verdict first, a row per metric, notes below.

use super::rows::{compact, exploratory_tally, footnote, heads, is_marked, kept_by_label, n, name};
use super::run::in_short;
use super::run::page::{drawn, storage};
use super::{provenance, requirements};
use crate::charts::comparison::Gallery;
use crate::document::{Block, Cell, Column, Detail, Document, Keep, Section, Table, TableRow};
use crate::results::comparison::{Compared, SharedNotes, Side, drift};
use crate::results::key_figures::KeyFigures;
use crate::results::names::ComparedSource;
use crate::results::summary::Summary;
use crate::results::{describe, names, warnings};
use crate::words::{NameValue, Tone, clean, enumerate, labels, percent_points, utc};
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::Verdict;
use assay_model::run::Unit;
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::units::MIN_UNITS;
use assay_stats::verdict::{Note, Summary as SideSummary, VerdictRow};
use std::collections::BTreeSet;

const METHOD: &str = key!(
    "Each trial gives one value per metric; centres are geometric means, a change is that of the \
     figure itself. Verdicts and p hold for all metrics together. Intervals are those that decided: \
     they leave out 0 for faster and slower, and lie within the margin for equivalent."
);

/// Maximum number of notes in a brief document.
const NOTES: usize = 6;
/// Maximum number of exploratory metrics in a brief document.
const EXPLORED: usize = 6;
/// Maximum number of metrics that a note names.
const NAMES: usize = 3;

/// Returns a comparison for a terminal.
pub fn document(compared: &Compared<'_>, detail: Detail) -> Document {
    let mut document = Document::new(title(compared));
    let mut legend = Section::new("sides", "");
    legend.facts(legend_of(compared));
    document.push(legend);
    for section in metrics(compared, detail, Keep::Spare) {
        document.push(section);
    }
    document.push(required(compared));
    document.push(notes(compared, detail));
    if detail == Detail::Full {
        document.push(kinds_of_work(compared));
        document.push(rules(compared));
    }
    let mut answer = Section::new("verdict", "");
    answer.say(terms(compared), Some(Tone::Soft));
    answer.say(headline(compared), Some(Tone::Strong));
    document.push(answer);
    document
}

/// Maximum number of metrics in a brief answer whether B may replace A.
const DECISIVE: usize = 6;
/// Maximum number of notes in it.
const DECISIVE_NOTES: usize = 2;

/// Returns the answer whether B may replace A, for a terminal: the kinds of work by their result, the
/// metrics that do not pass, and the answer as the last line.
pub fn replacement(compared: &Compared<'_>) -> Document {
    let mut document = Document::new(title(compared));
    let mut section = Section::new("parts", "");
    section.facts(legend_of(compared));
    section.facts(kinds_by_result(compared));
    document.push(section);
    let lines = compared.comparison.lines.iter();
    let primary: Vec<&VerdictRow> = lines.filter(|line| line.primary).collect();
    let fails = compared.qualified(Qualification::Fail);
    let decisive: Vec<&VerdictRow> = fails
        .chain(compared.qualified(Qualification::Inconclusive))
        .collect();
    let (shown, more) = decisive.split_at(decisive.len().min(DECISIVE));
    let mut metrics = Section::new("metrics", "");
    if !shown.is_empty() {
        let rows = shown
            .iter()
            .map(|line| row(compared, line, name(line, &primary)));
        let mut columns = columns(compared, Keep::IfRoom);
        for (column, head) in columns[2..4].iter_mut().zip(heads(compared)) {
            column.head = head;
        }
        metrics.table(Table {
            columns,
            rows: rows.collect(),
        });
    }
    if !compared.requirements.is_empty() {
        metrics.table(requirements::table(&compared.requirements));
    }
    document.push(metrics);
    let mut ending = Section::new("verdict", "");
    let notes = lost(compared).into_iter().chain(missing(compared));
    let mut notes: Vec<String> = notes.chain(compared.told_warnings()).collect();
    let left_out = notes.split_off(notes.len().min(DECISIVE_NOTES)).len();
    let left_out = [
        (!more.is_empty()).then(|| counted!(more.len(), "{n} more metric", "{n} more metrics")),
        (left_out > 0).then(|| counted!(left_out, "{n} more note", "{n} more notes")),
    ];
    let left_out: Vec<String> = left_out.into_iter().flatten().collect();
    if !left_out.is_empty() {
        let more = left_out.join(", ");
        notes.push(tr!("{more}: --explain shows all", more));
    }
    ending.list(notes);
    ending.say(terms(compared), Some(Tone::Soft));
    let tone = match compared.replaces() {
        Qualification::Fail => Tone::Bad,
        Qualification::Pass | Qualification::Inconclusive => Tone::Strong,
    };
    ending.say(headline(compared), Some(tone));
    document.push(ending);
    document
}

/// Returns the kinds of work by their result: a kind with a failed metric fails, else one with an
/// open metric is open. Each has the number of its metrics with that result.
fn kinds_by_result(compared: &Compared<'_>) -> Vec<(&'static str, String)> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let groups = compared.jobs().grouped(lines, |line| &line.metric);
    let results = [
        (tr!("Fail"), Qualification::Fail),
        (tr!("Open"), Qualification::Inconclusive),
        (tr!("Pass"), Qualification::Pass),
    ];
    let count = |lines: &[&VerdictRow], one| {
        lines
            .iter()
            .filter(|line| line.qualification == one)
            .count()
    };
    let worst = |lines: &[&VerdictRow]| results.iter().position(|(_, one)| count(lines, *one) > 0);
    let facts = results.iter().enumerate().map(|(index, (word, one))| {
        let kinds = groups
            .iter()
            .filter(|(_, lines)| worst(lines) == Some(index));
        let kinds = kinds.map(|(title, lines)| {
            let (n, of) = (count(lines, *one), lines.len());
            tr!("{title} {n} of {of}", title, n, of)
        });
        (*word, kinds.collect::<Vec<_>>().join(", "))
    });
    facts.filter(|(_, kinds)| !kinds.is_empty()).collect()
}

/// Returns the record of a decision whether B may replace A, with room for what is not known and for
/// a signature.
fn record(compared: &Compared<'_>) -> Section {
    let mut section = Section::new("record", tr!("Record of the decision"));
    let sides = [&compared.a_sources, &compared.b_sources];
    let runs = sides.map(|sources| {
        sources
            .iter()
            .filter_map(|source| source.run)
            .collect::<Vec<_>>()
    });
    let devices = runs.each_ref().map(|runs| {
        let device = runs.first().and_then(|run| run.header.storage.device());
        device.map_or_else(Vec::new, labels::device_facts)
    });
    let units = runs.each_ref().map(|runs| {
        let units = runs.iter().map(|run| Unit::of(&run.header).to_string());
        units
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(", ")
    });
    let own = |name: &str| {
        let of = |facts: &Vec<NameValue>| {
            let found = facts.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        devices.each_ref().map(of)
    };
    let dates = runs.each_ref().map(|runs| {
        let last = runs.iter().map(|run| run.header.started_unix_ms).max();
        last.map(utc).unwrap_or_default()
    });
    let mut rows = vec![(tr!("unit"), units)];
    for name in [
        tr!("kind"),
        tr!("maker"),
        tr!("model"),
        tr!("capacity"),
        tr!("firmware"),
        tr!("made"),
    ] {
        rows.push((name, own(name)));
    }
    rows.push((tr!("lot"), Default::default()));
    rows.push((tr!("runs"), compared.known_by()));
    rows.push((tr!("measured on"), dates));
    section.table(Table {
        columns: std::iter::once("")
            .chain(compared.names.iter().map(String::as_str))
            .map(Column::text)
            .collect(),
        rows: rows
            .into_iter()
            .map(|(name, [a, b])| TableRow::new([name.to_owned(), a, b].map(Cell::Text).into()))
            .collect(),
    });
    let margin = percent_points(compared.options.margin);
    let [a, b] = &compared.names;
    let limits = match (compared.margins.len(), compared.requirements.len()) {
        (0, 0) => tr!("each metric at most {margin} % worse than {a}", a, margin),
        (own, required) => tr!(
            "each metric at most {margin} % worse than {a}; {own} with a margin of their own; {required} limits on {b} alone",
            a,
            b,
            margin,
            own,
            required
        ),
    };
    let margins = compared.margins.iter();
    let margins = margins.map(|(metric, margin)| format!("{metric} {} %", percent_points(*margin)));
    let margins: Vec<String> = margins.map(|margin| clean(&margin)).collect();
    let line = "_".repeat(30);
    section.facts([
        (tr!("Limits"), limits),
        (tr!("Margins of their own"), margins.join(", ")),
        (tr!("Decided by"), line.clone()),
        (tr!("Date and signature"), line),
    ]);
    section
}

/// Returns a comparison for a mail, with the provenance of both sides.
pub fn mail(compared: &Compared<'_>) -> Document {
    let mut document = Document::new(title(compared));
    let mut answer = answer(compared);
    answer.say(terms(compared), None);
    document.push(answer);
    for section in metrics(compared, Detail::Brief, Keep::IfRoom) {
        document.push(section);
    }
    document.push(required(compared));
    document.push(all_notes(compared, true));
    for section in provenance::of_both(compared) {
        document.push(section);
    }
    document.push(rules(compared));
    document
}

/// Returns a comparison for a workbook: all metrics in one table.
pub(crate) fn workbook(compared: &Compared<'_>) -> Document {
    let lines = compared.comparison.lines.iter();
    let groups = compared.jobs().grouped(lines, |line| &line.metric);
    let lines = groups.into_iter().flat_map(|(_, group)| group);
    let (deciding, exploratory): (Vec<&VerdictRow>, Vec<&VerdictRow>) =
        lines.partition(|line| line.primary);
    let composite = compared.comparison.composite.iter();
    let lines = deciding.into_iter().chain(composite).chain(exploratory);
    let lines = lines.map(|line| row(compared, line, clean(translated(&line.metric))));
    let mut document = Document::new(title(compared));
    document.push(answer(compared));
    if compared.qualify {
        document.push(record(compared));
    }
    document.push(required(compared));
    let mut metrics = Section::new("metrics", tr!("Metrics"));
    metrics.table(Table {
        columns: columns(compared, Keep::IfRoom),
        rows: lines.collect(),
    });
    document.push(metrics);
    document.push(notes(compared, Detail::Full));
    document.push(rules(compared));
    document
}

/// Returns all known facts about the sources of a comparison, side by side.
pub(crate) fn sources(compared: &Compared<'_>) -> Table {
    let sources: Vec<(&str, &ComparedSource<'_>)> = compared.named_sources().collect();
    let told: Vec<Vec<SourceFact>> = sources.iter().map(|(_, source)| told_by(source)).collect();
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (part, name, _) in told.iter().flatten() {
        if !names.contains(&(*part, *name)) {
            names.push((*part, *name));
        }
    }
    let rows = names.into_iter().map(|(part, name)| {
        let values = told.iter().map(|facts| {
            let mut facts = facts.iter();
            let found = facts.find(|(of, known, _)| (*of, *known) == (part, name));
            found.map_or("", |(.., value)| value.as_str())
        });
        let values: Vec<&str> = values.collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        let differs = if differs { tr!("differs") } else { "" };
        let cells = [part, name, differs].into_iter().chain(values);
        TableRow::new(cells.map(Cell::from).collect())
    });
    let heads = ["", "", tr!("Differs")].map(str::to_owned).into_iter();
    let names = sources
        .iter()
        .map(|(side, source)| format!("{side}: {}", source.known_by()));
    Table {
        columns: heads.chain(names).map(Column::text).collect(),
        rows: rows.collect(),
    }
}

/// Part of a source, name of a fact, value.
type SourceFact = (&'static str, &'static str, String);

fn told_by(source: &ComparedSource<'_>) -> Vec<SourceFact> {
    let Some(run) = source.run else {
        let told = source.circumstances.iter().map(|line| clean(line));
        let told = told.collect::<Vec<_>>().join("; ");
        let elsewhere = tr!("Elsewhere");
        return vec![
            (elsewhere, tr!("source"), clean(source.name)),
            (elsewhere, tr!("details"), told),
        ];
    };
    let storage = &run.header.storage;
    let device = storage.device().map_or_else(Vec::new, labels::device_facts);
    let parts = [
        (tr!("Run"), describe::run_facts(&Summary::of(run))),
        (tr!("Storage"), labels::path_facts(storage)),
        (tr!("Device"), device),
        (tr!("Machine"), labels::system_facts(run)),
    ];
    let facts = parts.into_iter().flat_map(|(part, facts)| {
        let facts = facts.into_iter();
        facts.map(move |(name, value)| (part, name, value))
    });
    facts.collect()
}

/// Names the device, if both sides have the same one, and both sides.
pub fn title(compared: &Compared<'_>) -> String {
    let [of_a, of_b] = [&compared.a_sources, &compared.b_sources].map(|sources| devices(sources));
    let [a, b] = match compared.names == names::letters() {
        true => compared.known_by(),
        false => compared.names.clone(),
    };
    match (of_a, of_b) {
        (Some(of_a), Some(device)) if of_a == device => {
            tr!("{device}: {b} compared with {a}", device, b, a)
        }
        _ => tr!("{b} compared with {a}", b, a),
    }
}

/// Returns the devices of a side, each once; `None` if one is not known.
fn devices(sources: &[ComparedSource<'_>]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for source in sources {
        let name = labels::name(&source.run?.header.storage);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the conclusion and the identities of both sides.
pub fn answer(compared: &Compared<'_>) -> Section {
    let mut section = Section::new("verdict", "");
    section.say(headline(compared), Some(Tone::Strong));
    section.facts(legend_of(compared));
    section
}

/// Returns the identities of both sides.
fn legend_of(compared: &Compared<'_>) -> [(String, String); 2] {
    let [a, b] = compared.names.clone();
    [
        (a, side(&compared.a_sources)),
        (b, side(&compared.b_sources)),
    ]
}

/// Lists device, name and time of each source of a side.
pub(super) fn side(sources: &[ComparedSource<'_>]) -> String {
    let sources = sources.iter().map(|source| {
        let name = source.known_by();
        match source.run {
            Some(run) => tr!(
                "{device}, run {name}, {when}",
                device = labels::name(&run.header.storage),
                name,
                when = utc(run.header.started_unix_ms)
            ),
            None => tr!("{name}, made elsewhere", name),
        }
    });
    sources.collect::<Vec<_>>().join("; ")
}

/// Returns the conclusion in a sentence or two, safe to display.
pub fn headline(compared: &Compared<'_>) -> String {
    let words = judged(compared);
    let lost = compared.lost_data().filter(|_| !compared.qualify);
    clean(&match lost {
        Some(lost) => format!("{lost} {words}"),
        None => words,
    })
}

fn judged(compared: &Compared<'_>) -> String {
    match compared.qualify {
        true => compared.answer(),
        false => compared.conclusion(),
    }
}

/// Returns the condition of the word that the margin decides.
fn asked(compared: &Compared<'_>) -> String {
    let margin = percent_points(compared.options.margin);
    match compared.qualify {
        true => tr!(
            "pass: at most {margin} % slower at {confidence} % confidence",
            margin,
            confidence = percent_points(1.0 - compared.options.alpha)
        ),
        false => tr!("equivalent = within {margin} %", margin),
    }
}

/// Describes what was measured, if it is one label, and the margin in a line.
pub(super) fn label_and_margin(compared: &Compared<'_>) -> String {
    let measured = common_label(compared);
    let measured = measured.map(|measured| tr!("measured {measured}", measured));
    let words: Vec<String> = measured.into_iter().chain([asked(compared)]).collect();
    words.join("; ")
}

/// Describes the question and the number of trials in a line.
fn terms(compared: &Compared<'_>) -> String {
    let numbers = match common_numbers(compared) {
        Some((a, b)) if compared.is_of_means() => {
            Some(tr!("by {a} and {b}", a, b = compared.counted(b)))
        }
        Some((a, b)) if a == b => Some(tr!("{trials} a side", trials = compared.counted(a))),
        Some((a, b)) => Some(tr!("{a} and {b}", a, b = compared.counted(b))),
        None => range_of_numbers(compared),
    };
    let words = numbers.into_iter().chain([label_and_margin(compared)]);
    let words: Vec<String> = words.collect();
    tr!(
        "{terms}; the verdict holds for {scope}",
        terms = words.join("; "),
        scope = compared.comparison.scope
    )
}

/// Returns the numbers of values of A and of B, if they are equal for all deciding metrics.
fn common_numbers(compared: &Compared<'_>) -> Option<(usize, usize)> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let mut numbers = lines.map(|line| (n(&line.a), n(&line.b)));
    let first = numbers.next()?;
    numbers.all(|other| other == first).then_some(first)
}

/// Returns the label of all deciding metrics; `None` if they differ or it is not known.
pub(super) fn common_label(compared: &Compared<'_>) -> Option<String> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let mut labels = lines.map(|line| compared.measured(&line.metric));
    let first = labels.next()??;
    let all = labels.all(|label| label.as_ref() == Some(&first));
    all.then_some(first)
}

/// Returns the smallest and the largest number of values of a side.
fn range_of_numbers(compared: &Compared<'_>) -> Option<String> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let numbers: Vec<usize> = lines.flat_map(|line| [n(&line.a), n(&line.b)]).collect();
    let (low, high) = (numbers.iter().min()?, numbers.iter().max()?);
    let high = compared.counted(*high);
    Some(tr!("{low} to {high} a side", low, high))
}

/// Returns the deciding metrics, then the exploratory ones; if brief, only exploratory metrics that
/// differ.
pub fn metrics(compared: &Compared<'_>, detail: Detail, interval: Keep) -> Vec<Section> {
    let lines = compared.comparison.lines.iter();
    let (primary, exploratory): (Vec<&VerdictRow>, Vec<&VerdictRow>) =
        lines.partition(|line| line.primary);
    let composite = compared.comparison.composite.as_ref();
    let composite = composite.filter(|_| !compared.qualify);
    let mut deciding = Section::new("metrics", tr!("Main figures (geometric means)"));
    let is_compact = detail == Detail::Brief && !compared.qualify;
    let add = |section: &mut Section, lines: &[&VerdictRow], composite: Option<&VerdictRow>| {
        if is_compact {
            let tables = compact(compared, lines, composite).into_iter();
            tables.for_each(|table| section.table(table));
        } else {
            let mut table = table(compared, lines, (detail, interval));
            let composite = composite.iter();
            let rows = composite.map(|line| row(compared, line, clean(translated(&line.metric))));
            table.rows.extend(rows);
            section.table(table);
        }
    };
    add(&mut deciding, &primary, composite);
    // A terminal shows only deciding metrics, and those that would decide with another label.
    let is_told = |line: &&&VerdictRow| {
        let differs = matches!(line.verdict, Verdict::Faster(_) | Verdict::Slower(_));
        differs && interval == Keep::IfRoom || compared.is_kept_by_label(line)
    };
    let told = exploratory.iter().filter(is_told).copied();
    let told: Vec<&VerdictRow> = match detail {
        Detail::Brief => told.take(EXPLORED).collect(),
        Detail::Full => exploratory.clone(),
    };
    let footnote = footnote(compared, &[&primary[..], &told].concat());
    if let Some(footnote) = footnote.filter(|_| is_compact) {
        deciding.say(footnote, Some(Tone::Soft));
    }
    if exploratory.is_empty() || compared.qualify {
        return vec![deciding];
    }
    let title = tr!("Other figures (not part of the verdict)");
    let mut explored = Section::new("exploratory", title);
    add(&mut explored, &told, None);
    if let Some(tally) = exploratory_tally(compared) {
        let tally = match detail {
            Detail::Brief if interval == Keep::Spare => tr!("{tally}; --explain lists them", tally),
            _ => tally,
        };
        explored.say(tally, Some(Tone::Soft));
    }
    vec![deciding, explored]
}

fn n_of(side: &str) -> String {
    tr!("n of {side}", side)
}

/// Returns the columns of the table; [`row`] has their cells, in the same order.
fn columns(compared: &Compared<'_>, interval: Keep) -> Vec<Column> {
    let mut columns = vec![
        Column::text(tr!("metric")),
        Column::text(tr!("decides")).keep(Keep::Workbook),
        Column::number(&compared.names[0]),
        Column::number(&compared.names[1]),
        Column::number(tr!("change")),
    ];
    match compared.qualify {
        true => columns.extend([
            Column::number(tr!("at worst")).keep(interval),
            Column::number(tr!("limit")).keep(interval),
            Column::text(tr!("result")),
        ]),
        false => columns.extend([
            Column::number(tr!("interval")).keep(interval),
            Column::text(tr!("verdict")),
        ]),
    }
    columns.extend([
        Column::number(n_of(&compared.names[0])).keep(Keep::Workbook),
        Column::number(n_of(&compared.names[1])).keep(Keep::Workbook),
        Column::text(tr!("measured")).keep(Keep::Workbook),
        Column::number(tr!("p, adjusted")).keep(Keep::Workbook),
        Column::text(tr!("because")).keep(Keep::Workbook),
    ]);
    columns
}

/// Returns the table of metrics, with the titles of their groups if there are several.
fn table(
    compared: &Compared<'_>,
    lines: &[&VerdictRow],
    (detail, interval): (Detail, Keep),
) -> Table {
    let shared = SharedNotes::of(compared.comparison, &compared.names);
    let jobs = compared.jobs();
    let groups = jobs.grouped(lines.iter().copied(), |line| &line.metric);
    let several = groups.len() > 1 && detail == Detail::Full;
    let mut rows = Vec::new();
    for (title, group) in groups {
        rows.extend(several.then(|| TableRow::heading(title)));
        for line in group {
            let note = match detail {
                Detail::Full => behind(compared, line, &shared),
                Detail::Brief => kept_by_label(compared, line).unwrap_or_default(),
            };
            rows.push(TableRow {
                note: (!note.is_empty()).then_some(note),
                ..row(compared, line, name(line, lines))
            });
        }
    }
    Table {
        columns: columns(compared, interval),
        rows,
    }
}

fn row(compared: &Compared<'_>, line: &VerdictRow, name: String) -> TableRow {
    let figure = |side: &Option<SideSummary>| {
        // The composite has no unit and no meaningful centre.
        let side = side.as_ref().filter(|_| !line.unit.is_empty());
        side.map_or(Cell::Unknown, |side| {
            Cell::quantity(side.centre, &line.unit)
        })
    };
    let p = line.p_adjusted.filter(|p| p.is_finite());
    let because: Vec<String> = line.notes.iter().map(|note| compared.told(note)).collect();
    let mut cells = vec![
        name.into(),
        if line.primary { tr!("yes") } else { tr!("no") }.into(),
        figure(&line.a),
        figure(&line.b),
        Cell::change(line.change),
    ];
    match compared.qualify {
        true => cells.extend([
            percent_cell(Compared::at_worst(line)),
            percent_cell(compared.limit(line)),
            Cell::Verdict(compared.word_for_people(line)),
        ]),
        false => cells.extend([
            Cell::interval(line.change),
            Cell::Verdict(compared.word_for_people(line)),
        ]),
    }
    cells.extend([
        Cell::Count(n(&line.a)),
        Cell::Count(n(&line.b)),
        compared.measured(&line.metric).unwrap_or_default().into(),
        p.map_or(Cell::Empty, Cell::Probability),
        because.join("; ").into(),
    ]);
    TableRow::new(cells)
}

fn percent_cell(percent: Option<f64>) -> Cell {
    percent.map_or(Cell::Empty, |percent| format!("{percent:+.1} %").into())
}

/// Returns the requirements on side B beside the comparison.
fn required(compared: &Compared<'_>) -> Section {
    let mut section = Section::new(
        "requirements",
        tr!("Requirements on {b}", b = compared.names[1]),
    );
    if !compared.requirements.is_empty() {
        section.table(requirements::table(&compared.requirements));
    }
    section
}

/// Returns the reasons of one verdict that are not shared by all.
fn behind(compared: &Compared<'_>, line: &VerdictRow, shared: &SharedNotes) -> String {
    let mut words = Vec::new();
    if common_numbers(compared).is_none() {
        let (a, b) = (n(&line.a), n(&line.b));
        words.push(tr!("n {a} and {b}", a, b));
    }
    let is_told = line.notes.iter().any(Note::is_on_label);
    let common = common_label(compared);
    let measured = compared.measured(&line.metric);
    if let Some(measured) = measured.filter(|label| !is_told && Some(label) != common.as_ref()) {
        words.push(tr!("measured {measured}", measured));
    }
    words.extend(outliers(compared, &line.notes));
    let notes = line.notes.iter();
    let notes = notes.filter(|note| !matches!(note, Note::Outlier(..)));
    let notes: Vec<Note> = notes.cloned().collect();
    words.extend(shared.not_among(&notes));
    clean(&words.join("; "))
}

/// Describes outlying trials in one clause.
fn outliers(compared: &Compared<'_>, notes: &[Note]) -> Option<String> {
    let trials = notes.iter().filter_map(|note| match note {
        Note::Outlier(side, trial) => Some(format!("{} {trial}", compared.name_of(*side))),
        _ => None,
    });
    let trials: Vec<String> = trials.collect();
    (!trials.is_empty()).then(|| {
        tr!(
            "kept, though far off the others: {trials}",
            trials = enumerate(&trials)
        )
    })
}

/// Returns the notes on several or all metrics; if brief, only the first few, including those on
/// single metrics.
pub fn notes(compared: &Compared<'_>, detail: Detail) -> Section {
    let mut section = all_notes(compared, detail == Detail::Brief);
    if let (Detail::Brief, Some(Block::List(notes))) = (detail, section.blocks.first_mut()) {
        let left_out = notes.len().saturating_sub(NOTES);
        notes.truncate(NOTES);
        if left_out > 0 {
            let more = counted!(left_out, "{n} more note", "{n} more notes");
            notes.push(tr!("{more}: --explain shows all", more));
        }
    }
    section
}

/// Returns the notes on all metrics; with `singly`, also those on single metrics.
fn all_notes(compared: &Compared<'_>, singly: bool) -> Section {
    let mut section = Section::new("notes", tr!("Notes"));
    let shared = SharedNotes::of(compared.comparison, &compared.names);
    let of_all = compared.comparison.notes.iter();
    let between = of_all.filter(|note| matches!(note, Note::BetweenRuns(..)));
    let mut notes: Vec<String> = between.map(|note| compared.told(note)).collect();
    let first = notes.clone();
    if compared.qualify {
        notes.extend(lost(compared).into_iter().chain(missing(compared)));
    }
    notes.extend(shared.told().map(|note| clean(&note)));
    if singly {
        notes.extend(reasons(compared, &shared));
    }
    let others = compared.told_warnings().into_iter();
    notes.extend(others.filter(|note| !first.contains(note)));
    notes.extend(drift(compared.comparison).map(|drift| clean(&drift)));
    section.list(notes);
    section
}

/// Returns what keeps an answer open beside metrics, safe to display.
fn missing(compared: &Compared<'_>) -> impl Iterator<Item = String> {
    let missing = compared.missing().into_iter();
    missing.map(|(name, why)| clean(&format!("{name}: {why}")))
}

/// Reports lost data, safe to display.
fn lost(compared: &Compared<'_>) -> Option<String> {
    compared.lost_data().map(|lost| clean(&lost))
}

/// Returns the reasons of deciding metrics, each with the metrics that it applies to.
fn reasons(compared: &Compared<'_>, shared: &SharedNotes) -> Vec<String> {
    let lines = compared.comparison.lines.iter();
    let primary: Vec<&VerdictRow> = lines.filter(|line| line.primary).collect();
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for line in &primary {
        // Omitted: outliers that were kept do not change a verdict, the interval shows its distance
        // from the margin, and the footnote of the table tells how a change was computed.
        let is_omitted = |note: &Note| {
            is_marked(note) || matches!(note, Note::Outlier(..) | Note::BeyondMargin(_))
        };
        let notes = line.notes.iter().filter(|note| !is_omitted(note));
        for note in notes.filter(|note| !shared.has(note)) {
            let (note, name) = (compared.told(note), name(line, &primary));
            match reasons.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(name),
                None => reasons.push((note, vec![name])),
            }
        }
    }
    let reasons = reasons.into_iter().map(|(note, mut names)| {
        if names.len() > NAMES {
            let more = names.split_off(NAMES - 1).len();
            names.push(tr!("{more} more", more));
        }
        clean(&format!("{}: {note}", enumerate(&names)))
    });
    reasons.collect()
}

/// Counts verdicts by kind of work.
fn kinds_of_work(compared: &Compared<'_>) -> Section {
    let mut section = Section::new("kinds", tr!("By kind of work"));
    section.facts(compared.dimensions());
    section
}

fn rules(compared: &Compared<'_>) -> Section {
    let mut section = Section::new("method", tr!("Method"));
    section.say(
        tr!(
            "Asked: {question} It holds for {scope}. {method}",
            question = compared.question(),
            scope = compared.comparison.scope,
            method = translated(METHOD)
        ),
        None,
    );
    section
}

/// Returns a comparison for a page: the verdict first, then its basis.
pub(crate) fn page(
    compared: &Compared<'_>,
    a: &Side<'_>,
    b: &Side<'_>,
    gallery: &Gallery,
) -> Document {
    let mut document = Document::new(title(compared));
    let mut verdict = answer(compared);
    verdict.title = tr!("Verdict").to_owned();
    verdict.say(terms(compared), Some(Tone::Soft));
    verdict.charts(gallery.changes.as_slice());
    let notes = notes(compared, Detail::Full).blocks.into_iter();
    let points = notes.flat_map(|block| match block {
        Block::List(points) => points,
        _ => Vec::new(),
    });
    let mut notes: Vec<Block> = points
        .map(|message| Block::Warning {
            message,
            remedy: None,
            severe: false,
        })
        .collect();
    let more = notes.split_off(notes.len().min(NOTES_ON_PAGE));
    verdict.blocks.extend(notes);
    if !more.is_empty() {
        let mut folded = Section::new(
            "notes",
            counted!(more.len(), "{n} more note", "{n} more notes"),
        );
        folded.blocks = more;
        verdict.blocks.push(Block::Details(folded));
    }
    document.push(verdict);
    if compared.qualify {
        document.push(record(compared));
    }
    document.push(required(compared));
    let mut metrics = metrics(compared, Detail::Full, Keep::IfRoom).into_iter();
    metrics
        .next()
        .into_iter()
        .for_each(|deciding| document.push(deciding));
    let marks = match compared.is_of_means() {
        true => MARKS_OF_MEANS,
        false => MARKS,
    };
    let title = tr!("Both sides");
    document.push(drawn("sides", title, translated(marks), &gallery.sides));
    metrics.for_each(|explored| document.push(explored.folded()));
    let latencies = tr!(
        "All completed trials of a side together. Lines are solid for {a} and dashed for {b}.",
        a = compared.names[0],
        b = compared.names[1]
    );
    let title = tr!("Latencies over each other");
    document.push(drawn("latency", title, &latencies, &gallery.latencies));
    document.push(sides(compared, a, b).folded());
    document.push(limits(compared).folded());
    document
}

/// Number of notes on a page that are not folded.
const NOTES_ON_PAGE: usize = 3;

const MARKS_OF_MEANS: &str = key!(
    "Every unit, or run where one device is compared, is a mark, the mean of its trials; the bar is the 95 % interval of the geometric mean."
);
const MARKS: &str =
    key!("Every trial is a mark; the bar is the 95 % interval of the geometric mean.");
/// Describes each run in short, with the storage and machine on which it was measured.
fn sides(compared: &Compared<'_>, a: &Side<'_>, b: &Side<'_>) -> Section {
    let mut section = Section::new("compared", tr!("What was compared"));
    if a.runs.is_empty() && b.runs.is_empty() {
        return section;
    }
    for (name, side) in compared.names.iter().zip([a, b]) {
        let title = format!("{name}: {}", clean(side.name));
        section.heading(title);
        if side.runs.is_empty() {
            let unknown = tr!("Results that were made elsewhere: nothing is known of the machine.");
            section.say(unknown, None);
        }
        for run in &side.runs {
            let summary = Summary::of(run);
            let digest = KeyFigures::of(&summary, &warnings::collect(&summary));
            section.blocks.extend(in_short(&digest).blocks);
            section.blocks.push(Block::Details(Section {
                title: tr!("Device, run and machine").to_owned(),
                ..storage(&summary)
            }));
        }
    }
    section
}

/// Describes the rules of the verdicts and the meaning of the labels.
fn limits(compared: &Compared<'_>) -> Section {
    let fewest = match compared.is_of_means() {
        true => MIN_UNITS,
        false => compared.options.min_trials,
    };
    let mut section = Section::new("method", tr!("Method and limits"));
    section.list(vec![
        tr!("A change is that of the figure itself, of geometric means. Higher is better for rates, lower for times. The verdict says which.").to_owned(),
        tr!("A metric is faster or slower only if its test holds at the level that all metrics together are held to, and equivalent only if its whole interval lies within the margin. Everything else is no conclusion, which does not say that there is no difference.").to_owned(),
        tr!("Verdicts need at least {n} a side. Metrics that decide are named before they are looked at; the others are exploratory.", n = compared.counted(fewest)),
        tr!("Two sides that were measured one after the other differ by heat and wear, too: trials in turn (assay sweep) tell them apart.").to_owned(),
    ]);
    section.blocks.extend(provenance::label_meanings());
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::Sides;

    #[test]
    fn a_mark_has_its_footnote_without_other_figures() {
        let mut sides = Sides::new();
        sides.comparison.lines.retain(|line| line.primary);
        sides.comparison.lines[0].notes.push(Note::WithoutDrift);
        let sections = metrics(&sides.compared(), Detail::Brief, Keep::Spare);
        let said = sections[0]
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Paragraph { text, .. } if text.starts_with("* ")));
        assert!(said, "{:?}", sections[0].blocks);
    }
}
