//! Command line: flags of the program, options of jobs, job files.

use super::build::IniEntry;
use super::options::{ENGINES, GROUPS, OptionDef, OptionType, Support};
use super::output::TerseVersion;
use super::value::{TimeUnit, duration};
use super::{Eta, FioCommand, FioError, Formats, OptionLocation, OutputOptions, options};
use assay_model::text::nearest;
use assay_model::units::Nanos;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Parsed command line.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Options before the first `--name`, and each job after it.
    pub(super) sections: Vec<CommandLineJob>,
    /// Job files.
    pub(super) files: Vec<PathBuf>,
    /// `--section`.
    pub(super) wanted: Vec<String>,
    /// Output options.
    pub(super) output: OutputOptions,
    /// `--parse-only`.
    pub(super) parse_only: bool,
    /// `--showcmd`.
    pub(super) show_command: bool,
    /// `--debug=parse`: show options as they are parsed.
    pub(super) show_parsing: bool,
    /// `--readonly`.
    pub(super) readonly: bool,
    /// `--bandwidth-log`.
    pub(super) bandwidth_log: bool,
    /// `--warnings-fatal`.
    pub(super) warnings_fatal: bool,
    /// `--max-jobs`.
    pub(super) most_jobs: Option<u64>,
    /// `--aux-path`.
    pub(super) aux_path: Option<PathBuf>,
    /// `--status-interval`.
    pub(super) status_interval: Option<Nanos>,
    /// Flags without effect that were given.
    pub(super) notes: Vec<String>,
}

/// Options of a job on the command line.
#[derive(Debug)]
pub(super) struct CommandLineJob {
    /// Name of the job; `global` for options before the first.
    pub(super) name: String,
    /// Options of the job.
    pub(super) entries: Vec<IniEntry>,
}

/// Kind of an argument.
#[derive(Clone, Copy)]
enum ArgumentKind {
    Flag(Flag),
    Option(&'static str, bool),
}

/// A parsed command line.
pub(super) enum Parsed {
    /// Jobs and how to run them.
    Jobs(Box<Arguments>),
    /// A request that needs no jobs, such as the version.
    Answer(FioCommand),
}

/// Parses a command line.
pub(super) fn parse(args: &[OsString]) -> Result<Parsed, FioError> {
    let mut arguments = Arguments::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            arguments.files.extend(rest.map(PathBuf::from));
            break;
        }
        if !arg.as_encoded_bytes().starts_with(b"-") || arg == "-" {
            arguments.files.push(PathBuf::from(arg));
            continue;
        }
        let text = utf8(arg)?;
        let (name, inline) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let known = recognise(name)?;
        let value = match inline {
            Some(value) => Some(value),
            None => following(known, &mut rest)?,
        };
        match known {
            ArgumentKind::Option(option, _) => arguments.option(option, value),
            ArgumentKind::Flag(flag) => {
                let command =
                    arguments
                        .flag(flag, value.as_deref())
                        .map_err(|problem| FioError {
                            option: Some(text.to_owned()),
                            ..FioError::usage(problem)
                        })?;
                if let Some(command) = command {
                    return Ok(Parsed::Answer(command));
                }
            }
        }
    }
    Ok(Parsed::Jobs(Box::new(arguments)))
}

/// Returns the value in the next argument if this one needs a value.
fn following<'a>(
    known: ArgumentKind,
    rest: &mut (impl Iterator<Item = &'a OsString> + Clone),
) -> Result<Option<String>, FioError> {
    let takes = match known {
        ArgumentKind::Flag(flag) => flag.value == Takes::Value,
        ArgumentKind::Option(_, takes) => takes,
    };
    let Some(next) = rest.clone().next().filter(|_| takes) else {
        return Ok(None);
    };
    // An optional value does not start with a dash: such an argument is a flag.
    let optional = matches!(known, ArgumentKind::Option(name, _)
        if options::find(name).is_some_and(|option| matches!(option.kind, OptionType::OptionalText(_))));
    let next = utf8(next)?;
    if optional && next.starts_with('-') {
        return Ok(None);
    }
    rest.next();
    Ok(Some(next.to_owned()))
}

/// Returns an argument as UTF-8. A lossy conversion could name another file.
fn utf8(arg: &OsString) -> Result<&str, FioError> {
    arg.to_str()
        .ok_or_else(|| FioError::usage(format!("'{}' is not UTF-8", arg.to_string_lossy())))
}

/// Identifies `--name` or `-name`. As with fio's getopt, an unambiguous prefix is sufficient, and
/// flags have letters.
fn recognise(dashed: &str) -> Result<ArgumentKind, FioError> {
    let name = dashed.trim_start_matches('-');
    let mut letters = name.chars();
    if let (Some(letter), None, false) = (letters.next(), letters.next(), dashed.starts_with("--"))
        && let Some(flag) = by_letter(letter)
    {
        return Ok(ArgumentKind::Flag(flag));
    }
    if let Some(known) = exact(name) {
        return Ok(known);
    }
    let everything = || flags().map(|flag| flag.name).chain(options::names());
    let mut meant: Vec<&str> = everything()
        .filter(|known| !name.is_empty() && known.starts_with(name))
        .collect();
    meant.dedup_by_key(|name| options::find(name).map_or(*name, |option| option.name));
    match meant[..] {
        [one] => exact(one).ok_or_else(|| unknown(dashed, None)),
        [] => Err(unknown(dashed, nearest(name, everything()))),
        _ => {
            let list = meant
                .iter()
                .take(5)
                .copied()
                .collect::<Vec<_>>()
                .join(", --");
            Err(FioError::usage(format!(
                "'{dashed}' may be one of --{list}"
            )))
        }
    }
}

fn exact(name: &str) -> Option<ArgumentKind> {
    if let Some(flag) = find(name) {
        return Some(ArgumentKind::Flag(flag));
    }
    let option = options::find(name)?;
    let takes = option.kind != OptionType::Switch;
    let name = option.names().find(|known| *known == name)?;
    Some(ArgumentKind::Option(name, takes))
}

fn unknown(dashed: &str, near: Option<&str>) -> FioError {
    let shown: String = dashed.chars().take(60).collect();
    FioError::usage(match near {
        Some(near) => format!("there is no option '{shown}'; did you mean '--{near}'?"),
        None => format!("there is no option '{shown}'; 'assay fio --help' lists them"),
    })
}

impl Arguments {
    fn option(&mut self, name: &'static str, value: Option<String>) {
        let entry = IniEntry {
            name: name.to_owned(),
            value,
            place: OptionLocation::command_line(),
        };
        if name == "name" {
            let job = entry.value.clone().unwrap_or_default();
            let global = super::build::is_global(&job);
            self.sections.push(CommandLineJob {
                name: job,
                entries: if global { Vec::new() } else { vec![entry] },
            });
            return;
        }
        if self.sections.is_empty() {
            self.sections.push(CommandLineJob {
                name: "global".to_owned(),
                entries: Vec::new(),
            });
        }
        if let Some(section) = self.sections.last_mut() {
            section.entries.push(entry);
        }
    }

    /// Applies a flag. Returns the command of a flag that needs no jobs.
    fn flag(&mut self, flag: Flag, value: Option<&str>) -> Result<Option<FioCommand>, String> {
        match flag.support {
            Support::Refused(why) => {
                return Err(format!("fio's flag is not supported: {why}"));
            }
            Support::NoEffect(why) => {
                self.notes
                    .push(format!("--{} has no effect: {why}", flag.name));
                return Ok(None);
            }
            Support::Works | Support::Differs(_) => {}
        }
        if flag.value == Takes::Nothing && value.is_some() {
            return Err("it takes no value".to_owned());
        }
        let answer = match flag.name {
            "help" => usage(),
            "version" => format!("{}\n", super::VERSION),
            "cmdhelp" => option(value)?,
            "enghelp" => engine(value)?,
            "inflate-log" => {
                let path = value.ok_or("it needs a value")?;
                return Ok(Some(FioCommand::InflateLog(PathBuf::from(path))));
            }
            name => return self.setting(name, value).map(|()| None),
        };
        Ok(Some(FioCommand::Print(answer)))
    }

    fn setting(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        match name {
            "append-terse" => self.output.formats.terse = true,
            "minimal" => self.output.formats = Formats::parse("terse")?,
            "parse-only" => self.parse_only = true,
            "showcmd" => self.show_command = true,
            "readonly" => self.readonly = true,
            "bandwidth-log" => self.bandwidth_log = true,
            "warnings-fatal" => self.warnings_fatal = true,
            _ => {
                let value = value
                    .filter(|value| !value.is_empty())
                    .ok_or("it needs a value")?;
                return self.value(name, value);
            }
        }
        Ok(())
    }

    fn value(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "debug" => {
                let shown = |wanted| value.split(',').any(|part| part == wanted);
                self.show_parsing |= shown("parse");
                self.output.random_seeds |= shown("random");
            }
            "output" => self.output.path = Some(PathBuf::from(value)),
            "output-format" => self.output.formats = Formats::parse(value)?,
            "terse-version" => {
                self.output.terse_version = value
                    .parse()
                    .ok()
                    .and_then(TerseVersion::from_number)
                    .ok_or("the versions of the terse output are 2, 3, 4 and 5")?;
            }
            "status-interval" => self.status_interval = Some(at_least(value, Nanos::millis(1))?),
            "eta" => {
                self.output.eta = match value {
                    "auto" => Eta::Auto,
                    "always" => Eta::Always,
                    "never" => Eta::Never,
                    _ => return Err("use auto, always or never".to_owned()),
                };
            }
            "eta-newline" => self.output.eta_newline = Some(at_least(value, Nanos::millis(1))?),
            "eta-interval" => self.output.eta_interval = at_least(value, Nanos::millis(250))?,
            "section" if value == "global" => {
                return Err("'global' is not a job".to_owned());
            }
            "section" => self.wanted.push(value.to_owned()),
            "max-jobs" => {
                let jobs = value
                    .parse()
                    .map_err(|_| format!("'{value}' is not a number"))?;
                self.most_jobs = Some(jobs);
            }
            "aux-path" => self.aux_path = Some(PathBuf::from(value)),
            _ => return Err("it is not understood".to_owned()),
        }
        Ok(())
    }

    /// Returns true if a section is to be run.
    pub(super) fn wants(&self, section: &str) -> bool {
        self.wanted.is_empty()
            || super::build::is_global(section)
            || self.wanted.iter().any(|wanted| wanted == section)
    }
}

fn at_least(text: &str, least: Nanos) -> Result<Nanos, String> {
    let time = duration(text, TimeUnit::Seconds)?;
    match time >= least {
        true => Ok(time),
        false => Err(format!(
            "'{text}' is shorter than {} ms",
            least.0 / 1_000_000
        )),
    }
}

/// Flag of the command line.
#[derive(Clone, Copy)]
pub(super) struct Flag {
    /// Name of the flag.
    pub(super) name: &'static str,
    /// fio's letter for it.
    pub(super) letter: char,
    /// Presence of a value after the flag.
    pub(super) value: Takes,
    /// Help text.
    pub(super) help: &'static str,
    /// Level of support.
    pub(super) support: Support,
}

/// Presence of a value after a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// No value.
    Nothing,
    /// Value after `=` or in the next argument.
    Value,
    /// Optional value after `=`.
    Maybe,
}

/// Table of flags: letter, name with `=` for a required or `[=]` for an optional value, help; if
/// assay differs from fio, also the level of support and its reason.
const TABLE: &str = "\
o output=                 Write the output to this file
F output-format=          normal, terse, json, json+; several with , between
f append-terse[=]         Write the terse output too
m minimal                 Write the terse output only
V terse-version=          Version of the terse output, 2 to 5
L status-interval=        Write a whole report that often
e eta=                    Show progress: auto, always or never
E eta-newline=            Begin a new line of progress that often
O eta-interval=           Renew progress that often
x section=                Run only this section; may be repeated
P parse-only              Check the jobs and run nothing
s showcmd                 Show job files as command lines and run nothing
r readonly                Refuse jobs that write or trim
w warnings-fatal          Warnings are errors
j max-jobs=               Most jobs, 4096 without it | differs: fio ignores the number and never runs more than 4096
K aux-path=               Put logs and verify states there
c cmdhelp[=]              Explain an option, or list all
i enghelp[=]              List the engines, or the options of one
v version                 Show the version | differs: a version of fio that other programs accept, with assay's own behind it
h help                    Show this
a alloc-size=             Size of fio's own pool of memory | no effect: assay has no such pool
d debug=                  Show what fio does inside | differs: parse shows each option as it is read, random the seed of each job; the rest of fio's insides is not here
b bandwidth-log           Log the bandwidth of all jobs together
l latency-log=            Not used any more | refused: fio dropped it; use write_lat_log
p profile=                Use a built-in workload | refused: fio's profiles are programs within fio; write their jobs down
S server[=]               Wait for jobs from elsewhere | refused: jobs on other machines are assay's own (assay run), not fio's protocol
N server-internal=        For fio's own use | refused: jobs on other machines are assay's own (assay run), not fio's protocol
D daemonize=              Run the server in the background | refused: jobs on other machines are assay's own (assay run), not fio's protocol
C client=                 Run jobs on another machine | refused: jobs on other machines are assay's own (assay run), not fio's protocol
R remote-config=          Use a job file of the other machine | refused: jobs on other machines are assay's own (assay run), not fio's protocol
T cpuclock-test           Test the processor's clock | refused: it tests fio's own code
G crctest[=]              Test the speed of checksums | refused: it tests fio's own code
M memcpytest[=]           Test the speed of copying | refused: it tests fio's own code
I idle-prof=              Report how idle processors are | refused: it runs a load of its own on all processors
X inflate-log=            Show a compressed log
W trigger-file=           Run a command when this file is there | refused: run the command from a script beside assay
B trigger-timeout=        Run a command after this time | refused: run the command from a script beside assay
H trigger=                The command | refused: run the command from a script beside assay
J trigger-remote=         The command on the other machine | refused: run the command from a script beside assay
A merge-blktrace-only     Merge traces and run nothing | refused: traces are not merged; use blkparse or fio";

/// Returns every flag, in the order of the help.
pub(super) fn flags() -> impl Iterator<Item = Flag> {
    TABLE.lines().map(flag)
}

/// Parses a line of the table.
fn flag(line: &'static str) -> Flag {
    let (left, rest) = line.split_once("  ").unwrap_or((line, ""));
    let (letter, name) = left.split_once(' ').unwrap_or((left, ""));
    let (help, support) = rest.split_once(" | ").unwrap_or((rest, ""));
    let (name, value) = match (name.strip_suffix("[=]"), name.strip_suffix('=')) {
        (Some(name), _) => (name, Takes::Maybe),
        (None, Some(name)) => (name, Takes::Value),
        (None, None) => (name, Takes::Nothing),
    };
    Flag {
        name,
        letter: letter.chars().next().unwrap_or('-'),
        value,
        help: help.trim_start(),
        support: match support.split_once(": ") {
            Some(("differs", how)) => Support::Differs(how),
            Some(("no effect", why)) => Support::NoEffect(why),
            Some((_, why)) => Support::Refused(why),
            None => Support::Works,
        },
    }
}

/// Finds a flag by name.
pub(super) fn find(name: &str) -> Option<Flag> {
    flags().find(|flag| flag.name == name)
}

/// Finds a flag by letter.
pub(super) fn by_letter(letter: char) -> Option<Flag> {
    flags().find(|flag| flag.letter == letter)
}

const EXAMPLES: &str = "\
Examples:
  assay fio jobs.fio --output-format=json
  assay fio --name=r --filename=/mnt/sd/file --size=1g --rw=randread --bs=4k --direct=1

";

const EXIT_CODES: &str = "
Exit codes: the number of failed jobs, 4 for data that differs, 128 when stopped.
";

/// Returns the output of `assay fio --help`.
pub fn usage() -> String {
    let mut text = format!(
        "{}\nUsage: assay fio [flags] [options of jobs] [job files]\n\n{EXAMPLES}",
        super::VERSION
    );
    for flag in flags().filter(|flag| !is_refused(flag.support)) {
        let value = match flag.value {
            Takes::Nothing => "",
            Takes::Value => "=…",
            Takes::Maybe => "[=…]",
        };
        let name = format!("--{}{value}", flag.name);
        let _ = writeln!(text, "  {name:<24}{}", flag.help);
    }
    text.push_str("\nOptions of jobs: --cmdhelp. Engines: --enghelp.\n");
    text.push_str(EXIT_CODES);
    text
}

const fn is_refused(support: Support) -> bool {
    matches!(support, Support::Refused(_))
}

/// Returns the output of `--cmdhelp`: all options, or one.
pub(super) fn option(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name.filter(|name| !name.is_empty() && *name != "all") else {
        return Ok(list(
            options::all().filter(|option| option.engines.is_empty()),
        ));
    };
    match options::find(name) {
        Some(option) => Ok(describe(option)),
        None => Err(match nearest(name, options::names()) {
            Some(near) => format!("there is no option '{name}'; did you mean '{near}'?"),
            None => format!("there is no option '{name}'"),
        }),
    }
}

/// Returns the output of `--enghelp`: all engines, the options of one, or one
/// option of one.
pub(super) fn engine(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        let mut text = "Available IO engines:\n".to_owned();
        for engine in ENGINES.iter().filter(|engine| engine.kind.is_ok()) {
            let _ = writeln!(text, "\t{}", engine.name);
        }
        return Ok(text);
    };
    let (engine, option) = match name.split_once(',') {
        Some((engine, option)) => (engine, Some(option)),
        None => (name, None),
    };
    let found = options::engine(engine).ok_or_else(|| format!("there is no engine '{engine}'"))?;
    let mut own = options::all().filter(|option| option.engines.contains(&found.name));
    match option {
        Some(option) => own
            .find(|known| known.names().any(|name| name == option))
            .map(describe)
            .ok_or_else(|| format!("the engine {engine} has no option '{option}'")),
        None => {
            let text = list(own);
            Ok(match text.is_empty() {
                true => format!("IO engine {engine} has no options\n"),
                false => text,
            })
        }
    }
}

fn list(options: impl Iterator<Item = &'static OptionDef>) -> String {
    let mut text = String::new();
    for option in options {
        let _ = writeln!(
            text,
            "{:<30}: {}{}",
            option.name,
            option.help,
            mark(option.support)
        );
    }
    text
}

const fn mark(support: Support) -> &'static str {
    match support {
        Support::Works => "",
        Support::Differs(_) => " (differs from fio)",
        Support::NoEffect(_) => " (no effect)",
        Support::Refused(_) => " (refused)",
    }
}

/// Describes an option in full.
fn describe(option: &OptionDef) -> String {
    let mut text = format!("{:>20}: {}\n", option.name, option.help);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:>20}: {value}");
    };
    for alias in option.aliases {
        line("alias", alias);
    }
    line("type", &form(option.kind));
    line(
        "default",
        if option.default.is_empty() {
            "no default"
        } else {
            option.default
        },
    );
    if !option.engines.is_empty() {
        line("engines", &option.engines.join(", "));
    }
    if let OptionType::Choice(choices) = option.kind {
        for (number, (name, meaning)) in choices.iter().enumerate() {
            let title = if number == 0 { "valid values" } else { "" };
            line(title, &format!("{name:<12} {meaning}"));
        }
    }
    match option.support {
        Support::Works => {}
        Support::Differs(how) => line("differs from fio", how),
        Support::NoEffect(why) => line("no effect", why),
        Support::Refused(why) => line("refused", why),
    }
    text
}

/// Describes the values that an option accepts.
pub(super) fn form(kind: OptionType) -> String {
    match kind {
        OptionType::Flag => "0 or 1".to_owned(),
        OptionType::Switch => "nothing, 0 or 1".to_owned(),
        OptionType::Number(min, max) if max >= u64::from(u32::MAX) => match min {
            i64::MIN => "number".to_owned(),
            min => format!("number from {min}"),
        },
        OptionType::Number(min, max) => format!("number from {min} to {max}"),
        OptionType::Bytes => "bytes, as in 4k".to_owned(),
        OptionType::EachBytes => "one to three numbers, as in 4k,8k,16k".to_owned(),
        OptionType::Extent => "bytes or percent".to_owned(),
        OptionType::Time(unit) => format!("time, in {} without a suffix", unit.name()),
        OptionType::Choice(choices) => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            names.join(", ")
        }
        OptionType::Text(form) => form.to_owned(),
        OptionType::OptionalText(form) => format!("nothing, or {form}"),
    }
}

/// Returns the page `docs/compat/fio.md`, which lists the parts of fio that are
/// supported, differ or are refused.
pub fn compat_table() -> String {
    let mut text = include_str!("compat_head.md").to_owned();
    text.push_str(include_str!("compat_tests.md"));
    text.push_str(
        "\n## Flags of the program\n\n| flag | what it is for | support |\n|---|---|---|\n",
    );
    for flag in flags() {
        let _ = writeln!(
            text,
            "| `--{}` | {} | {} |",
            flag.name,
            cell(flag.help),
            cell(&support(flag.support))
        );
    }
    text.push_str("\n## Engines\n\n| engine | support |\n|---|---|\n");
    for engine in ENGINES {
        let support = match engine.kind {
            Ok(kind) if kind.name() == engine.name => "works".to_owned(),
            Ok(kind) => format!("works: another name of {kind}"),
            Err(why) => format!("refused: {why}"),
        };
        let _ = writeln!(text, "| `{}` | {support} |", engine.name);
    }
    for (title, parts) in GROUPS {
        let _ = writeln!(
            text,
            "\n## {}\n\n| option | takes | default | what it is for | support |\n|---|---|---|---|---|",
            title
        );
        for option in parts.iter().flat_map(|options| *options) {
            let _ = writeln!(text, "{}", row(option));
        }
    }
    text
}

fn row(option: &OptionDef) -> String {
    let names: Vec<String> = option.names().map(|name| format!("`{name}`")).collect();
    let default = match option.default {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    let engines = match option.engines {
        [] => String::new(),
        engines => format!(" ({})", engines.join(", ")),
    };
    format!(
        "| {} | {} | {default} | {}{engines} | {} |",
        names.join(", "),
        cell(&form(option.kind)),
        cell(option.help),
        cell(&support(option.support))
    )
}

fn support(support: Support) -> String {
    match support {
        Support::Works => "works".to_owned(),
        Support::Differs(how) => format!("differs: {how}"),
        Support::NoEffect(why) => format!("no effect: {why}"),
        Support::Refused(why) => format!("refused: {why}"),
    }
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
