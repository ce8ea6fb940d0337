//! Where and how it was measured: what a reader of figures asks for next.

use super::{Sheet, command};
use crate::results::comparison::Source;
use crate::results::jobs::Jobs;
use crate::results::summary::Summary;
use crate::words::format::utc;
use crate::words::identity;
use crate::words::text::clean;
use assay_lang::{counted, key, tr, translated};
use assay_model::run::Run;
use std::io;

/// Lines that are shown of what others tell of their results.
const CIRCUMSTANCES: usize = 12;

type Fact = (&'static str, fn(&Run) -> Option<String>);

/// What is the same for a whole run.
const FACTS: [Fact; 9] = [
    (key!("tool"), |run| {
        Some(format!("assay {}", clean(&run.header.assay_version)))
    }),
    (key!("run"), |run| {
        let trials = identity::trials(&Summary::of(run));
        let started = utc(run.header.started_unix_ms);
        Some(tr!(
            "{id}, {started}, trials: {trials}",
            id = clean(&run.header.id),
            started,
            trials
        ))
    }),
    (key!("kernel"), |run| system(run, tr!("kernel"))),
    (key!("machine"), |run| {
        let words = [tr!("board"), tr!("host"), tr!("CPU"), tr!("RAM")];
        let words: Vec<String> = words
            .into_iter()
            .filter_map(|word| system(run, word))
            .collect();
        Some(words.join(", "))
    }),
    (key!("device"), |run| {
        let storage = &run.header.storage;
        let facts = identity::device(storage).map(identity::device_facts);
        let facts = facts.unwrap_or_default().into_iter();
        let wanted = [tr!("bus"), tr!("firmware"), tr!("file behind it")];
        let facts = facts.filter(|(name, _)| wanted.contains(name));
        let facts = facts.map(|(name, value)| format!("; {name} {value}"));
        Some(identity::name(storage) + &facts.collect::<String>())
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
        Some(run.header.plan.file_size.to_string())
    }),
];

/// Of the device's queue, as they were in force.
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

fn system(run: &Run, wanted: &str) -> Option<String> {
    fact(identity::system_facts(run), wanted)
}

fn path(run: &Run, wanted: &str) -> Option<String> {
    fact(identity::path_facts(&run.header.storage), wanted)
}

fn fact(facts: Vec<identity::Fact>, wanted: &str) -> Option<String> {
    let found = facts.into_iter().find(|(name, _)| *name == wanted);
    found.map(|(_, value)| value)
}

/// Of one run.
pub(super) fn write(run: &Run, sheet: &mut impl Sheet) -> io::Result<()> {
    sheet.heading(tr!("Where"))?;
    let facts = FACTS
        .into_iter()
        .filter_map(|(name, of)| Some((translated(name).to_owned(), of(run)?)));
    sheet.facts(&facts.collect::<Vec<_>>())?;
    sheet.heading(tr!("Command"))?;
    sheet.lines(&command::lines(&run.header.command))?;
    jobs(&[run], sheet)
}

/// Of two sides: what both share is said once.
pub(super) fn write_both(
    a: &[Source<'_>],
    b: &[Source<'_>],
    sheet: &mut impl Sheet,
) -> io::Result<()> {
    let (of_a, of_b) = (runs(a), runs(b));
    let mut facts = Vec::new();
    for (name, of) in FACTS {
        let name = translated(name);
        let (a, b) = (said(&of_a, of), said(&of_b, of));
        if a == b {
            facts.extend(a.map(|both| (name.to_owned(), both)));
        } else {
            facts.extend(a.map(|a| (format!("{name} A"), a)));
            facts.extend(b.map(|b| (format!("{name} B"), b)));
        }
    }
    if !facts.is_empty() {
        sheet.heading(tr!("Where"))?;
        sheet.facts(&facts)?;
    }
    write_commands(&of_a, &of_b, sheet)?;
    for (name, side) in [("A", a), ("B", b)] {
        elsewhere(name, side, sheet)?;
    }
    jobs(&[of_a, of_b].concat(), sheet)
}

fn runs<'a>(side: &[Source<'a>]) -> Vec<&'a Run> {
    side.iter().filter_map(|source| source.run).collect()
}

/// What runs of a side say, each once.
fn said(runs: &[&Run], of: fn(&Run) -> Option<String>) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for words in runs.iter().filter_map(|run| of(run)) {
        if !said.contains(&words) {
            said.push(words);
        }
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// The commands of runs, each once.
fn commands(runs: &[&Run]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut seen: Vec<&[String]> = Vec::new();
    for run in runs {
        let words = run.header.command.as_slice();
        if !seen.contains(&words) {
            lines.extend(command::lines(words));
            seen.push(words);
        }
    }
    lines
}

fn write_commands(of_a: &[&Run], of_b: &[&Run], sheet: &mut impl Sheet) -> io::Result<()> {
    let (a, b) = (commands(of_a), commands(of_b));
    let told = match a == b {
        true => vec![(tr!("Command of both"), a)],
        false => vec![(tr!("Command of A"), a), (tr!("Command of B"), b)],
    };
    for (heading, lines) in told.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        sheet.heading(heading)?;
        sheet.lines(&lines)?;
    }
    Ok(())
}

/// What others tell of their results.
fn elsewhere(name: &str, side: &[Source<'_>], sheet: &mut impl Sheet) -> io::Result<()> {
    for source in side.iter().filter(|source| source.run.is_none()) {
        sheet.heading(&tr!("{name} was made elsewhere", name))?;
        let told = source.circumstances.iter().map(|line| clean(line));
        let mut told: Vec<String> = std::iter::once(clean(source.name)).chain(told).collect();
        let more = told.len().saturating_sub(CIRCUMSTANCES);
        told.truncate(CIRCUMSTANCES);
        if told.len() == 1 {
            told.push(tr!("tool, kernel and device are not told").to_owned());
        }
        if more > 0 {
            told.push(tr!(
                "and {lines} more",
                lines = counted!(more, "{n} line", "{n} lines")
            ));
        }
        sheet.list(&told)?;
    }
    Ok(())
}

/// Block size, engine and all else that a name does not tell.
fn jobs(runs: &[&Run], sheet: &mut impl Sheet) -> io::Result<()> {
    let jobs = Jobs::of(runs.iter().copied()).described();
    if jobs.is_empty() {
        return Ok(());
    }
    sheet.heading(tr!("Jobs"))?;
    sheet.facts(&jobs)
}
