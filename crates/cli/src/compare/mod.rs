//! `assay compare`: is B faster, slower or equivalent, or is there no
//! conclusion?

pub mod args;
mod circumstances;

use crate::args::StoreArgs;
use crate::exit::{DONE, Failure, MISSED};
use crate::figures::Source;
use crate::output::{print, style};
use args::CompareArgs;
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_model::verdict::Verdict;
use assay_report::comparison::{self, Compared};
use assay_report::json;
use assay_report::terminal::{write_comparison, write_qualification};
use assay_stats::verdict::compare::{Comparison, compare_figures};
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::line::{Line, Options};
use assay_stats::verdict::units::compare_units;
use std::process::ExitCode;

/// One side: what it is called, and its units.
pub struct Side {
    name: String,
    units: Vec<Source>,
}

/// Two sides and what came of comparing them.
pub struct Judged {
    /// What is compared with.
    pub a: Side,
    /// What is judged.
    pub b: Side,
    options: Options,
    comparison: Comparison,
}

/// What is compared, in the user's words, and what it is held to.
pub struct Question<'a> {
    /// One source with two conditions, or two; empty where units are named.
    pub sources: &'a [String],
    /// Units of side A.
    pub a: &'a [String],
    /// Units of side B.
    pub b: &'a [String],
    /// Largest difference without a meaning, as a share.
    pub margin: f64,
    /// Most trials of a side that may be asked for.
    pub budget: u32,
    /// Where runs are.
    pub store: &'a StoreArgs,
}

impl<'a> Question<'a> {
    /// Sources, held to what they are held to where nobody says otherwise.
    pub fn plain(sources: &'a [String], store: &'a StoreArgs) -> Self {
        let Options { margin, budget, .. } = Options::default();
        Self {
            sources,
            a: &[],
            b: &[],
            margin,
            budget,
            store,
        }
    }
}

impl Judged {
    /// Finds the sides and compares them.
    pub fn of(question: &Question<'_>) -> Result<Self, Failure> {
        let (a, b) = sides(question)?;
        let options = Options {
            margin: question.margin,
            budget: question.budget,
            min_trials: fewest(&a, &b),
            same_session: same_session(&a, &b),
            ..Options::default()
        };
        let comparison = compare(&a, &b, &options);
        Ok(Self {
            a,
            b,
            options,
            comparison,
        })
    }

    /// As outputs show it.
    pub fn compared(&self) -> Compared<'_> {
        Compared {
            a: &self.a.name,
            b: &self.b.name,
            options: &self.options,
            comparison: &self.comparison,
            warnings: circumstances::warnings(&self.a.units, &self.b.units),
        }
    }
}

impl Side {
    /// The runs that its figures are of, with no other trials.
    pub fn runs(&self) -> Vec<Run> {
        self.units
            .iter()
            .filter_map(Source::run_of_figures)
            .collect()
    }

    /// As outputs show it.
    pub fn shown<'a>(&'a self, runs: &'a [Run]) -> comparison::Side<'a> {
        comparison::Side {
            name: &self.name,
            figures: self.units.iter().flat_map(|unit| &unit.figures).collect(),
            runs: runs.iter().collect(),
        }
    }
}

/// Compares.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let judged = Judged::of(&Question {
        sources: &args.sources,
        a: &args.a,
        b: &args.b,
        margin: args.margin,
        budget: args.budget,
        store: &args.store,
    })?;
    let compared = judged.compared();
    if args.json {
        let value = json::comparison(&compared);
        print(|out| writeln!(out, "{value:#}"))?;
    } else if args.qualify {
        print(|out| write_qualification(&compared, style(), out))?;
    } else {
        print(|out| write_comparison(&compared, style(), out))?;
    }
    let closed = judged.comparison.lines.iter();
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

fn sides(args: &Question<'_>) -> Result<(Side, Side), Failure> {
    let find = |word: &String| Source::find(word, args.store);
    let one = |source: Source| Side {
        name: source.name.clone(),
        units: vec![source],
    };
    match args.sources {
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
            Ok((side(args.a)?, side(args.b)?))
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
            condition: Some(condition.to_owned()),
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
