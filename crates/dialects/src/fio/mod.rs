//! fio's job files, command line and outputs.
//!
//! [`parse`] reads a command line with the job files that it names, and [`parse_job_file`] a single
//! job file. Both make a [`Load`]; they access the machine only through an [`Environment`].
//!
//! The types for options before a stream is made are here too: [`Formats`] of the output, and
//! values of a job that are resolved later.

mod build;
mod command_line;
mod options;
pub mod output;
mod value;

pub use command_line::{compat_table, usage};

use assay_model::load::blocks::{StridedZones, TrimOptions, Verify, VerifyKind};
use assay_model::load::report::SteadyCriterion;
use assay_model::load::{
    ContentPattern, ExitWhat, Flow, IoPriority, LatencyTarget, Load, Stream, ThinkTime,
};
use assay_model::text::{clean, shorten};
use assay_model::units::Nanos;
use build::{Builder, Section};
use command_line::{Arguments, Parsed};
use output::TerseVersion;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Version that `--version` prints and the JSON contains: a version of fio, because programs made
/// for fio parse it, followed by assay's own.
pub const VERSION: &str = concat!("fio-3.41-assay-", env!("CARGO_PKG_VERSION"));

/// Limit on the number of jobs without `--max-jobs`, as in fio.
const MOST_JOBS: u64 = 4096;

/// Action that a command line requests.
#[derive(Debug)]
pub enum FioCommand {
    /// Jobs to run.
    Run(Box<Invocation>),
    /// Text to print: help, version, a command line.
    Print(String),
    /// Compressed log to print as text (`--inflate-log`).
    InflateLog(PathBuf),
    /// The jobs were only checked, and have no errors.
    ParsedOnly {
        /// Warnings about probable mistakes, and notes on options without effect.
        warnings: Vec<String>,
        /// Parsed options (`--debug=parse`).
        parsing: Vec<String>,
    },
}

/// Jobs to run, and how to report them.
#[derive(Debug)]
pub struct Invocation {
    /// Jobs; the caller sets `destroy_data`.
    pub load: Load,
    /// Options of each stream, in the load's order.
    pub jobs: Vec<JobText>,
    /// Options of global sections, as written (in the last file).
    pub global_options: Vec<(String, Option<String>)>,
    /// Output options: format and destination of results.
    pub output: OutputOptions,
    /// Warnings about probable mistakes.
    pub warnings: Vec<String>,
    /// Parsed options (`--debug=parse`).
    pub parsing: Vec<String>,
    /// Notes on options without effect.
    pub notes: Vec<String>,
    /// Set if later warnings are errors (`--warnings-fatal`). With it, parsing has already failed
    /// on its own warnings.
    pub warnings_fatal: bool,
}

/// Options of a job as written, without the global ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobText {
    /// First name of each option in the order of the file, with its value; `None`: written without
    /// a value.
    pub options: Vec<(String, Option<String>)>,
}

/// Parses a command line, without the program's name.
///
/// # Errors
///
/// If a flag, an option or a value is unknown or not supported, options
/// contradict each other, a job file cannot be read, or there is no job.
pub fn parse(args: &[OsString], env: &dyn Environment) -> Result<FioCommand, FioError> {
    match command_line::parse(args)? {
        Parsed::Jobs(arguments) => run(*arguments, env),
        Parsed::Answer(command) => Ok(command),
    }
}

/// Parses one job file, as `assay run` does.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_job_file(path: &Path, env: &dyn Environment) -> Result<Invocation, FioError> {
    let arguments = Arguments {
        files: vec![path.to_owned()],
        ..Arguments::default()
    };
    let builder = read_all(&arguments, env)?;
    invocation(builder, arguments, env)
}

/// Returns the name of the job option that has this name or alias; `None` if it is unknown.
pub fn job_option(name: &str) -> Option<&'static str> {
    options::find(name).map(|option| option.name)
}

/// Returns the names of the options of jobs, without aliases.
pub fn job_options() -> impl Iterator<Item = &'static str> {
    options::all().map(|option| option.name)
}

fn run(arguments: Arguments, env: &dyn Environment) -> Result<FioCommand, FioError> {
    if arguments.show_command {
        return command_lines(&arguments, env).map(FioCommand::Print);
    }
    let builder = read_all(&arguments, env)?;
    if let Some(first) = builder
        .warnings
        .first()
        .filter(|_| arguments.warnings_fatal)
    {
        return Err(FioError::usage(format!(
            "a warning, with --warnings-fatal: {first}"
        )));
    }
    if arguments.parse_only {
        let mut warnings = builder.warnings;
        warnings.extend(arguments.notes);
        warnings.extend(builder.notes);
        let warnings = lines(&warnings);
        let parsing = builder.parsing.unwrap_or_default();
        return Ok(FioCommand::ParsedOnly { warnings, parsing });
    }
    invocation(builder, arguments, env).map(|invocation| FioCommand::Run(Box::new(invocation)))
}

/// Reads all jobs: first those of the command line, then those of the files.
fn read_all<'a>(arguments: &Arguments, env: &'a dyn Environment) -> Result<Builder<'a>, FioError> {
    let most = arguments.most_jobs.unwrap_or(MOST_JOBS);
    let mut builder = Builder::new(env, most, arguments.readonly, arguments.parse_only);
    builder.parsing = arguments.show_parsing.then(Vec::new);
    let written = arguments.sections.iter();
    for section in written.filter(|section| arguments.wants(&section.name)) {
        let place = OptionLocation::command_line();
        builder.options(&section.name, &place, section.entries.clone())?;
    }
    for (number, file) in arguments.files.iter().enumerate() {
        if number > 0 {
            builder.next_file();
        }
        let wanted = |name: &str| arguments.wants(name);
        build::read(file, env, &wanted, &mut |section| builder.section(section))?;
    }
    builder.finish();
    Ok(builder)
}

/// Cleans lines for output, because names in them may contain any character.
fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| printable_line(text)).collect()
}

fn invocation(
    builder: Builder<'_>,
    arguments: Arguments,
    env: &dyn Environment,
) -> Result<Invocation, FioError> {
    if builder.streams.is_empty() {
        return Err(FioError::usage(match arguments.wanted.is_empty() {
            true => "there is no job: give a job file, or begin one with --name=…",
            false => "there is no job of the names that --section asks for",
        }));
    }
    let mut notes = arguments.notes;
    notes.extend(builder.notes);
    Ok(Invocation {
        load: Load {
            streams: builder.streams,
            readonly: arguments.readonly,
            destroy_data: false,
            aux_path: arguments.aux_path,
            status_interval: arguments.status_interval,
            bandwidth_log: arguments.bandwidth_log,
            entropy: env.entropy(),
            made_for: None,
        },
        jobs: builder.texts,
        global_options: builder.global.texts,
        output: arguments.output,
        warnings: lines(&builder.warnings),
        parsing: builder.parsing.unwrap_or_default(),
        notes: lines(&notes),
        warnings_fatal: arguments.warnings_fatal,
    })
}

/// Returns a command line for each job file, without checks or substitution.
fn command_lines(arguments: &Arguments, env: &dyn Environment) -> Result<String, FioError> {
    let mut text = String::new();
    for file in &arguments.files {
        text.push_str("fio");
        let wanted = |name: &str| arguments.wants(name);
        build::read(file, env, &wanted, &mut |section| {
            write_section(&mut text, &section);
            Ok(())
        })?;
        text.push('\n');
    }
    Ok(text)
}

fn write_section(text: &mut String, section: &Section) {
    if !section.is_global() {
        let _ = write!(text, " --name={}", quoted(&section.name));
    }
    for entry in &section.entries {
        let _ = write!(text, " --{}", entry.name);
        if let Some(value) = &entry.value {
            let _ = write!(text, "={}", quoted(value));
        }
    }
}

/// Quotes a value for a shell.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/.,:_-+=%@".contains(c);
    match !value.is_empty() && value.chars().all(plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}

/// Access to the machine for parsing: other files, variables, sizes. It is a trait because the
/// dialects perform no I/O.
pub trait Environment {
    /// Returns the content of a job file, an included file or a pattern. The path `-` is standard
    /// input.
    ///
    /// # Errors
    ///
    /// When the system cannot read the file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Returns a variable of the process's environment.
    fn var(&self, name: &str) -> Option<String>;
    /// Number of configured processors (`$ncpus`).
    fn cpus(&self) -> u32;
    /// Physical memory in MiB (`$mb_memory`).
    fn memory_mib(&self) -> u64;
    /// Size of a memory page in bytes (`$pagesize`).
    fn page_bytes(&self) -> u32;
    /// Returns a number that differs between runs.
    fn entropy(&self) -> u64;
    /// Returns true if the path exists and is not a regular file, for example a device. A job of
    /// that name uses it.
    fn is_special(&self, path: &Path) -> bool;
}

/// Splits a list at `:`; `\:` is a colon within a name. A leading colon is
/// ignored.
fn split_list(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let last = names.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                names[last].push(':');
            }
            ':' if !names[last].is_empty() => names.push(String::new()),
            ':' => {}
            _ => names[last].push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the files of a copy of a job. `special`: the job's name is the path
/// of a device, which the job uses.
///
/// # Errors
///
/// If a name is too long.
fn paths(job: &JobDraft, copy: u64, special: bool) -> Result<Vec<PathBuf>, String> {
    if let Some(device) = &job.simulated {
        return Ok(vec![device.clone()]);
    }
    let named = &job.names.named;
    if !named.is_empty() {
        let directory = job.names.directories.first();
        return Ok(named.iter().map(|name| below(directory, name)).collect());
    }
    let directory = in_turn(&job.names.directories, copy);
    if special {
        return Ok(vec![below(directory, &job.section)]);
    }
    (0..job.names.count)
        .map(|number| Ok(below(directory, &made_up(job, copy, number)?)))
        .collect()
}

/// Longest path in Linux, in bytes.
const LONGEST: usize = 4096;

/// Returns the entry of a list for a copy; copies use the entries in turn.
fn in_turn(list: &[String], copy: u64) -> Option<&String> {
    let length = u64::try_from(list.len()).ok()?;
    let index = copy.checked_rem(length)?;
    list.get(usize::try_from(index).ok()?)
}

/// Prepends the directory, also to an absolute name, as fio does.
fn below(directory: Option<&String>, name: &str) -> PathBuf {
    match directory {
        None => PathBuf::from(name),
        Some(directory) => PathBuf::from(format!("{directory}/{name}")),
    }
}

/// Returns `filename_format` with its keywords replaced.
fn made_up(job: &JobDraft, copy: u64, number: u64) -> Result<String, String> {
    let copy = copy.to_string();
    let number = number.to_string();
    let words = [
        ("$jobname", job.section.as_str()),
        ("$jobnum", copy.as_str()),
        ("$filenum", number.as_str()),
        ("$clientuid", ""),
    ];
    let mut name = String::new();
    let mut rest = job.names.format.as_str();
    while let Some(dollar) = rest.find('$') {
        let (before, at) = rest.split_at(dollar);
        let word = words.iter().find(|(word, _)| {
            at.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        });
        let (value, length) = word.map_or(("$", 1), |(word, value)| (*value, word.len()));
        name.push_str(before);
        name.push_str(value);
        rest = &at[length..];
        if name.len() > LONGEST {
            break;
        }
    }
    name.push_str(rest);
    match name.len() <= LONGEST {
        true => Ok(name),
        false => Err(format!(
            "the names of its files are longer than {LONGEST} bytes"
        )),
    }
}

assay_model::defaults! {
    /// Output options: format and destination of results.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OutputOptions {
        /// Formats to write.
        pub formats: Formats = Formats { normal: true, ..Formats::default() },
        /// Output file (`--output`); `None`: standard output.
        pub path: Option<PathBuf>,
        /// Version of the terse format.
        pub terse_version: TerseVersion,
        /// Display of progress.
        pub eta: Eta,
        /// Interval at which a new progress line begins.
        pub eta_newline: Option<Nanos>,
        /// Set to show the seed of each job (`--debug=random`).
        pub random_seeds: bool,
        /// Interval at which the progress is updated.
        pub eta_interval: Nanos = Nanos::millis(1000),
    }
}

/// Formats of the output; several are written one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// Format for people.
    pub normal: bool,
    /// One line of values per job (`--minimal`; `--append-terse` adds it).
    pub terse: bool,
    /// JSON.
    pub json: bool,
    /// JSON with histograms (`json+`).
    pub json_plus: bool,
}

impl Formats {
    /// Reads a list such as `normal,json`.
    ///
    /// # Errors
    ///
    /// If a format is unknown.
    fn parse(list: &str) -> Result<Self, String> {
        let mut formats = Self::default();
        for word in list.split(',') {
            match word.trim() {
                "normal" => formats.normal = true,
                "terse" | "minimal" | "csv" => formats.terse = true,
                "json" => formats.json = true,
                "json+" => {
                    formats.json = true;
                    formats.json_plus = true;
                }
                other => {
                    return Err(format!(
                        "'{other}' is not a format: use normal, terse, json or json+"
                    ));
                }
            }
        }
        Ok(formats)
    }
}

/// Display of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// Show it on a terminal.
    #[default]
    Auto,
    /// Always show it.
    Always,
    /// Never show it.
    Never,
}

/// Value for each of reads, writes and trims; `None`: not given.
type Each<T> = [Option<T>; 3];

assay_model::defaults! {
    /// Job during the parsing of its options, initially with fio's defaults.
    #[derive(Clone, Debug)]
    struct JobDraft {
        /// Properties of every copy. [`resolve`](options::resolve) fills fields that depend on
        /// several options.
        stream: Stream = Stream {
            trim: TrimOptions { verify_zero: true, ..TrimOptions::default() },
            ..Stream::default()
        },
        /// Name of the section, which is part of file names.
        section: String,
        /// Engine as named.
        engine: String = "psync".to_owned(),
        /// Simulated device that replaces the job's files.
        simulated: Option<PathBuf>,
        /// `numjobs`.
        copies: u64 = 1,
        /// Starts a new wave.
        stonewall: bool,
        /// Starts a new group.
        new_group: bool,
        /// Parts of the file names.
        names: FileNaming,
        /// Block sizes.
        sizes: Sizes,
        /// Options of the verify family; unused until `verify_kind` is known.
        verify: Verify,
        /// `verify`; `None`: not given.
        verify_kind: Option<VerifyKind>,
        /// Pauses; unused unless their length is set.
        think: ThinkTime,
        /// Latency target; unused if the target is 0.
        latency: LatencyTarget,
        /// Flow control; unused if the weight is 0.
        flow: Flow,
        /// Priorities of single I/Os.
        priorities: CommandPriorities,
        /// Criterion and limit of the steady state; `true` if the limit is in percent.
        steady: Option<(SteadyCriterion, f64, bool)>,
        /// Window of the steady-state check.
        steady_duration: Nanos,
        /// Time before the steady-state check begins.
        steady_ramp: Nanos,
        /// `zonesize`, `zonerange`, `zoneskip`.
        zones: StridedZones,
        /// `zonemode`; `None`: not given.
        strided: Option<bool>,
        /// `exitall` was given.
        exit_all: bool,
        /// `exit_what`.
        exit_what: ExitWhat = ExitWhat::Group,
        /// `verify_pattern_interval`.
        verify_pattern_interval: u32,
        /// `buffer_pattern`.
        buffer_pattern: ContentPattern,
        /// `log_alternate_epoch` was given.
        alternate_epoch: bool,
        /// Options that were given, by their first names.
        given: Vec<&'static str>,
        /// Options of engines that this section itself gives, with their positions.
        engine_options: Vec<(&'static str, OptionLocation)>,
        /// Bytes of all given values, including global ones: the memory that each copy takes
        /// in addition to its fixed size.
        value_bytes: usize,
        /// Options as written, for the JSON's "job options".
        texts: Vec<(String, Option<String>)>,
    }
}

impl JobDraft {
    /// Makes a job with fio's defaults.
    fn new() -> Self {
        Self::default()
    }

    /// Returns true if an option is given, in this section or globally.
    fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }
}

assay_model::defaults! {
    /// Parts of file names.
    #[derive(Clone, Debug)]
    struct FileNaming {
        /// `filename`, split.
        named: Vec<String>,
        /// `directory`, split.
        directories: Vec<String>,
        /// `filename_format`.
        format: String = "$jobname.$jobnum.$filenum".to_owned(),
        /// `nrfiles`.
        count: u64 = 1,
        /// `openfiles`; 0: all.
        open: u64,
    }
}

assay_model::defaults! {
    /// Block sizes for reads, writes and trims, as options give them.
    #[derive(Clone, Debug)]
    struct Sizes {
        /// `bs`.
        fixed: [u64; 3] = [4096; 3],
        /// `bsrange`, or the extremes of `bssplit`.
        range: Each<(u64, u64)>,
        /// `bssplit`.
        split: [Vec<(u32, u8)>; 3],
        /// `blockalign`.
        align: [u64; 3],
    }
}

/// `cmdprio` options as written.
#[derive(Clone, Debug, Default)]
struct CommandPriorities {
    /// `cmdprio_percentage`.
    percent: Each<u8>,
    /// `cmdprio_class`.
    class: Each<u8>,
    /// `cmdprio`.
    level: Each<u8>,
    /// `cmdprio_bssplit` for reads and writes.
    by_size: [Vec<SizeShare>; 2],
}

/// Entry of `cmdprio_bssplit`.
#[derive(Clone, Copy, Debug)]
struct SizeShare {
    size: u32,
    percent: u8,
    /// Priority of the entry; `None`: that of `cmdprio_class` and `cmdprio`.
    priority: Option<IoPriority>,
}

/// Position of an option in a file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionLocation {
    /// Job file; `None`: the command line.
    pub file: Option<Arc<str>>,
    /// Line number, from 1; 0 on the command line.
    pub line: u32,
}

impl OptionLocation {
    /// Returns the position of all command-line options.
    pub const fn command_line() -> Self {
        Self {
            file: None,
            line: 0,
        }
    }
}

/// Formats `job.fio:12` or `command line`.
impl fmt::Display for OptionLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => f.write_str("command line"),
            Some(file) => write!(f, "{}:{}", printable_line(file), self.line),
        }
    }
}

/// Error in a job file or a command line: one line with its position, the problem and the
/// remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct FioError {
    /// Position of the error.
    pub place: OptionLocation,
    /// Section of the error; `None`: outside of any.
    pub section: Option<String>,
    /// Option and its value as written; `None`: the error is not about an option.
    pub option: Option<String>,
    /// Description of the error, and the remedy.
    pub problem: String,
}

impl FioError {
    /// Makes an error that is not about an option.
    pub fn at(place: OptionLocation, problem: impl Into<String>) -> Self {
        Self {
            place,
            section: None,
            option: None,
            problem: problem.into(),
        }
    }

    /// Makes an error about the command line as a whole.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self::at(OptionLocation::command_line(), problem)
    }

    /// Sets the section of the error.
    #[must_use]
    pub fn within(mut self, section: &str) -> Self {
        self.section = Some(section.to_owned());
        self
    }
}

/// Formats `job.fio:12: [job] bs=4q: …`.
impl fmt::Display for FioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(section) = &self.section {
            write!(f, "[{}] ", shortened(section))?;
        }
        if let Some(option) = &self.option {
            write!(f, "{}: ", shortened(option))?;
        }
        f.write_str(&printable_line(&self.problem))
    }
}

/// Longest quotation of input text, in characters.
const LONGEST_QUOTATION: usize = 100;
/// Longest line to print, in characters.
const LONGEST_LINE: usize = 400;

/// Quotes input text without control characters, shortened to the limit.
fn shortened(text: &str) -> String {
    shorten(&clean(text), LONGEST_QUOTATION)
}

/// Returns a line to print, without control characters and shortened to the limit.
fn printable_line(text: &str) -> String {
    shorten(&clean(text), LONGEST_LINE)
}

#[cfg(test)]
mod tests;
