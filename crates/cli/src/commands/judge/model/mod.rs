//! `assay model`: ceilings of buses, and models of storage devices.

mod check;
mod compare;
pub mod fit;
pub mod limits;
pub mod simulate;

use crate::exit::Failure;
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::ui::one_of;
use assay_explain::on_bus::parse_rate;
use assay_flash::policy::Policy;
use assay_model::job::Rw;
use assay_model::units::{Bytes, BytesPerSec};
use clap::{Args, Subcommand, value_parser};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the subcommand.
pub fn run(args: &ModelArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        ModelCommand::Limits(args) => limits::run(args),
        ModelCommand::Compare(args) => compare::run(args),
        ModelCommand::Check(args) => check::run(args),
        ModelCommand::Fit(args) => fit::run(args),
        ModelCommand::Simulate(args) => simulate::run(args),
    }
}

/// `assay model`.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = false,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a rule can be broken (check)."
)]
pub struct ModelArgs {
    /// Command to run.
    #[command(subcommand)]
    pub command: ModelCommand,
}

/// Available commands.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Show the payload ceiling of each bus, and compare a measured rate with it.
    Limits(LimitsArgs),
    /// Reproduce, explain and judge a published before/after table (multi-block experiment).
    Compare(CompareArgs),
    /// Search the state space of a policy for lost data, stale reads and open transfers.
    Check(CheckArgs),
    /// Estimate the parameters of a part from measured rates or a stored run, with their
    /// errors.
    Fit(FitArgs),
    /// Run a job on a simulated part, in virtual time.
    Simulate(SimulateArgs),
}

const LIMITS_HELP: &str = "\
Examples:
  assay model limits
  assay model limits --bus hs400 --read 275MiB/s --write 54.3MiB/s

Exit codes: 0 done, 2 wrong usage.";

/// `assay model limits`.
#[derive(Args, Debug)]
#[command(after_help = LIMITS_HELP)]
pub struct LimitsArgs {
    /// Only this mode, such as hs400, sdr104, ufs-g3x2, usb-2.0, sata-6g or nvme-gen3x4.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// Measured read rate, such as 275MiB/s or 288MB/s.
    #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "bus")]
    pub read: Option<BytesPerSec>,
    /// Measured write rate.
    #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "bus")]
    pub write: Option<BytesPerSec>,
    /// Size of the requests into which the host splits larger I/Os.
    #[arg(long, value_name = "SIZE", default_value = "512k")]
    pub request: Bytes,
    #[command(flatten)]
    pub output: DocumentArgs,
}

const COMPARE_HELP: &str = "\
Examples:
  assay model compare --policy closed --policy open

Policies: closed (CMD12 after each transfer), open (as published: transfers stay open),
open-safe (the same without its holes), open-after-N (open-safe after N requests in a row).

Exit codes: 0 done, 2 wrong usage.";

/// `assay model compare`.
#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// A policy; the others are compared with the first [default: closed, open].
    #[arg(long = "policy", value_name = "POLICY")]
    pub policies: Vec<Policy>,
    #[command(flatten)]
    pub output: DocumentArgs,
}

const CHECK_HELP: &str = "\
Examples:
  assay model check
  assay model check --policy open-after-4

Exit codes: 0 all rules hold, 2 wrong usage, 3 a rule can be broken.";

/// `assay model check`.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArgs {
    /// A policy [default: closed, cmd23, open, open-safe, open-after-2].
    #[arg(long = "policy", value_name = "POLICY")]
    pub policies: Vec<Policy>,
    #[command(flatten)]
    pub output: DocumentArgs,
}

const FIT_HELP: &str = "\
Examples:
  assay model fit rates.csv
  assay model fit last
  assay model fit 3f2a@none --write-part mine.toml
  assay qualify sim:mine.toml          measures the part that was fitted

A line of a file is a pattern, a size and a rate, such as
  randread,8k,16.5MiB/s
with read, write, randread or randwrite, one I/O after the other. Empty lines and those that
begin with # are skipped. Of a run, the results with the label device or simulated are fitted:
direct reads and writes of one at a time.

Exit codes: 0 done, 2 wrong usage.";

/// `assay model fit`.
#[derive(Args, Debug)]
#[command(after_help = FIT_HELP)]
pub struct FitArgs {
    /// A file of rates, or a stored run: `last`, or the first letters of its id; for a sweep
    /// followed by @ and one of its conditions.
    #[arg(value_name = "FILE|RUN")]
    pub source: String,
    /// Only these jobs of a run, separated by commas; a name may end in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The initial part: a known one, or a file. Parameters that are not fitted keep its values
    /// [default: the part nearest to the run's device; for a file the SD card].
    #[arg(long, value_name = "PART|FILE")]
    pub part: Option<String>,
    /// Transfer policy of the host [default: closed, or that of the simulation].
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// Write the fitted part into this file, which can be simulated as sim:FILE.toml.
    #[arg(long, value_name = "FILE.toml")]
    pub write_part: Option<PathBuf>,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

const SIMULATE_HELP: &str = "\
Examples:
  assay model simulate --part emmc-8gb-hs400 --rw randread --bs 4k
  assay model simulate --part mine.toml --rw write --bs 1m --policy open

The form of a part's file is in docs/model.md.

Exit codes: 0 done, 2 wrong usage.";

/// `assay model simulate`.
#[derive(Args, Debug)]
#[command(after_help = SIMULATE_HELP)]
pub struct SimulateArgs {
    /// A known part, or a file.
    #[arg(long, value_name = "PART|FILE", required_unless_present = "parts")]
    pub part: Option<String>,
    /// List the parts that assay knows.
    #[arg(long)]
    pub parts: bool,
    /// Transfer policy of the host: closed, cmd23, queued, open, open-safe or open-after-N.
    #[arg(long, value_name = "POLICY", default_value = "closed")]
    pub policy: Policy,
    /// Pattern of the I/Os.
    #[arg(long, value_name = "PATTERN", value_parser = one_of(&PATTERNS, Rw::name), default_value = "read")]
    pub rw: Rw,
    /// Size of an I/O, a multiple of 512.
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub bs: Bytes,
    /// Number of timed I/Os; a tenth of that runs as a warm-up.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u64).range(1..=100_000_000))]
    pub ios: u64,
    /// Size of the region that I/Os fall on.
    #[arg(long, value_name = "SIZE", default_value = "1g")]
    pub span: Bytes,
    /// Seed of the offsets of random I/Os.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub output: DocumentArgs,
}

/// Patterns that can be simulated.
const PATTERNS: [Rw; 5] = [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite, Rw::RandRw];
