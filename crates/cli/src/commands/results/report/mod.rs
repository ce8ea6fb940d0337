//! `assay report`: shows a run, an import or a comparison of two, writes it as a file, or draws one
//! chart of it. All runs become a folder of pages: one for each stored run and import, and an index.

mod chart;

use crate::exit::{DONE, Failure};
use crate::judging;
use crate::judging::{RankedConditions, Terms, verdicts_of_import};
use crate::output::{say, show};
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::{StoreArgs, Stored, load, load_from};
use crate::stored::{OutputFolder, PopulationArgs};
use crate::ui::progress::Messages;
use assay_lang::{counted, tr};
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_report::document::Document;
use assay_report::gate::Suite;
use assay_report::html::IndexEntry;
use assay_report::import::{write_csv, write_json};
use assay_report::population::Standings;
use assay_report::render::{Form, write_mail};
use assay_report::sweep::by_condition;
use assay_report::{gate, html, json, machine, views, xlsx};
use assay_store::Store;
use chart::ChartArgs;
use clap::Args;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

const REPORT_HELP: &str = "\
One run or import is reported as it is, two are compared (as assay compare does).

Examples:
  assay report last
  assay report last -o disk.html
  assay report 3f2a 9b1c -o mail.txt         before and after, for a mail
  assay report sweep@bfq sweep@none -o x.html
  assay report last --format lava            on standard output
  assay report last -o assay.prom            for node_exporter (OpenMetrics)
  assay report last --chart                  the names of its charts
  assay report last --chart latency-rand-read-4k -o latency.svg
  assay report last --metric read_bw         a chart in the terminal
  assay report --all reports                 a folder: a page for each, a list

A combination that a format cannot hold is refused. docs/reports.md, docs/mail.md,
docs/xlsx.md and docs/gates.md describe the formats.

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay report`.
#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub struct ReportArgs {
    /// Name or id of a run or an import, the beginning of its id, or `last`; with two names
    /// (or files, as assay compare takes them) the second is compared with the first.
    #[arg(value_name = "RUN", num_args = 1..=2, required_unless_present = "all")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Print it as JSON on standard output, as --format json does.
    #[arg(long, conflicts_with_all = ["output", "format", "chart", "metric"])]
    pub json: bool,
    /// Show every metric of two with the reasons of its verdict.
    #[arg(long, conflicts_with_all = ["json", "output", "format", "chart", "metric"])]
    pub explain: bool,
    #[command(flatten)]
    pub chart: ChartArgs,
    /// Write a page for each stored run and import into this folder, and index.html that
    /// lists them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "output", "format", "json", "chart", "metric", "margin", "max_trials", "replace", "explain"])]
    pub all: Option<PathBuf>,
    #[command(flatten)]
    pub terms: Terms,
    #[command(flatten)]
    pub population: PopulationArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay report`.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    match &args.all {
        Some(folder) => write(&args.store, folder),
        None if args.chart.is_wanted() => chart::run(args),
        None => report(args),
    }
}

/// Shows or writes the report on one run or import, or on two that are compared.
fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let Some(first) = args.runs.first() else {
        return Err(Failure::usage("missing: RUN"));
    };
    let wanted = args.output.wanted_or_json(args.json)?;
    if let [a, b] = args.runs.as_slice() {
        let to = (wanted, &args.output, args.explain);
        return judging::report([a, b], &args.store, &args.terms, to);
    }
    let of_two = [
        (args.terms.replace, "--replace needs two runs"),
        (args.explain, "--explain needs two runs"),
        (
            wanted == Some(Format::Patch),
            "a note for a patch (.patch) needs two runs",
        ),
    ];
    if let Some((_, why)) = of_two.into_iter().find(|(given, _)| *given) {
        return Err(Failure::usage(why));
    }
    let stored = load(&args.store, first)?;
    let standings = match wanted.is_none_or(|format| WITH_POPULATION.contains(&format)) {
        true => args.population.standings(&stored, &args.store)?,
        false => None,
    };
    let standings = standings.as_ref();
    match (stored, wanted) {
        (Stored::Run(run), Some(format)) => args.output.write(format, |out| {
            write_run(*run, (format, args), standings, out)
        })?,
        (Stored::Run(run), None) => {
            let document = views::run::document(&run);
            show(&among(document, standings))?;
        }
        (Stored::Import(import), Some(format)) => {
            if !OF_IMPORTS.contains(&format) {
                let what = "an import, which has no evidence to judge,";
                return Err(format.refused(what, OF_IMPORTS));
            }
            let write = |out: &mut dyn Write| write_import(&import, (format, args), out);
            args.output.write(format, write)?;
        }
        (Stored::Import(import), None) => show(&views::import::document(&import))?,
    }
    Ok(DONE)
}

/// Adds the rank of the run among other units to its document.
fn among(mut document: Document, standings: Option<&Standings>) -> Document {
    if let Some(standings) = standings {
        document.push_after("results", views::run::population(standings));
    }
    document
}

/// Formats that show the rank of a run among other units; the others need no population.
const WITH_POPULATION: &[Format] = &[Format::Html, Format::Json, Format::Text, Format::Markdown];

/// Formats for imports. Formats for CI gates are excluded, because they need evidence.
const OF_IMPORTS: &[Format] = &[
    Format::Html,
    Format::Json,
    Format::Csv,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
];

fn write_import(
    import: &Import,
    (format, args): (Format, &ReportArgs),
    out: &mut dyn Write,
) -> io::Result<()> {
    let judged = RankedConditions::of_import(import, args.terms.margin);
    let ranked = judged.as_ref().map(RankedConditions::ranked);
    let mail = || views::import::mail(import, ranked.as_ref());
    match format {
        Format::Json => write_json(import, out),
        Format::Csv => write_csv(import, out),
        Format::Xlsx => xlsx::write_import(import, ranked.as_ref(), out),
        Format::Text => write_mail(&mail(), Form::Text, out),
        Format::Markdown => write_mail(&mail(), Form::Markdown, out),
        _ => {
            let verdicts = verdicts_of_import(import, args.terms.margin);
            html::write_import(import, verdicts.as_ref(), out)
        }
    }
}

fn write_run(
    run: Run,
    (format, args): (Format, &ReportArgs),
    standings: Option<&Standings>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mail = || among(mail_of_run(&run, args), standings);
    match format {
        Format::Html => html::write_among(&run, standings, out),
        Format::Json => json::write_among(&run, standings, out),
        Format::Csv => machine::write_csv(&run, out),
        Format::Xlsx => match RankedConditions::of_run(&run, args.terms.margin) {
            Some(judged) => xlsx::write_sweep(&run, &judged.ranked(), out),
            None => xlsx::write(&run, out),
        },
        Format::Markdown => write_mail(&mail(), Form::Markdown, out),
        Format::Junit => gate::write_junit(&Suite::of_run(&by_condition(run)), out),
        Format::Tap => gate::write_tap(&Suite::of_run(&by_condition(run)), out),
        Format::Lava => gate::write_lava(&Suite::of_run(&by_condition(run)), out),
        Format::Kcidb => {
            let suite = Suite::of_run(&by_condition(run));
            gate::write_kcidb(&suite, &args.output.submission(), out)
        }
        Format::Openmetrics => machine::write_openmetrics(&run, out),
        _ => write_mail(&mail(), Form::Text, out),
    }
}

/// Makes the mail on a run, with the ranking if it is a sweep.
fn mail_of_run(run: &Run, args: &ReportArgs) -> Document {
    match RankedConditions::of_run(run, args.terms.margin) {
        Some(judged) => views::ranking::mail(run, &judged.ranked()),
        None => views::run::mail(run),
    }
}

/// Page that lists all others.
const INDEX: &str = "index.html";

/// Writes the folder; its pages replace existing ones, other files are left alone.
fn write(store: &StoreArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let store = store.open_existing()?;
    let runs = store.runs()?.into_iter().map(|run| run.id);
    let imports = store.imports()?.into_iter().map(|import| import.id);
    let ids: Vec<String> = runs.chain(imports).collect();
    if ids.is_empty() {
        return Err(Failure::usage("the store has no run to report"));
    }
    let output = OutputFolder::open(folder)?;
    let pages = pages(&store, &output, &ids)?;
    let mut entries = Vec::new();
    let mut damaged = 0;
    for page in pages {
        match page {
            Made::Page(entry) => entries.push(*entry),
            Made::Damaged(failure) => {
                say(&format!("assay: warning: {failure}; it has no page"));
                damaged += 1;
            }
        }
    }
    output.write(INDEX, |out| html::write_index(&entries, out))?;
    let pages = counted!(entries.len(), "{n} page", "{n} pages");
    say(&tr!(
        "wrote {pages} and {index}",
        pages,
        index = folder.join(INDEX).display()
    ));
    match damaged {
        0 => Ok(DONE),
        _ => Err(Failure::failed(format!(
            "{damaged} of {} could not be read and have no page",
            ids.len()
        ))),
    }
}

/// Result of writing the page of a run or an import.
enum Made {
    Page(Box<IndexEntry>),
    Damaged(Failure),
}

/// Writes all pages in parallel, in one thread per processor: a run can be large.
fn pages(store: &Store, folder: &OutputFolder, ids: &[String]) -> Result<Vec<Made>, Failure> {
    let next = AtomicUsize::new(0);
    let messages = Messages::new();
    let location = store.location();
    let work = || -> Result<Vec<(usize, Made)>, Failure> {
        // A store connection cannot be shared between threads.
        let store = Store::open_existing(location)?;
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(id) = ids.get(index) else {
                return Ok(made);
            };
            messages.show(index, ids.len(), id);
            made.push((
                index,
                match load_from(&store, id) {
                    Ok(stored) => {
                        Made::Page(Box::new(page(folder, &stored, format!("{id}.html"))?))
                    }
                    Err(failure) => Made::Damaged(failure),
                },
            ));
        }
    };
    let threads = available_parallelism().map_or(1, NonZero::get);
    let made: Result<Vec<_>, Failure> = scope(|scope| {
        let start = |_| Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (0..threads).map_while(start).collect();
        let alone = workers.is_empty().then(work);
        let ended = workers.into_iter().map(|worker| {
            let panicked = |_| Err(Failure::failed("a thread that writes pages panicked"));
            worker.join().unwrap_or_else(panicked)
        });
        ended.chain(alone).collect()
    });
    messages.clear();
    let mut made: Vec<(usize, Made)> = made?.into_iter().flatten().collect();
    made.sort_unstable_by_key(|(index, _)| *index);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}

/// Writes one page; returns its entry in the index.
fn page(folder: &OutputFolder, stored: &Stored, file: String) -> Result<IndexEntry, Failure> {
    match stored {
        Stored::Run(run) => {
            folder.write(&file, |out| html::write(run, out))?;
            Ok(IndexEntry::of(run, file))
        }
        Stored::Import(import) => {
            let verdicts = verdicts_of_import(import, None);
            folder.write(&file, |out| {
                html::write_import(import, verdicts.as_ref(), out)
            })?;
            Ok(IndexEntry::of_import(import, file))
        }
    }
}
