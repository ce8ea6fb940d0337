//! `assay report`: a run, two of them against each other, or all of them, as files.

mod folder;

use crate::exit::{DONE, Failure};
use crate::judging::args::Terms;
use crate::judging::ranking::{Judged, verdicts_of_import};
use crate::judging::written;
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::{StoreArgs, Stored, load};
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_report::document::Document;
use assay_report::gate::{Suite, junit, kcidb, lava, tap};
use assay_report::import::{write_csv, write_json};
use assay_report::render::{Form, write_mail};
use assay_report::sweep::by_condition;
use assay_report::views;
use assay_report::{csv, html, json, xlsx};
use clap::{ArgGroup, Args};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const REPORT_HELP: &str = "\
One run or import is reported as it is, two are compared (as assay compare does):
  assay report last -o disk.html
  assay report 3f2a 9b1c -o patch.txt        before and after, for a mail
  assay report sweep@bfq sweep@none -o x.html
  assay report last --format lava            on standard output
  assay report --all reports                 a folder: a page a run or import, a list

What cannot be written in a format is said. docs/reports.md, docs/mail.md,
docs/xlsx.md and docs/gates.md describe them.";

/// A report goes into a file, to standard output in a format, or into a folder.
fn written() -> ArgGroup {
    let group = ArgGroup::new("written").args(["output", "format", "all"]);
    group.required(true).multiple(true)
}

/// `assay report`.
#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP, group(written()))]
pub struct ReportArgs {
    /// `last`, or the first letters of the id of a run or an import; with two of them
    /// (or files, as assay compare takes them) the second is compared with the first.
    #[arg(value_name = "RUN", num_args = 1..=2, required_unless_present = "all")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write a page for each stored run and import into this folder, and index.html that
    /// lists them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "output", "format", "margin", "max_trials", "qualify"])]
    pub all: Option<PathBuf>,
    #[command(flatten)]
    pub terms: Terms,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay report`.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    match &args.all {
        Some(folder) => folder::write(&args.store, folder),
        None => report(args),
    }
}

/// `assay report` of one run or import, or of two that are compared.
fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let (Some(format), Some(first)) = (args.output.wanted()?, args.runs.first()) else {
        return Err(Failure::usage("missing: RUN, and --output or --format"));
    };
    if let [a, b] = args.runs.as_slice() {
        let to = (format, &args.output);
        return written::report([a, b], &args.store, &args.terms, to);
    }
    if args.terms.qualify {
        return Err(Failure::usage("--qualify needs two runs"));
    }
    match load(&args.store, first)? {
        Stored::Run(run) => {
            let write = writer_for(format)?;
            args.output.write(format, |out| write(*run, args, out))?;
        }
        Stored::Import(import) => {
            let write = import_writer_for(format)?;
            args.output.write(format, |out| write(&import, args, out))?;
        }
    }
    Ok(DONE)
}

type ImportWriter = fn(&Import, &ReportArgs, &mut dyn Write) -> io::Result<()>;

/// What an import can be written as. Gates ask for evidence.
const OF_IMPORTS: [Format; 6] = [
    Format::Html,
    Format::Json,
    Format::Csv,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
];

fn import_writer_for(format: Format) -> Result<ImportWriter, Failure> {
    Ok(match format {
        Format::Html => |import, args, out| {
            let verdicts = verdicts_of_import(import, args.terms.margin);
            html::write_import(import, verdicts.as_ref(), out)
        },
        Format::Json => |import, _, out| write_json(import, out),
        Format::Csv => |import, _, out| write_csv(import, out),
        Format::Xlsx => |import, args, out| {
            let judged = Judged::of_import(import, args.terms.margin);
            let ranked = judged.as_ref().map(Judged::ranked);
            xlsx::write_import(import, ranked.as_ref(), out)
        },
        Format::Text => {
            |import, args, out| write_mail(&mail_of_import(import, args), Form::Text, out)
        }
        Format::Markdown => {
            |import, args, out| write_mail(&mail_of_import(import, args), Form::Markdown, out)
        }
        Format::Junit | Format::Tap | Format::Lava | Format::Kcidb => {
            let what = "an import, which has no evidence to judge,";
            return Err(format.refused(what, &OF_IMPORTS));
        }
    })
}

fn mail_of_import(import: &Import, args: &ReportArgs) -> Document {
    let judged = Judged::of_import(import, args.terms.margin);
    let ranked = judged.as_ref().map(Judged::ranked);
    views::import::mail(import, ranked.as_ref())
}

type Writer = fn(Run, &ReportArgs, &mut dyn Write) -> io::Result<()>;

fn writer_for(format: Format) -> Result<Writer, Failure> {
    Ok(match format {
        Format::Html => |run, _, out| html::write(&run, out),
        Format::Json => |run, _, out| json::write(&run, out),
        Format::Csv => |run, _, out| csv::write(&run, out),
        Format::Xlsx => |run, args, out| match Judged::of_run(&run, args.terms.margin) {
            Some(judged) => xlsx::write_sweep(&run, &judged.ranked(), out),
            None => xlsx::write(&run, out),
        },
        Format::Text => |run, args, out| write_mail(&mail_of_run(&run, args), Form::Text, out),
        Format::Markdown => {
            |run, args, out| write_mail(&mail_of_run(&run, args), Form::Markdown, out)
        }
        Format::Junit => |run, _, out| junit::write(&Suite::of_run(&by_condition(run)), out),
        Format::Tap => |run, _, out| tap::write(&Suite::of_run(&by_condition(run)), out),
        Format::Lava => |run, _, out| lava::write(&Suite::of_run(&by_condition(run)), out),
        Format::Kcidb => |run, args, out| {
            let suite = Suite::of_run(&by_condition(run));
            kcidb::write(&suite, &args.output.submission(), out)
        },
    })
}

/// A sweep with what came of its conditions.
fn mail_of_run(run: &Run, args: &ReportArgs) -> Document {
    match Judged::of_run(run, args.terms.margin) {
        Some(judged) => views::ranking::mail(run, &judged.ranked()),
        None => views::run::mail(run),
    }
}
