//! Comparison of the conditions of a run or an import with each other.

use crate::stored::lookup::{FigureSource, held_to};
use assay_lang::Told;
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_report::comparison::Ranked;
use assay_report::describe::looked_at;
use assay_report::sweep::Verdicts;
use assay_stats::verdict::Options;
use assay_stats::verdict::ranking::{RankError, Ranking, rank_figures};

/// Compares the conditions of an import with each other and with its first one; `None` if it has
/// fewer than two.
pub fn verdicts_of_import(import: &Import, margin: Option<f64>) -> Option<Verdicts> {
    let source = FigureSource::of_import(import.clone());
    let options = held_to([&source], margin);
    Verdicts::of_figures(&source.figures, options)
}

/// Conditions and their ranking.
pub struct Judged {
    name: String,
    baseline: Option<String>,
    options: Options,
    ranking: Ranking,
    warnings: Vec<Told>,
}

impl Judged {
    /// Ranks the conditions of a source; with `baseline`, judges each against that one.
    ///
    /// # Errors
    /// If there are fewer than two conditions, or none with the name `baseline`.
    pub fn of(
        source: &FigureSource,
        baseline: Option<String>,
        margin: Option<f64>,
    ) -> Result<Self, RankError> {
        let options = held_to([source], margin);
        Ok(Self {
            ranking: rank_figures(&source.figures, baseline.as_deref(), &options)?,
            name: source.lasting_name.clone(),
            warnings: Told::all(|| {
                let looked = source.run.as_deref().and_then(looked_at);
                looked.into_iter().collect()
            }),
            baseline,
            options,
        })
    }

    /// Ranks the conditions of a run by the metrics that decide; `None` if it has fewer than two.
    pub fn of_run(run: &Run, margin: Option<f64>) -> Option<Self> {
        Self::of_deciding(FigureSource::of_run(run.clone()), margin)
    }

    /// Ranks the conditions of an import by the metrics that decide; `None` if it has fewer than two.
    pub fn of_import(import: &Import, margin: Option<f64>) -> Option<Self> {
        Self::of_deciding(FigureSource::of_import(import.clone()), margin)
    }

    fn of_deciding(mut source: FigureSource, margin: Option<f64>) -> Option<Self> {
        source.figures.retain(|figure| figure.primary);
        Self::of(&source, None, margin).ok()
    }

    /// Returns the ranking in the form for reports.
    pub fn ranked(&self) -> Ranked<'_> {
        Ranked {
            source: &self.name,
            baseline: self.baseline.as_deref(),
            options: &self.options,
            ranking: &self.ranking,
            warnings: self.warnings.clone(),
        }
    }
}
