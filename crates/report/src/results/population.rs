//! Rank of a run's figures among those of other units of the same model.

use crate::results::shared::{SharedRun, comparable};
use assay_model::facts::{Circumstance, FigureFacts, RunFacts};
use assay_model::metric::Unit;
use assay_stats::population::{Population, Standing};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Quantiles that describe the population, in percent.
pub const QUANTILES: [u8; 5] = [5, 25, 50, 75, 95];

/// Properties that two figures must share to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    job: String,
    metric: String,
    label: String,
}

/// Runs of other units of the same model with the same bus mode.
#[derive(Clone, Debug, Default)]
pub struct Others {
    figures: BTreeMap<Kind, Vec<(String, f64)>>,
    units: BTreeSet<String>,
}

/// Figure of a run on another unit of the same model and bus.
#[derive(Clone, Debug, PartialEq)]
pub struct KinFigure {
    /// Keyed hash or name of the unit.
    pub unit: String,
    /// Hash of the job.
    pub job: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of the figure: `device`, `page-cache` and so on.
    pub label: String,
    /// The figure.
    pub value: f64,
}

impl Extend<KinFigure> for Others {
    fn extend<T: IntoIterator<Item = KinFigure>>(&mut self, figures: T) {
        for figure in figures {
            let kind = Kind {
                job: figure.job,
                metric: figure.metric,
                label: figure.label,
            };
            let values = self.figures.entry(kind).or_default();
            values.push((figure.unit.clone(), figure.value));
            self.units.insert(figure.unit);
        }
    }
}

impl FromIterator<KinFigure> for Others {
    fn from_iter<T: IntoIterator<Item = KinFigure>>(figures: T) -> Self {
        let mut others = Self::default();
        others.extend(figures);
        others
    }
}

/// Figure of a run with its rank among other units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// Name of the job in this run.
    pub job: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of the figure: `device`, `page-cache` and so on.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// True if the figure decides how good the result of the job is.
    pub primary: bool,
    /// The figure of this run.
    pub value: f64,
    /// Number of other units.
    pub units: usize,
    /// Share of other units that this unit surpasses, in percent.
    pub percentile: f64,
    /// Interval that contains this share among all units, with 90 % confidence.
    pub band: [f64; 2],
    /// Value of the population at each of [`QUANTILES`].
    pub quantiles: BTreeMap<String, f64>,
}

/// Ranks of a run among other runs of its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standings {
    /// Model of the device.
    pub model: String,
    /// Mode of the bus; empty if it is not known.
    pub bus: String,
    /// Number of other units of that model on that bus; in a store, only those of the newest runs.
    pub units: usize,
    /// Number of newest runs considered in a store; `None` for a folder, in which all runs count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_runs: Option<usize>,
    /// Figures that enough other units have, in the order of the run.
    pub figures: Vec<Placed>,
}

impl Others {
    /// Selects the runs that are comparable with one run, except those of its `unit`.
    pub fn of(
        facts: &RunFacts,
        own: Option<&str>,
        all: impl IntoIterator<Item = SharedRun>,
    ) -> Self {
        let bus = facts.known(Circumstance::Bus).unwrap_or_default();
        let mut others = Self::default();
        let mut seen = BTreeSet::new();
        for run in all {
            let alike = run.model == facts.model && run.bus == bus;
            if !alike || own == Some(run.unit.as_str()) || !seen.insert(run.run.clone()) {
                continue;
            }
            let SharedRun { unit, figures, .. } = run;
            others.extend(figures.into_iter().map(|figure| KinFigure {
                unit: unit.clone(),
                job: figure.job,
                metric: figure.metric,
                label: figure.label,
                value: figure.value,
            }));
        }
        others
    }

    /// Ranks each figure of the run.
    pub fn place(&self, facts: &RunFacts) -> Standings {
        let bus = facts.known(Circumstance::Bus).unwrap_or_default();
        Standings {
            model: facts.model.clone(),
            bus: bus.to_owned(),
            units: self.units.len(),
            newest_runs: None,
            figures: comparable(facts)
                .filter_map(|figure| self.place_one(figure))
                .collect(),
        }
    }

    fn place_one(&self, figure: &FigureFacts) -> Option<Placed> {
        let kind = Kind {
            job: figure.job_hash.clone(),
            metric: figure.metric.clone(),
            label: figure.label.clone(),
        };
        let population = Population::of_runs(self.figures.get(&kind)?.iter().cloned());
        let Standing {
            percentile,
            low,
            high,
            units,
        } = population.standing(figure.centre, figure.better)?;
        let quantile = |percent: u8| {
            let value = population.quantile(f64::from(percent) / 100.0)?;
            Some((format!("p{percent}"), value))
        };
        Some(Placed {
            job: figure.job.clone(),
            metric: figure.metric.clone(),
            label: figure.label.clone(),
            unit: figure.unit,
            primary: figure.primary,
            value: figure.centre,
            units,
            percentile,
            band: [low, high],
            quantiles: QUANTILES.into_iter().filter_map(quantile).collect(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::results::facts;
    use crate::results::shared::Secret;
    use crate::testing::fixture;

    /// Returns runs of other units, each a little faster than the one before, relative to the run's
    /// own figures; each unit was measured twice.
    pub(crate) fn others(facts: &RunFacts, units: u32) -> Vec<SharedRun> {
        let own = SharedRun::of(facts, &Secret([1; 32])).unwrap();
        let of = |at: u32| {
            let mut run = own.clone();
            run.unit = format!("unit {}", at / 2);
            run.run = format!("run {at}");
            for figure in &mut run.figures {
                figure.value *= 0.905 + 0.01 * f64::from(at / 2);
            }
            run
        };
        (0..2 * units).map(of).collect()
    }

    #[test]
    fn a_run_is_placed_among_other_units_of_its_kind() {
        let facts = facts::of(&fixture::run());
        let mut all = others(&facts, 20);
        // Not of its kind: another bus, another model, another job, its own unit.
        let odd = |name: &str, edit: fn(&mut SharedRun)| {
            let mut run = others(&facts, 1).swap_remove(0);
            name.clone_into(&mut run.run);
            edit(&mut run);
            run
        };
        all.push(odd("bus", |run| run.bus = "another".to_owned()));
        all.push(odd("model", |run| run.model = "another".to_owned()));
        all.push(odd("own", |run| run.unit = "own".to_owned()));
        all.push(odd("job", |run| {
            for figure in &mut run.figures {
                figure.job = "another".to_owned();
            }
        }));
        let standings = Others::of(&facts, Some("own"), all).place(&facts);
        assert_eq!(standings.units, 20);
        assert!(!standings.figures.is_empty());
        for placed in &standings.figures {
            assert_eq!(placed.units, 20);
            assert!((placed.percentile - 50.0).abs() < 1e-9, "{placed:?}");
            assert!(placed.band[0] < 45.0 && placed.band[1] > 55.0);
        }
    }

    #[test]
    fn four_other_units_are_no_population() {
        let facts = facts::of(&fixture::run());
        let few = Others::of(&facts, None, others(&facts, 4)).place(&facts);
        assert!(few.figures.is_empty());
        assert_eq!(few.units, 4);
        let enough = Others::of(&facts, None, others(&facts, 5)).place(&facts);
        assert!(!enough.figures.is_empty());
    }

    #[test]
    fn a_run_that_is_there_twice_counts_once() {
        let facts = facts::of(&fixture::run());
        let once = others(&facts, 6);
        let twice = [once.clone(), once.clone()].concat();
        let of = |all| Others::of(&facts, None, all).place(&facts);
        assert_eq!(of(once), of(twice));
    }
}
