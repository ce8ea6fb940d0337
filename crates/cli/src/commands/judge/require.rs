//! `assay require RUN --file FILE`: whether a run meets requirements, a line each.

use crate::checks::input::{self, parse_toml};
use crate::exit::{DONE, Failure, MISSED};
use crate::judging::earlier_runs;
use crate::output::{print, show};
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::{FigureSource, StoreArgs};
use crate::stored::series;
use crate::ui::{parse_margin, parse_time};
use assay_dialects::nearest;
use assay_lang::{in_english, tr};
use assay_model::figures::{Better, Figure, LEVEL};
use assay_model::run::Run;
use assay_model::text::clean;
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_report::findings::capacity::{self, CapacityVerdict};
use assay_report::gate;
use assay_report::html;
use assay_report::render::{Form, write_mail};
use assay_report::views::requirements::{self, RequirementRow};
use assay_report::words::value;
use assay_stats::figures::may_decide;
use assay_stats::unit::factor;
use assay_stats::verdict::arm::Arm;
use assay_stats::verdict::between::{Earlier, RunVariance};
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::limit::{Limit, check};
use clap::Args;
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::slice::from_ref;

const AFTER: &str = "\
A requirement is a line of the file:
  require = [
      \"rand-read-4k read_lat_p99 < 5 ms\",
      \"seq-write-1m write_bw >= 10 MB/s\",
      \"capacity genuine\",
      \"stalls < 500 ms\",
  ]

Examples:
  assay require last --file examples/requirements.toml
  assay require --from golden --margin 10% > requirements.toml

Exit codes: 0 no requirement fails, 1 failed, 2 wrong usage or nothing could be judged, 3 a requirement
fails.";

/// Formats of requirements.
const FORMATS: [Format; 8] = [
    Format::Html,
    Format::Json,
    Format::Text,
    Format::Markdown,
    Format::Junit,
    Format::Tap,
    Format::Lava,
    Format::Kcidb,
];

/// `assay require`.
#[derive(Args, Debug)]
#[command(
    after_help = AFTER,
    mut_arg("format", |arg| Format::only(arg, &FORMATS)),
)]
pub struct RequireArgs {
    /// Run, import or file whose figures are checked.
    #[arg(
        value_name = "SOURCE",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub source: Option<String>,
    /// File with the requirements.
    #[arg(
        long,
        value_name = "FILE.toml",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub file: Option<PathBuf>,
    /// Print requirements for --file, from a run of a unit that is known to be good: each figure may
    /// be worse by --margin.
    #[arg(long, value_name = "SOURCE")]
    pub from: Option<String>,
    /// Percent by which a figure may be worse than that of --from [default: 10].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin, requires = "from")]
    pub margin: Option<f64>,
    /// Print the result as JSON on standard output, as --format json does.
    #[arg(long, conflicts_with_all = ["output", "format"])]
    pub json: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Checks a run, or prints requirements.
pub fn run(args: &RequireArgs) -> Result<ExitCode, Failure> {
    if let Some(golden) = &args.from {
        let source = FigureSource::find(golden, &args.store)?.single()?;
        let text = from_golden(&source, args.margin.unwrap_or(0.1))?;
        print(|out| out.write_all(text.as_bytes()))?;
        return Ok(DONE);
    }
    let (Some(word), Some(path)) = (&args.source, &args.file) else {
        return Err(Failure::usage("give a run, and --file"));
    };
    let format = args.output.wanted_or_json(args.json)?;
    if let Some(format) = format.filter(|format| !FORMATS.contains(format)) {
        return Err(format.refused("requirements", &FORMATS));
    }
    let all: RequirementFile = parse_toml(&input::text(path)?).map_err(|mistake| {
        Failure::in_file(path, format!("it is not a file of requirements: {mistake}"))
    })?;
    let demands = all.require.iter().map(|line| Demand::parse(line));
    let demands = demands.collect::<Result<Vec<Demand>, String>>();
    let demands = demands.map_err(|why| Failure::in_file(path, why))?;
    if demands.is_empty() {
        return Err(Failure::in_file(path, "it has no requirement"));
    }
    let source = FigureSource::find(word, &args.store)?;
    let [earlier, _] = match source.run {
        Some(_) => earlier_runs(&series::open(&args.store)?, [from_ref(&source), &[]])?,
        None => Default::default(),
    };
    let checked = || {
        let rows = all.require.iter().zip(&demands);
        let rows = rows.map(|(line, demand)| demand.checked(line, &source, &earlier));
        rows.collect::<Vec<RequirementRow>>()
    };
    // Output for programs is English.
    let rows = match format {
        None | Some(Format::Html | Format::Text | Format::Markdown) => checked(),
        Some(_) => in_english(checked),
    };
    present(args, format, &source, &rows)?;
    let has = |decision| rows.iter().any(|row| row.decision == decision);
    match (has(Qualification::Fail), has(Qualification::Pass)) {
        (true, _) => Ok(ExitCode::from(MISSED)),
        (false, true) => Ok(DONE),
        (false, false) => Err(Failure::usage(format!(
            "no requirement of {} could be judged by {}: the reasons are beside them",
            path.display(),
            source.name
        ))),
    }
}

fn present(
    args: &RequireArgs,
    format: Option<Format>,
    source: &FigureSource,
    rows: &[RequirementRow],
) -> Result<(), Failure> {
    let (name, run) = (&*source.lasting_name, source.run.as_deref());
    let document = requirements::document(name, rows);
    let Some(format) = format else {
        return show(&document);
    };
    let suite = || requirements::suite(run, name, rows);
    args.output.write(format, |out| match format {
        Format::Html => html::write_document(&document, out),
        Format::Text => write_mail(&document, Form::Text, out),
        Format::Markdown => write_mail(&document, Form::Markdown, out),
        Format::Junit => gate::write_junit(&suite(), out),
        Format::Tap => gate::write_tap(&suite(), out),
        Format::Lava => gate::write_lava(&suite(), out),
        Format::Kcidb => gate::write_kcidb(&suite(), &args.output.submission(), out),
        _ => writeln!(out, "{:#}", requirements::value_of(name, rows)),
    })
}

/// File of requirements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequirementFile {
    /// The requirements.
    require: Vec<String>,
}

/// A requirement.
#[derive(Clone, Debug, PartialEq)]
enum Demand {
    /// A figure of a job within a limit.
    Figure {
        /// Job and metric, as in comparisons.
        metric: String,
        limit: Limit,
        /// Unit of the limit.
        unit: String,
    },
    /// No sign of less capacity than is claimed.
    Genuine,
    /// No time without I/O of this length.
    Stalls(Nanos),
}

/// Forms of a requirement, for error messages.
const FORMS: &str =
    "write JOB METRIC < NUMBER UNIT (or <=, >, >=), capacity genuine, or stalls < TIME";

impl Demand {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mistake = |why: &str| format!("\"{}\": {why}", clean(line));
        // Names of jobs may have spaces.
        let sign = words
            .iter()
            .position(|word| ["<", "<=", ">", ">="].contains(word));
        match words[..] {
            ["capacity", "genuine"] => Ok(Self::Genuine),
            ["stalls", "<" | "<=", ..] => {
                let time = words[2..].concat();
                parse_time(&time)
                    .map(Self::Stalls)
                    .map_err(|why| mistake(&why))
            }
            _ => {
                let at = sign.filter(|at| *at >= 2).ok_or_else(|| mistake(FORMS))?;
                let number = words.get(at + 1).copied().unwrap_or_default();
                let value: f64 = number
                    .parse()
                    .ok()
                    .filter(|value: &f64| value.is_finite() && *value > 0.0)
                    .ok_or_else(|| mistake(&format!("{number} is no number above 0; {FORMS}")))?;
                let (job, metric) = (words[..at - 1].join(" "), words[at - 1]);
                Ok(Self::Figure {
                    metric: format!("{job}: {metric}"),
                    limit: match words[at] {
                        "<" | "<=" => Limit::AtMost(value),
                        _ => Limit::AtLeast(value),
                    },
                    unit: words[at + 2..].concat(),
                })
            }
        }
    }

    fn checked(&self, line: &str, source: &FigureSource, earlier: &Earlier) -> RequirementRow {
        let row = RequirementRow {
            requirement: line.to_owned(),
            figure: None,
            why: None,
            decision: Qualification::Inconclusive,
        };
        let run = source.run.as_deref();
        match self {
            Self::Figure {
                metric,
                limit,
                unit,
            } => of_figure(&row, (metric, *limit, unit), source, earlier),
            Self::Genuine => genuine(row, run),
            Self::Stalls(most) => stalls(row, run, *most),
        }
    }
}

fn of_figure(
    row: &RequirementRow,
    (metric, limit, unit): (&str, Limit, &str),
    source: &FigureSource,
    earlier: &Earlier,
) -> RequirementRow {
    let open = |why: String| RequirementRow {
        why: Some(why),
        ..row.clone()
    };
    let of_metric = |figure: &&Figure| figure.metric == metric;
    let mut found = source.figures.iter().filter(of_metric);
    let Some(figure) = found.next() else {
        let names = source.figures.iter().map(|figure| &*figure.metric);
        let near = nearest(metric, names);
        return open(match near {
            Some(near) => tr!("it has no figure {metric}; there is {near}", metric, near),
            None => tr!("it has no figure {metric}", metric),
        });
    };
    if found.next().is_some() {
        return open(tr!(
            "it has {metric} under several conditions: add @CONDITION to its name",
            metric
        ));
    }
    let Some(scale) = scale(unit, figure) else {
        return open(tr!(
            "{unit} is no unit of {metric}, which is in {own}",
            unit,
            metric,
            own = figure.unit
        ));
    };
    let limit = match limit {
        Limit::AtLeast(value) => Limit::AtLeast(value * scale),
        Limit::AtMost(value) => Limit::AtMost(value * scale),
    };
    let between = source.run.as_ref();
    let between = between.and_then(|_| RunVariance::of_one(figure, earlier));
    let Some(checked) = check(figure, between.as_ref(), limit, LEVEL) else {
        return open(tr!("one trial has no spread: measure more").to_owned());
    };
    let row = RequirementRow {
        figure: Some((checked.centre, checked.interval, figure.unit.clone())),
        decision: checked.decision,
        ..row.clone()
    };
    // Figures of a cache or a model say nothing about the device.
    match &figure.measured {
        Some(measured) if may_decide(Some(measured)) => row,
        Some(measured) => RequirementRow {
            why: Some(tr!("what was measured is {measured}", measured)),
            decision: Qualification::Inconclusive,
            ..row
        },
        None => RequirementRow {
            why: Some(tr!("what it measured was not recorded").to_owned()),
            decision: Qualification::Inconclusive,
            ..row
        },
    }
}

/// Returns the factor to the unit of a figure; a plain number has that unit.
fn scale(unit: &str, figure: &Figure) -> Option<f64> {
    match unit {
        "" => Some(1.0),
        _ => factor(unit, &figure.unit),
    }
}

/// Checks the capacity by the steps that read data back.
fn genuine(row: RequirementRow, run: Option<&Run>) -> RequirementRow {
    let concluded = run.and_then(capacity::concluded);
    let Some((answer, verdict)) = concluded else {
        return RequirementRow {
            why: Some(tr!("its capacity was not checked: assay check, assay capacity").to_owned()),
            ..row
        };
    };
    RequirementRow {
        decision: match verdict {
            CapacityVerdict::Holds => Qualification::Pass,
            CapacityVerdict::Fails => Qualification::Fail,
            CapacityVerdict::NotKnown => Qualification::Inconclusive,
        },
        why: Some(answer),
        ..row
    }
}

/// Checks the longest time without I/O of each trial. One that is too long decides; else each trial
/// must have this figure.
fn stalls(row: RequirementRow, run: Option<&Run>, most: Nanos) -> RequirementRow {
    let open = |why| RequirementRow {
        why: Some(why),
        ..row.clone()
    };
    let Some((run, (length, job))) = run.and_then(|run| Some((run, run.longest_gap()?))) else {
        return open(tr!("no trial has the longest time without any I/O").to_owned());
    };
    let is_unknown = |trial: &&TrialRecord| {
        let measured = trial.measured.as_ref();
        trial.gives_figures() && measured.is_none_or(|measured| measured.longest_gap.is_none())
    };
    let decision = match run.trials.iter().find(is_unknown) {
        Some(trial) if length < most => {
            let job = clean(&trial.job.name);
            return open(tr!("{job} has no longest time without any I/O", job));
        }
        _ if length < most => Qualification::Pass,
        _ => Qualification::Fail,
    };
    RequirementRow {
        decision,
        why: Some(tr!(
            "the longest: {length} ({job})",
            length,
            job = clean(job)
        )),
        ..row
    }
}

/// Returns the requirements that figures of a good unit meet with a margin.
fn from_golden(source: &FigureSource, margin: f64) -> Result<String, Failure> {
    let mut text = format!(
        "# Figures of {} with a margin of {:.0} %\nrequire = [\n",
        clean(&source.name),
        100.0 * margin
    );
    let mut any = false;
    let deciding = source.figures.iter().filter(|figure| {
        figure.primary && figure.measured.is_some() && may_decide(figure.measured.as_deref())
    });
    for figure in deciding {
        let (Ok(arm), Some((job, metric))) = (
            Arm::of(&figure.sample, figure.better),
            figure.metric.split_once(": "),
        ) else {
            continue;
        };
        let (sign, limit) = match figure.better {
            Some(Better::Lower) => ("<=", arm.centre * (1.0 + margin)),
            _ => (">=", arm.centre * (1.0 - margin)),
        };
        let line = format!("{job} {metric} {sign} {} {}", short(limit), figure.unit);
        let (line, shown) = (toml::Value::String(line), value(&figure.unit, limit));
        let _ = writeln!(text, "    {line},    # {shown}");
        any = true;
    }
    match any {
        true => Ok(text + "]\n"),
        false => Err(Failure::usage(format!(
            "{} has no figure of a device that decides",
            source.name
        ))),
    }
}

/// Formats a limit with four digits or more.
fn short(limit: f64) -> String {
    match limit {
        1000.0.. => format!("{limit:.0}"),
        1.0.. => format!("{limit:.3}"),
        _ => format!("{limit:.6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_requirements() {
        let p99 = Demand::parse("rand-read-4k read_lat_p99 < 5 ms").unwrap();
        let expected = Demand::Figure {
            metric: "rand-read-4k: read_lat_p99".to_owned(),
            limit: Limit::AtMost(5.0),
            unit: "ms".to_owned(),
        };
        assert_eq!(p99, expected);
        assert_eq!(Demand::parse("capacity genuine"), Ok(Demand::Genuine));
        let stalls = Demand::Stalls(Nanos::millis(500));
        assert_eq!(Demand::parse("stalls < 500 ms"), Ok(stalls));
        for line in ["", "a b", "a b = 3", "a b < x ms", "a b < -3", "stalls < x"] {
            assert!(Demand::parse(line).is_err(), "{line}");
        }
    }
}
