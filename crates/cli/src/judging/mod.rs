//! Verdicts on stored figures: two sides compared, conditions ranked.

pub mod circumstances;
pub mod ranking;
pub mod units;

use crate::exit::{DONE, Failure, MISSED};
use crate::judging::units as unit_figures;
use crate::output::{say, show};
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::{FigureSource, StoreArgs, held_to};
use crate::stored::series;
use crate::ui::values::parse_margin;
use assay_lang::{counted, tr};
use assay_model::run::Run;
use assay_report::comparison::Compared;
use assay_report::document::Detail;
use assay_report::gate::{Status, Suite, kcidb, lava, tap};
use assay_report::render::{Form, write_mail};
use assay_report::{comparison, gate, html, json, views, xlsx};
use assay_stats::verdict::Options;
use assay_stats::verdict::between::Earlier;
use assay_stats::verdict::compare::Comparison;
use clap::Args;
use std::io;
use std::io::Write;
use std::process::ExitCode;

/// Side of a comparison: its name and its units.
pub struct NamedSide {
    /// Name of the side, as the user gave it.
    pub name: String,
    /// Figures of each unit.
    pub units: Vec<FigureSource>,
}

impl NamedSide {
    /// Returns the runs of the figures, with only their trials.
    pub fn runs(&self) -> Vec<Run> {
        let runs = self.units.iter().filter_map(FigureSource::run_of_figures);
        runs.collect()
    }

    /// Makes a side of a single unit.
    pub fn of(source: FigureSource) -> Self {
        Self {
            name: source.name.clone(),
            units: vec![source],
        }
    }
}

/// Finds the units of a side.
pub fn units(name: &str, words: &[String], store: &StoreArgs) -> Result<NamedSide, Failure> {
    let units = words
        .iter()
        .map(|word| FigureSource::find(word, store)?.single());
    Ok(NamedSide {
        name: name.to_owned(),
        units: units.collect::<Result<_, Failure>>()?,
    })
}

/// Two sides and the comparison of their figures.
pub struct Judged {
    /// Baseline of the comparison.
    pub a: NamedSide,
    /// Side that is judged.
    pub b: NamedSide,
    figures: unit_figures::Figures,
    options: Options,
    comparison: Comparison,
    qualify: bool,
    /// `true` if outputs for gates pass when no deciding metric was judged.
    pub allow_unjudged: bool,
}

impl Judged {
    /// Returns both sides, with their runs, in the form for pages and charts.
    pub fn sides<'a>(&'a self, runs: [&'a [Run]; 2]) -> [comparison::Side<'a>; 2] {
        let [a, b] = &self.figures.sides;
        [(&self.a, a, runs[0]), (&self.b, b, runs[1])].map(|(side, figures, runs)| {
            comparison::Side {
                name: &side.name,
                figures: figures.iter().flatten().collect(),
                runs: runs.iter().collect(),
            }
        })
    }

    /// Judges two sides by the terms of the flags, at significance `level` if that is smaller than the
    /// runs'. `earlier` finds earlier runs of the series of each side; called only if they count.
    pub fn of(
        (a, b): (NamedSide, NamedSide),
        terms: &Terms,
        level: Option<f64>,
        earlier: impl FnOnce([&[FigureSource]; 2]) -> Result<[Earlier; 2], Failure>,
    ) -> Result<Self, Failure> {
        refuse_the_same(&a, &b)?;
        let held = held_to(a.units.iter().chain(&b.units), terms.margin);
        let held = level.map_or(held, |level| held.at_level(level.min(held.alpha)));
        let options = Options {
            budget: terms.max_trials.unwrap_or(held.budget),
            trusted: ["A", "B"].map(|side| terms.trust.iter().any(|word| word == side)),
            same_session: same_session(&a, &b),
            same_model: same_model(&a, &b),
            qualify: terms.qualify,
            ..held
        };
        let apart = !options.same_session && are_runs_made_apart(&a, &b);
        let figures = unit_figures::Figures::of(&a.units, &b.units, apart);
        let earlier = match figures.are_apart() {
            true => earlier([&a.units, &b.units])?,
            false => Default::default(),
        };
        let mut comparison = figures.compare(&earlier, &options);
        if terms.qualify {
            for line in comparison.lines.iter_mut().chain(&mut comparison.composite) {
                line.notes.retain(|note| !note.is_on_more_trials());
            }
        }
        Ok(Self {
            figures,
            comparison,
            qualify: terms.qualify,
            allow_unjudged: false,
            a,
            b,
            options,
        })
    }

    /// Compares two sources with the default terms.
    pub fn of_two(words: [&String; 2], store: &StoreArgs) -> Result<Self, Failure> {
        Self::of_stored(two_sources(words, store)?, &Terms::default(), store, None)
    }

    /// Compares two sides, whose runs are in `store`, at significance `level` if given.
    pub fn of_stored(
        sides: (NamedSide, NamedSide),
        terms: &Terms,
        store: &StoreArgs,
        level: Option<f64>,
    ) -> Result<Self, Failure> {
        Self::of(sides, terms, level, |sides| {
            Ok(unit_figures::earlier(&series::open(store)?, sides)?)
        })
    }

    /// Returns the comparison in the form for outputs.
    pub fn compared(&self) -> Compared<'_> {
        Compared {
            a: &self.a.name,
            b: &self.b.name,
            options: &self.options,
            comparison: &self.comparison,
            warnings: circumstances::warnings(&self.a.units, &self.b.units),
            qualify: self.qualify,
            allow_unjudged: self.allow_unjudged,
            a_sources: self.a.units.iter().map(FigureSource::shown).collect(),
            b_sources: self.b.units.iter().map(FigureSource::shown).collect(),
        }
    }
}

/// Refuses a source that is on both sides: one measurement cannot be evidence twice.
fn refuse_the_same(a: &NamedSide, b: &NamedSide) -> Result<(), Failure> {
    let units: Vec<&FigureSource> = a.units.iter().chain(&b.units).collect();
    for (index, unit) in units.iter().enumerate() {
        if let Some(other) = units[..index].iter().find(|other| other.is_same_as(unit)) {
            return Err(Failure::usage(format!(
                "{} and {} are the same results: each may be given once",
                other.name, unit.name
            )));
        }
    }
    Ok(())
}

pub fn two_sources(
    words: [&String; 2],
    store: &StoreArgs,
) -> Result<(NamedSide, NamedSide), Failure> {
    let side = |word| Ok::<_, Failure>(NamedSide::of(FigureSource::find(word, store)?.single()?));
    let [a, b] = words;
    Ok((side(a)?, side(b)?))
}

/// Makes sides of the two conditions of one source, such as before and after.
pub fn two_conditions(source: &FigureSource) -> Result<(NamedSide, NamedSide), Failure> {
    let conditions = source.conditions();
    let &[a, b] = conditions.as_slice() else {
        return Err(Failure::usage(format!(
            "{} has {}, not two: give two sources, or name conditions behind an @; assay rank compares all of them",
            source.name,
            counted!(conditions.len(), "{n} condition", "{n} conditions"),
        )));
    };
    let side = |condition: &str| NamedSide {
        name: condition.to_owned(),
        units: vec![FigureSource {
            name: format!("{}@{condition}", source.name),
            figures: source.under(condition),
            condition: Some(condition.to_owned()),
            ..source.clone()
        }],
    };
    Ok((side(a), side(b)))
}

/// `true` if all figures are of runs of one version of the program.
fn same_model(a: &NamedSide, b: &NamedSide) -> bool {
    let version = |unit: &FigureSource| Some(unit.run.as_ref()?.header.assay_version.clone());
    let mut versions = a.units.iter().chain(&b.units).map(version);
    let first = versions.next().flatten();
    first.is_some() && versions.all(|other| other == first)
}

/// `true` if at least one side has runs, and no run of A is on side B or took turns with one of B.
fn are_runs_made_apart(a: &NamedSide, b: &NamedSide) -> bool {
    fn runs(side: &NamedSide) -> impl Iterator<Item = &Run> {
        side.units.iter().filter_map(|unit| unit.run.as_deref())
    }
    let together = |a: &Run, b: &Run| a.header.id == b.header.id || a.took_turns_with(b);
    let any_together = runs(a).any(|a| runs(b).any(|b| together(a, b)));
    runs(a).chain(runs(b)).next().is_some() && !any_together
}

/// `true` if positions of trials refer to one session: both sides are of the same run, of two that
/// took turns, or of imported results with positions.
fn same_session(a: &NamedSide, b: &NamedSide) -> bool {
    let ([a], [b]) = (a.units.as_slice(), b.units.as_slice()) else {
        return false;
    };
    match (&a.run, &b.run) {
        (Some(a), Some(b)) => a.header.id == b.header.id || a.took_turns_with(b),
        (None, None) => true,
        _ => false,
    }
}

/// Formats that a comparison can be written in.
pub const FORMATS: [Format; 9] = [
    Format::Html,
    Format::Json,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
    Format::Junit,
    Format::Tap,
    Format::Lava,
    Format::Kcidb,
];

const OUTPUT_HELP: &str = "\
Output file; its ending decides the format: .html, .json, .xlsx, .txt, .md, .xml (JUnit), .tap, \
.lava or .kcidb.json";

/// Question about two sides, and how the answer is shown.
#[derive(Args, Debug)]
#[command(
    mut_arg("format", |arg| Format::only(arg, &FORMATS)),
    mut_arg("output", |arg| arg.help(OUTPUT_HELP)),
)]
pub struct VerdictArgs {
    #[command(flatten)]
    pub terms: Terms,
    /// Exit with 3 if a deciding metric is slower (with --qualify: fails).
    #[arg(long)]
    pub gate: bool,
    /// Let --gate, JUnit, TAP, LAVA and KCIDB pass where no deciding metric could be judged
    /// (without it: exit code 2).
    #[arg(long)]
    pub allow_unjudged: bool,
    /// Show every metric with the reasons of its verdict.
    #[arg(long, conflicts_with_all = ["json", "output", "format"])]
    pub explain: bool,
    /// Print the comparison as JSON on standard output, as --format json does.
    #[arg(long, conflicts_with_all = ["output", "format"])]
    pub json: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Terms of a comparison of two sides.
#[derive(Args, Debug, Default)]
pub struct Terms {
    /// Largest difference that counts as equivalent, in percent [default: 5, or that of the
    /// runs].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Largest number of trials per side: suggested for a verdict [default: 100], or made by
    /// --trials auto and --budget [default: 20 and 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub max_trials: Option<u32>,
    /// Let a side decide whose results do not say what they measured, such as those of fio: it is
    /// taken to have measured what the other side did.
    #[arg(long, value_name = "SIDE", value_parser = ["A", "B"])]
    pub trust: Vec<String>,
    /// Judge whether B can replace A: pass, fail or inconclusive for each metric.
    #[arg(long)]
    pub qualify: bool,
}

type JudgedWriter = fn(&Judged, &OutputArgs, &mut dyn Write) -> io::Result<()>;

/// Writes a comparison.
pub fn write(judged: &Judged, format: Format, output: &OutputArgs) -> Result<(), Failure> {
    let write = writer_for(format)?;
    output.write(format, |out| write(judged, output, out))
}

fn writer_for(format: Format) -> Result<JudgedWriter, Failure> {
    Ok(match format {
        Format::Html => |judged, _, out| {
            let (a, b) = (judged.a.runs(), judged.b.runs());
            let [a, b] = judged.sides([&a, &b]);
            html::write_comparison(&judged.compared(), &a, &b, out)
        },
        Format::Json => {
            |judged, _, out| writeln!(out, "{:#}", json::comparison(&judged.compared()))
        }
        Format::Xlsx => |judged, _, out| xlsx::write_comparison(&judged.compared(), out),
        Format::Text => |judged, _, out| mail(judged, Form::Text, out),
        Format::Markdown => |judged, _, out| mail(judged, Form::Markdown, out),
        Format::Junit => |judged, _, out| gate::write_junit(&suite(judged), out),
        Format::Tap => |judged, _, out| tap::write(&suite(judged), out),
        Format::Lava => |judged, _, out| lava::write(&suite(judged), out),
        Format::Kcidb => {
            |judged, output, out| kcidb::write(&suite(judged), &output.submission(), out)
        }
        Format::Csv | Format::Openmetrics => return Err(format.refused("a comparison", &FORMATS)),
    })
}

fn mail(judged: &Judged, form: Form, out: &mut dyn Write) -> io::Result<()> {
    write_mail(&views::comparison::mail(&judged.compared()), form, out)
}

fn suite(judged: &Judged) -> Suite {
    Suite::of_comparison(&judged.compared())
}

/// Returns the requested format; fails if a comparison cannot be written in it.
pub fn wanted(args: &VerdictArgs) -> Result<Option<Format>, Failure> {
    let wanted = match args.json {
        true => Some(Format::Json),
        false => args.output.wanted()?,
    };
    wanted.map(writer_for).transpose()?;
    Ok(wanted)
}

/// Compares two parts by runs of their units; returns the exit code of the gate.
pub fn of_units(parts: [(&str, &[String]); 2], args: &VerdictArgs) -> Result<ExitCode, Failure> {
    let [a, b] = parts.map(|(name, runs)| units(name, runs, &args.store));
    present(args, (a?, b?))
}

/// Judges two sides and shows the result; returns the exit code of the gate.
pub fn present(args: &VerdictArgs, sides: (NamedSide, NamedSide)) -> Result<ExitCode, Failure> {
    wanted(args)?;
    present_judged(
        args,
        Judged::of_stored(sides, &args.terms, &args.store, None)?,
    )
}

/// Shows a comparison; returns the exit code of the gate.
pub fn present_judged(args: &VerdictArgs, mut judged: Judged) -> Result<ExitCode, Failure> {
    let wanted = wanted(args)?;
    judged.allow_unjudged = args.allow_unjudged;
    let compared = judged.compared();
    match wanted {
        Some(format) => {
            write(&judged, format, &args.output)?;
            if args.output.output.is_some() {
                say(&views::comparison::headline(&compared));
            }
        }
        None => {
            let detail = match args.explain {
                true => Detail::Full,
                false => Detail::Brief,
            };
            show(&views::comparison::document(&compared, detail))?;
        }
    }
    if !args.gate {
        return Ok(DONE);
    }
    match (
        Suite::of_comparison(&compared).count(Status::Fail),
        compared.unjudged(),
    ) {
        (0, None) => Ok(DONE),
        (0, Some(why)) => Err(Failure::usage(tr!(
            "{why} To let the gate pass: --allow-unjudged.",
            why
        ))),
        _ => Ok(ExitCode::from(MISSED)),
    }
}

/// Writes the comparison for `assay report A B`.
pub fn report(
    [a, b]: [&String; 2],
    store: &StoreArgs,
    terms: &Terms,
    (format, output): (Format, &OutputArgs),
) -> Result<ExitCode, Failure> {
    let judged = Judged::of_stored(two_sources([a, b], store)?, terms, store, None)?;
    write(&judged, format, output)?;
    Ok(DONE)
}
