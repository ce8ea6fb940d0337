//! Commands that `assay sweep PATH -- COMMAND` and `assay compare --paired-on A B -- COMMAND` repeat.

use super::Command;
use super::dropin::{androbench, dd, iozone};
use super::measure::{disks, mark, mem, scenario};
use crate::exit::Failure;
use crate::rounds::{JobSource, RepeatedAct, RepeatedCommand};
use assay_model::act::Act;
use assay_model::job::Job;
use assay_model::text::meant;
use assay_model::wire::{Feature, Inspection};
use std::ffi::OsString;
use std::path::Path;

/// Options that are given to the sweep, not to its command.
const OWN: [&str; 6] = [
    "--trials",
    "--json",
    "--store",
    "--seed",
    "--destroy-data",
    "--on",
];

/// Parses the arguments of the command; the machine is not accessed yet.
pub fn parse(words: &[OsString], path: &Path) -> Result<RepeatedCommand, Failure> {
    let Some((tool, words)) = words.split_first() else {
        return Err(refusal(""));
    };
    refuse_own(words)?;
    let tool = tool.to_string_lossy();
    Ok(match &*tool {
        "dd" => {
            let words = words.to_vec();
            let make = move |bench: &Inspection| {
                let (copy, steps) = dd::swept(&words, &bench.path)?;
                Ok((Act::Copy(Box::new(copy)), steps))
            };
            only_here(act("dd", Feature::Works, make))
        }
        "iozone" => {
            let words = words.to_vec();
            let make = move |bench: &Inspection| {
                let work = iozone::swept(&words, bench)?;
                let steps = work.steps();
                Ok((Act::Iozone(Box::new(work)), steps))
            };
            only_here(act("iozone", Feature::Works, make))
        }
        "androbench" | "disks" | "mark" | "mem" | "scenario" => of_assay(&tool, words, path)?,
        _ => return Err(refusal(&tool)),
    })
}

fn refuse_own(words: &[OsString]) -> Result<(), Failure> {
    let words = words.iter().filter_map(|word| word.to_str());
    for word in words {
        let flag = word.split('=').next().unwrap_or(word);
        if OWN.contains(&flag) {
            return Err(Failure::usage(format!(
                "{flag} is for all repetitions: put it in front of the --"
            )));
        }
    }
    Ok(())
}

/// Parses a command of assay, with the path of the sweep as its place.
fn of_assay(tool: &str, words: &[OsString], path: &Path) -> Result<RepeatedCommand, Failure> {
    let front = ["assay".into(), tool.into()].into_iter();
    let place = std::iter::once(path.as_os_str().to_owned());
    let words = words.iter().cloned();
    // The name of a scenario comes before its place.
    let all: Vec<OsString> = match tool {
        "scenario" => front.chain(words).chain(place).collect(),
        "mem" => front.chain(words).collect(),
        _ => front.chain(place).chain(words).collect(),
    };
    let parsed = super::parse(all).map_err(|failure| {
        Failure::usage(format!(
            "{tool}, which gets the path in front of the --: {failure}"
        ))
    })?;
    Ok(match parsed.and_then(|cli| cli.command) {
        Some(Command::Androbench(args)) => act("androbench", Feature::Sqlite, move |bench| {
            androbench::work(&args, &bench.path)
        }),
        Some(Command::Disks(args)) => act("disks", Feature::Works, move |bench| {
            disks::work(&args, bench)
        }),
        Some(Command::Scenario(args)) if args.scenario.is_some() => {
            act("scenario", Feature::Sqlite, move |bench| {
                scenario::swept(&args, bench)
            })
        }
        Some(Command::Mem(args)) => act("mem", Feature::Sqlite, move |_| {
            let (work, steps) = mem::work(&args);
            Ok((Act::Memory(Box::new(work)), steps))
        }),
        Some(Command::Mark(args)) => {
            RepeatedCommand::Jobs(JobSource::Made(Box::new(move |inspection| {
                mark::swept(&args, inspection)
            })))
        }
        _ => {
            return Err(Failure::usage(format!(
                "{tool}: there is nothing to repeat"
            )));
        }
    })
}

fn act(
    name: &'static str,
    needs: Feature,
    make: impl Fn(&Inspection) -> Result<(Act, Vec<Job>), Failure> + 'static,
) -> RepeatedCommand {
    RepeatedCommand::Act(RepeatedAct {
        name,
        needs,
        is_local: false,
        make: Box::new(make),
    })
}

/// Restricts a command to this machine: its files are checked here.
fn only_here(command: RepeatedCommand) -> RepeatedCommand {
    match command {
        RepeatedCommand::Act(act) => RepeatedCommand::Act(RepeatedAct {
            is_local: true,
            ..act
        }),
        jobs => jobs,
    }
}

/// Explains why a command cannot be swept, and what can be done instead.
fn refusal(tool: &str) -> Failure {
    let why = match tool {
        "fio" | "run" => "give the job file itself: assay sweep PATH FILE.fio",
        "qualify" => "its jobs are swept without a command; --only names them",
        "watch" => "it shows I/O while another command runs, and has no figures to compare",
        "capacity" => "whether storage holds what it says depends on no setting",
        "soak" => "it writes for hours to weeks, once",
        "replay" => "repeat it with assay replay --trials",
        "powercut" => "it cuts the power of a board, once in each cycle",
        _ => "only dd, iozone, androbench, disks, mark, mem and scenario can",
    };
    let known = "dd iozone androbench disks mark mem scenario".split(' ');
    let meant = meant(tool, known);
    Failure::usage(format!(
        "'{tool}' cannot be repeated in rounds{meant}: {why}"
    ))
}
