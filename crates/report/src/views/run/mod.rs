//! A run: the answer, the figures, and doubts about them. A setting in force during the trials is
//! one value if all agree, else all values.

pub(crate) mod page;
mod tables;

pub use tables::population;

use super::provenance::{annotated, warnings_of};
use super::{provenance, ranking};
use crate::charts::Gallery;
use crate::charts::draw::Chart;
use crate::document::{Block, Column, Detail, Document, Section, Table, TableRow};
use crate::results::findings::topics;
use crate::results::key_figures::{Belief, KeyFigure, KeyFigures};
use crate::results::summary::{Group, JobSummary, Ladder, Summary};
use crate::results::sweep::{Sweep, by_condition};
use crate::results::warnings::Warning;
use crate::results::{describe, findings, reference, warnings};
use crate::words::{NameValue, Tone, celsius, clean, enumerate, labels, quantity, utc};
use assay_lang::{counted, tr};
use assay_model::annotation::Annotation;
use assay_model::condition::Condition;
use assay_model::evidence::{Evidence, QueueSettings, Snapshot};
use assay_model::figures::Unit;
use assay_model::plan::Place;
use assay_model::run::Run;
use assay_model::storage::Backing;
use assay_model::units::Bytes;

/// Returns a run for a terminal.
pub fn document(run: &Run) -> Document {
    // Trials of one job differ between conditions: each condition is treated as a separate job.
    let apart = by_condition(run.clone());
    let summary = Summary::of(&apart);
    let mut document = titled(run);
    if let Some(nothing) = nothing(&summary) {
        document.push(nothing);
        document.push(origin(&summary));
        return document;
    }
    let found = warnings::collect(&summary);
    let mut digest = KeyFigures::of(&summary, &found);
    if run.header.plan.varies_jobs() {
        // Figures of different blocks, depths and directions have no common range.
        digest.lines.clear();
    }
    // The title of a stress test is already its answer.
    if !(summary.is_of_memory() && digest.lines.is_empty()) {
        document.push(in_short(&digest));
    }
    document.push(Section {
        title: tr!("Run").to_owned(),
        ..origin(&Summary::of(run))
    });
    match run.header.plan.conditions.is_empty() {
        true => figures(&summary, &mut document),
        false => document.sections.extend(tables::sweep(&Sweep::of(run))),
    }
    document.push(warnings_of(&found));
    document.sections.extend(ranking::ending(run));
    document
}

/// Number of warnings in the brief form.
const FEW_WARNINGS: usize = 3;

/// Returns the warnings of a run that matter most, `closing`, and as the last lines the key figures and
/// the answer, of a sweep its ranking; `None` for a run without key figures.
pub fn brief(run: &Run, closing: &[String]) -> Option<Document> {
    let apart = by_condition(run.clone());
    let summary = Summary::of(&apart);
    let found = warnings::collect(&summary);
    let digest = KeyFigures::of(&summary, &found);
    if digest.lines.is_empty() {
        return None;
    }
    let mut document = titled(run);
    let few = found.len().min(FEW_WARNINGS);
    let mut doubts = Section::new("warnings", "");
    doubts
        .blocks
        .extend(found[..few].iter().map(|warning| Block::Warning {
            message: warning.message(FEW_WARNINGS),
            remedy: None,
            severe: warning.is_severe(),
        }));
    document.push(doubts);
    let mut stored = Section::new("stored", "");
    if let more @ 1.. = found.len() - few {
        let more = counted!(more, "{n} more warning", "{n} more warnings");
        stored.say(tr!("and {more}", more), Some(Tone::Soft));
    }
    stored.blocks.push(Block::Lines(closing.to_vec()));
    document.push(stored);
    if !run.header.plan.conditions.is_empty() {
        document.sections.extend(ranking::ending(run));
        return Some(document);
    }
    let mut figures = in_short(&digest);
    if let Some(answer) = findings::answer(&summary) {
        figures.say(format!("{}.", answer.text), Some(tone_of(digest.belief)));
    }
    document.push(figures);
    Some(document)
}

/// Returns a document named after the storage, with the user's name for the run.
fn titled(run: &Run) -> Document {
    let mut document = Document::new(title(&Summary::of(run)));
    document.header = annotated(&run.annotation);
    document
}

/// Names the device; for a search for faults, after the answer.
pub fn title(summary: &Summary<'_>) -> String {
    let device = labels::name(&summary.run.header.storage);
    match findings::answer(summary) {
        Some(answer) => format!("{} ({device})", answer.text),
        None => device,
    }
}

/// Returns a line on the origin of a document, and the user's annotation.
pub(super) fn header(origin: String, annotation: &Annotation) -> Vec<Block> {
    let mut section = Section::default();
    section.say(origin, Some(Tone::Soft));
    section.blocks.extend(annotated(annotation));
    section.blocks
}

/// Returns a run with all its facts, for pages and workbooks. Each condition of a sweep is a
/// separate job. The charts are those of the gallery; sections on the conditions come `first`.
pub(crate) fn full(summary: &Summary<'_>, gallery: &Gallery, first: Vec<Section>) -> Document {
    let run = summary.run;
    let mut document = Document::new(title(summary));
    let origin = tr!(
        "{path}, run {id}, {started}",
        path = clean(&run.header.storage.path.to_string_lossy()),
        id = clean(&run.header.id),
        started = utc(run.header.started_unix_ms)
    );
    document.header = header(origin, &run.annotation);
    document.sections = first;
    let found = warnings::collect(summary);
    let mut answer = nothing(summary).unwrap_or_else(|| in_short(&KeyFigures::of(summary, &found)));
    let took = labels::took(run).map_or(String::new(), |took| tr!(", in {took}", took));
    let trials = describe::trials(summary);
    let trials = tr!("Trials: {trials}{took}.", trials, took);
    answer.charts(&gallery.answers);
    answer.say(trials, Some(Tone::Soft));
    document.push(answer);
    document.push(first_warnings(&found));
    all_figures(summary, gallery, &mut document);
    page::background(summary, gallery, &mut document);
    document
}

/// Returns a run of single reads with pauses, with their latency first.
pub fn ping(run: &Run) -> Document {
    let summary = Summary::of(run);
    let mut document = titled(run);
    let found = warnings::collect(&summary);
    let mut digest = KeyFigures::of(&summary, &found);
    digest.lines = summary.jobs.iter().filter_map(latency).collect();
    document.push(Section {
        title: tr!("Summary").to_owned(),
        ..in_short(&digest)
    });
    document.push(Section {
        title: tr!("Run").to_owned(),
        ..origin(&summary)
    });
    document.push(warnings_of(&found));
    document
}

/// Describes smallest, typical and largest latency over all trials, with their label.
fn latency(job: &JobSummary<'_>) -> Option<KeyFigure> {
    let figure = |statistic| job.figure(&format!("read_lat_{statistic}"));
    let (min, median, max) = (figure("min")?, figure("p50")?, figure("max")?);
    let shown = |ns| quantity(Unit::Nanos, ns);
    Some(KeyFigure {
        subject: tr!("Latency").to_owned(),
        text: tr!(
            "min {min}, median {median}, max {max}; measured: {label}",
            min = shown(min.stats.min),
            median = shown(median.stats.median),
            max = shown(max.stats.max),
            label = max.labels
        ),
    })
}

/// Returns a run for a mail: the answer first, and how to reproduce it.
pub fn mail(run: &Run) -> Document {
    let summary = Summary::of(run);
    let mut document = titled(run);
    if let Some(nothing) = nothing(&summary) {
        document.push(nothing);
    } else {
        let found = warnings::collect(&summary);
        document.push(in_short(&KeyFigures::of(&summary, &found)));
        figures(&summary, &mut document);
        document.push(warnings_of(&found));
    }
    for section in provenance::of_run(run) {
        document.push(section);
    }
    document
}

/// Returns the section of a run that ended before its first trial; such a run has no tables.
fn nothing(summary: &Summary<'_>) -> Option<Section> {
    let mut section = Section::new("summary", "");
    section.say(summary.nothing_measured()?, Some(Tone::Bad));
    Some(section)
}

/// Adds the figures of a run in brief, and how they came about.
fn figures(summary: &Summary<'_>, document: &mut Document) {
    for ladder in Ladder::ALL {
        document.push(tables::ladder(ladder, summary, Detail::Brief));
    }
    document.push(tables::scenario(summary, Detail::Brief));
    document.push(tables::load_curves(summary, &[]));
    document.push(tables::results(summary, Detail::Brief));
    document.push(limits(summary));
    document.push(tables::tails(summary));
    document.push(tables::extent(summary, &[]));
    document.sections.extend(found(summary));
    for job in summary.group(Group::Sustained) {
        document.push(tables::over_time(job));
    }
}

/// Adds all figures of a run: the table, a chart for each question, and folded what they are made of.
fn all_figures(summary: &Summary<'_>, gallery: &Gallery, document: &mut Document) {
    document.push(page::sizes(gallery));
    document.push(tables::scenario(summary, Detail::Full));
    document.sections.extend(found(summary));
    document.push(tables::load_curves(summary, &gallery.load_curves));
    document.push(tables::results(summary, Detail::Full));
    document.push(page::trials(gallery));
    document.push(tables::extent(summary, &gallery.extents));
    for ladder in Ladder::ALL {
        document.push(tables::ladder(ladder, summary, Detail::Full).folded());
    }
    document.push(limits(summary).folded());
    document.push(tables::tails(summary).folded());
    document.push(page::course(gallery));
    document.push(page::latency(summary, gallery));
}

fn found(summary: &Summary<'_>) -> impl Iterator<Item = Section> {
    topics(summary).into_iter().map(|topic| Section {
        id: topic.id,
        title: topic.title.to_owned(),
        blocks: vec![Block::Findings(topic.findings)],
        ..Section::default()
    })
}

/// Returns the warnings for a page: the first few, and the others folded.
fn first_warnings(warnings: &[Warning]) -> Section {
    let (few, more) = warnings.split_at(warnings.len().min(FEW_WARNINGS));
    let mut section = warnings_of(few);
    if !more.is_empty() {
        let title = counted!(more.len(), "{n} more warning", "{n} more warnings");
        section.blocks.push(Block::Details(Section {
            title,
            ..warnings_of(more)
        }));
    }
    section
}

/// Returns the key figures and their trustworthiness.
pub(super) fn in_short(digest: &KeyFigures) -> Section {
    let mut section = Section::new("summary", tr!("Summary (medians)"));
    let tone = tone_of(digest.belief);
    let lines = digest.lines.iter();
    let lines = lines.map(|line| (line.subject.clone(), line.text.clone(), None));
    let belief = (
        tr!("Believe it?").to_owned(),
        digest.because.clone(),
        Some(tone),
    );
    section.toned_facts(lines.chain([belief]).collect());
    section
}

const fn tone_of(belief: Belief) -> Tone {
    match belief {
        Belief::Yes => Tone::Good,
        Belief::WithCare | Belief::InPart => Tone::Care,
        Belief::No => Tone::Bad,
    }
}

/// Compares rates with the ceiling of the bus and with a datasheet.
fn limits(summary: &Summary<'_>) -> Section {
    let mut section = Section::new("limits", tr!("Compared with bus and datasheet"));
    for sentence in reference::sentences(summary) {
        section.say(sentence, None);
    }
    section
}

/// Describes device, location, machine and time of a run.
pub(super) fn origin(summary: &Summary<'_>) -> Section {
    let run = summary.run;
    let mut section = Section::new("origin", "");
    if let Some(device) = run.header.storage.device() {
        let facts = labels::device_facts(device);
        let wanted = [
            tr!("bus"),
            tr!("firmware"),
            tr!("made"),
            tr!("life time used"),
            tr!("file behind it"),
        ];
        let words = facts.iter().filter(|(name, _)| wanted.contains(name));
        let words: Vec<String> = words
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        section.say(words.join("; "), None);
    }
    section.say(place(summary), None);
    section.say(machine(run), None);
    let trials = tr!("trials: {trials}", trials = describe::trials(summary));
    let took = labels::took(run).map_or(String::new(), |took| tr!(", in {took}", took));
    let when = utc(run.header.started_unix_ms);
    let id = clean(&run.header.id);
    let said = tr!("run {id}, {when}, {trials}{took}", id, when, trials, took);
    section.say(said, None);
    for sentence in describe::stopping_sentences(run) {
        section.say(clean(&sentence), None);
    }
    section
}

/// Describes path, file system and device node.
fn place(summary: &Summary<'_>) -> String {
    let storage = &summary.run.header.storage;
    let path = clean(&storage.path.to_string_lossy());
    match &storage.mount {
        _ if storage.backing == Backing::MainMemory => tr!("no storage takes part").to_owned(),
        Some(mount) => tr!(
            "{path} on {file_system} ({options}), {source}",
            path,
            file_system = clean(&mount.fs_type),
            options = clean(&mount.options.join(",")),
            source = clean(&mount.source)
        ),
        None if matches!(summary.run.header.plan.place, Place::Simulated { .. }) => {
            tr!("{path}: figures are computed, not measured", path)
        }
        // Only files have free space around them.
        None if storage.available.is_none() => tr!("{path}, the device itself", path),
        None => tr!("{path}, mount not known", path),
    }
}

fn machine(run: &Run) -> String {
    let system = &run.header.system;
    let board = system.board.as_ref().or(system.hostname.as_ref());
    let mut words: Vec<String> = board.map(|board| clean(board)).into_iter().collect();
    words.push(format!(
        "Linux {} {}",
        clean(&system.kernel),
        clean(&system.machine)
    ));
    words.push(counted!(system.cpus, "{n} CPU", "{n} CPUs"));
    words.push(tr!("{memory} RAM", memory = system.memory));
    words.extend(run.header.target.as_deref().map(clean));
    words.join(", ")
}

/// Returns the settings that the kernel reported around all trials, and their course through the
/// run.
fn section(summary: &Summary<'_>, session: Option<&Chart>) -> Section {
    let mut section = Section::new("conditions", tr!("Conditions"));
    section.table(varied(summary.run));
    let trials = summary.run.trials.iter();
    let evidence: Vec<&Evidence> = trials.filter_map(|t| t.evidence.as_ref()).collect();
    if evidence.is_empty() {
        return section;
    }
    section.say(
        tr!("As seen around all trials; where they differ, every value is listed. Each trial's own are in its evidence."),
        Some(Tone::Soft),
    );
    section.facts(facts(&evidence));
    section.charts(session.map_or(&[], std::slice::from_ref));
    section
}

/// Returns the conditions of a sweep: the settings made, and the values read back.
pub(crate) fn varied(run: &Run) -> Table {
    let rows = run.header.plan.conditions.iter().map(|condition| {
        let set = condition.settings.iter().map(ToString::to_string);
        TableRow::new(vec![
            clean(&condition.name).into(),
            trials(run, condition).into(),
            clean(&set.collect::<Vec<_>>().join("; ")).into(),
            read_back(run, condition).into(),
        ])
    });
    Table {
        columns: vec![
            Column::text(tr!("Condition")),
            Column::text(tr!("Trials")),
            Column::text(tr!("Set")),
            Column::text(tr!("Read back before its trials")),
        ],
        rows: rows.collect(),
    }
}

fn trials(run: &Run, condition: &Condition) -> String {
    let own = run
        .trials
        .iter()
        .filter(|trial| trial.condition.as_ref() == Some(&condition.name));
    let counted = own.filter(|trial| trial.counts());
    let words: Vec<&str> = counted.map(|trial| trial.outcome.word()).collect();
    let completed = words.iter().filter(|word| **word == "completed").count();
    match words.len() - completed {
        0 => counted!(completed, "{n} trial", "{n} trials"),
        others => tr!(
            "{trials} completed, {others} not",
            trials = counted!(completed, "{n} trial", "{n} trials"),
            others
        ),
    }
}

/// Returns all values read back under a condition, each once.
fn read_back(run: &Run, condition: &Condition) -> String {
    let own = run
        .trials
        .iter()
        .filter(|trial| trial.condition.as_ref() == Some(&condition.name));
    let settings = own.flat_map(|trial| &trial.in_force).map(|setting| {
        let value = setting.value.as_deref();
        let value = value.unwrap_or(tr!("cannot be read back"));
        clean(&format!("{}: {value}", setting.knob))
    });
    distinct(settings).join("; ")
}

fn facts(evidence: &[&Evidence]) -> Vec<NameValue> {
    let queues = |of: fn(&QueueSettings) -> Option<String>| {
        let queues = evidence.iter().flat_map(|e| &e.queues);
        listed(queues.filter_map(|q| Some(format!("{} ({})", of(q)?, clean(&q.name)))))
    };
    let snapshots = || evidence.iter().flat_map(|e| [&e.before, &e.after]);
    let cpus = || snapshots().flat_map(|s| &s.cpus);
    let governors = listed(cpus().filter_map(|cpu| Some(clean(cpu.governor.as_deref()?))));
    let memory = snapshots().filter_map(|s| s.memory?.available_bytes);
    let facts: [(&'static str, Option<String>); 10] = [
        (
            tr!("I/O scheduler"),
            queues(|q| q.scheduler.as_deref().map(clean)),
        ),
        (
            tr!("read-ahead"),
            queues(|q| Some(format!("{} KiB", q.read_ahead_kib?))),
        ),
        (
            tr!("queue depth of the scheduler"),
            queues(|q| Some(q.nr_requests?.to_string())),
        ),
        (
            tr!("largest request"),
            queues(|q| Some(format!("{} KiB", q.max_request_kib?))),
        ),
        (tr!("write cache"), queues(|q| Some(cache(q)?.to_owned()))),
        (tr!("CPU governor"), governors),
        (
            tr!("CPU frequency"),
            span(cpus().filter_map(|c| c.khz), |khz| {
                format!("{} MHz", khz / 1_000)
            }),
        ),
        (
            tr!("memory available"),
            span(memory, |bytes| Bytes(bytes).to_string()),
        ),
        (tr!("temperature"), heat(snapshots())),
        (
            tr!("share of a trial that tasks waited for I/O"),
            pressure(evidence),
        ),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn cache(queue: &QueueSettings) -> Option<&'static str> {
    use assay_model::evidence::WriteCache;
    Some(match queue.write_cache? {
        WriteCache::Back => tr!("volatile (write back)"),
        WriteCache::Through => tr!("none (write through)"),
    })
}

fn listed(values: impl Iterator<Item = String>) -> Option<String> {
    let values = distinct(values);
    (!values.is_empty()).then(|| enumerate(&values))
}

fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn span<T: Ord + Copy>(
    values: impl Iterator<Item = T> + Clone,
    show: impl Fn(T) -> String,
) -> Option<String> {
    let (low, high) = (values.clone().min()?, values.max()?);
    let (low, high) = (show(low), show(high));
    Some(if low == high {
        low
    } else {
        tr!("{low} to {high}", low, high)
    })
}

/// Describes the temperature of the hottest zone, from the coolest to the hottest moment.
fn heat<'s>(snapshots: impl Iterator<Item = &'s Snapshot>) -> Option<String> {
    let hottest = snapshots.filter_map(|s| s.thermal.iter().map(|zone| zone.millicelsius).max());
    let hottest: Vec<i64> = hottest.collect();
    span(hottest.into_iter(), celsius)
}

fn pressure(evidence: &[&Evidence]) -> Option<String> {
    let waits = evidence.iter().filter_map(|e| {
        let (before, after) = (e.before.pressure?, e.after.pressure?);
        let elapsed_ns = e.after.at_ns.checked_sub(e.before.at_ns)?;
        let waited_ns = after.io_some_us.checked_sub(before.io_some_us)? * 1_000;
        (elapsed_ns > 0).then(|| waited_ns * 100 / elapsed_ns)
    });
    let waits: Vec<u64> = waits.collect();
    span(waits.into_iter(), |share| format!("{share} %"))
}
