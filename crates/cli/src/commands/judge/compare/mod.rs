//! `assay compare`: is B faster, slower or equivalent, or is there no
//! conclusion?

mod in_turn;
mod paired;

use crate::exit::Failure;
use crate::judging::args::VerdictArgs;
use crate::judging::comparison::{NamedSide, two_conditions, two_sources, units};
use crate::judging::written::{present, wanted};
use crate::rounds::acts::ReadCommand;
use crate::rounds::args::RoundArgs;
use crate::stored::keep::AnnotationArgs;
use crate::stored::sources::FigureSource;
use crate::targets;
use crate::targets::on::OnArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A source is `last`, the first letters of a stored run's or import's id, or a file
that assay import understands. Behind an @ it may name one of its conditions.

Examples:
  assay compare 3f2a 9b1c
  assay compare before.json after.json --margin 3
  assay compare governors.csv@interactive governors.csv@ondemand
  assay compare before-after.csv          its two conditions
  assay compare 3f2a 9b1c -o patch.txt    72 columns for a mail (docs/mail.md)
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
    /// The baseline (A) and the candidate (B).
    #[arg(value_name = "SOURCE", num_args = 1..=2, conflicts_with_all = ["a", "b"], conflicts_with_all = OF_PAIRED, conflicts_with_all = RoundArgs::NAMES, required_unless_present_any = ["a", "b", "paired_on", "in_turn"])]
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
        return paired::run(args, [a, b], read, targets::pair(&args.on)?);
    }
    if let [a, b] = args.in_turn.as_slice() {
        return in_turn::run(&args.shown, [a, b]);
    }
    present(&args.shown, sides(args)?)
}

fn sides(args: &CompareArgs) -> Result<(NamedSide, NamedSide), Failure> {
    let find = |word: &String| FigureSource::find(word, &args.shown.store);
    match args.sources.as_slice() {
        [only] => two_conditions(&find(only)?),
        [a, b] => two_sources([a, b], &args.shown.store),
        _ => {
            let side = |words: &[String]| units(&words.join(", "), words, &args.shown.store);
            Ok((side(&args.a)?, side(&args.b)?))
        }
    }
}
