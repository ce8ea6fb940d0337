//! The command behind `--`: what of other tools can be swept.

use super::jobs::Source;
use crate::commands;
use crate::commands::dropin::androbench::args::AndroBenchArgs;
use crate::commands::dropin::{androbench, dd, iozone};
use crate::commands::measure::disks::DisksArgs;
use crate::commands::measure::scenario::{self, ScenarioArgs};
use crate::commands::measure::{disks, mark};
use crate::commands::usage;
use crate::exit::Failure;
use assay_model::job::Job;
use assay_model::wire::Inspection;
use assay_model::work::Work;
use std::ffi::OsString;
use std::path::Path;

/// What is run under each condition.
pub enum Command {
    /// The jobs of a plan.
    Jobs(Source),
    /// A work, as a whole.
    Work(Tool),
}

/// A command that is a work.
pub enum Tool {
    Dd(Vec<OsString>),
    Iozone(Vec<OsString>),
    AndroBench(Box<AndroBenchArgs>),
    Disks(Box<DisksArgs>),
    Scenario(Box<ScenarioArgs>),
}

/// Options that the sweep has itself.
const OWN: [&str; 6] = [
    "--trials",
    "--json",
    "--store",
    "--seed",
    "--destroy-data",
    "--on",
];

/// Reads the words; nothing is asked of the machine yet.
pub fn parse(words: &[OsString], path: &Path) -> Result<Command, Failure> {
    let Some((tool, words)) = words.split_first() else {
        return Err(refusal(""));
    };
    refuse_own(words)?;
    let tool = tool.to_string_lossy();
    Ok(match &*tool {
        "dd" => Command::Work(Tool::Dd(words.to_vec())),
        "iozone" => Command::Work(Tool::Iozone(words.to_vec())),
        "androbench" | "disks" | "mark" | "scenario" => of_assay(&tool, words, path)?,
        _ => return Err(refusal(&tool)),
    })
}

fn refuse_own(words: &[OsString]) -> Result<(), Failure> {
    let words = words.iter().filter_map(|word| word.to_str());
    for word in words {
        let flag = word.split('=').next().unwrap_or(word);
        if OWN.contains(&flag) {
            return Err(Failure::usage(format!(
                "{flag} is for the whole sweep: put it in front of the --"
            )));
        }
    }
    Ok(())
}

/// A command of assay's own, whose place is that of the sweep.
fn of_assay(tool: &str, words: &[OsString], path: &Path) -> Result<Command, Failure> {
    let front = ["assay".into(), tool.into()].into_iter();
    let place = std::iter::once(path.as_os_str().to_owned());
    let words = words.iter().cloned();
    // The name of a scenario comes before its place.
    let all: Vec<OsString> = match tool {
        "scenario" => front.chain(words).chain(place).collect(),
        _ => front.chain(place).chain(words).collect(),
    };
    let parsed = usage::parse(all).map_err(|failure| {
        Failure::usage(format!(
            "{tool}, whose path is that of the sweep: {failure}"
        ))
    })?;
    match parsed.map(|cli| cli.command) {
        Some(commands::Command::Androbench(args)) => Ok(Command::Work(Tool::AndroBench(args))),
        Some(commands::Command::Disks(args)) => Ok(Command::Work(Tool::Disks(Box::new(args)))),
        Some(commands::Command::Scenario(args)) if args.scenario.is_some() => {
            Ok(Command::Work(Tool::Scenario(args)))
        }
        Some(commands::Command::Mark(args)) => {
            Ok(Command::Jobs(Source::Made(Box::new(move |inspection| {
                mark::swept(&args, inspection)
            }))))
        }
        _ => Err(Failure::usage(format!("{tool}: there is nothing to sweep"))),
    }
}

/// Why a command cannot be swept, and what can be done instead.
fn refusal(tool: &str) -> Failure {
    let why = match tool {
        "fio" | "run" => "give the job file itself: assay sweep PATH FILE.fio",
        "qualify" => "its jobs are swept without a command; --only names them",
        "watch" => "it shows I/O while another command runs, and has no figures to compare",
        "capacity" => "whether storage holds what it says depends on no setting",
        _ => "only dd, iozone, androbench, disks, mark and scenario can",
    };
    Failure::usage(format!("'{tool}' cannot be swept: {why}"))
}

impl Tool {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dd(_) => "dd",
            Self::Iozone(_) => "iozone",
            Self::AndroBench(_) => "androbench",
            Self::Disks(_) => "disks",
            Self::Scenario(_) => "scenario",
        }
    }

    /// The work in the place that was inspected, and its steps as far as they are
    /// known beforehand.
    pub fn work(&self, bench: &Inspection) -> Result<(Work, Vec<Job>), Failure> {
        match self {
            Self::Dd(words) => {
                let (copy, steps) = dd::swept(words, &bench.path)?;
                Ok((Work::Copy(Box::new(copy)), steps))
            }
            Self::Iozone(words) => {
                let work = iozone::swept(words, bench)?;
                Ok((Work::Iozone(Box::new(work)), Vec::new()))
            }
            Self::AndroBench(args) => androbench::work(args, &bench.path),
            Self::Disks(args) => disks::work(args, bench),
            Self::Scenario(args) => scenario::swept(args, bench),
        }
    }
}
