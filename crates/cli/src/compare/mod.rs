//! `assay compare`: is B faster, slower or equivalent, or is there no
//! conclusion?

pub mod args;
mod circumstances;
mod paired;

use crate::exit::{DONE, Failure, MISSED};
use crate::figures::{Source, held_to};
use crate::output::{print, style};
use args::CompareArgs;
use assay_model::figures::Figure;
use assay_model::verdict::Verdict;
use assay_report::comparison::Compared;
use assay_report::json;
use assay_report::terminal::{write_comparison, write_qualification};
use assay_stats::verdict::compare::{Comparison, compare_figures};
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::line::{Line, Options};
use assay_stats::verdict::units::compare_units;
use assay_target::Target;
use std::process::ExitCode;

/// One side: what it is called, and its units.
struct NamedSide {
    name: String,
    units: Vec<Source>,
}

impl NamedSide {
    /// A single unit.
    fn of(source: Source) -> Self {
        Self {
            name: source.name.clone(),
            units: vec![source],
        }
    }
}

/// Compares what is stored, or two targets that are measured for it.
pub fn run(args: &CompareArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let [a, b] = args.paired_on.as_slice() {
        return paired::run(args, [a, b], target);
    }
    let (a, b) = sides(args)?;
    present(args, &a, &b)
}

/// Judges two sides and shows what came of it; the exit code of the gate.
fn present(args: &CompareArgs, a: &NamedSide, b: &NamedSide) -> Result<ExitCode, Failure> {
    let held = held_to(a.units.iter().chain(&b.units), args.margin);
    let options = Options {
        budget: args.max_trials.unwrap_or(held.budget),
        same_session: same_session(a, b),
        ..held
    };
    let comparison = compare(a, b, &options);
    let compared = Compared {
        a: &a.name,
        b: &b.name,
        options: &options,
        comparison: &comparison,
        warnings: circumstances::warnings(&a.units, &b.units),
    };
    if args.json {
        let value = json::comparison(&compared);
        print(|out| writeln!(out, "{value:#}"))?;
    } else if args.qualify {
        print(|out| write_qualification(&compared, style(), out))?;
    } else {
        print(|out| write_comparison(&compared, style(), out))?;
    }
    let closed = comparison.lines.iter();
    let closed = closed.filter(|line| line.primary && is_worse(line, args.qualify));
    Ok(match args.gate && closed.count() > 0 {
        true => ExitCode::from(MISSED),
        false => DONE,
    })
}

/// Whether a line closes the gate.
fn is_worse(line: &Line, qualify: bool) -> bool {
    match qualify {
        true => line.qualification == Qualification::Fail,
        false => matches!(line.verdict, Verdict::Slower(_)),
    }
}

fn sides(args: &CompareArgs) -> Result<(NamedSide, NamedSide), Failure> {
    let find = |word: &String| Source::find(word, &args.store);
    match args.sources.as_slice() {
        [only] => two_conditions(&find(only)?),
        [a, b] => Ok((
            NamedSide::of(find(a)?.single()?),
            NamedSide::of(find(b)?.single()?),
        )),
        _ => {
            let side = |words: &[String]| {
                let units = words.iter().map(|word| find(word)?.single());
                Ok::<_, Failure>(NamedSide {
                    name: words.join(", "),
                    units: units.collect::<Result<_, Failure>>()?,
                })
            };
            Ok((side(&args.a)?, side(&args.b)?))
        }
    }
}

/// The two conditions of one source, such as before and after.
fn two_conditions(source: &Source) -> Result<(NamedSide, NamedSide), Failure> {
    let conditions = source.conditions();
    let &[a, b] = conditions.as_slice() else {
        return Err(Failure::usage(format!(
            "{} has {}, not two: give two sources, or name conditions behind an @; assay rank compares all of them",
            source.name,
            assay_report::text::count(conditions.len() as u64, "condition"),
        )));
    };
    let side = |condition: &str| NamedSide {
        name: condition.to_owned(),
        units: vec![Source {
            name: format!("{}@{condition}", source.name),
            figures: source.under(condition),
            notes: source.notes.clone(),
            run: source.run.clone(),
        }],
    };
    Ok((side(a), side(b)))
}

/// Whether the places of trials count in one session: both sides are of the same
/// run, or of two that took turns.
fn same_session(a: &NamedSide, b: &NamedSide) -> bool {
    let run = |side: &NamedSide| match side.units.as_slice() {
        [unit] => unit.run.clone(),
        _ => None,
    };
    let (Some(a), Some(b)) = (run(a), run(b)) else {
        return false;
    };
    a.header.id == b.header.id || a.took_turns_with(&b)
}

fn compare(a: &NamedSide, b: &NamedSide, options: &Options) -> Comparison {
    let figures = |side: &NamedSide| -> Vec<Vec<Figure>> {
        let units = side.units.iter().map(|unit| unit.figures.clone());
        units.collect()
    };
    let (a, b) = (figures(a), figures(b));
    match (a.as_slice(), b.as_slice()) {
        ([a], [b]) => compare_figures(a, b, options),
        _ => compare_units(&a, &b, options),
    }
}
