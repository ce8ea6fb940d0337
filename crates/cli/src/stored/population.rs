//! Rank of a run among others of its kind, if a population is configured.

use crate::config::{self, POPULATION_OF_STORE};
use crate::exit::Failure;
use crate::stored::lookup::{StoreArgs, Stored};
use crate::stored::{series, shared};
use assay_report::population::{Others, Standings};
use assay_report::results::facts;
use clap::Args;
use std::path::{Path, PathBuf};

/// Maximum number of runs of the store that a run is compared with: about a second.
const MOST_RUNS: u32 = 5_000;

/// Population that a run is placed among.
#[derive(Args, Clone, Debug, Default)]
pub struct PopulationArgs {
    /// Place the run among other units of its model: those of a folder of shared runs (assay
    /// share), or `store` for those of the store.
    #[arg(long, value_name = "DIR")]
    pub population: Option<PathBuf>,
}

impl PopulationArgs {
    /// Finds the ranks of a run; `None` for an import, or without a population.
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
        if population == Path::new(POPULATION_OF_STORE) {
            let store = series::open(store)?;
            return Ok(Some(assay_series::standings(&store, &facts, MOST_RUNS)?));
        }
        let secret = shared::known_secret()?;
        let own = secret.and_then(|secret| secret.unit_of(&facts));
        let others = Others::of(&facts, own.as_deref(), shared::read(population)?);
        Ok(Some(others.place(&facts)))
    }
}
