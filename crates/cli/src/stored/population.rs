//! Standing of a run among others of its kind, if a population is configured.

use crate::config::{self, POPULATION_OF_STORE};
use crate::exit::Failure;
use crate::stored::lookup::{StoreArgs, Stored};
use crate::stored::{series, shared};
use assay_model::facts::{Circumstance, RunFacts};
use assay_report::population::{KinFigure, Others, Standings};
use assay_report::results::facts;
use clap::Args;
use std::path::{Path, PathBuf};

/// Population that a run is placed among.
#[derive(Args, Clone, Debug, Default)]
pub struct PopulationArgs {
    /// Place the run among other units of its model: those of a folder of shared runs (assay
    /// share), or `store` for those of the store.
    #[arg(long, value_name = "DIR")]
    pub population: Option<PathBuf>,
}

impl PopulationArgs {
    /// Finds the place of a run; `None` of an import, or without a population.
    pub fn standings(
        &self,
        stored: &Stored,
        store: &StoreArgs,
    ) -> Result<Option<Standings>, Failure> {
        let configured = self.population.as_ref();
        let population = configured.or(config::values().population.as_ref());
        let (Stored::Run(run), Some(population)) = (stored, population) else {
            return Ok(None);
        };
        let facts = facts::of(run);
        let others = match population == Path::new(POPULATION_OF_STORE) {
            true => of_store(&facts, store)?,
            false => {
                let secret = shared::known_secret()?;
                let own = secret.and_then(|secret| secret.unit_of(&facts));
                Others::of(&facts, own.as_deref(), shared::read(population)?)
            }
        };
        Ok(Some(others.place(&facts)))
    }
}

/// Units of the runs of the store.
fn of_store(facts: &RunFacts, store: &StoreArgs) -> Result<Others, Failure> {
    let bus = facts.known(Circumstance::Bus).unwrap_or_default();
    let figures = series::open(store)?.figures_of_model(&facts.model, bus)?;
    let own = facts.known(Circumstance::Unit);
    let others = figures.into_iter();
    let others = others.filter(|figure| own != Some(figure.unit.as_str()));
    Ok(others
        .map(|figure| KinFigure {
            unit: figure.unit,
            job: figure.job_hash,
            metric: figure.metric,
            label: figure.label,
            value: figure.centre,
        })
        .collect())
}
