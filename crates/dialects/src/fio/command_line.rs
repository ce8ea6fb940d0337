//! Command line: flags of the program, options of jobs, job files.

use super::error::{FioError, OptionLocation};
use super::flags::{self, Flag, Takes, flags};
use super::ini::IniEntry;
use super::options::{self, OptionType, Support};
use super::output::TerseVersion;
use super::output_options::{Eta, Formats, OutputOptions};
use super::value::time::{TimeUnit, duration};
use super::{FioCommand, help};
use crate::nearest;
use assay_model::units::Nanos;
use std::ffi::OsString;
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
        && let Some(flag) = flags::by_letter(letter)
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
    if let Some(flag) = flags::find(name) {
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
            let global = super::ini::is_global(&job);
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
            "help" => help::usage(),
            "version" => format!("{}\n", super::VERSION),
            "cmdhelp" => help::option(value)?,
            "enghelp" => help::engine(value)?,
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
            || super::ini::is_global(section)
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
