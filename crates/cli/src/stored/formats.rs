//! The formats of reports: chosen by `--format`, else by the ending of the file.

use crate::exit::Failure;
use crate::output::{print, say, style};
use crate::stored::lookup::write_file;
use assay_lang::tr;
use assay_model::text::clean;
use assay_report::document::Document;
use assay_report::gate::kcidb::{Submission, is_word};
use assay_report::render::{Form, write_mail};
use assay_report::{html, terminal};
use clap::{Args, ValueEnum};
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
    /// The same for tickets (.md).
    #[value(alias = "md")]
    Markdown,
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
}

/// Endings of file names; the first that fits counts.
const ENDINGS: &[(&str, Format)] = &[
    (".kcidb.json", Format::Kcidb),
    (".html", Format::Html),
    (".htm", Format::Html),
    (".json", Format::Json),
    (".csv", Format::Csv),
    (".xlsx", Format::Xlsx),
    (".txt", Format::Text),
    (".md", Format::Markdown),
    (".xml", Format::Junit),
    (".tap", Format::Tap),
    (".lava", Format::Lava),
    (".kcidb", Format::Kcidb),
    (".text", Format::Text),
    (".markdown", Format::Markdown),
    (".junit", Format::Junit),
];

impl Format {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        ending.map(|(_, format)| *format)
    }

    /// That `what` cannot be had in this format, and in which it can.
    pub fn refused(self, what: &str, possible: &[Self]) -> Failure {
        let names: Vec<String> = possible.iter().map(|format| format.name()).collect();
        Failure::usage(format!(
            "{what} cannot be written as {}: it can be {}",
            self.name(),
            names.join(", ")
        ))
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Destination and format of a report.
#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// Output file; its ending decides the format: .html, .json, .csv, .xlsx, .txt, .md, .xml
    /// (JUnit), .tap, .lava or .kcidb.json.
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
    /// The format that was asked for; `None` when neither a format nor a file was.
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

    /// The same into a file.
    pub fn to(&self, path: PathBuf) -> Self {
        Self {
            output: Some(path),
            ..self.clone()
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

    /// Who submits to KCIDB, and for which build.
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
    /// The same for tickets (.md).
    Markdown,
}

impl DocumentFormat {
    /// The same format; `None` if it is not for every document.
    const fn of(format: Format) -> Option<Self> {
        match format {
            Format::Html => Some(Self::Html),
            Format::Text => Some(Self::Text),
            Format::Markdown => Some(Self::Markdown),
            Format::Json
            | Format::Csv
            | Format::Xlsx
            | Format::Junit
            | Format::Tap
            | Format::Lava
            | Format::Kcidb => None,
        }
    }
}

/// Where a text for people goes, and as what.
#[derive(Args, Debug)]
pub struct DocumentArgs {
    /// Where to write; its ending decides the format: .html, .txt or .md.
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    /// The format, whatever the file's name; without -o it goes to standard output.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<DocumentFormat>,
}

impl DocumentArgs {
    /// Shows a document in the format that was asked for, else for a terminal.
    pub fn show(&self, document: &Document) -> Result<(), Failure> {
        let format = match (&self.output, self.format) {
            (None, None) => return print(|out| terminal::write(document, style(), &[], out)),
            (_, Some(format)) => format,
            (Some(path), None) => match Format::of(path).and_then(DocumentFormat::of) {
                Some(format) => format,
                None => {
                    return Err(Failure::usage(format!(
                        "{}: the name must end in .html, .txt or .md, or give --format",
                        path.display()
                    )));
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

/// Writes a file and says so.
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
    Failure::usage(format!(
        "{}: the name must end in {}, or give --format",
        path.display(),
        ENDINGS
            .iter()
            .map(|(ending, _)| *ending)
            .collect::<Vec<_>>()
            .join(", "),
    ))
}

fn parse_origin(text: &str) -> Result<String, String> {
    match is_word(text) {
        true => Ok(text.to_owned()),
        false => Err("give lower-case letters, digits and _, such as my_lab".to_owned()),
    }
}

fn parse_build(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((origin, _)) if is_word(origin) => Ok(text.to_owned()),
        _ => Err("give ORIGIN:ID, such as my_lab:v6.12-arm64".to_owned()),
    }
}
