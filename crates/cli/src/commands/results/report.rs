//! `assay report`: writes a run, a comparison of two, or all runs as files. All runs become a
//! folder of pages: one for each stored run and import, and an index.

use crate::exit::{DONE, Failure};
use crate::judging;
use crate::judging::{RankedConditions, Terms, verdicts_of_import};
use crate::output::say;
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
use clap::Args;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};
use std::{fs, io};

const REPORT_HELP: &str = "\
One run or import is reported as it is, two are compared (as assay compare does).

Examples:
  assay report last                          a page, assay-RUN.html, here
  assay report last -o disk.html
  assay report 3f2a 9b1c -o patch.txt        before and after, for a mail
  assay report sweep@bfq sweep@none -o x.html
  assay report last --format lava            on standard output
  assay report last -o assay.prom            for node_exporter (OpenMetrics)
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
    /// Write a page for each stored run and import into this folder, and index.html that
    /// lists them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "output", "format", "margin", "max_trials", "replace"])]
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
        None => report(args),
    }
}

/// Writes the report on one run or import, or on two that are compared.
fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let Some(first) = args.runs.first() else {
        return Err(Failure::usage("missing: RUN"));
    };
    let wanted = args.output.wanted()?;
    let format = wanted.unwrap_or(Format::Html);
    // Without -o and --format: a page in the current folder.
    let output = |name: &str| match wanted {
        Some(_) => Ok(args.output.clone()),
        None => free_page(Path::new(""), name).map(|path| args.output.to(path)),
    };
    if let [a, b] = args.runs.as_slice() {
        let output = output(&format!("{a}-{b}"))?;
        let to = (format, &output);
        return judging::report([a, b], &args.store, &args.terms, to);
    }
    if args.terms.replace || format == Format::Patch {
        return Err(Failure::usage("--replace and --format patch need two runs"));
    }
    let stored = load(&args.store, first)?;
    let standings = match WITH_POPULATION.contains(&format) {
        true => args.population.standings(&stored, &args.store)?,
        false => None,
    };
    match stored {
        Stored::Run(run) => {
            let output = output(&run.header.id)?;
            let standings = standings.as_ref();
            output.write(format, |out| {
                write_run(*run, (format, args), standings, out)
            })?;
        }
        Stored::Import(import) => {
            if !OF_IMPORTS.contains(&format) {
                let what = "an import, which has no evidence to judge,";
                return Err(format.refused(what, OF_IMPORTS));
            }
            let output = output(&import.id)?;
            output.write(format, |out| write_import(&import, (format, args), out))?;
        }
    }
    Ok(DONE)
}

/// Text near the beginning of every page of assay.
const OF_ASSAY: &str = "<title>assay: ";
/// Size of the beginning of a file that is searched for [`OF_ASSAY`], in bytes.
const BEGINNING: u64 = 4096;
/// Maximum number of names that are tried.
const NAMES: u32 = 100;

/// Returns a name that no file has, or only a page of assay: other files are not replaced.
fn free_page(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).take(60).collect();
    let candidates = (1..=NAMES).map(|number| match number {
        1 => format!("assay-{name}.html"),
        _ => format!("assay-{name}-{number}.html"),
    });
    let mut candidates = candidates.map(|name| folder.join(name));
    candidates.find(|path| is_free(path)).ok_or_else(|| {
        Failure::usage(format!(
            "assay-{name}.html and {NAMES} names like it are taken by other files: name one with -o"
        ))
    })
}

fn is_free(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(there) if there.is_file() => {
            let mut beginning = Vec::new();
            let read =
                File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
            read.is_ok() && String::from_utf8_lossy(&beginning).contains(OF_ASSAY)
        }
        Ok(_) => false,
    }
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
    let mail = || {
        let mut document = mail_of_run(&run, args);
        if let Some(standings) = standings {
            document.push_after("results", views::run::population(standings));
        }
        document
    };
    match format {
        Format::Html => html::write_among(&run, standings, out),
        Format::Json => json::write_among(&run, standings, out),
        Format::Csv => machine::write_csv(&run, out),
        Format::Xlsx => match RankedConditions::of_run(&run, args.terms.margin) {
            Some(judged) => xlsx::write_sweep(&run, &judged.ranked(), out),
            None => xlsx::write(&run, out),
        },
        Format::Text | Format::Patch => write_mail(&mail(), Form::Text, out),
        Format::Markdown => write_mail(&mail(), Form::Markdown, out),
        Format::Junit => gate::write_junit(&Suite::of_run(&by_condition(run)), out),
        Format::Tap => gate::write_tap(&Suite::of_run(&by_condition(run)), out),
        Format::Lava => gate::write_lava(&Suite::of_run(&by_condition(run)), out),
        Format::Kcidb => {
            let suite = Suite::of_run(&by_condition(run));
            gate::write_kcidb(&suite, &args.output.submission(), out)
        }
        Format::Openmetrics => machine::write_openmetrics(&run, out),
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_page_takes_no_other_files_place() {
        let folder = Scratch::new().unwrap();
        let named = |name: &str| {
            let page = free_page(&folder.join(""), name).unwrap();
            page.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(named("k3v9"), "assay-k3v9.html");
        fs::write(folder.join("assay-k3v9.html"), "my notes").unwrap();
        assert_eq!(named("k3v9"), "assay-k3v9-2.html");
        symlink("/nowhere", folder.join("assay-k3v9-2.html")).unwrap();
        fs::create_dir(folder.join("assay-k3v9-3.html")).unwrap();
        assert_eq!(named("k3v9"), "assay-k3v9-4.html");
        let page = "<!DOCTYPE html><head><title>assay: eMMC</title>";
        fs::write(folder.join("assay-k3v9-4.html"), page).unwrap();
        assert_eq!(named("k3v9"), "assay-k3v9-4.html", "its own is renewed");
        assert_eq!(named("../a/b@c"), "assay-..-a-b-c.html");
    }
}
