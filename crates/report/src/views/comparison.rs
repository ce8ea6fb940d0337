//! Two sides compared: the verdict first, a row per metric, notes below.

use super::provenance;
use crate::document::{Block, Cell, Column, Detail, Document, Keep, Section, Table, TableRow};
use crate::results::comparison::{Compared, ComparedSource, SharedNotes, drift, tallied};
use crate::results::jobs;
use crate::words::format::{percent_points, utc};
use crate::words::identity;
use crate::words::style::Tone;
use crate::words::text::{clean, enumerate};
use assay_lang::{counted, key, tr, translated};
use assay_model::verdict::Verdict;
use assay_stats::verdict::line::{Summary, VerdictRow};
use assay_stats::verdict::note::Note;

const METHOD: &str = key!(
    "Each trial gives one value per metric; centres are geometric means, a \
                      change is that of the figure itself. Intervals are unadjusted, verdicts hold for \
                      all metrics together."
);

/// Notes of a brief document.
const NOTES: usize = 6;
/// Exploratory metrics of a brief document.
const EXPLORED: usize = 6;
/// Metrics that one note names.
const NAMES: usize = 3;

/// A comparison for someone at a terminal.
#[must_use]
pub fn document(compared: &Compared<'_>, detail: Detail) -> Document {
    let mut document = Document::new(title(compared));
    let mut answer = answer(compared);
    answer.say(terms(compared), Some(Tone::Soft));
    document.push(answer);
    let interval = match detail {
        Detail::Brief => Keep::Spare,
        Detail::Full => Keep::IfRoom,
    };
    for section in metrics(compared, detail, interval) {
        document.push(section);
    }
    document.push(notes(compared, detail));
    if detail == Detail::Full {
        document.push(kinds_of_work(compared));
        document.push(method(compared));
    }
    document
}

/// A comparison for a mail: with what both sides were measured on.
#[must_use]
pub fn mail(compared: &Compared<'_>) -> Document {
    let mut document = Document::new(title(compared));
    let mut answer = answer(compared);
    answer.say(terms(compared), None);
    document.push(answer);
    for section in metrics(compared, Detail::Brief, Keep::IfRoom) {
        document.push(section);
    }
    document.push(notes(compared, Detail::Full));
    for section in provenance::of_both(&compared.a_sources, &compared.b_sources) {
        document.push(section);
    }
    document.push(method(compared));
    document
}

/// All metrics in one table, for workbooks.
#[must_use]
pub fn workbook(compared: &Compared<'_>) -> Table {
    let lines = compared.comparison.lines.iter();
    let groups = compared.jobs().grouped(lines, |line| &line.metric);
    let lines = groups.into_iter().flat_map(|(_, group)| group);
    let (deciding, exploratory): (Vec<&VerdictRow>, Vec<&VerdictRow>) =
        lines.partition(|line| line.primary);
    let composite = compared.comparison.composite.iter();
    let lines = deciding.into_iter().chain(composite).chain(exploratory);
    Table {
        columns: columns(compared, Keep::IfRoom),
        rows: lines
            .map(|line| row(compared, line, clean(translated(&line.metric))))
            .collect(),
    }
}

/// Both sides by their devices; by their names where the device is the same.
#[must_use]
pub fn title(compared: &Compared<'_>) -> String {
    let [a, b] = [&compared.a_sources, &compared.b_sources].map(|sources| devices(sources));
    let [of_a, of_b] = compared.known_by();
    match (a, b) {
        (Some(a), Some(b)) if a != b => tr!("{b} compared with {a}", b, a),
        (Some(_), Some(device)) => tr!(
            "{device}: {b} compared with {a}",
            device,
            b = of_b,
            a = of_a
        ),
        _ => tr!("{b} compared with {a}", b = of_b, a = of_a),
    }
}

/// Devices of a side, each once; `None` where one is not known.
fn devices(sources: &[ComparedSource<'_>]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for source in sources {
        let name = identity::name(&source.run?.header.storage);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The conclusion, and what A and B are.
#[must_use]
pub fn answer(compared: &Compared<'_>) -> Section {
    let mut section = Section::new("verdict", "");
    section.say(clean(&conclusion(compared)), Some(Tone::Strong));
    let sides = [("A", &compared.a_sources), ("B", &compared.b_sources)];
    let facts = sides.map(|(name, sources)| (name.to_owned(), side(sources)));
    section.facts(facts.into());
    section
}

/// Device, name and time of each source of a side.
fn side(sources: &[ComparedSource<'_>]) -> String {
    let sources = sources.iter().map(|source| {
        let name = source.known_by();
        match source.run {
            Some(run) => tr!(
                "{device}, run {name}, {when}",
                device = identity::name(&run.header.storage),
                name,
                when = utc(run.header.started_unix_ms)
            ),
            None => tr!("{name}, made elsewhere", name),
        }
    });
    sources.collect::<Vec<_>>().join("; ")
}

fn conclusion(compared: &Compared<'_>) -> String {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let words: Vec<&str> = lines.map(|line| line.qualification.word()).collect();
    if !compared.qualify || words.is_empty() {
        return compared.conclusion();
    }
    let of = counted!(words.len(), "{n} metric", "{n} metrics");
    let counts = tallied(words.into_iter(), &["fail", "pass", "inconclusive"]);
    tr!("May B take the place of A? Of {of}: {counts}.", of, counts)
}

/// The question and the number of trials, in a line.
fn terms(compared: &Compared<'_>) -> String {
    let margin = percent_points(compared.options.margin);
    let asked = match compared.qualify {
        true => tr!(
            "pass: at most {margin} % slower at {confidence} % confidence",
            margin,
            confidence = percent_points(1.0 - compared.options.alpha)
        ),
        false => tr!("equivalent means within {margin} %", margin),
    };
    let numbers = match common_numbers(compared) {
        Some((a, b)) if compared.is_of_means() => {
            Some(tr!("by {a} and {b}", a, b = compared.counted(b)))
        }
        Some((a, b)) => Some(tr!("n {a} and {b}", a, b)),
        None => range_of_numbers(compared),
    };
    let measured = common_label(compared);
    let measured = measured.map(|measured| tr!("measured {measured}", measured));
    let words = numbers.into_iter().chain(measured).chain([asked]);
    let words: Vec<String> = words.collect();
    tr!(
        "{terms}; the verdict holds for {scope}",
        terms = words.join("; "),
        scope = compared.comparison.scope
    )
}

/// Values of A and of B where all deciding metrics have as many.
fn common_numbers(compared: &Compared<'_>) -> Option<(usize, usize)> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let mut numbers = lines.map(|line| (n(&line.a), n(&line.b)));
    let first = numbers.next()?;
    numbers.all(|other| other == first).then_some(first)
}

/// Label of all deciding metrics; `None` where they differ or it is not known.
fn common_label(compared: &Compared<'_>) -> Option<String> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let mut labels = lines.map(|line| compared.measured(&line.metric));
    let first = labels.next()??;
    let all = labels.all(|label| label.as_ref() == Some(&first));
    all.then_some(first)
}

/// Fewest and most values of a side.
fn range_of_numbers(compared: &Compared<'_>) -> Option<String> {
    let lines = compared.comparison.lines.iter().filter(|line| line.primary);
    let numbers: Vec<usize> = lines.flat_map(|line| [n(&line.a), n(&line.b)]).collect();
    let (low, high) = (numbers.iter().min()?, numbers.iter().max()?);
    let high = compared.counted(*high);
    Some(tr!("{low} to {high} a side", low, high))
}

fn n(side: &Option<Summary>) -> usize {
    side.as_ref().map_or(0, |side| side.n)
}

/// Deciding metrics, then the exploratory ones: in brief those that differ, for there are
/// many.
#[must_use]
pub fn metrics(compared: &Compared<'_>, detail: Detail, interval: Keep) -> Vec<Section> {
    let lines = compared.comparison.lines.iter();
    let (primary, exploratory): (Vec<&VerdictRow>, Vec<&VerdictRow>) =
        lines.partition(|line| line.primary);
    let shared = SharedNotes::of(compared.comparison);
    let mut deciding = Section::new("metrics", tr!("Metrics that decide, geometric means"));
    let layout = (detail, interval);
    let mut table = table(compared, &primary, &shared, layout);
    if let (Some(composite), false) = (&compared.comparison.composite, compared.qualify) {
        table.rows.push(row(
            compared,
            composite,
            clean(translated(&composite.metric)),
        ));
    }
    deciding.table(table);
    let mut explored = Section::new("exploratory", tr!("Exploratory, geometric means"));
    if exploratory.is_empty() || compared.qualify {
        return vec![deciding];
    }
    // At a terminal only metrics that decide unless they measured something else.
    let is_told = |line: &&&VerdictRow| {
        let differs = matches!(line.verdict, Verdict::Faster(_) | Verdict::Slower(_));
        differs && interval == Keep::IfRoom || compared.is_kept_by_label(line)
    };
    let told = exploratory.iter().filter(is_told).copied();
    let told: Vec<&VerdictRow> = match detail {
        Detail::Brief => told.take(EXPLORED).collect(),
        Detail::Full => exploratory.clone(),
    };
    explored.table(self::table(compared, &told, &shared, layout));
    let words = exploratory.iter().map(|line| line.verdict.word());
    let counts = tallied(words, &["faster", "slower", "equivalent", "no conclusion"]);
    let of = counted!(
        exploratory.len(),
        "{n} exploratory metric",
        "{n} exploratory metrics"
    );
    let tally = match detail {
        Detail::Brief if interval == Keep::Spare => {
            tr!("{of}: {counts}; --explain lists them", of, counts)
        }
        _ => tr!("of {of}: {counts}", of, counts),
    };
    explored.say(tally, Some(Tone::Soft));
    vec![deciding, explored]
}

/// Columns of the table in all formats; [`row`] has their cells, in the same order.
fn columns(compared: &Compared<'_>, interval: Keep) -> Vec<Column> {
    let shown = |is_shown| {
        if is_shown {
            Keep::Always
        } else {
            Keep::Workbook
        }
    };
    vec![
        Column::text(tr!("metric")),
        Column::text(tr!("decides")).keep(Keep::Workbook),
        Column::number("A"),
        Column::number("B"),
        Column::number(tr!("change")),
        Column::number(tr!("95 % interval")).keep(interval),
        Column::text(tr!("verdict")).keep(shown(!compared.qualify)),
        Column::text(tr!("may B replace A")).keep(shown(compared.qualify)),
        Column::number(tr!("n of A")).keep(Keep::Workbook),
        Column::number(tr!("n of B")).keep(Keep::Workbook),
        Column::text(tr!("measured")).keep(Keep::Workbook),
        Column::number(tr!("p, adjusted")).keep(Keep::Workbook),
        Column::text(tr!("because")).keep(Keep::Workbook),
    ]
}

/// Metrics below the titles of their groups, where there are several.
fn table(
    compared: &Compared<'_>,
    lines: &[&VerdictRow],
    shared: &SharedNotes,
    (detail, interval): (Detail, Keep),
) -> Table {
    let jobs = compared.jobs();
    let groups = jobs.grouped(lines.iter().copied(), |line| &line.metric);
    let several = groups.len() > 1 && detail == Detail::Full;
    let mut rows = Vec::new();
    for (title, group) in groups {
        rows.extend(several.then(|| TableRow::heading(title)));
        for line in group {
            let note = match detail {
                Detail::Full => behind(compared, line, shared),
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

fn name(line: &VerdictRow, among: &[&VerdictRow]) -> String {
    let others = among.iter().map(|line| line.metric.as_str());
    let alone = line.primary && jobs::is_alone(&line.metric, others);
    jobs::spoken(translated(&line.metric), alone)
}

fn row(compared: &Compared<'_>, line: &VerdictRow, name: String) -> TableRow {
    let figure = |side: &Option<Summary>| {
        // The composite has no unit, and no centre that means anything.
        let side = side.as_ref().filter(|_| !line.unit.is_empty());
        side.map_or(Cell::Unknown, |side| {
            Cell::quantity(side.centre, &line.unit)
        })
    };
    let p = line.p_adjusted.filter(|p| p.is_finite());
    let because: Vec<String> = line.notes.iter().map(ToString::to_string).collect();
    TableRow::new(vec![
        name.into(),
        if line.primary { tr!("yes") } else { tr!("no") }.into(),
        figure(&line.a),
        figure(&line.b),
        Cell::change(line.change),
        Cell::interval(line.change),
        Cell::Verdict(line.verdict.word()),
        Cell::Verdict(line.qualification.word()),
        Cell::Count(n(&line.a)),
        Cell::Count(n(&line.b)),
        compared.measured(&line.metric).unwrap_or_default().into(),
        p.map_or(Cell::Empty, Cell::Probability),
        clean(&because.join("; ")).into(),
    ])
}

/// Reason why a metric does not decide although it would if it had measured the device.
fn kept_by_label(compared: &Compared<'_>, line: &VerdictRow) -> Option<String> {
    let mut notes = line.notes.iter().filter(|note| note.is_on_label());
    let note = notes.next().filter(|_| compared.is_kept_by_label(line))?;
    Some(clean(&note.to_string()))
}

/// Reasons of one verdict that are not those of all.
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
    words.extend(outliers(&line.notes));
    let notes = line.notes.iter();
    let notes = notes.filter(|note| !matches!(note, Note::Outlier(..)));
    let notes: Vec<Note> = notes.cloned().collect();
    words.extend(shared.not_among(&notes));
    clean(&words.join("; "))
}

/// Trials that are far off the others, in one clause.
fn outliers(notes: &[Note]) -> Option<String> {
    let trials = notes.iter().filter_map(|note| match note {
        Note::Outlier(side, trial) => Some(format!("{side}{trial}")),
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

/// Everything that concerns several metrics or all of them; in brief the first few.
#[must_use]
pub fn notes(compared: &Compared<'_>, detail: Detail) -> Section {
    let mut section = Section::new("notes", tr!("Notes"));
    let shared = SharedNotes::of(compared.comparison);
    let mut notes: Vec<String> = shared.told().map(|note| clean(&note)).collect();
    if detail == Detail::Brief {
        notes.extend(reasons(compared, &shared));
    }
    notes.extend(compared.told_warnings());
    if let Some(drift) = drift(compared.comparison) {
        notes.push(clean(&drift));
    }
    let left_out = match detail {
        Detail::Brief => notes.len().saturating_sub(NOTES),
        Detail::Full => 0,
    };
    notes.truncate(notes.len() - left_out);
    if left_out > 0 {
        let more = counted!(left_out, "{n} more note", "{n} more notes");
        notes.push(tr!("{more}: --explain tells all", more));
    }
    section.list(notes);
    section
}

/// Reasons of deciding metrics, each with the metrics that it holds for.
fn reasons(compared: &Compared<'_>, shared: &SharedNotes) -> Vec<String> {
    let lines = compared.comparison.lines.iter();
    let primary: Vec<&VerdictRow> = lines.filter(|line| line.primary).collect();
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for line in &primary {
        // A trial that was kept has moved no verdict, and the interval says by how much.
        let notes = line.notes.iter();
        let notes = notes.filter(|note| !matches!(note, Note::Outlier(..) | Note::BeyondMargin(_)));
        for note in notes.filter(|note| !shared.has(note)) {
            let (note, name) = (note.to_string(), name(line, &primary));
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

/// Verdicts counted by kind of work.
fn kinds_of_work(compared: &Compared<'_>) -> Section {
    let mut section = Section::new("kinds", tr!("By kind of work"));
    section.facts(compared.dimensions());
    section
}

fn method(compared: &Compared<'_>) -> Section {
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

/// Blocks of a page's first section.
pub(crate) fn page_blocks(compared: &Compared<'_>) -> Vec<Block> {
    let mut section = answer(compared);
    section.say(terms(compared), Some(Tone::Soft));
    let notes = notes(compared, Detail::Full).blocks.into_iter();
    let points = notes.flat_map(|block| match block {
        Block::List(points) => points,
        _ => Vec::new(),
    });
    let warnings = points.map(|message| Block::Warning {
        message,
        remedy: None,
        severe: false,
    });
    section.blocks.extend(warnings);
    section.blocks
}
