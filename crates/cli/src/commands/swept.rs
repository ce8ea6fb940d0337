//! Commands that `assay sweep PATH -- COMMAND` repeats under each condition.

use super::dropin::{androbench, dd, iozone};
use super::measure::sweep::command::{Swept, SweptWork};
use super::measure::{disks, mark, scenario};
use super::{Command, usage};
use crate::exit::Failure;
use crate::rounds::jobs::JobSource;
use assay_model::job::Job;
use assay_model::wire::Inspection;
use assay_model::work::Work;
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
pub fn parse(words: &[OsString], path: &Path) -> Result<Swept, Failure> {
    let Some((tool, words)) = words.split_first() else {
        return Err(refusal(""));
    };
    refuse_own(words)?;
    let tool = tool.to_string_lossy();
    Ok(match &*tool {
        "dd" => {
            let words = words.to_vec();
            work("dd", move |bench| {
                let (copy, steps) = dd::swept(&words, &bench.path)?;
                Ok((Work::Copy(Box::new(copy)), steps))
            })
        }
        "iozone" => {
            let words = words.to_vec();
            work("iozone", move |bench| {
                let work = iozone::swept(&words, bench)?;
                Ok((Work::Iozone(Box::new(work)), Vec::new()))
            })
        }
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

/// Parses a command of assay, with the path of the sweep as its place.
fn of_assay(tool: &str, words: &[OsString], path: &Path) -> Result<Swept, Failure> {
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
    Ok(match parsed.and_then(|cli| cli.command) {
        Some(Command::Androbench(args)) => work("androbench", move |bench| {
            androbench::work(&args, &bench.path)
        }),
        Some(Command::Disks(args)) => work("disks", move |bench| disks::work(&args, bench)),
        Some(Command::Scenario(args)) if args.scenario.is_some() => {
            work("scenario", move |bench| scenario::swept(&args, bench))
        }
        Some(Command::Mark(args)) => Swept::Jobs(JobSource::Made(Box::new(move |inspection| {
            mark::swept(&args, inspection)
        }))),
        _ => return Err(Failure::usage(format!("{tool}: there is nothing to sweep"))),
    })
}

fn work(
    name: &'static str,
    make: impl Fn(&Inspection) -> Result<(Work, Vec<Job>), Failure> + 'static,
) -> Swept {
    Swept::Work(SweptWork {
        name,
        make: Box::new(make),
    })
}

/// Explains why a command cannot be swept, and what can be done instead.
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
