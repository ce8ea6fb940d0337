//! The command line.

use crate::commands::dropin::androbench::args::AndroBenchArgs;
use crate::commands::judge::compare::args::{CompareArgs, Terms};
use crate::commands::judge::explain::args::ExplainArgs;
use crate::commands::judge::model::ModelArgs;
use crate::commands::judge::power::PowerArgs;
use crate::commands::judge::rank::RankArgs;
use crate::commands::machines::agent::AgentArgs;
use crate::commands::machines::campaign::CampaignArgs;
use crate::commands::machines::devices::DevicesArgs;
use crate::commands::machines::doctor::DoctorArgs;
use crate::commands::machines::targets::TargetsArgs;
use crate::commands::measure::capacity::CapacityArgs;
use crate::commands::measure::disks::DisksArgs;
use crate::commands::measure::mark::args::MarkArgs;
use crate::commands::measure::mem::MemArgs;
use crate::commands::measure::powercut::args::PowercutArgs;
use crate::commands::measure::qualify::profile::Profile;
use crate::commands::measure::replay::args::ReplayArgs;
use crate::commands::measure::scenario::ScenarioArgs;
use crate::commands::measure::soak::SoakArgs;
use crate::commands::measure::sweep::args::SweepArgs;
use crate::commands::measure::traits::args::TraitsArgs;
use crate::commands::measure::watch::args::WatchArgs;
use crate::commands::results::import::args::ImportArgs;
use crate::commands::results::plot::PlotArgs;
use crate::stored::formats::OutputArgs;
use crate::targets::on::OnArgs;
use crate::ui::language::Tag;
use assay_lang::key;
use assay_model::units::Bytes;
use clap::{ArgGroup, Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Exit codes of the whole program. `assay fio` counts failed jobs instead, as fio does.
const ALL_EXIT_CODES: &str = "\
assay COMMAND --help shows the options and exit codes of a command.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a check failed (regression, missed class,
spoiled figures), 4 data read differs from data written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are always kept.
assay fio: the number of failed jobs, 4 for data that differs, 128 when stopped.";

/// Exit codes of most commands.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.
Finished trials are kept in every case.";

const RUN_EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
4 data read back is not what had been written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every case.";

/// Measure storage. Every figure carries evidence of what was measured: the device or a
/// cache.
#[derive(Debug, Parser)]
#[command(name = "assay", version, after_help = ALL_EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// The language of reports, summaries, warnings and help [default: that of the
    /// locale]. What programs read is always English.
    #[arg(long, value_enum, value_name = "LANG", global = true)]
    pub lang: Option<Tag>,
    /// Command that is carried out.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands in the groups of `assay --help`.
pub const GROUPS: [(&str, &[&str]); 5] = [
    (
        key!("Measure"),
        &[
            "qualify", "sweep", "run", "replay", "mark", "disks", "capacity", "soak", "mem",
            "scenario", "traits", "watch", "powercut",
        ],
    ),
    (
        key!("Drop-in tools"),
        &["fio", "dd", "iozone", "androbench"],
    ),
    (
        key!("Judge"),
        &["compare", "rank", "power", "explain", "model"],
    ),
    (
        key!("Results"),
        &["list", "show", "report", "plot", "import"],
    ),
    (
        key!("Machines"),
        &["devices", "doctor", "targets", "agent", "campaign"],
    ),
];

/// Command that is carried out.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure storage with standard jobs, with evidence per figure.
    Qualify(QualifyArgs),
    /// Measure jobs under every combination of given settings.
    Sweep(Box<SweepArgs>),
    /// Run a job file of fio several times and store each trial.
    Run(RunArgs),
    /// Replay or describe recorded I/O: iologs, block traces, events.
    Replay(Box<ReplayArgs>),
    /// Drop-in for fio, with one line of evidence per job.
    #[command(disable_help_flag = true)]
    Fio(ToolArgs),
    /// Drop-in for GNU dd; also reports how much reached the device.
    #[command(disable_help_flag = true)]
    Dd(ToolArgs),
    /// Run disk marks, SD speed class checks or steady-state rounds.
    Mark(MarkArgs),
    /// Run the file and SQLite tests of AndroBench and Mobibench.
    Androbench(Box<AndroBenchArgs>),
    /// Show page cache and disk I/O while a command runs.
    Watch(WatchArgs),
    /// Drop-in for iozone; also reports what each figure measured.
    #[command(disable_help_flag = true)]
    Iozone(ToolArgs),
    /// Sample throughput and access time across a whole device or file.
    Disks(DisksArgs),
    /// Check for fake capacity and bad blocks, as f3 and H2testw do.
    Capacity(CapacityArgs),
    /// Write and verify for hours to weeks: errors, throughput, wear.
    Soak(Box<SoakArgs>),
    /// Measure and test main memory: bandwidth, latency, bit errors.
    Mem(MemArgs),
    /// Play a product's I/O: updates, boots, recordings, full disks.
    Scenario(Box<ScenarioArgs>),
    /// Infer flash properties from timing: pages, erase blocks, caches.
    Traits(TraitsArgs),
    /// List disks: identity, connection, wear, whether in use.
    Devices(DevicesArgs),
    /// Check a machine for what would spoil a measurement.
    Doctor(DoctorArgs),
    /// Compare A with B: faster, slower, equivalent or no conclusion.
    Compare(CompareArgs),
    /// Run one command on many boards; optionally compare two parts.
    Campaign(Box<CampaignArgs>),
    /// Rank the conditions of a sweep and group those that do not differ.
    Rank(RankArgs),
    /// Show which differences a given number of trials can detect.
    Power(PowerArgs),
    /// Cut power while a board writes and check what was lost.
    Powercut(Box<PowercutArgs>),
    /// Import results of fio, iozone, dd, vmstat and CSV tables.
    Import(ImportArgs),
    /// List stored runs and imports, newest first.
    List(ListArgs),
    /// Show a stored run or import.
    Show(ShowArgs),
    /// Write runs or comparisons as HTML, Excel, mail, JSON, CSV, ...
    Report(ReportArgs),
    /// Draw one chart of a run: terminal, SVG, PNG, gnuplot or CSV.
    Plot(PlotArgs),
    /// Break down the time of a run's I/Os: bus, flash, flush, CPU.
    Explain(ExplainArgs),
    /// Calculate bus limits, simulate cards and fit their parameters.
    Model(ModelArgs),
    /// List reachable machines; release boards held by killed runs.
    Targets(TargetsArgs),
    /// Install, list and remove agents that stay on targets.
    Agent(AgentArgs),
}

/// Where runs are kept.
#[derive(Args, Debug)]
pub struct StoreArgs {
    /// File that keeps the runs [default: assay/runs.sqlite in the XDG data
    /// folder].
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

/// `assay qualify`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct QualifyArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    pub path: PathBuf,
    /// About a minute, with a test file of 256 MiB.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Longer trials, with a test file larger than the memory where there is
    /// room.
    #[arg(long)]
    pub thorough: bool,
    /// Also play what a product with such a part does (docs/scenarios.md), and measure the
    /// memory of an eMCP: all in one run, to be compared in every dimension.
    #[arg(long, value_name = "PART")]
    pub profile: Option<Profile>,
    /// How often each job is repeated [default: 5, with --quick 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Size of the test file, for example 512M or 4G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// Run only these jobs (see the list in the summary), separated by commas;
    /// a name may end in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The mode of the bus, as assay model limits lists them, where the system does not
    /// say it: rates are shown beside its ceiling.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// Typical figures of the device in a file (docs/model.md), to be shown beside those
    /// that are measured.
    #[arg(long, value_name = "FILE.toml")]
    pub datasheet: Option<PathBuf>,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// `assay run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXIT_CODES)]
pub struct RunArgs {
    /// A job file of fio. A block device that it names is overwritten, unless it
    /// is in use.
    pub file: PathBuf,
    /// How often it is repeated.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// The words of another tool, which are read as it reads them: they never come
/// here (see `main`).
#[derive(Args, Debug)]
pub struct ToolArgs {
    /// Its options and operands, and options of assay's own.
    #[arg(
        value_name = "ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub words: Vec<OsString>,
}

/// Reads a size such as `256M`.
pub fn parse_size(text: &str) -> Result<Bytes, assay_model::units::ParseSizeError> {
    text.parse()
}

/// `assay list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// `last`, or the first letters of the id of a run or an import.
    pub run: String,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

const REPORT_HELP: &str = "\
One run or import is reported as it is, two are compared (as assay compare does):
  assay report last -o disk.html
  assay report 3f2a 9b1c -o patch.txt        before and after, for a mail
  assay report sweep@bfq sweep@none -o x.html
  assay report last --format lava            on standard output
  assay report --all reports                 a folder: a page a run or import, a list

What cannot be written in a format is said. docs/reports.md, docs/mail.md,
docs/xlsx.md and docs/gates.md describe them.";

/// A report goes into a file, to standard output in a format, or into a folder.
fn written() -> ArgGroup {
    let group = ArgGroup::new("written").args(["output", "format", "all"]);
    group.required(true).multiple(true)
}

/// `assay report`.
#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP, group(written()))]
pub struct ReportArgs {
    /// `last`, or the first letters of the id of a run or an import; with two of them
    /// (or files, as assay compare takes them) the second is compared with the first.
    #[arg(value_name = "RUN", num_args = 1..=2, required_unless_present = "all")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write a page for each stored run and import into this folder, and index.html that
    /// lists them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "output", "format", "margin", "max_trials", "qualify"])]
    pub all: Option<PathBuf>,
    #[command(flatten)]
    pub terms: Terms,
    #[command(flatten)]
    pub store: StoreArgs,
}
