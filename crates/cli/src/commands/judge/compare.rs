//! `assay compare`: is B faster, slower or equivalent, or is there no conclusion?
//!
//! `--paired-on` measures two sides in turn ([`Setup`]).
//!
//! `--in-turn` compares two states of a machine, such as two kernels, whose runs are made by turns
//! over days and reboots. It needs only the tags of the stored runs.

use crate::driver::runs::Done;
use crate::exit::{DONE, Failure};
use crate::judging::{
    Judged, NamedSide, VerdictArgs, present, present_judged, present_several, two_conditions,
    two_sources, wanted,
};
use crate::output::say;
use crate::rounds::paired::{Repeated, Request, Setup};
use crate::rounds::{JobSource, ReadCommand, RepeatedCommand, RoundArgs};
use crate::stored::AnnotationArgs;
use crate::stored::lookup::FigureSource;
use crate::targets::OnArgs;
use crate::{config, judging, rounds, targets};
use assay_lang::tr;
use assay_model::run::{Run, RunStatus};
use assay_model::trial::TrialRecord;
use assay_stats::verdict::units::{RUNS, Standing};
use assay_store::RunSummary;
use assay_target::Target;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A source is `last`, the first letters of a stored run's or import's id, or a file
that assay store import understands. Behind an @ it may name one of its conditions.

Examples:
  assay compare 3f2a 9b1c
  assay compare before.json after.json --margin 3
  assay compare governors.csv@interactive governors.csv@ondemand
  assay compare before-after.csv          its two conditions
  assay compare 3f2a 9b1c -o mail.txt     72 columns for a mail (docs/mail.md)
  assay compare 3f2a 9b1c --format patch  a note for a patch, about 10 lines
  assay compare v6.6 v6.12 v6.18          each against the first, in one table
  assay compare 3f2a 9b1c --gate --format junit > assay.xml    (docs/gates.md)
  assay compare --a b1 --a b2 --a b3 --b c1 --b c2 --b c3
  assay compare --in-turn before after    runs tagged so, over reboots
  assay compare --paired-on /mnt/old /mnt/new --trials auto --budget 30m
  assay compare --paired-on /dev/sdb /dev/sdc --destroy-data --only 'rand-*'
  assay compare --paired-on /mnt/old /mnt/new -- androbench
  assay compare --paired-on /data /data --on ssh://board-a --on ssh://board-b

With three or more sources a side each is taken for a unit of the part, and the
verdict holds for the part; otherwise for these alone.

Exit codes: 0 done, 1 failed, 2 wrong usage, or with --gate: nothing was judged;
3 with --gate: something is slower, or side B lost data.";

/// Arguments that only `--paired-on` takes, beside those of rounds.
const OF_PAIRED: [&str; 8] = [
    "jobs",
    "destroy_data",
    "seed",
    "name",
    "tag",
    "note",
    "on",
    "unit",
];

/// `assay compare`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CompareArgs {
    /// The baseline (A) and the candidate (B), or several candidates.
    #[arg(value_name = "SOURCE", num_args = 1..=26, conflicts_with_all = ["a", "b"], conflicts_with_all = OF_PAIRED, conflicts_with_all = RoundArgs::NAMES, required_unless_present_any = ["a", "b", "paired_on", "in_turn"])]
    pub sources: Vec<String>,
    /// A unit of side A; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "b", conflicts_with_all = RoundArgs::NAMES, conflicts_with_all = OF_PAIRED)]
    pub a: Vec<String>,
    /// A unit of side B; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "a")]
    pub b: Vec<String>,
    /// Measure two directories, files or block devices in turn and compare them: in random
    /// blocks of ABBA or BAAB, so that a drift affects both alike. Both are stored as runs; with
    /// --name they are called NAME-A and NAME-B.
    #[arg(long, num_args = 2, value_names = ["TARGET_A", "TARGET_B"], conflicts_with_all = ["sources", "a", "b"])]
    pub paired_on: Vec<PathBuf>,
    /// Compare the stored runs with tag A and those with tag B, such as those of two kernels, and
    /// say which run to make next: A B B A, until there is a verdict, with a look at 3 and at 6 runs
    /// of each.
    #[arg(long, num_args = 2, value_names = ["TAG_A", "TAG_B"], conflicts_with_all = ["sources", "a", "b", "paired_on"], conflicts_with_all = OF_PAIRED, conflicts_with_all = RoundArgs::NAMES)]
    pub in_turn: Vec<String>,
    /// With --paired-on: jobs from a job file of fio instead of those of assay qualify.
    #[arg(long, value_name = "JOB-FILE", requires = "paired_on", conflicts_with_all = ["quick", "thorough", "only"])]
    pub jobs: Option<PathBuf>,
    /// With --paired-on: a command of androbench, dd, disks, iozone, mark, mem or scenario instead of
    /// the jobs of assay qualify, written as after assay, without its path.
    #[arg(last = true, value_name = "COMMAND", requires = "paired_on", conflicts_with_all = ["jobs", "quick", "thorough", "only", "size"])]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub shown: VerdictArgs,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub rounds: RoundArgs,
    /// Repeat the order, offsets and contents of an earlier session.
    #[arg(long, value_name = "N", help_heading = "With --paired-on")]
    pub seed: Option<u64>,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub annotation: AnnotationArgs,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub on: OnArgs,
}

/// Compares stored results, or measures two targets and compares them.
pub fn run(args: &CompareArgs, read: ReadCommand) -> Result<ExitCode, Failure> {
    if let [a, b] = args.paired_on.as_slice() {
        // Report an unusable format before anything is measured.
        wanted(&args.shown)?;
        return run_paired(args, [a, b], read, targets::pair(&args.on)?);
    }
    if let [a, b] = args.in_turn.as_slice() {
        return judge_in_turn(&args.shown, [a, b]);
    }
    if args.sources.len() > 2 {
        let find = |word| FigureSource::find(word, &args.shown.store)?.single();
        let sides = args
            .sources
            .iter()
            .map(|word| find(word).map(NamedSide::of));
        return present_several(&args.shown, sides.collect::<Result<_, Failure>>()?);
    }
    present(&args.shown, sides(args)?)
}

fn sides(args: &CompareArgs) -> Result<(NamedSide, NamedSide), Failure> {
    let find = |word: &String| FigureSource::find(word, &args.shown.store);
    match args.sources.as_slice() {
        [only] => two_conditions(&find(only)?),
        [a, b] => two_sources([a, b], &args.shown.store),
        _ => {
            let side =
                |words: &[String]| judging::units(&words.join(", "), words, &args.shown.store);
            Ok((side(&args.a)?, side(&args.b)?))
        }
    }
}

/// Commands of the two sides.
fn commands(
    args: &CompareArgs,
    paths: [&Path; 2],
    read: ReadCommand,
) -> Result<[RepeatedCommand; 2], Failure> {
    if !args.command.is_empty() {
        let [a, b] = paths.map(|path| read(&args.command, path));
        return Ok([a?, b?]);
    }
    let jobs = || match args.jobs.as_deref().map(rounds::from_file) {
        None => Ok(JobSource::Suite),
        Some(jobs) => jobs.map(JobSource::File),
    };
    Ok([jobs()?, JobSource::Suite].map(RepeatedCommand::Jobs))
}

/// Measures two targets in turn and compares them.
fn run_paired(
    args: &CompareArgs,
    paths: [&Path; 2],
    read: ReadCommand,
    mut targets: [Box<dyn Target>; 2],
) -> Result<ExitCode, Failure> {
    let store = args.shown.store.local_file()?;
    let terms = &args.shown.terms;
    let request = Request {
        paths,
        repeated: Repeated::Command(commands(args, paths, read)?),
        rounds: &args.rounds,
        max_trials: terms.max_trials,
        margin: terms.margin.unwrap_or_else(config::margin),
        seed: args.seed,
    };
    let setup = Setup::new(&request, &store, &mut targets)?;
    match setup.measure(&args.annotation, &mut targets)? {
        Some([a, b]) => conclude_paired(args, a, b),
        None => Ok(DONE),
    }
}

/// Shows the comparison; returns the exit code of a side that was stopped, else that of the gate.
fn conclude_paired(args: &CompareArgs, a: Done, b: Done) -> Result<ExitCode, Failure> {
    let (id_a, id_b) = (&a.run.header.id, &b.run.header.id);
    say(&tr!(
        "Stored as runs {id_a} and {id_b}: assay compare {id_a} {id_b}",
        id_a,
        id_b
    ));
    let measured = |run: &Run| run.trials.iter().any(TrialRecord::counts);
    let gate = match measured(&a.run) && measured(&b.run) {
        true => present(&args.shown, (named_side(&a.run), named_side(&b.run))),
        false => Ok(DONE),
    };
    let [of_a, of_b] = [a, b].map(Done::conclude);
    // If one side failed, the other one was stopped; the failure gives the reason.
    match (of_a, of_b) {
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
        (Ok(DONE), Ok(DONE)) => gate,
        (Ok(DONE), Ok(code)) | (Ok(code), Ok(_)) => Ok(code),
    }
}

fn named_side(run: &Run) -> NamedSide {
    let source = FigureSource::of_run(run.clone());
    let path = run.header.plan.place.path().display();
    NamedSide {
        name: format!("{path} (run {})", run.header.id),
        ..NamedSide::of(source)
    }
}

/// Judges the runs that have the tags, after the numbers of runs in [`RUNS`], and prints which run to
/// make next.
fn judge_in_turn(args: &VerdictArgs, tags: [&String; 2]) -> Result<ExitCode, Failure> {
    let mut runs = args.store.open_existing()?.runs()?;
    let has = |run: &RunSummary, tag: &String| run.annotation.tags.contains(tag);
    runs.retain(|run| run.status == RunStatus::Finished && tags.iter().any(|tag| has(run, tag)));
    runs.sort_by_key(|run| run.started_unix_ms);
    // A tag may have been used before, for another card.
    let place = |run: &RunSummary| (run.target.clone(), run.device.clone(), run.path.clone());
    let of_newest = runs.last().map(place);
    runs.retain(|run| Some(place(run)) == of_newest);
    let made = tags.map(|tag| runs.iter().filter(|run| has(run, tag)).count());
    let least = u32::try_from(made[0].min(made[1])).unwrap_or(u32::MAX);
    let look = RUNS.looks.iter().rev().find(|look| **look <= least);
    let Some(&look) = look else {
        let next = next_run(tags, made, false);
        let is_asked = wanted(args)?.is_some() || args.gate && !args.allow_unjudged;
        if is_asked {
            return Err(Failure::usage(tr!("nothing was judged yet. {next}", next)));
        }
        say(&next);
        return Ok(DONE);
    };
    let first = |tag: &String| -> Vec<&RunSummary> {
        let of_side = runs.iter().filter(|run| has(run, tag));
        of_side.take(look as usize).collect()
    };
    let sides = tags.map(first);
    if !are_in_turn(&sides) {
        return Err(Failure::usage(tr!(
            "no verdict: the runs of {of_a} and {of_b} were not made in turn, so a change of the machine over time would look like a difference; with other tags, measure A B B A",
            of_a = tags[0],
            of_b = tags[1]
        )));
    }
    let [a, b] = [0, 1].map(|side: usize| {
        let ids: Vec<String> = sides[side].iter().map(|run| run.id.clone()).collect();
        judging::units(tags[side], &ids, &args.store)
    });
    let judged = Judged::of_stored((a?, b?), &args.terms, &args.store, |level| {
        level.min(RUNS.alpha)
    })?;
    let settled = Standing::of_comparison(judged.compared().comparison).is_settled();
    let code = present_judged(args, judged)?;
    say(&next_run(tags, made, settled));
    Ok(code)
}

/// Describes how many runs of each side there are, and which one to make next.
fn next_run(tags: [&String; 2], [a, b]: [usize; 2], settled: bool) -> String {
    let [of_a, of_b] = tags;
    let made = tr!("Runs made: {a} of {of_a}, {b} of {of_b}.", a, b, of_a, of_b);
    if settled || a.min(b) >= RUNS.last() as usize {
        return tr!(
            "{made} That is enough; for another question use other tags.",
            made
        );
    }
    let aim = RUNS.looks.iter().find(|look| **look as usize > a.min(b));
    let aim = aim.copied().unwrap_or_else(|| RUNS.last());
    // A B B A, so that a drift affects both alike.
    let is_a = if a == b { a % 2 == 0 } else { a < b };
    let tag = if is_a { of_a } else { of_b };
    tr!(
        "{made} The next look is at {aim} of each. The next run is one of {tag}: repeat the command with --tag {tag}",
        made,
        aim,
        tag
    )
}

/// Returns `true` if the mean positions of both sides' runs in the session differ by at most a quarter
/// of it, so that a drift is not taken for a difference.
fn are_in_turn(sides: &[Vec<&RunSummary>; 2]) -> bool {
    let started = |run: &&RunSummary| run.started_unix_ms;
    let mut order: Vec<u64> = sides.iter().flatten().map(started).collect();
    order.sort_unstable();
    let place = |run: &&RunSummary| order.partition_point(|start| *start < run.started_unix_ms);
    let [a, b] = [0, 1].map(|side: usize| {
        let places: usize = sides[side].iter().map(place).sum();
        places as f64 / sides[side].len() as f64
    });
    4.0 * (a - b).abs() <= order.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_those_of_a_b_b_a() {
        let (a, b) = ("old".to_owned(), "new".to_owned());
        let sides = |made| next_run([&a, &b], made, false);
        for (made, tag) in [
            ([0, 0], "old"),
            ([1, 0], "new"),
            ([1, 1], "new"),
            ([1, 2], "old"),
            ([2, 2], "old"),
            ([3, 2], "new"),
        ] {
            let said = sides(made);
            assert!(
                said.ends_with(&format!("with --tag {tag}")),
                "{made:?} {said}"
            );
        }
        assert!(sides([6, 6]).contains("That is enough"));
        assert!(next_run([&a, &b], [3, 3], true).contains("That is enough"));
    }
}
