//! Two sides of stored figures, and the verdicts on them.

use crate::exit::Failure;
use crate::judging::args::Terms;
use crate::judging::{circumstances, units as unit_figures};
use crate::stored::lookup::StoreArgs;
use crate::stored::series;
use crate::stored::sources::{FigureSource, held_to};
use assay_lang::counted;
use assay_model::run::Run;
use assay_report::comparison::{self, Compared};
use assay_stats::verdict::between::Earlier;
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::line::Options;

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
