//! fio's job files, command line and outputs.
//!
//! [`parse`] reads a command line with the job files that it names, and [`parse_job_file`] a single
//! job file. Both make a [`Load`]; they access the machine only through an [`Environment`].

mod build;
mod command_line;
mod error;
mod flags;
mod help;
mod ini;
mod job;
mod names;
mod options;
pub mod output;
mod output_options;
mod resolve;
mod substitute;
mod value;

#[cfg(test)]
mod tests;

pub use error::{FioError, OptionLocation};
pub use help::{compat_table, usage};
pub use output_options::{Eta, Formats, OutputOptions};

use assay_model::load::Load;
use build::Builder;
use command_line::{Arguments, Parsed};
use ini::Section;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

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
        ini::read(file, env, &wanted, &mut |section| builder.section(section))?;
    }
    builder.finish();
    Ok(builder)
}

/// Cleans lines for output, because names in them may contain any character.
fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| error::line(text)).collect()
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
        ini::read(file, env, &wanted, &mut |section| {
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
