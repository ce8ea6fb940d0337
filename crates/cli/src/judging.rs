//! Verdicts on stored figures: two sides compared, conditions ranked.

pub mod requirements;

use crate::exit::{DONE, Failure, MISSED};
use crate::output::{say, show};
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::{FigureSource, StoreArgs, held_to};
use crate::stored::series;
use crate::ui::parse_margin;
use assay_lang::{Told, counted, in_english, key, tr, translated};
use assay_model::figures::{Circumstance, Figure, Import, SeriesPoint};
use assay_model::run::{Run, Unit};
use assay_report::comparison::RequirementRow;
use assay_report::comparison::{Compared, Ranked};
use assay_report::describe::looked_at;
use assay_report::document::{Detail, Document};
use assay_report::gate::{Status, Suite};
use assay_report::render::{Form, write_mail, write_patch};
use assay_report::sweep::Verdicts;
use assay_report::views::several::patch;
use assay_report::words::enumerate;
use assay_report::{comparison, describe, gate, html, json, names, views, xlsx};
use assay_stats::verdict::Options;
use assay_stats::verdict::between::{Earlier, MOST_RUNS};
use assay_stats::verdict::compare::{Comparison, compare_figures, judge_by_own_margins};
use assay_stats::verdict::ranking::{RankError, Ranking, rank_figures};
use assay_stats::verdict::units::{
    ApartSide, MIN_UNITS, are_enough, compare_apart, compare_units, pooled,
};
use assay_store::{Store, StoreError};
use clap::Args;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::identity;
use std::io;
use std::io::Write;
use std::process::ExitCode;

/// Side of a comparison: its name and its units.
#[derive(Clone)]
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

/// Sources of one unit.
struct UnitSources<'a> {
    /// Unit; `None` for imported results, each of which counts as a unit.
    unit: Option<Unit>,
    sources: Vec<&'a FigureSource>,
}

/// Groups the sources of a side by unit, in the order of their first source. Sources of one unit are
/// pooled, since a part is judged by its devices.
fn group_by_unit(sources: &[FigureSource]) -> Vec<UnitSources<'_>> {
    let mut groups: Vec<UnitSources<'_>> = Vec::new();
    for source in sources {
        let unit = source.run.as_ref().map(|run| Unit::of(&run.header));
        let same = |group: &&mut UnitSources<'_>| unit.is_some() && group.unit == unit;
        match groups.iter_mut().find(same) {
            Some(group) => group.sources.push(source),
            None => groups.push(UnitSources {
                unit,
                sources: vec![source],
            }),
        }
    }
    groups
}

/// Returns `true` if both sides are known to be of one device: of one unit, or of one run.
fn are_one_device(a: &[FigureSource], b: &[FigureSource]) -> bool {
    let (of_a, of_b) = (group_by_unit(a), group_by_unit(b));
    let ([of_a], [of_b]) = (of_a.as_slice(), of_b.as_slice()) else {
        return false;
    };
    let known = !matches!(of_a.unit, None | Some(Unit::Unknown));
    let run = |source: &FigureSource| source.run.as_ref().map(|run| run.header.id.clone());
    let one_run = match (a, b) {
        ([a], [b]) => run(a).is_some() && run(a) == run(b),
        _ => false,
    };
    one_run || known && of_a.unit == of_b.unit
}

/// Figures of two sides, and the way to compare them.
#[derive(Debug)]
struct SideFigures {
    /// Figures of each unit of A and of B. If both sides are one unit with enough runs, figures of
    /// each run.
    sides: [Vec<Vec<Figure>>; 2],
    /// Figures of each run, for sides that were made apart and do not stand for parts.
    runs: Option<[Vec<Vec<Figure>>; 2]>,
    units: [usize; 2],
    are_one_device: bool,
}

impl SideFigures {
    /// Groups the figures of two sides; `apart`: they were not measured in one session.
    fn of(a: &[FigureSource], b: &[FigureSource], apart: bool) -> Self {
        let [of_a, of_b] = [a, b].map(|sources| {
            let of = |group: UnitSources<'_>| {
                let runs = group.sources.iter().map(|source| source.figures.clone());
                runs.collect::<Vec<_>>()
            };
            group_by_unit(sources)
                .into_iter()
                .map(of)
                .collect::<Vec<_>>()
        });
        let units = [of_a.len(), of_b.len()];
        let runs =
            (apart && units[0].min(units[1]) < MIN_UNITS).then(|| [of_a.concat(), of_b.concat()]);
        let sides = match (&runs, units) {
            (Some([a, b]), [1, 1]) if are_enough(a, b) => [a.clone(), b.clone()],
            _ => [of_a, of_b].map(|units| units.iter().map(|runs| pooled(runs)).collect()),
        };
        Self {
            sides,
            runs,
            units,
            are_one_device: are_one_device(a, b),
        }
    }

    /// `true` if earlier runs of the same series count.
    const fn are_apart(&self) -> bool {
        self.runs.is_some()
    }

    /// Compares the figures; for sides made apart, with the variation between `earlier` runs.
    fn compare(&self, earlier: &[Earlier; 2], options: &Options) -> Comparison {
        let mut compared = match (&self.runs, &self.sides) {
            (Some([a, b]), _) => {
                let side = |runs, at: usize| ApartSide {
                    runs,
                    of_one_unit: self.units[at] == 1,
                    earlier: &earlier[at],
                };
                compare_apart([side(a, 0), side(b, 1)], options)
            }
            (None, [a, b]) => match (a.as_slice(), b.as_slice()) {
                ([a], [b]) => compare_figures(a, b, options),
                _ => compare_units(a, b, options),
            },
        };
        if self.runs.is_some() && self.units != [1, 1] {
            compared = compared.of_few_units(self.units);
        }
        if self.are_one_device {
            compared.scope = compared.scope.of_one_device();
        }
        compared
    }
}

/// Returns earlier runs of the series of each side, without the compared ones. Only runs that began
/// before the last compared one count, so that a later measurement changes no verdict. Imported
/// results have no earlier runs.
pub fn earlier_runs(
    store: &Store,
    sides: [&[FigureSource]; 2],
) -> Result<[Earlier; 2], StoreError> {
    let runs = |side: &'_ [FigureSource]| -> Vec<(String, u64)> {
        let runs = side.iter().filter_map(|source| source.run.as_ref());
        let runs = runs.map(|run| (run.header.id.clone(), run.header.started_unix_ms));
        runs.collect()
    };
    let [a, b] = sides.map(runs);
    let compared = [a.as_slice(), &b].concat();
    let end = compared
        .iter()
        .map(|(_, started)| *started)
        .max()
        .unwrap_or(0);
    let side = |runs: &[(String, u64)]| {
        let mut earlier = Earlier::default();
        // Runs of one unit belong to the same series, so the last one stands for all.
        let Some((run, _)) = runs.last() else {
            return Ok(earlier);
        };
        let mut units: HashMap<String, Option<String>> = HashMap::new();
        for series in store.series_of_run(run)? {
            let points = store.newest_points(&series.key, end, MOST_RUNS)?;
            let unknown = points.iter().map(|point| point.run.as_str());
            let unknown = unknown.chain([run.as_str()]);
            let unknown: Vec<&str> = unknown.filter(|run| !units.contains_key(*run)).collect();
            for (run, mut facts) in store.circumstances(&unknown)? {
                units.insert(run, facts.remove(Circumstance::Unit.name()));
            }
            let is_earlier = |point: &&SeriesPoint| {
                let is_compared = compared.iter().any(|(run, _)| *run == point.run);
                !is_compared && units.get(&point.run) == units.get(run)
            };
            let before = points.iter().filter(is_earlier);
            let metric = format!("{}: {}", series.job, series.metric);
            let values = before.map(|point| point.samples.as_slice());
            earlier.add(&series.condition, &metric, values);
        }
        Ok(earlier)
    };
    Ok([side(&a)?, side(&b)?])
}

/// Returns a sentence for each unit that was measured several times.
fn unit_warnings(sources: &[FigureSource]) -> impl Iterator<Item = String> {
    let several = group_by_unit(sources).into_iter();
    let several = several.filter(|group| group.sources.len() > 1);
    several.map(move |group| {
        let names: Vec<&str> = group.sources.iter().map(|s| s.name.as_str()).collect();
        let (n, runs) = (names.len(), enumerate(&names));
        match group.unit {
            Some(Unit::Unknown) | None => tr!(
                "{runs} count as one unit: nothing tells their devices apart (no CID, serial number, WWN \
                 or EUI); measure each unit with --unit NAME",
                runs
            ),
            Some(unit) => tr!(
                "{of} ({runs}) are of one device, {unit}: they count as one unit",
                of = counted!(n, "{n} run", "{n} runs"),
                runs,
                unit
            ),
        }
    })
}

/// Returns a sentence for each circumstance that differs.
fn circumstance_warnings(a: &[FigureSource], b: &[FigureSource]) -> Vec<Told> {
    Told::all(|| warnings_in_words(a, b))
}

fn warnings_in_words(a: &[FigureSource], b: &[FigureSource]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    warnings.extend(unit_warnings(a).chain(unit_warnings(b)));
    for (what, of) in COMPARED_FACTS {
        let facts = |side: &[FigureSource]| -> BTreeSet<String> {
            let runs = side.iter().filter_map(|source| source.run.as_deref());
            runs.filter_map(of).collect()
        };
        let (of_a, of_b) = (facts(a), facts(b));
        if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
            let words = |facts: BTreeSet<String>| facts.into_iter().collect::<Vec<_>>().join(", ");
            warnings.push(tr!(
                "{what} differs: {a} and {b}",
                what = translated(what),
                a = words(of_a),
                b = words(of_b)
            ));
        }
    }
    warnings.extend(early_looks(a.iter().chain(b)));
    if a.iter().chain(b).any(|source| source.run.is_none()) {
        warnings.push(
            tr!("imported results: other differences between the sides are unknown").to_owned(),
        );
    }
    let notes: BTreeSet<&String> = a.iter().chain(b).flat_map(|source| &source.notes).collect();
    warnings.extend(notes.into_iter().cloned());
    warnings
}

/// Returns a sentence for each group of runs that were checked early in the same way.
fn early_looks<'a>(sources: impl Iterator<Item = &'a FigureSource>) -> Vec<String> {
    // Keys are English, so that the order is the same in every language.
    let mut alike: BTreeMap<Option<String>, (String, BTreeSet<&str>)> = BTreeMap::new();
    for run in sources.filter_map(|source| source.run.as_deref()) {
        if let Some(how) = looked_at(run) {
            let key = in_english(|| looked_at(run));
            let (_, runs) = alike.entry(key).or_insert((how, BTreeSet::new()));
            runs.insert(&run.header.id);
        }
    }
    let said = alike.into_values().map(|(how, runs)| {
        let names: Vec<&str> = runs.into_iter().collect();
        let runs = enumerate(&names);
        match names.len() {
            1 => tr!("{runs} was {how}", runs, how),
            _ => tr!("{runs} were {how}", runs, how),
        }
    });
    said.collect()
}

type ComparedFact = (&'static str, fn(&Run) -> Option<String>);

/// Circumstances that are compared.
const COMPARED_FACTS: [ComparedFact; 7] = [
    (key!("the kernel"), |run| {
        Some(run.header.system.kernel.clone())
    }),
    (key!("the version of assay"), |run| {
        Some(describe::build(run))
    }),
    (key!("the file system"), |run| {
        let mount = run.header.storage.mount.as_ref()?;
        Some(format!("{} ({})", mount.fs_type, mount.options.join(",")))
    }),
    (key!("how full the file system is"), fill_level),
    (key!("the scheduler"), |run| {
        let evidence = run
            .trials
            .iter()
            .find_map(|trial| trial.evidence.as_ref())?;
        evidence.queues.first()?.scheduler.clone()
    }),
    (key!("the device"), |run| {
        let identity = &run.header.storage.layers.first()?.identity;
        Some(identity.kind.to_string())
    }),
    (key!("the bus"), |run| {
        let layers = &run.header.storage.layers;
        layers.iter().find_map(|layer| layer.identity.bus.clone())
    }),
];

/// Describes the fill level of the file system in steps of 10 %: smaller differences have no effect.
fn fill_level(run: &Run) -> Option<String> {
    let storage = &run.header.storage;
    let (total, available) = (storage.total?.0, storage.available?.0);
    let tenth = 10 * total.saturating_sub(available) / total.max(1);
    Some(tr!("from {percent} % on", percent = 10 * tenth))
}

/// Two sides and the comparison of their figures.
pub struct Judged {
    /// Baseline of the comparison.
    pub a: NamedSide,
    /// Side that is judged.
    pub b: NamedSide,
    figures: SideFigures,
    options: Options,
    comparison: Comparison,
    /// Margins of metrics that have one of their own.
    margins: BTreeMap<String, f64>,
    qualify: bool,
    /// Requirements on side B.
    pub requirements: Vec<RequirementRow>,
    /// Sentence that names the command for more trials of the open metrics; empty if no metric is open
    /// or no command can add trials.
    pub remedy: String,
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

    /// Judges two sides by the terms of the flags, at the significance level that `level` makes of the
    /// runs'. `earlier` finds earlier runs of the series of each side; called only if they count.
    pub fn of(
        (a, b): (NamedSide, NamedSide),
        terms: &Terms,
        level: impl FnOnce(f64) -> f64,
        earlier: impl FnOnce([&[FigureSource]; 2]) -> Result<[Earlier; 2], Failure>,
    ) -> Result<Self, Failure> {
        refuse_the_same(&a, &b)?;
        let held = held_to(a.units.iter().chain(&b.units), terms.margin);
        let held = held.at_level(level(held.alpha));
        let options = Options {
            budget: terms.max_trials.unwrap_or(held.budget),
            trusted: ["A", "B"].map(|side| terms.trust.iter().any(|word| word == side)),
            same_session: same_session(&a, &b),
            same_model: same_model(&a, &b),
            qualify: terms.replace,
            ..held
        };
        let apart = !options.same_session && are_runs_made_apart(&a, &b);
        let figures = SideFigures::of(&a.units, &b.units, apart);
        let earlier = match figures.are_apart() {
            true => earlier([&a.units, &b.units])?,
            false => Default::default(),
        };
        let mut comparison = figures.compare(&earlier, &options);
        let margins = judge_by_own_margins(&mut comparison, &terms.margins, &options, |options| {
            figures.compare(&earlier, options)
        });
        if terms.replace {
            for line in comparison.lines.iter_mut().chain(&mut comparison.composite) {
                line.notes.retain(|note| !note.is_on_more_trials());
            }
        }
        Ok(Self {
            figures,
            comparison,
            margins,
            qualify: terms.replace,
            requirements: Vec::new(),
            remedy: String::new(),
            allow_unjudged: false,
            a,
            b,
            options,
        })
    }

    /// Compares two sides, whose runs are in `store`, as [`Self::of`] does.
    pub fn of_stored(
        sides: (NamedSide, NamedSide),
        terms: &Terms,
        store: &StoreArgs,
        level: impl FnOnce(f64) -> f64,
    ) -> Result<Self, Failure> {
        Self::of(sides, terms, level, |sides| {
            Ok(earlier_runs(&series::open(store)?, sides)?)
        })
    }

    /// Returns the comparison in the form for outputs.
    pub fn compared(&self) -> Compared<'_> {
        let [a_sources, b_sources] = [&self.a, &self.b].map(|side| {
            let sources = side.units.iter().map(FigureSource::shown);
            sources.collect::<Vec<_>>()
        });
        Compared {
            names: names::of_sides(&a_sources, &b_sources),
            a: &self.a.name,
            b: &self.b.name,
            options: &self.options,
            comparison: &self.comparison,
            warnings: circumstance_warnings(&self.a.units, &self.b.units),
            qualify: self.qualify,
            margins: self.margins.clone(),
            requirements: self.requirements.clone(),
            remedy: self.remedy.clone(),
            allow_unjudged: self.allow_unjudged,
            a_sources,
            b_sources,
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
pub const FORMATS: [Format; 10] = [
    Format::Html,
    Format::Json,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
    Format::Patch,
    Format::Junit,
    Format::Tap,
    Format::Lava,
    Format::Kcidb,
];

/// Formats that a comparison of more than two can be written in.
const OF_SEVERAL: [Format; 5] = [
    Format::Html,
    Format::Json,
    Format::Text,
    Format::Markdown,
    Format::Patch,
];

const OUTPUT_HELP: &str = "\
Output file; its ending decides the format: .html, .json, .xlsx, .txt, .md, .patch (a note for \
a patch), .xml (JUnit), .tap, .lava or .kcidb.json";

/// Question about two sides, and how the answer is shown.
#[derive(Args, Debug)]
#[command(
    mut_arg("format", |arg| Format::only(arg, &FORMATS)),
    mut_arg("output", |arg| arg.help(OUTPUT_HELP)),
)]
pub struct VerdictArgs {
    #[command(flatten)]
    pub terms: Terms,
    /// Exit with 3 if a deciding metric is slower (with --replace: fails).
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
    /// Judge whether B may replace A: pass, fail or open for each metric, by the bound that is the
    /// worst for B, and one answer.
    #[arg(long)]
    pub replace: bool,
    /// Margins of single metrics and jobs, as shares.
    #[arg(skip)]
    pub margins: Vec<(String, f64)>,
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
        Format::Patch => |judged, _, out| write_patch(&patch(&[judged.compared()]), out),
        Format::Junit => |judged, _, out| gate::write_junit(&suite(judged), out),
        Format::Tap => |judged, _, out| gate::write_tap(&suite(judged), out),
        Format::Lava => |judged, _, out| gate::write_lava(&suite(judged), out),
        Format::Kcidb => {
            |judged, output, out| gate::write_kcidb(&suite(judged), &output.submission(), out)
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
    let wanted = args.output.wanted_or_json(args.json)?;
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
        Judged::of_stored(sides, &args.terms, &args.store, identity)?,
    )
}

/// Judges each side but the first against the first, all together at the level of one comparison
/// (Bonferroni), and shows them in one table; returns the exit code of the gate.
pub fn present_several(args: &VerdictArgs, mut sides: Vec<NamedSide>) -> Result<ExitCode, Failure> {
    if args.terms.replace || args.explain {
        return Err(Failure::usage(
            "--replace and --explain are for two sources",
        ));
    }
    let a = sides.remove(0);
    let n = sides.len() as f64;
    let judged = sides
        .into_iter()
        .map(|b| Judged::of_stored((a.clone(), b), &args.terms, &args.store, |level| level / n));
    let mut judged = judged.collect::<Result<Vec<Judged>, Failure>>()?;
    for one in &mut judged {
        one.allow_unjudged = args.allow_unjudged;
    }
    let mut all: Vec<Compared<'_>> = judged.iter().map(Judged::compared).collect();
    Compared::name_together(&mut all);
    match args.output.wanted_or_json(args.json)? {
        None => show(&views::several::document(&all))?,
        Some(format) if OF_SEVERAL.contains(&format) => {
            let page = views::several::page(&all);
            args.output.write(format, |out| match format {
                Format::Html => html::write_document(&page, out),
                Format::Json => {
                    let all: Vec<Value> = all.iter().map(json::comparison).collect();
                    writeln!(out, "{:#}", Value::from(all))
                }
                Format::Markdown => write_mail(&page, Form::Markdown, out),
                Format::Patch => write_patch(&patch(&all), out),
                _ => write_mail(&page, Form::Text, out),
            })?;
            if args.output.output.is_some() {
                all.iter()
                    .for_each(|one| say(&views::comparison::headline(one)));
            }
        }
        Some(format) => return Err(format.refused("a comparison of several", &OF_SEVERAL)),
    }
    gate_code(args, &all)
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
            show(&on_screen(&compared, args.explain))?;
        }
    }
    gate_code(args, &[compared])
}

/// Returns the exit code of the gate: a comparison that fails counts before one that is not judged.
fn gate_code(args: &VerdictArgs, all: &[Compared<'_>]) -> Result<ExitCode, Failure> {
    if !args.gate {
        return Ok(DONE);
    }
    let fails = |one: &Compared<'_>| Suite::of_comparison(one).count(Status::Fail) > 0;
    if all.iter().any(fails) {
        return Ok(ExitCode::from(MISSED));
    }
    let mut unjudged = all.iter().filter_map(|one| Some((one, one.unjudged()?)));
    let Some((one, why)) = unjudged.next() else {
        return Ok(DONE);
    };
    let why = match all {
        [_] => why,
        _ => format!("{}: {why}", one.names[1]),
    };
    Err(Failure::usage(tr!(
        "{why} To let the gate pass: --allow-unjudged.",
        why
    )))
}

/// Makes the document of a comparison for the terminal.
fn on_screen(compared: &Compared<'_>, explain: bool) -> Document {
    match (explain, compared.qualify) {
        (true, _) => views::comparison::document(compared, Detail::Full),
        (false, true) => views::comparison::replacement(compared),
        (false, false) => views::comparison::document(compared, Detail::Brief),
    }
}

/// Shows or writes the comparison for `assay report A B`.
pub fn report(
    [a, b]: [&String; 2],
    store: &StoreArgs,
    terms: &Terms,
    (wanted, output, explain): (Option<Format>, &OutputArgs, bool),
) -> Result<ExitCode, Failure> {
    let judged = Judged::of_stored(two_sources([a, b], store)?, terms, store, identity)?;
    match wanted {
        Some(format) => write(&judged, format, output)?,
        None => show(&on_screen(&judged.compared(), explain))?,
    }
    Ok(DONE)
}

/// Compares the conditions of an import with each other and with its first one; `None` if it has
/// fewer than two.
pub fn verdicts_of_import(import: &Import, margin: Option<f64>) -> Option<Verdicts> {
    let source = FigureSource::of_import(import.clone());
    let options = held_to([&source], margin);
    Verdicts::of_figures(&source.figures, options)
}

/// Conditions and their ranking.
pub struct RankedConditions {
    name: String,
    baseline: Option<String>,
    options: Options,
    ranking: Ranking,
    warnings: Vec<Told>,
}

impl RankedConditions {
    /// Ranks the conditions of a source; with `baseline`, judges each against that one.
    ///
    /// # Errors
    /// If there are fewer than two conditions, or none with the name `baseline`.
    pub fn of(
        source: &FigureSource,
        baseline: Option<String>,
        margin: Option<f64>,
    ) -> Result<Self, RankError> {
        let options = held_to([source], margin);
        Ok(Self {
            ranking: rank_figures(&source.figures, baseline.as_deref(), &options)?,
            name: source.lasting_name.clone(),
            warnings: Told::all(|| {
                let looked = source.run.as_deref().and_then(looked_at);
                looked.into_iter().collect()
            }),
            baseline,
            options,
        })
    }

    /// Ranks the conditions of a run by the metrics that decide; `None` if it has fewer than two.
    pub fn of_run(run: &Run, margin: Option<f64>) -> Option<Self> {
        Self::of_deciding(FigureSource::of_run(run.clone()), margin)
    }

    /// Ranks the conditions of an import by the metrics that decide; `None` if it has fewer than two.
    pub fn of_import(import: &Import, margin: Option<f64>) -> Option<Self> {
        Self::of_deciding(FigureSource::of_import(import.clone()), margin)
    }

    fn of_deciding(mut source: FigureSource, margin: Option<f64>) -> Option<Self> {
        source.figures.retain(|figure| figure.primary);
        Self::of(&source, None, margin).ok()
    }

    /// Returns the ranking in the form for reports.
    pub fn ranked(&self) -> Ranked<'_> {
        Ranked {
            source: &self.name,
            baseline: self.baseline.as_deref(),
            options: &self.options,
            ranking: &self.ranking,
            warnings: self.warnings.clone(),
        }
    }
}
