//! `assay model traits`: infers properties of flash from the timing of I/O patterns.

mod show;

pub use show::in_brief;

use crate::checks::admission;
use crate::checks::admission::Need;
use crate::checks::estimate::file_size;
use crate::commands::{Command, ModelGroup, resume};
use crate::driver::plans::{Prepared, interleaved, never_enough};
use crate::driver::runs::random;
use crate::exit::{DONE, EXIT_CODES, Failure};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::{Stored, load};
use crate::stored::{KeepArgs, OutputFolder};
use crate::targets::OnArgs;
use crate::ui::one_of;
use assay_explain::on_bus;
use assay_flash::traits::ask::{Scope, TraitJob};
use assay_flash::traits::series::{Answers, Course, Series as Measured};
use assay_flash::traits::{Trait, TraitFinding, Why, find};
use assay_judge::judge;
use assay_lang::tr;
use assay_model::figures::Unit;
use assay_model::job::EngineKind;
use assay_model::plan::{Place, Plan, PlannedJob};
use assay_model::run::Run;
use assay_model::storage::Storage;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, BytesPerSec, Nanos, as_u64, three_digits};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_report::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, svg,
};
use assay_target::Target;
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `assay model traits`.
pub fn run(args: &TraitsArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.path {
        return measure(args, path, target);
    }
    let word = args.of.as_deref().unwrap_or("last");
    match load(&args.store.store, word)? {
        Stored::Run(run) => present(&run, args).map(|()| DONE),
        Stored::Import(_) => Err(Failure::usage(format!(
            "{word} is an import: traits are those of a run of assay model traits"
        ))),
    }
}

fn measure(args: &TraitsArgs, path: &Path, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    target.needs(Feature::Sqlite);
    let prepared = Prepared::new(path, &args.store, target, |found| {
        let place = admission::admit(found, Need::anything(args.destroy_data))?;
        is_on_device(found).map(|()| place)
    })?;
    let plan = plan(args, &prepared)?;
    if plan.jobs.is_empty() {
        return Err(nothing_to_ask(args, &prepared.inspection));
    }
    let done = prepared.run(plan, target, never_enough)?;
    if done.stored {
        present(&done.run, args)?;
    }
    done.conclude()
}

/// Refuses memory before anything is written to it: the evaluation would refuse its figures.
fn is_on_device(inspection: &Inspection) -> Result<(), Failure> {
    inspection.storage.memory().map_or(Ok(()), |memory| {
        Err(Failure::usage(format!(
            "{}: its figures are not the device's ({memory}: there is no device behind it)",
            inspection.path.display()
        )))
    })
}

fn present(run: &Run, args: &TraitsArgs) -> Result<(), Failure> {
    let jobs = run.header.plan.jobs.iter();
    if jobs
        .filter_map(|planned| TraitJob::of(&planned.job))
        .next()
        .is_none()
    {
        return Err(Failure::usage(format!(
            "run {} measured no traits: name a run of assay model traits",
            run.header.id
        )));
    }
    let found = Found::of(run);
    if let Some(folder) = &args.plots {
        all(&found, folder)?;
    }
    args.output
        .present(|| show::value(run, &found), || show::document(run, &found))
}

/// Failure for `--only` with traits that cannot be measured here.
fn nothing_to_ask(args: &TraitsArgs, inspection: &Inspection) -> Failure {
    let mut whys = args.only.iter().map(|what| {
        no_flash(*what, &inspection.storage)
            .unwrap_or_else(|| "it needs writes, or a larger region (--size)".to_owned())
    });
    let why = whys.next().unwrap_or_default();
    Failure::usage(format!(
        "no trait of --only can be measured on {}: {why}",
        inspection.path.display()
    ))
}

/// Plans a job for each point, in rounds.
fn plan(args: &TraitsArgs, prepared: &Prepared) -> Result<Plan, Failure> {
    let (inspection, place) = (&prepared.inspection, &prepared.place);
    let seed = args.seed.unwrap_or_else(random);
    let scope = scope(args, inspection, place)?;
    let wanted = |asked: &TraitJob| {
        is_asked(asked.what, &args.only) && no_flash(asked.what, &inspection.storage).is_none()
    };
    let jobs: Vec<PlannedJob> = scope
        .jobs()
        .into_iter()
        .filter(wanted)
        .map(|asked| PlannedJob {
            // The long write takes time and wears the device, so it runs once.
            trials: if asked.what == Trait::Slc {
                1
            } else {
                args.trials
            },
            job: asked.job,
        })
        .collect();
    Ok(interleaved(seed, place.clone(), scope.size, jobs))
}

/// `true` if a trait is listed, or is needed for the comparison with a listed one; an empty list
/// means all.
fn is_asked(what: Trait, only: &[Trait]) -> bool {
    let compared = what == Trait::Break && only.contains(&Trait::Deferred);
    only.is_empty() || only.contains(&what) || compared
}

fn scope(args: &TraitsArgs, inspection: &Inspection, place: &Place) -> Result<Scope, Failure> {
    let layers = inspection.storage.layers.iter();
    let sectors = layers.filter_map(|layer| layer.identity.logical_block);
    let sector = sectors.max();
    let size = |usual| file_size(args.size, usual, Bytes(0), inspection);
    let scope = Scope {
        size: Bytes(0),
        sector: sector.unwrap_or(Bytes(4096)),
        trial: Nanos::millis(150),
        fill: Nanos::secs(30),
        writes: !args.read_only && !matches!(place, Place::File { .. }),
        engine: EngineKind::Psync,
        deep: inspection.async_engines.first().copied(),
    };
    Ok(match inspection.kind {
        PathKind::Simulated { .. } => Scope {
            size: size(Bytes::gib(4))?,
            sector: sector.unwrap_or(Bytes(512)),
            trial: Nanos::millis(500),
            fill: Nanos::secs(60),
            engine: EngineKind::Sim,
            ..scope
        },
        _ => Scope {
            size: size(Bytes::gib(1))?,
            ..scope
        },
    })
}

const EXAMPLES: &str = "\
Examples:
  assay model traits /dev/mmcblk1 --destroy-data
  assay model traits /mnt/sd --size 4G --only slc
  assay model traits --of last --plots series
";

/// `assay model traits`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct TraitsArgs {
    /// A directory (a test file is made in it and removed), a file (it is only read), a
    /// block device (needs --destroy-data), or a simulated device (sim:PART).
    #[arg(required_unless_present = "of")]
    pub path: Option<PathBuf>,
    /// Only read; leave out traits that need writes.
    #[arg(long)]
    pub read_only: bool,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Size of the test file or region, for example 4G; a larger one shows more traits.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Measure only these traits, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = one_of(&Trait::ALL, Trait::name))]
    pub only: Vec<Trait>,
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Trials of each point.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub trials: u32,
    /// Show a stored run of assay model traits: `last`, or the first letters of its id.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "read_only", "destroy_data", "size", "only", "trials", "seed", "name", "tag", "note"])]
    pub of: Option<String>,
    /// Draw each series into this folder, as SVG.
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Largest ratio of the longest to the shortest time for a linear axis, which begins at 0.
const EVENLY: f64 = 5.0;
/// Approximate number of labels that fit on an axis.
const NAMES: usize = 9;

/// Writes an SVG for each trait with measurements.
fn all(found: &Found, folder: &Path) -> Result<(), Failure> {
    let folder = OutputFolder::open(folder)?;
    for (what, said) in &found.traits {
        let Some(plane) = plane(*what, &found.answers) else {
            continue;
        };
        let chart = chart(*what, said, plane);
        let file = format!("{}.svg", what.name());
        folder.write(&file, |out| out.write_all(svg::file(&chart).as_bytes()))?;
    }
    Ok(())
}

fn chart(what: Trait, said: &Said, plane: Plane) -> Chart {
    Chart {
        name: what.name().to_owned(),
        title: title(what).to_owned(),
        description: sentence(said),
        body: Body::Plane(plane),
    }
}

fn plane(what: Trait, answers: &Answers) -> Option<Plane> {
    if what == Trait::Slc {
        return answers.courses().first().map(course);
    }
    let all: Vec<(&str, &Measured)> = answers.all_of(what).collect();
    let (_, first) = all.first()?;
    let places: Vec<f64> = first.0.iter().map(|point| point.x).collect();
    let series = all.iter().enumerate();
    let series =
        series.flat_map(|(number, (part, series))| drawn(what, (number, part), series, &places));
    let times = || all.iter().flat_map(|(_, series)| series.0.iter());
    let low = times().map(|point| point.mean()).fold(f64::MAX, f64::min);
    let high = times().map(|point| point.mean()).fold(0.0, f64::max);
    Some(Plane {
        limits: None,
        x: axis(what, &places),
        panels: vec![Panel {
            y: Axis {
                label: "latency".to_owned(),
                measure: Measure::Of(Unit::Nanos),
                scale: match high > EVENLY * low {
                    true => Scale::Log,
                    false => Scale::Linear,
                },
            },
            series: series.collect(),
        }],
    })
}

/// Draws a series: a line through the means, and a dot for each trial.
fn drawn(
    what: Trait,
    (number, part): (usize, &str),
    series: &Measured,
    places: &[f64],
) -> [Series; 2] {
    let name = if part.is_empty() { what.name() } else { part };
    let place = |x: f64| places.iter().position(|other| (other - x).abs() < 1e-9);
    let at = |x: f64, us: f64| Some(Point::at(place(x)? as f64, us * 1e3));
    let means = series.0.iter();
    let trials = series.0.iter();
    let trials = trials.flat_map(|point| point.us.iter().map(move |us| (point.x, *us)));
    let of = |mark, points: Vec<Option<Point>>| Series {
        name: name.to_owned(),
        tint: Tint::Nth(number),
        mark,
        points: points.into_iter().flatten().collect(),
    };
    [
        of(
            SeriesStyle::Line,
            means.map(|point| at(point.x, point.mean())).collect(),
        ),
        of(SeriesStyle::Dots, trials.map(|(x, us)| at(x, us)).collect()),
    ]
}

/// Makes an axis with the measured positions as labels.
fn axis(what: Trait, places: &[f64]) -> Axis {
    let every = places.len().div_ceil(NAMES).max(1);
    let name = |(number, x): (usize, &f64)| match number.is_multiple_of(every) {
        true => name_of(what, *x),
        false => String::new(),
    };
    let label = match what {
        Trait::OpenUnits => "units in turn",
        Trait::Queue => "reads in flight",
        Trait::Deferred | Trait::Recovery => "pause",
        Trait::Break => "order",
        Trait::MapUnit => "shift",
        Trait::Boundaries => "multiples",
        Trait::MapSpan => "span",
        Trait::Flush => "burst",
        Trait::ReadCosts | Trait::Slc => "size",
    };
    Axis {
        label: label.to_owned(),
        measure: Measure::Of(Unit::Count),
        scale: Scale::Names(places.iter().enumerate().map(name).collect()),
    }
}

fn name_of(what: Trait, x: f64) -> String {
    match what {
        Trait::OpenUnits | Trait::Queue => format!("{x}"),
        Trait::Deferred | Trait::Recovery => format!("{x} ms"),
        Trait::Break if x == 0.0 => "in order".to_owned(),
        Trait::Break => "random".to_owned(),
        _ => Bytes(as_u64(x)).to_string(),
    }
}

/// Draws the rate of a long write over time.
fn course(course: &Course) -> Plane {
    let rates = course.bytes.iter().enumerate();
    let points = rates
        .map(|(number, bytes)| Point::at(number as f64 * course.seconds, bytes / course.seconds));
    Plane {
        limits: None,
        x: Axis {
            label: "time".to_owned(),
            measure: Measure::Seconds,
            scale: Scale::Span,
        },
        panels: vec![Panel {
            y: Axis {
                label: "write".to_owned(),
                measure: Measure::Of(Unit::BytesPerSec),
                scale: Scale::Linear,
            },
            series: vec![Series {
                name: "slc".to_owned(),
                tint: Tint::Write,
                mark: SeriesStyle::Steps,
                points: points.collect(),
            }],
        }],
    }
}

/// Conclusions of a run, and the data behind them.
pub struct Found {
    /// Measurements, for drawing.
    pub answers: Answers,
    /// Labels of the trials, each once.
    pub labels: BTreeSet<&'static str>,
    /// Conclusion on each trait.
    pub traits: Vec<(Trait, Said)>,
}

/// Conclusion on a trait.
pub enum Said {
    /// Finding that the figures show.
    Found(TraitFinding),
    /// Reason why the figures are refused: they are not the device's.
    Refused(String),
    /// Reason why the trait was not measured: the storage is not flash.
    NoFlash(String),
    /// The trait was not measured: it needs writes or a larger region, or was not requested.
    NotAsked,
}

impl Found {
    /// Draws the conclusions from a run of `assay model traits`.
    pub fn of(run: &Run) -> Self {
        let jobs = run.header.plan.jobs.iter();
        let asked: Vec<TraitJob> = jobs
            .filter_map(|planned| TraitJob::of(&planned.job))
            .collect();
        let answers = Answers::of_trials(&asked, &run.trials);
        let only = only(run);
        let said = |what: Trait| {
            if !is_asked(what, &only) {
                return (what, Said::NotAsked);
            }
            if let Some(why) = no_flash(what, &run.header.storage) {
                return (what, Said::NoFlash(why));
            }
            let of_this = asked.iter().filter(|one| one.what == what);
            if of_this.clone().next().is_none() {
                return (what, Said::NotAsked);
            }
            let why = of_this
                .flat_map(|one| trials_of(run, one))
                .find_map(not_of_device);
            let said = match why {
                Some(why) => Said::Refused(why),
                None => Said::Found(find(what, &answers)),
            };
            (what, said)
        };
        Self {
            labels: labels(run, &asked),
            traits: Trait::ALL.map(said).into(),
            answers,
        }
    }
}

/// Returns the traits that `--only` named; empty means all.
fn only(run: &Run) -> Vec<Trait> {
    match resume::began(run) {
        Ok(Some(Command::Model(ModelGroup::Traits(args)))) => args.only,
        _ => Vec::new(),
    }
}

/// Returns the labels of both directions.
fn labels(run: &Run, asked: &[TraitJob]) -> BTreeSet<&'static str> {
    let trials = asked.iter().flat_map(|one| trials_of(run, one));
    let judged = trials.filter_map(judge);
    let sides = judged.flat_map(|judged| [judged.read, judged.write]);
    sides.flatten().map(|side| side.measured.label()).collect()
}

fn trials_of<'a>(run: &'a Run, asked: &TraitJob) -> impl Iterator<Item = &'a TrialRecord> {
    let name = asked.job.name.clone();
    let trials = run.trials.iter();
    trials.filter(move |trial| trial.job.name == name && trial.outcome == Outcome::Completed)
}

/// Returns the reason why the figures of a trial are not those of the device; `None` if they are.
pub fn not_of_device(trial: &TrialRecord) -> Option<String> {
    let Some(judged) = judge(trial) else {
        return Some("no evidence was taken".to_owned());
    };
    let sides = [judged.read, judged.write].into_iter().flatten();
    let mut others = sides.filter(|side| {
        !matches!(
            side.measured,
            assay_judge::Measured::Device
                | assay_judge::Measured::DeviceUnflushed
                | assay_judge::Measured::Simulated
        )
    });
    let first = others.next()?;
    Some(format!("{}: {}", first.measured.label(), first.because))
}

/// Traits that only flash has.
const fn is_of_flash(what: Trait) -> bool {
    matches!(
        what,
        Trait::Boundaries
            | Trait::MapUnit
            | Trait::OpenUnits
            | Trait::MapSpan
            | Trait::Slc
            | Trait::Recovery
    )
}

/// Returns the reason why storage cannot have a trait of flash; `None` if it can.
pub fn no_flash(what: Trait, storage: &Storage) -> Option<String> {
    if !is_of_flash(what) {
        return None;
    }
    on_bus::no_flash(storage)
}

/// Returns the title of a trait.
fn title(what: Trait) -> &'static str {
    match what {
        Trait::ReadCosts => tr!("Cost of a read"),
        Trait::Boundaries => tr!("Pages and erase units"),
        Trait::MapUnit => tr!("Mapping unit"),
        Trait::OpenUnits => tr!("Open erase units"),
        Trait::MapSpan => tr!("Cached addresses"),
        Trait::Flush => tr!("Write buffer and flush"),
        Trait::Slc => tr!("SLC cache"),
        Trait::Break => tr!("Non-sequential read"),
        Trait::Deferred => tr!("Deferred work"),
        Trait::Recovery => tr!("Recovery in pauses"),
        Trait::Queue => tr!("Command queue"),
    }
}

/// Returns the conclusion on a trait, one sentence.
fn sentence(said: &Said) -> String {
    match said {
        Said::Refused(why) => tr!("refused: its figures are not the device's ({why})", why),
        Said::NoFlash(why) => tr!("not claimed: {why}", why),
        Said::NotAsked => tr!("not asked").to_owned(),
        Said::Found(finding) => of(finding),
    }
}

fn us(value: f64) -> String {
    format!("{} µs", three_digits(value))
}

fn of(finding: &TraitFinding) -> String {
    match finding {
        TraitFinding::Costs { .. } => costs(finding),
        TraitFinding::Boundaries(found) => {
            let all = found.iter().map(|(unit, extra)| {
                tr!(
                    "{unit} (reads that cross one take {extra} more on average)",
                    unit,
                    extra = us(*extra)
                )
            });
            let all: Vec<String> = all.collect();
            tr!("boundaries at multiples of {units}", units = all.join(", "))
        }
        TraitFinding::MapUnit { unit, extra_us } => tr!(
            "{unit}: a write that is shifted against it takes {extra} more",
            unit,
            extra = us(*extra_us)
        ),
        TraitFinding::OpenUnits {
            least,
            most,
            extra_us,
        } => {
            let units = if least == most {
                least.to_string()
            } else {
                format!("{least} .. {most}")
            };
            tr!(
                "{units} can be written in turn; with one more each write takes {extra} more",
                units,
                extra = us(*extra_us)
            )
        }
        TraitFinding::MapSpan {
            least,
            most,
            extra_us,
        } => tr!(
            "they cover {least} .. {most}; a read elsewhere takes {extra} more",
            least,
            most,
            extra = us(*extra_us)
        ),
        TraitFinding::Flush { flush_us, buffer } => flush(*flush_us, *buffer),
        TraitFinding::Slc { bytes, fast, slow } => tr!(
            "{bytes} are written at {fast}, all that follows at {slow}",
            bytes,
            fast = BytesPerSec(*fast),
            slow = BytesPerSec(*slow)
        ),
        other => of_differences(other),
    }
}

fn of_differences(finding: &TraitFinding) -> String {
    match finding {
        TraitFinding::Break { extra_us } => tr!(
            "a read that does not follow the one before takes {extra} more",
            extra = us(*extra_us)
        ),
        TraitFinding::Deferred {
            extra_us,
            gone_after,
        } => {
            let extra = us(*extra_us);
            match gone_after {
                Some(pause) => tr!(
                    "a read right behind a write waits {extra} longer; after {pause} without I/O it does not",
                    extra,
                    pause
                ),
                None => tr!(
                    "a read behind a write waits {extra} longer, however long the pause",
                    extra
                ),
            }
        }
        TraitFinding::Recovery {
            busy_us,
            rested_us,
            pause,
        } => tr!(
            "work in the background: random writes take {busy} without pauses and {rested} after {pause}",
            busy = us(*busy_us),
            rested = us(*rested_us),
            pause
        ),
        TraitFinding::Queue { gain, depth } => tr!(
            "{gain} times the reads with {depth} in flight",
            gain = three_digits(*gain),
            depth
        ),
        TraitFinding::NotVisible(why) => not_visible(*why),
        _ => String::new(),
    }
}

fn costs(finding: &TraitFinding) -> String {
    let TraitFinding::Costs {
        command_us,
        block_us,
        ramp,
        worst_pct,
    } = finding
    else {
        return String::new();
    };
    let ramp = match ramp {
        Some((extra, blocks)) => tr!(
            ", and {extra} for each of the first {blocks}",
            extra = us(*extra),
            blocks
        ),
        None => String::new(),
    };
    tr!(
        "{command} ± {command_error} for an I/O and {block} ± {block_error} for each block of 512 bytes{ramp}; sizes left out of the fit are predicted to {worst} %",
        command = us(command_us.0),
        command_error = three_digits(command_us.1),
        block = us(block_us.0),
        block_error = three_digits(block_us.1),
        ramp,
        worst = three_digits(*worst_pct)
    )
}

fn flush(flush_us: f64, buffer: Option<(f64, Bytes, Option<Bytes>)>) -> String {
    let flush = us(flush_us);
    match buffer {
        None => tr!(
            "a flush takes {flush}, whatever was written before it",
            flush
        ),
        Some((each, least, None)) => tr!(
            "a flush takes {flush}, and {each} for each KiB before it, for bursts of {least} too",
            flush,
            each = us(each),
            least
        ),
        Some((each, least, Some(most))) => tr!(
            "a flush takes {flush}, and {each} for each KiB before it, up to a burst of {least} .. {most}",
            flush,
            each = us(each),
            least,
            most
        ),
    }
}

fn not_visible(why: Why) -> String {
    match why {
        Why::TooFew => tr!("not visible: too few points or trials were measured"),
        Why::Flat => tr!("not visible: no effect above the noise"),
        Why::Unclear => {
            tr!("not visible: there is an effect, but more than one thing could be its cause")
        }
    }
    .to_owned()
}
