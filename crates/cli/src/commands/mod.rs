//! The commands, in the groups of the help, and the command line that names them.
//!
//! The doc comment of a command or option is its help. `after_help` consists of paragraphs; one
//! begins with `Examples:` (a test parses each example), one with `Exit codes:`. Values that shells
//! complete are in `generate::completion`, by the name of the value.

pub mod dropin;
pub mod generate;
pub mod language;
pub mod repeated;
pub mod resume;

/// Commands that measure storage or memory.
pub mod measure {
    pub mod capacity;
    pub mod check;
    pub mod disks;
    pub mod load_curve;
    pub mod mark;
    pub mod mem;
    pub mod ping;
    pub mod powercut;
    pub mod qualify;
    pub mod replay;
    pub mod run;
    pub mod scenario;
    pub mod soak;
    pub mod sweep;
    pub mod traits;
    pub mod watch;
}

/// Commands that judge and explain results.
pub mod judge {
    pub mod accept;
    pub mod compare;
    pub mod explain;
    pub mod model;
    pub mod rank;
    pub mod require;
    pub mod series;
}

/// Commands that show, draw, import and share stored results.
pub mod results {
    pub mod entries;
    pub mod export;
    pub mod query;
    pub mod report;
    pub mod serve;
    pub mod transfer;
}

/// Commands about machines: devices, targets, agents, campaigns, settings.
pub mod machines {
    pub mod campaign;
    pub mod config;
    pub mod devices;
    pub mod targets;
}

use crate::exit::Failure;
use crate::output::print;
use assay_lang::key;
use assay_model::text::{meant, nearest};
use assay_store::{is_address, without_secrets};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueHint};
use dropin::androbench::AndroBenchArgs;
use judge::accept::AcceptArgs;
use judge::compare::CompareArgs;
use judge::explain::ExplainArgs;
use judge::model::ModelCommand;
use judge::rank::{PowerArgs, RankArgs};
use judge::require::RequireArgs;
use judge::series::SeriesArgs;
use language::localized;
use machines::campaign::CampaignArgs;
use machines::config::ConfigArgs;
use machines::devices::{DevicesArgs, DoctorArgs};
use machines::targets::{AgentArgs, TargetsArgs};
use measure::capacity::CapacityArgs;
use measure::check::CheckArgs;
use measure::disks::DisksArgs;
use measure::load_curve::LoadCurveArgs;
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
use results::entries::{ImportArgs, ListArgs, RmArgs, TagArgs};
use results::export::{ExportArgs, ShareArgs};
use results::query::QueryArgs;
use results::report::ReportArgs;
use results::serve::ServeArgs;
use results::transfer::{PullArgs, PushArgs, UpkeepCommand};
use resume::ResumeArgs;
use std::ffi::{OsStr, OsString};
use std::iter;

/// End of the help of the whole program. `assay fio` counts failed jobs, as fio does.
const AFTER_HELP: &str = "\
assay COMMAND --help shows the options, examples and exit codes of a command.

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

/// Commands in the groups of `assay --help`. The help shows an example of each command of the first
/// group.
pub const GROUPS: [(&str, &[&str]); 6] = [
    (
        key!("First steps"),
        &["check", "qualify", "accept", "compare", "report"],
    ),
    (
        key!("Measure"),
        &[
            "sweep",
            "load-curve",
            "run",
            "replay",
            "mem",
            "scenario",
            "watch",
            "resume",
        ],
    ),
    (
        key!("Drop-in tools and marks"),
        &[
            "fio",
            "dd",
            "iozone",
            "androbench",
            "mark",
            "disks",
            "ping",
            "capacity",
        ],
    ),
    (key!("Judge"), &["require", "rank", "series", "model"]),
    (key!("Results"), &["list", "store"]),
    (key!("Machines"), &["devices", "doctor", "lab"]),
];

/// Words of earlier versions, with those of today.
const RENAMED: [(&str, &str); 22] = [
    ("explain", "model explain"),
    ("--qualify", "--replace"),
    ("show", "report"),
    ("plot", "report --chart"),
    ("trend", "series"),
    ("power", "model power"),
    ("traits", "model traits"),
    ("import", "store import"),
    ("export", "store export"),
    ("share", "store share"),
    ("query", "store query"),
    ("serve", "store serve"),
    ("push", "store push"),
    ("pull", "store pull"),
    ("tag", "store tag"),
    ("rm", "store rm"),
    ("targets", "lab targets"),
    ("agent", "lab agent"),
    ("campaign", "lab campaign"),
    ("soak", "lab soak"),
    ("powercut", "lab powercut"),
    ("config", "lab config"),
];

fn renamed(word: &str) -> Option<&'static str> {
    let found = RENAMED.iter().find(|(old, _)| *old == word);
    found.map(|(_, new)| *new)
}

/// Returns the command among the stored arguments, without its group, or the tool if the program was
/// called by its name. The arguments can be those of an earlier version.
pub fn command_of(words: &[String]) -> &str {
    let is_group = |word: &str| {
        let mut groups = RENAMED.iter().map(|(old, new)| new.strip_suffix(old));
        groups.any(|group| group.is_some_and(|group| group.trim_end() == word))
    };
    let is_command = |word: &&str| {
        let mut names = GROUPS.iter().flat_map(|(_, names)| *names);
        (names.any(|name| name == word) || renamed(word).is_some()) && !is_group(word)
    };
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
    /// Check a card or stick: genuine, speed classes, good for its use.
    Check(CheckArgs),
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
    /// Measure latency at offered rates: how much can it serve?
    LoadCurve(LoadCurveArgs),
    /// Measure the latency of single random reads, as ioping does.
    Ping(PingArgs),
    /// Check for fake capacity and bad blocks, as f3 and H2testw do.
    Capacity(CapacityArgs),
    /// Measure and test main memory: bandwidth, latency, bit errors.
    Mem(MemArgs),
    /// Play a product's I/O: updates, boots, recordings, full disks.
    Scenario(Box<ScenarioArgs>),
    /// Resume an interrupted run: run its missing trials.
    Resume(ResumeArgs),
    /// List disks: identity, connection, wear, whether in use.
    Devices(DevicesArgs),
    /// Check a machine for what would spoil a measurement.
    Doctor(DoctorArgs),
    /// Measure two parts in turn and decide: may B replace A?
    Accept(Box<AcceptArgs>),
    /// Compare A with B: faster, slower, equivalent or no conclusion.
    Compare(Box<CompareArgs>),
    /// Check a run against requirements: pass, fail or open for each.
    Require(RequireArgs),
    /// Rank the conditions of a sweep and group those that do not differ.
    Rank(RankArgs),
    /// List series of runs over months, with their changes; draw one.
    Series(SeriesArgs),
    /// Show a run or a comparison, or write it: page, sheet, mail, chart.
    Report(ReportArgs),
    /// List stored runs and imports, newest first.
    List(ListArgs),
    /// Flash traits, bus limits, detectable differences, simulated cards.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a rule can be broken (check)."
    )]
    Model(ModelGroup),
    /// Import, tag, remove, query, export, share, serve, push, pull runs.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage."
    )]
    Store(StoreGroup),
    /// Boards and their agents, campaigns, soak, power cuts, settings.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 5 target lost."
    )]
    Lab(LabGroup),
}

/// Commands about the properties of storage.
#[derive(Debug, Subcommand)]
pub enum ModelGroup {
    /// Infer flash properties from timing: pages, erase blocks, caches.
    Traits(TraitsArgs),
    /// Show which differences a given number of trials can detect.
    Power(PowerArgs),
    /// Break down the time of a run's I/Os: bus, flash, flush, CPU.
    Explain(ExplainArgs),
    #[command(flatten)]
    Model(ModelCommand),
}

/// Commands about stored results.
#[derive(Debug, Subcommand)]
pub enum StoreGroup {
    /// Import results of fio, iozone, dd, vmstat and CSV tables.
    Import(ImportArgs),
    /// Name, tag and annotate a stored run or import.
    Tag(TagArgs),
    /// Remove runs and imports from the store.
    Rm(RmArgs),
    /// Select from the store's views with SQL: table, CSV, JSON, Parquet.
    Query(QueryArgs),
    /// Write all runs and figures as tables for other programs.
    Export(ExportArgs),
    /// Write figures of a device for others, without what identifies you.
    Share(ShareArgs),
    /// Show stored results in a browser, and to programs as JSON.
    Serve(ServeArgs),
    /// Copy runs to a team's PostgreSQL, another machine or a file.
    Push(PushArgs),
    /// Copy runs from a team's PostgreSQL, another machine or a file.
    Pull(PullArgs),
    #[command(flatten)]
    Upkeep(UpkeepCommand),
}

/// Commands of a lab.
#[derive(Debug, Subcommand)]
pub enum LabGroup {
    /// List reachable machines; release boards held by killed runs.
    Targets(TargetsArgs),
    /// Install, list and remove agents that stay on targets.
    Agent(AgentArgs),
    /// Run one command on many boards; optionally compare two parts.
    Campaign(Box<CampaignArgs>),
    /// Write and verify for hours to weeks: errors, throughput, wear.
    Soak(Box<SoakArgs>),
    /// Cut power while a board writes and check what was lost.
    Powercut(Box<PowercutArgs>),
    /// Show the settings in force and where each comes from.
    Config(ConfigArgs),
}

impl Command {
    /// Returns `true` if the command works with settings that are not understood, and shows them.
    pub const fn describes_settings(&self) -> bool {
        match self {
            Self::Lab(LabGroup::Config(_)) => true,
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

/// Parses the arguments of a stored run, which can be those of an earlier version.
pub fn parse_stored(words: &[String]) -> Result<Option<Cli>, Failure> {
    let command = command_of(words);
    let now = renamed(command).unwrap_or(command);
    let after = words.iter().skip_while(|word| *word != command).skip(1);
    let words = iter::once("assay").chain(now.split(' '));
    parse(words.chain(after.map(String::as_str)).map(OsString::from))
}

/// Returns the innermost command that the arguments name, and its words, such as `lab agent`.
fn innermost<'a>(command: &'a clap::Command, words: &[OsString]) -> (&'a clap::Command, String) {
    let (mut found, mut names) = (command, Vec::new());
    let mut before = OsStr::new("");
    for word in words.iter().skip(1) {
        match found.find_subcommand(word) {
            Some(below) => {
                found = below;
                names.push(below.get_name());
            }
            None if word.as_encoded_bytes().starts_with(b"-") || before == "--lang" => {}
            None => break,
        }
        before = word;
    }
    (found, names.join(" "))
}

/// Returns the subcommands that can follow arguments that lack one.
fn without_command(words: &[OsString]) -> String {
    let command = localized();
    let (group, name) = innermost(&command, words);
    if name.is_empty() {
        return "no command given: try assay qualify PATH, or assay --help".to_owned();
    }
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
    let (group, name) = innermost(&command, words);
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let named = argument.clone().unwrap_or_default();
    let problem = match error.kind() {
        ErrorKind::UnknownArgument if name == "rank" && !named.starts_with('-') => {
            return "rank takes one sweep; to compare two runs: assay compare A B".to_owned();
        }
        ErrorKind::UnknownArgument => match renamed(&named).filter(|_| named.starts_with('-')) {
            Some(now) => format!("{named} is called {now}"),
            None => format!(
                "unknown argument '{named}'{}",
                nearest_argument(error, &named)
            ),
        },
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            if let Some(now) = renamed(&word).filter(|_| name.is_empty()) {
                return is_called(&word, now, words);
            }
            let known = group.get_subcommands().map(clap::Command::get_name);
            let known: Vec<&str> = match name.is_empty() {
                true => known.chain(RENAMED.map(|(old, _)| old)).collect(),
                false => known.collect(),
            };
            let near = nearest(&word, known);
            let near = near.map(|near| renamed(near).filter(|_| name.is_empty()).unwrap_or(near));
            let near = near.map_or_else(String::new, |near| format!(": did you mean '{near}'?"));
            format!("unknown command '{word}'{near}")
        }
        ErrorKind::MissingRequiredArgument if name == "compare" && words.len() == 2 => {
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
                let meant = meant(&value, known.split(", "));
                format!("'{value}' is not a value of {named}{meant}: it takes {known}")
            }
            _ => first_line(error),
        },
        _ => first_line(error),
    };
    let name = Some(name).filter(|name| !name.is_empty());
    let name = name.map_or_else(String::new, |name| format!(" {name}"));
    format!("{problem} (assay{name} --help shows all)")
}

/// Says how a command of earlier versions is called today, with the arguments that were given.
fn is_called(old: &str, now: &str, words: &[OsString]) -> String {
    if let Some((command, _)) = now.split_once(" --") {
        return format!("{old} is called {now} (assay {command} --help shows all)");
    }
    let mut line = format!("{old} is called {now}: assay {now}");
    for word in words.iter().skip_while(|word| *word != old).skip(1) {
        let word = assay_model::text::clean(&without_secrets(&word.to_string_lossy()));
        // Quoting fails only for a NUL, which has been removed.
        let quoted = shlex::try_quote(&word).unwrap_or_default();
        line = format!("{line} {quoted}");
    }
    line
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
fn nearest_argument(error: &Error, given: &str) -> String {
    let known = match error.get(ContextKind::SuggestedArg) {
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
mod tests {
    use super::*;
    use clap::error::ErrorKind;
    use clap::{CommandFactory, Parser};
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_command_is_found_among_its_words() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let of = |line: &[&str]| {
            let words: Vec<String> = words(line);
            command_of(&words).to_owned()
        };
        assert_eq!(
            of(&["/usr/bin/assay", "--lang", "en", "qualify", "dd"]),
            "qualify"
        );
        assert_eq!(of(&["/opt/dd", "if=x"]), "dd");
        for words in [&["assay", "soak", "."][..], &["assay", "lab", "soak", "."]] {
            assert_eq!(of(words), "soak", "of an earlier version, and of this one");
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let parsed = parse_stored(&words).unwrap().and_then(|cli| cli.command);
            assert!(
                matches!(parsed, Some(Command::Lab(LabGroup::Soak(_)))),
                "{words:?}: {parsed:?}"
            );
        }
        assert_eq!(of(&[]), "");
    }

    /// Name and text of README and of each page in `docs`.
    fn pages() -> Vec<(String, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let entries = fs::read_dir(root.join("docs")).expect("docs");
        let docs = entries.map(|entry| entry.expect("an entry").path());
        let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let read = |path: std::path::PathBuf| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read_to_string(path).expect("text"))
        };
        pages.chain([root.join("README.md")]).map(read).collect()
    }

    /// Commands, and subcommands of these, each with all its words and its own flags.
    fn flags(command: &clap::Command, words: &str, found: &mut Vec<(String, String)>) {
        let own = command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
        let own = own.filter_map(|arg| arg.get_long());
        found.extend(own.map(|flag| (words.to_owned(), format!("--{flag}"))));
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            flags(sub, &format!("{words} {}", sub.get_name()), found);
        }
    }

    /// A flag of more commands than this is described once, on a page for all of them.
    const COMMON: usize = 6;

    #[test]
    fn each_flag_is_on_a_page_that_names_its_command() {
        let pages = pages();
        let mut all = Vec::new();
        flags(&Cli::command(), "assay", &mut all);
        let has_word = |text: &str, word: &str| {
            let mut places = text.match_indices(word);
            places.any(|(at, _)| {
                let next = text[at + word.len()..].chars().next();
                !next.is_some_and(|next| next.is_alphanumeric() || next == '-')
            })
        };
        let missing: Vec<_> = all
            .iter()
            .filter(|(command, flag)| {
                let first: Vec<&str> = command.split(' ').take(2).collect();
                let is_common = all.iter().filter(|(_, other)| other == flag).count() > COMMON;
                let names = |text: &str| is_common || text.contains(&first.join(" "));
                let mut of_command = pages.iter().filter(|(_, text)| names(text));
                !of_command.any(|(_, text)| has_word(text, flag))
            })
            .collect();
        assert!(
            missing.is_empty(),
            "on no page of its command: {missing:#?}"
        );
    }

    /// Lines of code blocks that start assay, without prompt, comment and what the shell does.
    fn command_lines(text: &str) -> impl Iterator<Item = &str> {
        let blocks = text.split("```").skip(1).step_by(2);
        blocks.flat_map(str::lines).filter_map(|line| {
            let line = line.trim_start_matches("$ ");
            let line = line.starts_with("assay ").then_some(line)?;
            let line = line.trim_end();
            let ends = ["   ", "  #", " #", " |", " >", " <", " &", ";", "\\"];
            let end = ends.iter().filter_map(|end| line.find(end)).min();
            Some(&line[..end.unwrap_or(line.len())])
        })
    }

    /// Values may be placeholders; commands and flags are those that exist.
    #[test]
    fn each_command_line_of_the_pages_is_one_that_assay_takes() {
        let mut count = 0;
        for (page, text) in pages() {
            for line in command_lines(&text.replace("\\\n    ", "")) {
                let words = shlex::split(line).expect(line);
                let tool = words.get(1).map_or("", String::as_str);
                if ["fio", "dd", "iozone", "androbench"].contains(&tool) {
                    continue;
                }
                count += 1;
                let Err(error) = Cli::try_parse_from(&words) else {
                    continue;
                };
                let is_value = matches!(
                    error.kind(),
                    ErrorKind::ValueValidation
                        | ErrorKind::InvalidValue
                        | ErrorKind::DisplayHelp
                        | ErrorKind::DisplayVersion
                );
                assert!(is_value, "{page}: {line}: {error}");
            }
        }
        assert!(count > 100, "only {count} lines were found");
    }

    fn complaint(words: &[&str]) -> String {
        let words = iter::once("assay").chain(words.iter().copied());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        one_line(&Cli::try_parse_from(&words).unwrap_err(), &words)
    }

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn mistakes_are_named_in_one_line_with_the_nearest_word() {
        for (words, expected) in [
            (
                &["qualify", ".", "--trails", "3"][..],
                "did you mean '--trials'?",
            ),
            (&["list", "--sort"], "(assay list --help shows all)"),
            (&["qualifi", "."], "did you mean 'qualify'?"),
            (&["qualify"], "missing: <PATH>"),
            (&["qualify", ".", "--trials", "0"], "'0'"),
            (&["qualify", ".", "--size", "3q"], "unknown suffix 'q'"),
            (
                &["qualify", ".", "--quick", "--thorough"],
                "cannot be used together",
            ),
            (&["compare"], "give two runs: assay compare A B"),
            (
                &["show", "last"],
                "show is called report: assay report last",
            ),
            (
                &["--lang", "en", "trend", "3fa9", "-o", "x"],
                "trend is called series: assay series 3fa9 -o x",
            ),
            (
                &["push", "--to", "postgres://ann:s3@db"],
                "push is called store push: assay store push --to postgres://ann@db",
            ),
            (
                &["plot", "last"],
                "plot is called report --chart (assay report --help shows all)",
            ),
            (
                &["query", "SELECT * FROM runs", "-o", "it's"],
                "query is called store query: assay store query 'SELECT * FROM runs' -o \"it's\"",
            ),
            (&["list", "soak"], "unknown argument 'soak' (assay list"),
            (
                &["compare", "a", "b", "--qualify"],
                "--qualify is called --replace",
            ),
            (&["exprot"], "did you mean 'store export'?"),
            (
                &["store", "exprot"],
                "did you mean 'export'? (assay store --help",
            ),
            (
                &["store", "show", "last"],
                "unknown command 'show' (assay store --help",
            ),
            (
                &["lab", "soak", ".", "--passses", "2"],
                "(assay lab soak --help shows all)",
            ),
            (&["scenario"], "such as assay scenario boot PATH"),
            (&["scenario", "boot"], "missing: <PATH>"),
            (
                &["store", "tag", "last"],
                "missing: one of --name <NAME>, --no-name, --tag <TAG>",
            ),
            (&["store", "tag"], "--note <TEXT> and <RUN>"),
            (&["sweep"], "missing: --vary <SUBJECT=VALUES> and <PATH>"),
            (&["rank", "a", "b"], "rank takes one sweep"),
            (&["store", "tag", "last", "--name", "a\nb"], "a\\nb"),
            (
                &["store", "push", "--to", "mysql://ann:s3@db"],
                "invalid value 'mysql://ann@db' for '--to <STORE>': mysql://ann@db names no store",
            ),
            (
                &["store", "import", "f", "--format", "x"],
                "'x' is not a value of --format <FORMAT>: it takes fio-json, fio-text",
            ),
        ] {
            let line = complaint(words);
            assert!(line.contains(expected), "{words:?}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn words_that_are_not_alike_are_not_offered() {
        for words in [
            &["history"][..],
            &["delete"],
            &["qualify", ".", "--frobnicate"],
            &["list", "--sort"],
            &["report", "last", "--html"],
        ] {
            let line = complaint(words);
            assert!(!line.contains("did you mean"), "{words:?}: {line}");
        }
        assert!(complaint(&["lsit"]).contains("'list'"));
        assert!(complaint(&["list", "--devcie", "x"]).contains("'--device'"));
    }

    #[test]
    fn a_group_of_commands_names_them() {
        for (group, expected) in [
            ("lab agent", "push, list, remove"),
            ("lab", "targets, agent, campaign"),
            ("model", "traits, power, explain, limits"),
        ] {
            let words = ["assay"].into_iter().chain(group.split(' '));
            let line = parse(words.map(OsString::from)).unwrap_err().to_string();
            assert!(line.contains(expected), "{line}");
        }
    }
}
