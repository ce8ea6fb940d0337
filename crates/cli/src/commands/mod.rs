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

use crate::exit::Failure;
use crate::output::print;
use assay_dialects::nearest;
use assay_lang::key;
use assay_store::{is_address, without_secrets};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueHint};
use dropin::androbench::AndroBenchArgs;
use judge::compare::CompareArgs;
use judge::explain::ExplainArgs;
use judge::model::ModelArgs;
use judge::power::PowerArgs;
use judge::rank::RankArgs;
use judge::series::SeriesArgs;
use judge::trend::TrendArgs;
use language::localized;
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
use measure::powercut::PowercutArgs;
use measure::qualify::QualifyArgs;
use measure::replay::ReplayArgs;
use measure::run::RunArgs;
use measure::scenario::ScenarioArgs;
use measure::soak::SoakArgs;
use measure::sweep::SweepArgs;
use measure::traits::TraitsArgs;
use measure::watch::WatchArgs;
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

/// Parses the arguments; returns `None` if help or the version was requested and printed.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Option<Cli>, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let command = localized();
    let parsed = command.try_get_matches_from(&words);
    let error = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(args) if args.command.is_none() && args.generate.is_none() => {
            return Err(Failure::usage(without_command(&words)));
        }
        Ok(args) => return Ok(Some(args)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(|out| write!(out, "{}", error.render()))?;
            Ok(None)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage(without_command(&words)))
        }
        _ => Err(Failure::usage(one_line(&error, &words))),
    }
}

/// Returns the subcommands that can follow arguments that lack one.
fn without_command(words: &[OsString]) -> String {
    let command = localized();
    let mut groups = words.iter().skip(1).filter_map(|word| {
        let found = command.find_subcommand(word)?;
        found.has_subcommands().then_some(found)
    });
    let Some(group) = groups.next() else {
        return "no command given: try assay qualify PATH, or assay --help".to_owned();
    };
    let name = group.get_name();
    let names = group.get_subcommands().map(clap::Command::get_name);
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    format!(
        "assay {name} needs one of: {} (assay {name} --help describes them)",
        names.join(", ")
    )
}

/// Describes a usage error, with the nearest known word, in one line.
fn one_line(error: &Error, words: &[OsString]) -> String {
    let command = localized();
    let given = words.get(1).and_then(|word| command.find_subcommand(word));
    let name = given.map(clap::Command::get_name);
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let named = argument.clone().unwrap_or_default();
    let problem = match error.kind() {
        ErrorKind::UnknownArgument if name == Some("rank") && !named.starts_with('-') => {
            return "rank takes one sweep; to compare two runs: assay compare A B".to_owned();
        }
        ErrorKind::UnknownArgument => {
            format!(
                "unknown argument '{named}'{}",
                meant(error, ContextKind::SuggestedArg, &named)
            )
        }
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = meant(error, ContextKind::SuggestedSubcommand, &word);
            format!("unknown command '{word}'{near}")
        }
        ErrorKind::MissingRequiredArgument if name == Some("compare") && words.len() == 2 => {
            return "give two runs: assay compare A B".to_owned();
        }
        ErrorKind::MissingRequiredArgument if named.starts_with(SCENARIO) => {
            "give a scenario and a path, such as assay scenario boot PATH (--list shows all \
             scenarios)"
                .to_owned()
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {}", of_groups(&named)),
        ErrorKind::ArgumentConflict => {
            let other = text(error, ContextKind::PriorArg).unwrap_or_default();
            format!("{named} and {other} cannot be used together")
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{named} needs a value"),
        ErrorKind::InvalidValue => match text(error, ContextKind::ValidValue) {
            Some(known) if !known.is_empty() => {
                format!("'{value}' is not a value of {named}: it takes {known}")
            }
            _ => first_line(error),
        },
        _ => first_line(error),
    };
    match name {
        Some(name) => format!("{problem} (assay {name} --help shows all)"),
        None => format!("{problem} (assay --help shows all)"),
    }
}

/// Start of clap's notation for the arguments of which `assay scenario` needs one.
const SCENARIO: &str = "<SCENARIO|FILE|--list";

/// Lists arguments by name where clap writes a group of options as `<--name <NAME>|--tag <TAG>>`.
fn of_groups(named: &str) -> String {
    let each = named.split(", ").map(|one| {
        let group = one.strip_prefix("<-").and_then(|one| one.strip_suffix('>'));
        group.map_or_else(
            || one.to_owned(),
            |group| format!("one of -{}", group.replace('|', ", ")),
        )
    });
    each.collect::<Vec<_>>().join(" and ")
}

/// Returns clap's first line, and the reason after it if there is one.
fn first_line(error: &Error) -> String {
    let rendered = match error.get(ContextKind::InvalidValue) {
        // A line break in the value would cut off the reason; an address may contain a password.
        Some(ContextValue::String(value)) => {
            let shown = match is_address(value) {
                true => without_secrets(value),
                false => value.clone(),
            };
            let rendered = error.render().to_string();
            rendered.replace(value.as_str(), &shown.escape_debug().to_string())
        }
        _ => error.render().to_string(),
    };
    let first = rendered.lines().next().unwrap_or_default();
    first.trim_start_matches("error: ").to_owned()
}

/// Suggests the intended word; clap also offers words that merely sound alike.
fn meant(error: &Error, kind: ContextKind, given: &str) -> String {
    let known = match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    };
    let given = given.split('=').next().unwrap_or_default();
    nearest(given, known.iter().map(String::as_str))
        .map_or_else(String::new, |known| format!(": did you mean '{known}'?"))
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
