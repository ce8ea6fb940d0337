//! Provenance of figures: device, kernel, command and jobs.

use crate::document::{self, Block, Section};
use crate::results::comparison::Compared;
use crate::results::describe;
use crate::results::describe::{Jobs, stopping_sentences};
use crate::results::names::ComparedSource;
use crate::results::summary::Summary;
use crate::results::warnings::Warning;
use crate::words::labels::MEANINGS;
use crate::words::{
    MAIL_COLUMNS as COLUMNS, NameValue, break_long, clean, labels, sentence, utc, width, wrap,
};
use assay_lang::{counted, key, tr, translated};
use assay_model::annotation::Annotation;
use assay_model::job::Content;
use assay_model::plan::{Place, Plan};
use assay_model::run::Run;
use assay_model::units::Bytes;

/// Maximum number of circumstances shown for imported results.
const CIRCUMSTANCES: usize = 12;

/// Name of a fact with the function that reads it from a run.
type FactOfRun = (&'static str, fn(&Run) -> Option<String>);

/// Facts that hold for a whole run.
const FACTS: [FactOfRun; 9] = [
    (key!("tool"), |run| {
        Some(format!("assay {}", describe::build(run)))
    }),
    (key!("run"), |run| {
        let trials = describe::trials(&Summary::of(run));
        let started = utc(run.header.started_unix_ms);
        Some(tr!(
            "{id}, {started}, trials: {trials}",
            id = clean(&run.header.id),
            started,
            trials
        ))
    }),
    (key!("kernel"), |run| system(run, tr!("kernel"))),
    (key!("machine"), machine),
    (key!("device"), |run| {
        let storage = &run.header.storage;
        let facts = storage.device().map(labels::device_facts);
        let facts = facts.unwrap_or_default().into_iter();
        let wanted = [tr!("bus"), tr!("firmware"), tr!("file behind it")];
        let facts = facts.filter(|(name, _)| wanted.contains(name));
        let facts = facts.map(|(name, value)| format!("; {name} {value}"));
        Some(labels::name(storage) + &facts.collect::<String>())
    }),
    (key!("scheduler"), schedulers),
    (key!("path"), |run| path(run, tr!("path"))),
    (key!("file system"), |run| {
        let words = [tr!("file system"), tr!("mount options")];
        let words: Vec<String> = words
            .into_iter()
            .filter_map(|word| path(run, word))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }),
    (key!("test file"), |run| {
        let size = run.header.plan.file_size;
        (size.0 > 0).then(|| size.to_string())
    }),
];

pub(super) fn machine(run: &Run) -> Option<String> {
    let words = [tr!("board"), tr!("host"), tr!("CPU"), tr!("RAM")];
    let words = words.into_iter().filter_map(|word| system(run, word));
    Some(words.collect::<Vec<_>>().join(", "))
}

/// Lists the schedulers of the device's queue that were in force.
fn schedulers(run: &Run) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let evidence = run
        .trials
        .iter()
        .filter_map(|trial| trial.evidence.as_ref());
    for queue in evidence.filter_map(|evidence| evidence.queues.first()) {
        let name = queue.scheduler.as_deref().map(clean);
        names.extend(name.filter(|name| !names.contains(name)));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

pub(super) fn system(run: &Run, wanted: &str) -> Option<String> {
    fact(labels::system_facts(run), wanted)
}

fn path(run: &Run, wanted: &str) -> Option<String> {
    fact(labels::path_facts(&run.header.storage), wanted)
}

fn fact(facts: Vec<NameValue>, wanted: &str) -> Option<String> {
    let found = facts.into_iter().find(|(name, _)| *name == wanted);
    found.map(|(_, value)| value)
}

/// Returns the provenance of one run.
pub fn of_run(run: &Run) -> Vec<Section> {
    let mut place = Section::new("where", tr!("Where"));
    let facts = FACTS
        .into_iter()
        .filter_map(|(name, of)| Some((translated(name), of(run)?)));
    place.facts(facts);
    let mut command = Section::new("command", tr!("Command"));
    command
        .blocks
        .push(Block::Lines(command_lines(&run.header.command)));
    vec![place, command, jobs(&[run])]
}

/// Returns the provenance of two sides; facts that both share are listed once.
pub fn of_both(compared: &Compared<'_>) -> Vec<Section> {
    let (a, b) = (&compared.a_sources, &compared.b_sources);
    let (of_a, of_b) = (runs(a), runs(b));
    let [name_a, name_b] = &compared.names;
    let mut facts = Vec::new();
    for (name, of) in FACTS {
        let name = translated(name);
        let (a, b) = (joined_values(&of_a, of), joined_values(&of_b, of));
        if a == b {
            facts.extend(a.map(|both| (name.to_owned(), both)));
        } else {
            facts.extend(a.map(|a| (format!("{name}, {name_a}"), a)));
            facts.extend(b.map(|b| (format!("{name}, {name_b}"), b)));
        }
    }
    let mut place = Section::new("where", tr!("Where"));
    place.facts(facts);
    let mut all = vec![place];
    all.extend(of_commands(&of_a, &of_b, &compared.names));
    for (name, side) in [(name_a, a), (name_b, b)] {
        all.extend(elsewhere(name, side));
    }
    all.push(jobs(&[of_a, of_b].concat()));
    all
}

pub(super) fn runs<'a>(side: &[ComparedSource<'a>]) -> Vec<&'a Run> {
    side.iter().filter_map(|source| source.run).collect()
}

/// Joins the values of a fact over a side's runs, each once.
pub(super) fn joined_values(runs: &[&Run], of: fn(&Run) -> Option<String>) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for words in runs.iter().filter_map(|run| of(run)) {
        if !said.contains(&words) {
            said.push(words);
        }
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// Returns the commands of runs, each once, without the options that `omit` names and their values.
pub(super) fn commands(runs: &[&Run], omit: fn(&str) -> bool) -> Vec<String> {
    let mut seen: Vec<Vec<String>> = Vec::new();
    for run in runs {
        let mut words = run.header.command.iter();
        let mut command = Vec::new();
        while let Some(word) = words.next() {
            match word.split_once('=') {
                Some((option, _)) if omit(option) => {}
                _ if omit(word) => drop(words.next()),
                _ => command.push(word.clone()),
            }
        }
        if !seen.contains(&command) {
            seen.push(command);
        }
    }
    seen.iter().flat_map(|words| command_lines(words)).collect()
}

fn of_commands(of_a: &[&Run], of_b: &[&Run], names: &[String; 2]) -> Vec<Section> {
    let command_of = |side: &String| tr!("Command of {side}", side);
    let [a, b] = [of_a, of_b].map(|runs| commands(runs, |_| false));
    let told = match a == b {
        true => vec![("command", tr!("Command of both").to_owned(), a)],
        false => vec![
            ("command-a", command_of(&names[0]), a),
            ("command-b", command_of(&names[1]), b),
        ],
    };
    let told = told.into_iter().filter(|(.., lines)| !lines.is_empty());
    told.map(|(id, title, lines)| Section {
        id,
        title,
        blocks: vec![Block::Lines(lines)],
        ..Section::default()
    })
    .collect()
}

/// Returns the circumstances that imported results state.
fn elsewhere(name: &str, side: &[ComparedSource<'_>]) -> Vec<Section> {
    let sources = side.iter().filter(|source| source.run.is_none());
    let sections = sources.map(|source| {
        let mut section = Section::new("elsewhere", tr!("{name} was made elsewhere", name));
        let told = source.circumstances.iter().map(|line| clean(line));
        let mut told: Vec<String> = std::iter::once(clean(source.name)).chain(told).collect();
        let more = told.len().saturating_sub(CIRCUMSTANCES);
        told.truncate(CIRCUMSTANCES);
        if told.len() == 1 {
            told.push(tr!("tool, kernel and device are not stated").to_owned());
        }
        if more > 0 {
            told.push(tr!(
                "and {lines} more",
                lines = counted!(more, "{n} line", "{n} lines")
            ));
        }
        section.list(told);
        section
    });
    sections.collect()
}

/// Describes the jobs by block size, engine and other options that a name does not contain.
fn jobs(runs: &[&Run]) -> Section {
    let mut section = Section::new("jobs", tr!("Jobs"));
    section.facts(Jobs::of(runs.iter().copied()).described());
    section
}

/// Columns before a preformatted line.
const INDENT: usize = 2;

/// Formats a command: `$ assay qualify /mnt`, broken between words if it is too long.
fn command_lines(command: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = "$".to_owned();
    for (index, word) in command.iter().enumerate() {
        // The folder of the program tells nothing about the figures.
        let program = word.rsplit('/').next().filter(|_| index == 0);
        let word = quoted(program.unwrap_or(word));
        // Space for the backslash that continues the command.
        let room = COLUMNS - INDENT - " \\".len();
        if width(&line) + 1 + width(&word) > room && line.trim() != "$" {
            lines.push(format!("{line} \\"));
            line = "   ".to_owned();
        }
        line.push(' ');
        line.push_str(&word);
    }
    lines.push(line);
    lines.iter().flat_map(|line| within(line)).collect()
}

/// Cuts a word only if it is longer than a line of a mail.
fn within(line: &str) -> Vec<String> {
    match width(line) > COLUMNS - INDENT {
        true => {
            let cut = break_long(line, COLUMNS - INDENT - 4);
            wrap(&cut, COLUMNS - INDENT)
        }
        false => vec![line.to_owned()],
    }
}

fn quoted(word: &str) -> String {
    let word = clean(word);
    match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        // Quoting fails only for a NUL, which has been removed.
        Err(_) => word,
    }
}

/// Describes the data that was read and overwritten.
fn describe_written(plan: &Plan) -> String {
    let size = plan.file_size;
    let region = match &plan.place {
        Place::File { .. } => {
            return tr!(
                "An existing file or device was read ({size}); nothing was written",
                size
            );
        }
        Place::Simulated { .. } => {
            return tr!(
                "Nothing was measured: a model of a device computed all figures, each trial on a new one that is idle and empty"
            )
            .to_owned();
        }
        Place::Directory { .. } | Place::Device { .. } if is_of_steps(plan) => {
            return tr!(
                "What was written and read, and with which contents, is what each step says of itself"
            )
            .to_owned();
        }
        Place::Memory => return tr!("Main memory was measured; no storage took part").to_owned(),
        Place::Directory { .. } => tr!("A test file of {size}", size),
        Place::Device { .. } => tr!("A region of {size} of the device", size),
    };
    let contents = if plan.jobs.iter().any(|p| p.job.content == Content::Zero) {
        tr!("some jobs write zeros, which a controller may compress")
    } else {
        tr!("contents neither compress nor repeat")
    };
    tr!(
        "{region} was written before it was read, so that reads hit no holes; {contents}",
        region,
        contents
    )
}

/// Returns true if the trials are steps of a workload, which has no test file.
fn is_of_steps(plan: &Plan) -> bool {
    plan.file_size == Bytes(0)
}

/// Describes the order of trials.
fn describe_order(plan: &Plan) -> String {
    if is_of_steps(plan) {
        return tr!(
            "The steps were done in the order of the work, all of them once in each repetition (seed {seed}).",
            seed = plan.seed
        );
    }
    tr!(
        "The trials of all jobs were run in rounds, each round in a new random order (seed {seed}), so that heat, wear and filling caches fall on all jobs alike.",
        seed = plan.seed
    )
}

/// Returns the labels with their meanings.
pub(crate) fn label_meanings() -> [Block; 2] {
    let meanings = MEANINGS.iter().map(|(label, meaning)| document::Fact {
        name: translated(label).to_owned(),
        text: sentence(translated(meaning)),
        tone: None,
    });
    [
        Block::Heading(tr!("Labels").to_owned()),
        Block::Facts(meanings.collect()),
    ]
}

/// Describes how a run was measured, and the limits of its figures.
pub(super) fn method(summary: &Summary<'_>) -> Section {
    let plan = &summary.run.header.plan;
    let mut section = Section::new("method", tr!("Method and limits"));
    section.blocks.extend(label_meanings());
    section.say(
        tr!("The device's share is the smaller of two witnesses: the block layer's counters of the device that \
             holds the file, and what the kernel accounts to the measuring process, less what is still dirty in \
             the test file. A witness that is missing is not replaced by a guess."),
        None,
    );
    let stopping = stopping_sentences(summary.run).into_iter();
    let stopping = stopping.map(|how| tr!("The run: {how}.", how));
    let measured = [
        sentence(&describe_written(plan)),
        tr!("Every I/O is timed. Flushes that a job asks for lie within its measured time.").to_owned(),
        tr!("Intervals without a completion are kept, and so are the longest gaps.").to_owned(),
        tr!("A result is the median over completed trials; a trial is never dropped for its value. Failed and skipped trials make no figure and are listed.").to_owned(),
        tr!("1 MB/s is a million bytes per second; 1 MiB is 1 048 576 bytes.").to_owned(),
    ];
    let measured = std::iter::once(describe_order(plan))
        .chain(stopping)
        .chain(measured);
    section.heading(tr!("How it was measured"));
    section.list(measured.collect());
    section.heading(tr!("Limits of the figures"));
    let limits = [
        tr!(
            "The figures are of this one device, in its present state of wear and fill, on this machine and kernel."
        ),
        tr!(
            "Evidence ends at the device's connector: what a controller does with acknowledged data is not seen, and a device that lies about its cache is believed."
        ),
        tr!(
            "With few trials the intervals are wide; two runs are compared by a comparison, not by their medians."
        ),
        tr!(
            "Beneath a loop device, a virtual machine or a network, somebody else's cache may answer."
        ),
    ];
    section.list(limits.map(str::to_owned).into());
    section
}

/// Returns name, tags and note given by the user.
pub(super) fn annotated(annotation: &Annotation) -> Vec<Block> {
    let name = annotation.name.as_deref().map(|name| (tr!("Name"), name));
    let tags = annotation.tags.join(", ");
    let tags = (!tags.is_empty()).then_some((tr!("Tags"), tags.as_str()));
    let note = annotation.note.iter().flat_map(|note| note.lines());
    let note = note.map(|line| (tr!("Note"), line));
    let facts = name.into_iter().chain(tags).chain(note);
    let mut section = Section::default();
    section.facts(facts.map(|(name, text)| (name, clean(text))));
    section.blocks
}

/// Warnings with their remedies.
pub(super) fn warnings_of(warnings: &[Warning]) -> Section {
    let mut section = Section::new("warnings", tr!("Warnings"));
    section.warnings(warnings);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        let found = command_lines(&words("assay|compare|my file|a;b"));
        assert_eq!(found, ["$ assay compare 'my file' 'a;b'"]);
    }

    #[test]
    fn a_long_command_goes_on_in_the_next_line() {
        let found = command_lines(&words(
            "assay|sweep|/mnt/disk|--vary|scheduler=none,bfq,mq-deadline|--vary|read_ahead_kb=128",
        ));
        let first = "$ assay sweep /mnt/disk --vary 'scheduler=none,bfq,mq-deadline' \\";
        assert_eq!(found, [first, "    --vary 'read_ahead_kb=128'"]);
        let long = command_lines(&words(&format!("assay|{}", "x".repeat(200))));
        assert!(long.len() > 2 && long.iter().all(|line| line.len() <= COLUMNS - INDENT));
    }
}
