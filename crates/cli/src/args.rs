//! The command line.

use crate::agent::AgentArgs;
use crate::annotation::KeepArgs;
use crate::androbench::args::AndroBenchArgs;
use crate::campaign::CampaignArgs;
use crate::capacity::CapacityArgs;
use crate::compare::args::{CompareArgs, Terms};
use crate::devices::DevicesArgs;
use crate::disks::DisksArgs;
use crate::doctor::DoctorArgs;
use crate::explain::args::ExplainArgs;
use crate::formats::OutputArgs;
use crate::import::args::ImportArgs;
use crate::language::Tag;
use crate::mark::args::MarkArgs;
use crate::mem::MemArgs;
use crate::model::ModelArgs;
use crate::on::OnArgs;
use crate::plot::PlotArgs;
use crate::power::PowerArgs;
use crate::powercut::args::PowercutArgs;
use crate::qualify::profile::Profile;
use crate::rank::RankArgs;
use crate::replay::args::ReplayArgs;
use crate::scenario::ScenarioArgs;
use crate::soak::SoakArgs;
use crate::sweep::args::SweepArgs;
use crate::targets::TargetsArgs;
use crate::traits::args::TraitsArgs;
use crate::watch::args::WatchArgs;
use assay_model::units::Bytes;
use clap::{ArgGroup, Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Of the whole program: `assay fio` counts failed jobs instead, as fio does.
const ALL_EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
3 slower than it may be, a class missed, or (assay doctor --strict) something that
spoils figures, 4 data read back is not what had been written, 5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM. Finished
trials are kept in every case.
assay fio: the number of failed jobs, 4 for data that differs, 128 when stopped.";

/// Of most commands.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.
Finished trials are kept in every case.";

const RUN_EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
4 data read back is not what had been written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every case.";

/// Measures storage honestly: every figure carries evidence of what was
/// measured.
#[derive(Debug, Parser)]
#[command(name = "assay", version, after_help = ALL_EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// The language of reports, summaries, warnings and help [default: that of the
    /// locale]. What programs read is always English.
    #[arg(long, value_enum, value_name = "LANG", global = true)]
    pub lang: Option<Tag>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What is this storage, how fast is it really, and can I believe it?
    Qualify(QualifyArgs),
    /// Jobs under every combination of settings: schedulers, read-ahead, governors,
    /// mount options, ... (assay sweep --help has examples).
    Sweep(Box<SweepArgs>),
    /// Runs a job file of fio several times, as trials that are kept and judged.
    Run(RunArgs),
    /// Replays recorded I/O (iologs, block traces, the kernel's events as text) on other
    /// storage, or says what a recording is made of.
    Replay(Box<ReplayArgs>),
    /// Is fio: its job files, options and outputs, and a line of evidence per
    /// job (assay fio --help).
    #[command(disable_help_flag = true)]
    Fio(ToolArgs),
    /// Copies as GNU dd does, and says how much of it had reached the device
    /// (assay dd --help).
    #[command(disable_help_flag = true)]
    Dd(ToolArgs),
    /// The usual disk marks; whether storage has the speed of an SD card class;
    /// rounds until a device is in a steady state.
    Mark(MarkArgs),
    /// What AndroBench and Mobibench measure: files, and SQLite transactions.
    Androbench(Box<AndroBenchArgs>),
    /// The page cache at work: free, vmstat and iostat in one, while a command
    /// runs, and when its data was on the device.
    Watch(WatchArgs),
    /// Is iozone: its flags and its text, and what each figure measured (assay
    /// iozone -h).
    #[command(disable_help_flag = true)]
    Iozone(ToolArgs),
    /// Samples the rate over the whole extent of a device or file, and its
    /// access time, as GNOME Disks does.
    Disks(DisksArgs),
    /// Does this storage hold as much as it says? Fills and checks it as f3 and
    /// H2testw do, or probes it.
    Capacity(CapacityArgs),
    /// Writes and checks storage for hours to weeks: errors, rate over time, wear. Goes on
    /// after a kill.
    Soak(Box<SoakArgs>),
    /// Main memory: its bandwidth, its latency against the size of the working set, and
    /// whether it keeps what is written to it.
    Mem(MemArgs),
    /// What a product does with its storage: updates, boots, recordings, logs, full disks;
    /// built in, or of your own (docs/scenarios.md).
    Scenario(Box<ScenarioArgs>),
    /// What flash shows of itself to patterns of I/O: costs of commands, pages and
    /// erase units, caches, a fast area, work it defers.
    Traits(TraitsArgs),
    /// Lists the disks of a machine: what they are, how they are connected, how worn,
    /// and what of them may be tested.
    Devices(DevicesArgs),
    /// What would spoil a measurement here, and what to do about it.
    Doctor(DoctorArgs),
    /// Is B faster than A, slower, equivalent, or is there no conclusion? Of runs,
    /// imports and files, or of two targets that are measured in turn.
    Compare(CompareArgs),
    /// The same command on many boards, of one part or of two that are then compared.
    Campaign(Box<CampaignArgs>),
    /// Several conditions against each other: which differ, and which cannot be
    /// told apart.
    Rank(RankArgs),
    /// Which differences so many trials can show.
    Power(PowerArgs),
    /// Cuts the power of a board while it writes, again and again: is every acknowledged
    /// write there when it is back?
    Powercut(Box<PowercutArgs>),
    /// Takes in results that were made elsewhere: files of fio, iozone, dd, vmstat,
    /// and tables.
    Import(ImportArgs),
    /// Lists the stored runs and imports, newest first.
    List(ListArgs),
    /// Shows a stored run or import.
    Show(ShowArgs),
    /// Writes a stored run, or two compared, as a page, a workbook, text for mails and
    /// tickets, JSON, CSV, JUnit, TAP, signals for LAVA or KCIDB's JSON; or a page of
    /// every run.
    Report(ReportArgs),
    /// Draws one chart of a run: in the terminal, or as SVG, PNG, gnuplot script or CSV.
    Plot(PlotArgs),
    /// Where the time of each I/O of a stored run went, and what would help most.
    Explain(ExplainArgs),
    /// What a bus can carry, and why storage is as fast as it is: limits, a simulated card,
    /// the multi-block experiment.
    Model(ModelArgs),
    /// Lists the machines that can be measured on, and whether they are reached; gives
    /// back boards that killed runs still hold.
    Targets(TargetsArgs),
    /// Agents that stay on targets: puts them there, lists and removes them.
    Agent(AgentArgs),
}

/// Where runs are kept.
#[derive(Args, Clone, Debug, Default)]
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
    pub store: KeepArgs,
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
    pub store: KeepArgs,
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
