//! Grouping of a side's sources by unit: sources of one unit are pooled, since a part is judged by
//! its devices.

use crate::stored::lookup::FigureSource;
use assay_lang::{counted, tr};
use assay_model::figures::{Circumstance, Figure, SeriesPoint};
use assay_model::run::Unit;
use assay_report::words::enumerate;
use assay_stats::verdict::Options;
use assay_stats::verdict::between::{Earlier, MOST_RUNS};
use assay_stats::verdict::compare::{Comparison, compare_figures};
use assay_stats::verdict::units::{
    ApartSide, MIN_UNITS, are_enough, compare_apart, compare_units, pooled,
};
use assay_store::{Store, StoreError};
use std::collections::HashMap;

/// Sources of one unit.
struct UnitSources<'a> {
    /// Unit; `None` for imported results, each of which counts as a unit.
    unit: Option<Unit>,
    sources: Vec<&'a FigureSource>,
}

/// Groups the sources of a side by unit, in the order of their first source.
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

/// Returns `true` if both sides are known to be of one device: of one unit, or of one run.
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

/// Figures of two sides, and the way to compare them.
#[derive(Debug)]
pub struct Figures {
    /// Figures of each unit of A and of B. If both sides are one unit with enough runs, figures of
    /// each run.
    pub sides: [Vec<Vec<Figure>>; 2],
    /// Figures of each run, for sides that were made apart and do not stand for parts.
    runs: Option<[Vec<Vec<Figure>>; 2]>,
    units: [usize; 2],
    are_one_device: bool,
}

impl Figures {
    /// Groups the figures of two sides; `apart`: they were not measured in one session.
    pub fn of(a: &[FigureSource], b: &[FigureSource], apart: bool) -> Self {
        let [of_a, of_b] = [a, b].map(|sources| {
            let of = |group: UnitSources<'_>| {
                let runs = group.sources.iter().map(|source| source.figures.clone());
                runs.collect::<Vec<_>>()
            };
            groups(sources).into_iter().map(of).collect::<Vec<_>>()
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
    pub const fn are_apart(&self) -> bool {
        self.runs.is_some()
    }

    /// Compares the figures; for sides made apart, with the variation between `earlier` runs.
    pub fn compare(&self, earlier: &[Earlier; 2], options: &Options) -> Comparison {
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
pub fn earlier(store: &Store, sides: [&[FigureSource]; 2]) -> Result<[Earlier; 2], StoreError> {
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
