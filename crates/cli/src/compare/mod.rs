//! `assay compare`: is B faster, slower or equivalent, or is there no
//! conclusion?

pub mod args;
mod circumstances;

use crate::exit::{DONE, Failure, MISSED};
use crate::figures::Source;
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
use std::process::ExitCode;

/// One side: what it is called, and its units.
struct Side {
    name: String,
    units: Vec<Source>,
}

/// Compares.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let (a, b) = sides(args)?;
    let options = Options {
        margin: args.margin,
        budget: args.budget,
        min_trials: fewest(&a, &b),
        same_session: same_session(&a, &b),
        ..Options::default()
    };
    let comparison = compare(&a, &b, &options);
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

fn sides(args: &CompareArgs) -> Result<(Side, Side), Failure> {
    let find = |word: &String| Source::find(word, &args.store);
    let one = |source: Source| Side {
        name: source.name.clone(),
        units: vec![source],
    };
    match args.sources.as_slice() {
        [only] => two_conditions(&find(only)?),
        [a, b] => Ok((one(find(a)?.single()?), one(find(b)?.single()?))),
        _ => {
            let side = |words: &[String]| {
                let units = words.iter().map(|word| find(word)?.single());
                Ok::<_, Failure>(Side {
                    name: words.join(", "),
                    units: units.collect::<Result<_, Failure>>()?,
                })
            };
            Ok((side(&args.a)?, side(&args.b)?))
        }
    }
}

/// The two conditions of one source, such as before and after.
fn two_conditions(source: &Source) -> Result<(Side, Side), Failure> {
    let conditions = source.conditions();
    let &[a, b] = conditions.as_slice() else {
        return Err(Failure::usage(format!(
            "{} has {}, not two: give two sources, or name conditions behind an @; assay rank compares all of them",
            source.name,
            assay_report::text::count(conditions.len() as u64, "condition"),
        )));
    };
    let side = |condition: &str| Side {
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

fn fewest(a: &Side, b: &Side) -> usize {
    let units = a.units.iter().chain(&b.units);
    units.map(Source::fewest_trials).min().unwrap_or_default()
}

/// Whether the places of trials count in one session: both sides are of the
/// same run.
fn same_session(a: &Side, b: &Side) -> bool {
    let id = |side: &Side| match side.units.as_slice() {
        [unit] => unit.run.as_ref().map(|run| run.header.id.clone()),
        _ => None,
    };
    id(a).is_some_and(|of_a| id(b) == Some(of_a))
}

fn compare(a: &Side, b: &Side, options: &Options) -> Comparison {
    let figures = |side: &Side| -> Vec<Vec<Figure>> {
        let units = side.units.iter().map(|unit| unit.figures.clone());
        units.collect()
    };
    let (a, b) = (figures(a), figures(b));
    match (a.as_slice(), b.as_slice()) {
        ([a], [b]) => compare_figures(a, b, options),
        _ => compare_units(&a, &b, options),
    }
}
