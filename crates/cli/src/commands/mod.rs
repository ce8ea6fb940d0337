//! The commands, in the groups of the help, and the command line that names them.
//!
//! The doc comment of a command or option is its help. `after_help` consists of paragraphs; one
//! begins with `Examples:` (a test parses each example), one with `Exit codes:`. Values that shells
//! complete are in `generate::completion`, by the name of the value.

pub mod dropin;
pub mod generate;
pub mod judge;
pub mod language;
pub mod machines;
pub mod measure;
pub mod repeated;
pub mod results;
pub mod resume;
pub mod usage;

use assay_lang::key;
use clap::{Args, Parser, Subcommand, ValueHint};
use dropin::androbench::args::AndroBenchArgs;
use judge::compare::CompareArgs;
use judge::explain::ExplainArgs;
use judge::model::ModelArgs;
use judge::power::PowerArgs;
use judge::rank::RankArgs;
use judge::series::SeriesArgs;
use judge::trend::TrendArgs;
use machines::agent::AgentArgs;
use machines::campaign::CampaignArgs;
use machines::config::ConfigArgs;
use machines::devices::DevicesArgs;
use machines::doctor::DoctorArgs;
use machines::targets::TargetsArgs;
use measure::capacity::CapacityArgs;
use measure::disks::DisksArgs;
use measure::mark::MarkArgs;
use measure::mem::MemArgs;
use measure::ping::PingArgs;
use measure::powercut::args::PowercutArgs;
use measure::qualify::QualifyArgs;
use measure::replay::args::ReplayArgs;
use measure::run::RunArgs;
use measure::scenario::ScenarioArgs;
use measure::soak::SoakArgs;
use measure::sweep::args::SweepArgs;
use measure::traits::args::TraitsArgs;
use measure::watch::args::WatchArgs;
use results::export::ExportArgs;
use results::import::ImportArgs;
use results::list::ListArgs;
use results::plot::PlotArgs;
use results::pull::PullArgs;
use results::push::PushArgs;
use results::query::QueryArgs;
use results::report::ReportArgs;
use results::rm::RmArgs;
use results::serve::ServeArgs;
use results::share::ShareArgs;
use results::show::ShowArgs;
use results::store::StoreCommandArgs;
use results::tag::TagArgs;
use resume::ResumeArgs;
use std::ffi::OsString;

/// End of the help of the whole program. `assay fio` counts failed jobs, as fio does.
const AFTER_HELP: &str = "\
assay COMMAND --help shows the options and exit codes of a command.

Examples:
  assay qualify /mnt/sd --name before
  assay compare before last
  assay report last -o disk.html

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a check failed (regression, missed class,
spoiled figures), 4 data read differs from data written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are always kept.
assay fio: the number of failed jobs, 4 for data that differs, 128 when stopped.";

/// Measure storage. Every figure carries evidence of what was measured: the device or a
/// cache.
#[derive(Debug, Parser)]
#[command(name = "assay", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    /// Language of reports, warnings and help [default: the locale's]. Output for programs is
    /// always English.
    #[arg(long, value_name = "LANG", global = true, value_parser = ["en", "zh"], display_order = 900)]
    pub lang: Option<String>,
    /// Write what packages of assay have: man DIR writes a manual page for each command;
    /// complete-bash, complete-zsh, complete-fish, complete-elvish and complete-powershell print
    /// a script for that shell (docs/completions.md).
    #[arg(long, value_name = "WHAT", num_args = 1..=2, exclusive = true)]
    pub generate: Option<Vec<OsString>>,
    /// Command that is carried out.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Commands in the groups of `assay --help`.
pub const GROUPS: [(&str, &[&str]); 5] = [
    (
        key!("Measure"),
        &[
            "qualify", "sweep", "run", "replay", "mark", "disks", "ping", "capacity", "soak",
            "mem", "scenario", "traits", "watch", "powercut", "resume",
        ],
    ),
    (
        key!("Drop-in tools"),
        &["fio", "dd", "iozone", "androbench"],
    ),
    (
        key!("Judge"),
        &[
            "compare", "rank", "series", "trend", "power", "explain", "model",
        ],
    ),
    (
        key!("Results"),
        &[
            "list", "show", "report", "plot", "serve", "query", "export", "share", "import", "tag",
            "rm", "push", "pull", "store",
        ],
    ),
    (
        key!("Machines"),
        &[
            "devices", "doctor", "targets", "agent", "campaign", "config",
        ],
    ),
];

/// Returns the command among the stored arguments, or the tool if the program was called by its name.
pub fn command_of(words: &[String]) -> &str {
    let is_command = |word: &&str| GROUPS.iter().any(|(_, names)| names.contains(word));
    let mut words = words.iter().map(String::as_str);
    let program = words
        .next()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let tool = program.filter(is_command);
    tool.or_else(|| words.find(is_command)).unwrap_or_default()
}

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
    /// Measure the latency of single random reads, as ioping does.
    Ping(PingArgs),
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
    /// Resume an interrupted run: run its missing trials.
    Resume(ResumeArgs),
    /// List disks: identity, connection, wear, whether in use.
    Devices(DevicesArgs),
    /// Check a machine for what would spoil a measurement.
    Doctor(DoctorArgs),
    /// Compare A with B: faster, slower, equivalent or no conclusion.
    Compare(Box<CompareArgs>),
    /// Run one command on many boards; optionally compare two parts.
    Campaign(Box<CampaignArgs>),
    /// Rank the conditions of a sweep and group those that do not differ.
    Rank(RankArgs),
    /// List series of runs over months, with their changes.
    Series(SeriesArgs),
    /// Draw one series with its changes and what changed with them.
    Trend(TrendArgs),
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
    /// Name, tag and annotate a stored run or import.
    Tag(TagArgs),
    /// Remove runs and imports from the store.
    Rm(RmArgs),
    /// Copy runs to a team's PostgreSQL, another machine or a file.
    Push(PushArgs),
    /// Copy runs from a team's PostgreSQL, another machine or a file.
    Pull(PullArgs),
    /// Rebuild series; answer push and pull of other machines.
    Store(StoreCommandArgs),
    /// Write runs or comparisons as HTML, Excel, mail, JSON, CSV, ...
    Report(ReportArgs),
    /// Draw one chart of a run: terminal, SVG, PNG, gnuplot or CSV.
    Plot(PlotArgs),
    /// Select from the store's views with SQL: table, CSV, JSON, Parquet.
    Query(QueryArgs),
    /// Write all runs and figures as tables for other programs.
    Export(ExportArgs),
    /// Write figures of a device for others, without what identifies you.
    Share(ShareArgs),
    /// Show stored results in a browser, and to programs as JSON.
    Serve(ServeArgs),
    /// Break down the time of a run's I/Os: bus, flash, flush, CPU.
    Explain(ExplainArgs),
    /// Calculate bus limits, simulate cards and fit their parameters.
    Model(ModelArgs),
    /// List reachable machines; release boards held by killed runs.
    Targets(TargetsArgs),
    /// Install, list and remove agents that stay on targets.
    Agent(AgentArgs),
    /// Show the settings in force and where each comes from.
    Config(ConfigArgs),
}

impl Command {
    /// Returns `true` if the command works with settings that are not understood, and shows them.
    pub const fn describes_settings(&self) -> bool {
        match self {
            Self::Config(_) => true,
            Self::Doctor(args) => args.itself,
            _ => false,
        }
    }
}

/// Arguments of another tool, parsed by that tool's parser: `main` runs the tool before clap sees
/// them, so that this type only provides the help.
#[derive(Args, Debug)]
pub struct ToolArgs {
    /// Options and operands of the tool, and assay's own options.
    #[arg(
        value_name = "ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_hint = ValueHint::AnyPath
    )]
    pub words: Vec<OsString>,
}

#[cfg(test)]
mod tests;
