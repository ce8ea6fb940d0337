//! `assay require RUN --file FILE`: whether a run meets requirements, a line each.

use crate::exit::{DONE, Failure, MISSED};
use crate::judging::requirements::Requirements;
use crate::output::{print, show};
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::{FigureSource, StoreArgs};
use crate::ui::parse_margin;
use assay_lang::in_english;
use assay_model::figures::{Better, LEVEL};
use assay_model::text::clean;
use assay_report::comparison::RequirementRow;
use assay_report::gate::{self, Suite};
use assay_report::render::{Form, write_mail};
use assay_report::views::requirements;
use assay_report::words::value;
use assay_report::{html, json};
use assay_stats::figures::may_decide;
use assay_stats::verdict::arm::Arm;
use assay_stats::verdict::judge::Qualification;
use clap::Args;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER: &str = "\
The file is TOML; each string is a requirement:
  require = [
      \"rand-read-4k read_lat_p99 < 5 ms\",
      \"seq-write-1m write_bw >= 10 MB/s\",
      \"capacity genuine\",
      \"stalls < 500 ms\",
  ]

Examples:
  assay require last --file examples/requirements.toml
  assay require last --file a1
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
    /// File with the requirements, or the name of a built-in set: a1, a2, v30 (SD classes), pi, camera,
    /// android, boot, usb (uses), all for a run of assay check; mpc-11, mpc-12 (Android's media
    /// performance classes) for one of assay qualify.
    #[arg(
        long,
        value_name = "FILE.toml|SET",
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
    let requirements = Requirements::read(path)?;
    let source = FigureSource::find(word, &args.store)?;
    let checked = || requirements.check(&source, &args.store, LEVEL);
    // Output for programs is English.
    let rows = match format {
        None | Some(Format::Html | Format::Text | Format::Markdown) => checked()?,
        Some(_) => in_english(checked)?,
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
    let suite = || Suite::of_requirements(run, name, rows);
    args.output.write(format, |out| match format {
        Format::Html => html::write_document(&document, out),
        Format::Text => write_mail(&document, Form::Text, out),
        Format::Markdown => write_mail(&document, Form::Markdown, out),
        Format::Junit => gate::write_junit(&suite(), out),
        Format::Tap => gate::write_tap(&suite(), out),
        Format::Lava => gate::write_lava(&suite(), out),
        Format::Kcidb => gate::write_kcidb(&suite(), &args.output.submission(), out),
        _ => writeln!(out, "{:#}", json::requirements(name, rows)),
    })
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
