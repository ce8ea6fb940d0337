//! The commands, in the groups of the help, and the command line that names them.

pub mod dropin;
pub mod judge;
pub mod machines;
pub mod measure;
pub mod results;
pub mod resume;
pub mod usage;

use crate::ui::language::Tag;
use clap::{Args, Parser, Subcommand};
use dropin::androbench::args::AndroBenchArgs;
use judge::compare::args::CompareArgs;
use judge::explain::args::ExplainArgs;
use judge::model::ModelArgs;
use judge::power::PowerArgs;
use judge::rank::RankArgs;
use machines::agent::AgentArgs;
use machines::campaign::CampaignArgs;
use machines::devices::DevicesArgs;
use machines::doctor::DoctorArgs;
use machines::targets::TargetsArgs;
use measure::capacity::CapacityArgs;
use measure::disks::DisksArgs;
use measure::mark::args::MarkArgs;
use measure::mem::MemArgs;
use measure::powercut::args::PowercutArgs;
use measure::qualify::QualifyArgs;
use measure::replay::args::ReplayArgs;
use measure::run::RunArgs;
use measure::scenario::ScenarioArgs;
use measure::soak::SoakArgs;
use measure::sweep::args::SweepArgs;
use measure::traits::args::TraitsArgs;
use measure::watch::args::WatchArgs;
use results::import::args::ImportArgs;
use results::list::ListArgs;
use results::plot::PlotArgs;
use results::report::ReportArgs;
use results::show::ShowArgs;
use std::ffi::OsString;

/// Of the whole program: `assay fio` counts failed jobs instead, as fio does.
const ALL_EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
3 slower than it may be, a class missed, or (assay doctor --strict) something that
spoils figures, 4 data read back is not what had been written, 5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM. Finished
trials are kept in every case.
assay fio: the number of failed jobs, 4 for data that differs, 128 when stopped.";

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
