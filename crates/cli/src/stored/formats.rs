//! Formats of reports: chosen by `--format`, else by the ending of the file.

use crate::exit::Failure;
use crate::output::{print, print_json, say, show};
use crate::stored::lookup::write_file;
use assay_lang::tr;
use assay_model::text::clean;
use assay_report::document::Document;
use assay_report::gate::{Submission, is_kcidb_word};
use assay_report::html;
use assay_report::render::{Form, write_mail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};
use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Format of a report of a run, an import or a comparison. What other commands show takes a
/// [`DocumentFormat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A page (.html).
    #[value(alias = "htm")]
    Html,
    /// The full data for programs (.json).
    Json,
    /// A table of trials (.csv).
    Csv,
    /// A workbook (.xlsx).
    Xlsx,
    /// Text of 72 columns for mails (.txt).
    #[value(alias = "txt")]
    Text,
    /// Markdown for tickets (.md).
    #[value(alias = "md")]
    Markdown,
    /// A note of about ten lines for the mail of a patch (.patch).
    Patch,
    /// For CI servers (.xml).
    #[value(alias = "xml")]
    Junit,
    /// Test Anything Protocol (.tap).
    Tap,
    /// Signals for LAVA (.lava).
    Lava,
    /// For KernelCI's database (.kcidb.json).
    #[value(alias = "kcidb.json")]
    Kcidb,
    /// OpenMetrics for node_exporter (.prom).
    #[value(alias = "prom")]
    Openmetrics,
}

impl Format {
    /// Returns the format of a file by the ending of its name.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let fits = |word: &String| name.ends_with(&format!(".{word}"));
        // In reverse order, so that .kcidb.json is not taken for .json.
        let mut all = Self::value_variants().iter().rev();
        all.find(|format| format.words().iter().any(fits)).copied()
    }

    /// Returns the name of the format, and its aliases.
    fn words(self) -> Vec<String> {
        let value = self.to_possible_value();
        let value = value.iter().flat_map(PossibleValue::get_name_and_aliases);
        value.map(str::to_owned).collect()
    }

    /// Restricts an argument to some formats, for results that others cannot hold.
    pub fn only(arg: Arg, formats: &'static [Self]) -> Arg {
        let values = formats.iter().filter_map(Self::to_possible_value);
        let values = PossibleValuesParser::new(values);
        arg.value_parser(values.try_map(|word| Self::from_str(&word, false)))
    }

    /// Failure for a result that cannot be written in this format, with the possible ones.
    pub fn refused(self, what: &str, possible: &[Self]) -> Failure {
        let names: Vec<String> = possible.iter().map(|format| format.name()).collect();
        Failure::usage(format!(
            "{what} cannot be written as {}: it can be {}",
            self.name(),
            names.join(", ")
        ))
    }

    fn name(self) -> String {
        self.words().swap_remove(0)
    }
}

/// Destination and format of a report.
#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// Output file; its ending decides the format: .html, .json, .csv, .xlsx, .txt, .md, .patch (a
    /// note for a patch, of two), .xml (JUnit), .tap, .lava, .kcidb.json or .prom (OpenMetrics).
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The format, whatever the file's name; without -o it goes to standard output.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Name of the CI system that submits to KCIDB [default: assay].
    #[arg(long, value_name = "NAME", value_parser = parse_origin)]
    pub kcidb_origin: Option<String>,
    /// Id of the build that KCIDB knows; without it one is made up from the kernel.
    #[arg(long, value_name = "ID", value_parser = parse_build)]
    pub kcidb_build: Option<String>,
}

impl OutputArgs {
    /// Returns the requested format; `None` if neither a format nor a file is given.
    pub fn wanted(&self) -> Result<Option<Format>, Failure> {
        let format = match (&self.output, self.format) {
            (Some(path), None) => Some(Format::of(path).ok_or_else(|| unknown_ending(path))?),
            (_, format) => format,
        };
        let of_kcidb = self.kcidb_origin.is_some() || self.kcidb_build.is_some();
        if of_kcidb && format != Some(Format::Kcidb) {
            return Err(Failure::usage(
                "--kcidb-origin and --kcidb-build are for --format kcidb",
            ));
        }
        Ok(format)
    }

    /// Returns JSON if `json` is set, otherwise the requested format; `None` if none was requested.
    pub fn wanted_or_json(&self, json: bool) -> Result<Option<Format>, Failure> {
        match json {
            true => Ok(Some(Format::Json)),
            false => self.wanted(),
        }
    }

    /// Writes to the file or to standard output.
    pub fn write(
        &self,
        format: Format,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match &self.output {
            Some(path) => written(path, write),
            None if format == Format::Xlsx && io::stdout().is_terminal() => Err(Failure::usage(
                "a workbook is nothing for a terminal: name a file with -o",
            )),
            None => print(write),
        }
    }

    /// Returns the submitter to KCIDB, and the build.
    pub fn submission(&self) -> Submission<'_> {
        Submission {
            origin: self.kcidb_origin.as_deref().unwrap_or("assay"),
            build: self.kcidb_build.as_deref(),
        }
    }
}

/// A format that any text for people can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocumentFormat {
    /// A page (.html).
    Html,
    /// Text of 72 columns for mails (.txt).
    Text,
    /// Markdown for tickets (.md).
    Markdown,
}

impl DocumentFormat {
    /// Returns the same format; `None` if it does not apply to every document.
    const fn of(format: Format) -> Option<Self> {
        match format {
            Format::Html => Some(Self::Html),
            Format::Text => Some(Self::Text),
            Format::Markdown => Some(Self::Markdown),
            Format::Json
            | Format::Csv
            | Format::Xlsx
            | Format::Patch
            | Format::Junit
            | Format::Tap
            | Format::Lava
            | Format::Kcidb
            | Format::Openmetrics => None,
        }
    }
}

/// Destination and format of a document for users, or `--json` for its data.
#[derive(Args, Debug)]
pub struct DocumentArgs {
    /// Print it as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    /// Output file; its ending decides the format: .html, .txt or .md.
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    /// The format, whatever the file's name; without -o it goes to standard output.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<DocumentFormat>,
}

impl DocumentArgs {
    /// Shows a document, or prints its data as JSON.
    pub fn present(
        &self,
        value: impl FnOnce() -> Value,
        document: impl FnOnce() -> Document,
    ) -> Result<(), Failure> {
        match self.json {
            true => print_json(&value()),
            false => self.show(&document()),
        }
    }

    /// Shows a document in the requested format, else as text on standard output.
    pub fn show(&self, document: &Document) -> Result<(), Failure> {
        let format = match (&self.output, self.format) {
            (None, None) => return show(document),
            (_, Some(format)) => format,
            (Some(path), None) => match Format::of(path).and_then(DocumentFormat::of) {
                Some(format) => format,
                None => {
                    let why = "the name must end in .html, .txt or .md, or give --format";
                    return Err(Failure::in_file(path, why));
                }
            },
        };
        let write = |out: &mut dyn Write| match format {
            DocumentFormat::Html => html::write_document(document, out),
            DocumentFormat::Text => write_mail(document, Form::Text, out),
            DocumentFormat::Markdown => write_mail(document, Form::Markdown, out),
        };
        match &self.output {
            Some(path) => written(path, write),
            None => print(write),
        }
    }
}

/// Writes a file and prints its path.
fn written(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    write_file(path, write)?;
    say(&tr!(
        "wrote {path}",
        path = clean(&path.display().to_string())
    ));
    Ok(())
}

fn unknown_ending(path: &Path) -> Failure {
    let words = Format::value_variants().iter().flat_map(|f| f.words());
    let endings: Vec<String> = words.map(|word| format!(".{word}")).collect();
    let endings = endings.join(", ");
    Failure::in_file(
        path,
        format_args!("the name must end in {endings}, or give --format"),
    )
}

fn parse_origin(text: &str) -> Result<String, String> {
    match is_kcidb_word(text) {
        true => Ok(text.to_owned()),
        false => Err("give lower-case letters, digits and _, such as my_lab".to_owned()),
    }
}

fn parse_build(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((origin, _)) if is_kcidb_word(origin) => Ok(text.to_owned()),
        _ => Err("give ORIGIN:ID, such as my_lab:v6.12-arm64".to_owned()),
    }
}
