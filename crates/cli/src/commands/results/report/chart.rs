//! `assay report --chart`: draws one chart, in the terminal or to a file.

use super::ReportArgs;
use crate::exit::{DONE, Failure};
use crate::judging::{Judged, two_sources, verdicts_of_import};
use crate::output::{print, say, style};
use crate::stored::lookup::{Stored, load, write_file};
use assay_lang::{in_english, tr};
use assay_model::run::Run;
use assay_model::text::meant;
use assay_report::charts;
use assay_report::charts::draw::{self, Chart};
use assay_report::charts::{Gallery, latency};
use assay_report::summary::Summary;
use assay_report::sweep::by_condition;
use assay_report::words::{clean, enumerate};
use clap::Args;
use std::collections::BTreeSet;
use std::convert::identity;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Chart that `assay report` draws instead of a report.
#[derive(Args, Debug)]
pub struct ChartArgs {
    /// Draw this chart: in the terminal, or with -o into a file that ends in .svg, .png, .gp
    /// (gnuplot) or .csv. Without a name the charts are listed.
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["metric", "format", "population"])]
    pub chart: Option<Option<String>>,
    /// Draw this metric of all jobs that have it, such as write_bw or read_lat_p99.
    #[arg(long, value_name = "METRIC", conflicts_with_all = ["format", "population"])]
    pub metric: Option<String>,
}

impl ChartArgs {
    /// Returns `true` if a chart was requested.
    pub const fn is_wanted(&self) -> bool {
        self.chart.is_some() || self.metric.is_some()
    }

    fn name(&self) -> Option<&str> {
        self.chart.as_ref()?.as_deref()
    }
}

/// Draws the chart, or lists the charts to choose from.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    // Report an unknown file ending before anything is read.
    let file = match &args.output.output {
        Some(path) => Some((path, writer_for(path)?)),
        None => None,
    };
    // CSV is for programs, and the font for PNG has only Latin letters.
    let chart = match args.output.output.as_deref().and_then(Path::extension) {
        Some(ending) if ending == "csv" || ending == "png" => in_english(|| wanted(args))?,
        _ => wanted(args)?,
    };
    match (chart, file) {
        (Wanted::List(lines), None) => {
            print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?
        }
        (Wanted::List(_), Some(_)) => {
            return Err(Failure::usage(
                "say which chart: --metric METRIC or --chart NAME (without -o they are listed)",
            ));
        }
        (Wanted::Chart(chart), None) => print(|out| draw::terminal::write(&chart, style(), out))?,
        (Wanted::Chart(chart), Some((path, write))) => {
            write_file(path, |out| write(&chart, out))?;
            say(&tr!(
                "wrote {path}",
                path = clean(&path.display().to_string())
            ));
        }
    }
    Ok(DONE)
}

fn wanted(args: &ReportArgs) -> Result<Wanted, Failure> {
    match args.runs.as_slice() {
        [a, b] => {
            if args.chart.metric.is_some() {
                return Err(Failure::usage(
                    "--metric is for one run: two are drawn with --chart",
                ));
            }
            of_two([a, b], args)
        }
        _ => of_one(args),
    }
}

/// Output of the command.
enum Wanted {
    Chart(Box<Chart>),
    /// Names and titles of the charts to choose from.
    List(Vec<String>),
}

fn of_one(args: &ReportArgs) -> Result<Wanted, Failure> {
    let gallery = match (load(&args.store, &args.runs[0])?, &args.chart.metric) {
        (Stored::Run(run), Some(metric)) => return of_metric(*run, metric),
        (Stored::Import(_), Some(_)) => {
            return Err(Failure::usage(
                "--metric is for runs: --chart without a name lists the charts of an import",
            ));
        }
        (Stored::Run(run), None) => Gallery::of(&run),
        (Stored::Import(import), None) => {
            let verdicts = verdicts_of_import(&import, args.terms.margin);
            Gallery::of_import(&import, verdicts.as_ref())
        }
    };
    pick(gallery.iter().cloned().collect(), args.chart.name())
}

fn of_metric(run: Run, metric: &str) -> Result<Wanted, Failure> {
    let split = by_condition(run);
    let summary = Summary::of(&split);
    if let Some(chart) = latency::chart(&summary, metric) {
        return Ok(Wanted::Chart(Box::new(chart)));
    }
    let trials = summary.jobs.iter().flat_map(|job| job.completed());
    let known: BTreeSet<&str> = trials
        .flat_map(|trial| &trial.derived.metrics)
        .map(|metric| metric.name.as_str())
        .collect();
    let known: Vec<&str> = known.into_iter().collect();
    Err(Failure::usage(match known.is_empty() {
        true => "no trial of the run was completed: there is nothing to draw".to_owned(),
        false => format!(
            "no completed trial has the metric {}{}: there are {}",
            clean(metric),
            meant(metric, known.iter().copied()),
            enumerate(&known)
        ),
    }))
}

fn of_two(words: [&String; 2], args: &ReportArgs) -> Result<Wanted, Failure> {
    let sides = two_sources(words, &args.store)?;
    let judged = Judged::of_stored(sides, &args.terms, &args.store, identity)?;
    let (of_a, of_b) = (judged.a.runs(), judged.b.runs());
    let [a, b] = judged.sides([&of_a, &of_b]);
    let gallery = charts::comparison::Gallery::of(&judged.compared(), &a, &b);
    pick(gallery.iter().cloned().collect(), args.chart.name())
}

/// Returns the chart of that name, or the list of all if there is no name.
fn pick(charts: Vec<Chart>, name: Option<&str>) -> Result<Wanted, Failure> {
    let Some(name) = name else {
        let width = charts
            .iter()
            .map(|chart| chart.name.len())
            .max()
            .unwrap_or(0);
        let lines = charts
            .iter()
            .map(|chart| format!("{:width$}  {}", chart.name, clean(&chart.title)));
        return Ok(Wanted::List(lines.collect()));
    };
    let known: Vec<String> = charts.iter().map(|chart| chart.name.clone()).collect();
    match charts.into_iter().find(|chart| chart.name == name) {
        Some(chart) => Ok(Wanted::Chart(Box::new(chart))),
        None => Err(Failure::usage(unknown(name, &known))),
    }
}

fn unknown(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "there is nothing to draw".to_owned();
    }
    let meant = meant(name, known.iter().map(String::as_str));
    format!(
        "there is no chart {}{meant}; --chart without a name lists all {}",
        clean(name),
        known.len()
    )
}

type ChartWriter = fn(&Chart, &mut dyn Write) -> io::Result<()>;

fn writer_for(path: &Path) -> Result<ChartWriter, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(|chart, out| out.write_all(draw::svg::file(chart).as_bytes())),
        Some("png") => Ok(draw::svg::write_png),
        Some("gp" | "gnuplot") => Ok(draw::gnuplot::write),
        Some("csv") => Ok(draw::write),
        _ => Err(Failure::usage(format!(
            "{}: the name must end in .svg, .png, .gp or .csv",
            path.display()
        ))),
    }
}
