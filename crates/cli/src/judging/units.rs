//! Which sources of a side are of one and the same unit: they are pooled, since the device
//! is what a part is judged by.

use crate::stored::sources::FigureSource;
use assay_lang::{counted, tr};
use assay_model::figures::Figure;
use assay_model::unit::Unit;
use assay_report::text::enumerate;
use assay_stats::verdict::compare::{Comparison, compare_figures};
use assay_stats::verdict::line::Options;
use assay_stats::verdict::units::{are_enough, compare_runs, compare_units, pooled};

/// Sources of one unit.
struct UnitSources<'a> {
    /// `None`: results that were made elsewhere, which are taken for what their user says.
    unit: Option<Unit>,
    sources: Vec<&'a FigureSource>,
}

/// The units of a side, in the order of their first source.
fn groups(sources: &[FigureSource]) -> Vec<UnitSources<'_>> {
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

/// Returns true if both sides are known to be of one device: of one unit, or of one run.
fn are_one_device(a: &[FigureSource], b: &[FigureSource]) -> bool {
    let (of_a, of_b) = (groups(a), groups(b));
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

/// Figures of two sides, and how they are compared.
#[derive(Debug)]
pub struct Figures {
    /// Figures of each unit of A and of B; where both sides are one unit of enough runs, of each
    /// run.
    pub sides: [Vec<Vec<Figure>>; 2],
    are_runs: bool,
    are_one_device: bool,
}

impl Figures {
    /// The figures of two sides by their sources.
    pub fn of(a: &[FigureSource], b: &[FigureSource]) -> Self {
        let [of_a, of_b] = [a, b].map(|sources| {
            let of = |group: UnitSources<'_>| {
                let runs = group.sources.iter().map(|source| source.figures.clone());
                runs.collect::<Vec<_>>()
            };
            groups(sources).into_iter().map(of).collect::<Vec<_>>()
        });
        let are_one_device = are_one_device(a, b);
        match (of_a.as_slice(), of_b.as_slice()) {
            ([a], [b]) if are_enough(a, b) => Self {
                sides: [a.clone(), b.clone()],
                are_runs: true,
                are_one_device,
            },
            _ => Self {
                sides: [of_a, of_b].map(|units| units.iter().map(|runs| pooled(runs)).collect()),
                are_runs: false,
                are_one_device,
            },
        }
    }

    /// Compares the figures.
    pub fn compare(&self, options: &Options) -> Comparison {
        let mut compared = match &self.sides {
            [a, b] if self.are_runs => compare_runs(a, b, options),
            [a, b] => match (a.as_slice(), b.as_slice()) {
                ([a], [b]) => compare_figures(a, b, options),
                _ => compare_units(a, b, options),
            },
        };
        if self.are_one_device {
            compared.scope = compared.scope.of_one_device();
        }
        compared
    }
}

/// A sentence for each unit that was measured several times.
pub fn warnings<'a>(
    side: &'a str,
    sources: &'a [FigureSource],
) -> impl Iterator<Item = String> + 'a {
    let several = groups(sources).into_iter();
    let several = several.filter(|group| group.sources.len() > 1);
    several.map(move |group| {
        let names: Vec<&str> = group.sources.iter().map(|s| s.name.as_str()).collect();
        let (n, runs) = (names.len(), enumerate(&names));
        match group.unit {
            Some(Unit::Unknown) | None => tr!(
                "{side}: {runs} count as one unit: nothing tells their devices apart (no CID, \
                 serial number, WWN or EUI); measure each unit with --unit NAME",
                side,
                runs
            ),
            Some(unit) => tr!(
                "{side}: {of} ({runs}) are of one device, {unit}: they count as one unit",
                side,
                of = counted!(n, "{n} run", "{n} runs"),
                runs,
                unit
            ),
        }
    })
}
