//! Forecast of the differences that a number of trials can detect.

use crate::config;
use crate::exit::Failure;
use assay_lang::tr;
use assay_model::job::Job;
use assay_model::run::Stopping;
use assay_report::format::percent_points;
use assay_report::text::clean;
use assay_stats::derive::primary_metrics;
use assay_stats::figures::of_trials;
use assay_stats::verdict::power;
use assay_store::Store;

/// Maximum number of earlier runs that are searched for the spread.
const LOOKED_INTO: usize = 5;
/// Coefficients of variation that are assumed if the spread is unknown.
const GUESSED_CV: [f64; 3] = [0.01, 0.02, 0.05];

/// Significance level and margin of comparisons.
#[derive(Clone, Copy, Debug)]
pub struct LevelAndMargin {
    /// Significance level of one test of a family.
    pub alpha: f64,
    /// Margin, as a share.
    pub margin: f64,
}

impl LevelAndMargin {
    /// Combines a level with the margin of the run, or of the settings.
    pub fn to(alpha: f64, stopping: &Stopping) -> Self {
        let looks = stopping.looks.as_ref();
        let margin = looks.map_or_else(config::margin, |looks| looks.margin);
        Self { alpha, margin }
    }
}

/// Spread of trials, and the run that it comes from.
#[derive(Default)]
pub struct Spread {
    metrics: Vec<power::Spread>,
    /// Id of the run with this spread; `None` if it is that of the current trials.
    run: Option<String>,
}

impl Spread {
    /// Makes a spread from metrics of the current run.
    pub fn of(metrics: Vec<power::Spread>) -> Self {
        Self { metrics, run: None }
    }

    /// Returns the spread in the newest run with some of these jobs on the storage with this description.
    pub fn known(store: &Store, storage: &str, jobs: &[Job]) -> Result<Self, Failure> {
        let runs = store.runs()?;
        let there = runs.iter().filter(|run| run.device == storage);
        for run in there.take(LOOKED_INTO) {
            let Ok(loaded) = store.load(&run.id) else {
                continue;
            };
            let mut trials = loaded.run.trials;
            trials.retain(|trial| jobs.contains(&trial.job));
            let metrics = power::spreads(&of_trials(&loaded.run.header, &trials));
            if !metrics.is_empty() {
                let run = Some(run.id.clone());
                return Ok(Self { metrics, run });
            }
        }
        Ok(Self::default())
    }

    /// Describes the difference that `trials` trials detect in four of five comparisons at that level:
    /// one difference, or the smallest and the largest of all metrics. Returns `None` if the spread is
    /// unknown.
    pub fn shows(&self, trials: u32, held: LevelAndMargin) -> Option<String> {
        let all = self.metrics.iter();
        let all = all.filter_map(|one| Some((shown(one.careful_cv(), trials, held)?, &one.metric)));
        let mut all: Vec<(f64, &String)> = all.collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let words = |(percent, metric): &(f64, &String)| format!("{percent:.1} % ({metric})");
        let text = match all.as_slice() {
            [] => return None,
            [one] => tr!("a difference of {metric}", metric = words(one)),
            [least, .., largest] => {
                tr!(
                    "differences of {least} to {largest}",
                    least = words(least),
                    largest = words(largest)
                )
            }
        };
        Some(clean(&text))
    }

    /// Describes the detectable difference before the first trial. For a fixed number of trials, adds
    /// the option that continues until there is a verdict.
    pub fn foretells(&self, trials: u32, held: LevelAndMargin, stopping: &Stopping) -> String {
        let told = self.told(trials, held);
        match stopping.looks {
            Some(_) => told,
            None => tr!(
                "{told}; --trials auto continues until there is a verdict",
                told
            ),
        }
    }

    fn told(&self, trials: u32, held: LevelAndMargin) -> String {
        match (self.shows(trials, held), &self.run) {
            (Some(shows), Some(run)) => {
                tr!(
                    "{shows} with {trials} trials, if they vary as in run {run}",
                    shows,
                    trials,
                    run
                )
            }
            _ => {
                let each = GUESSED_CV.map(|cv| {
                    let found = shown(cv, trials, held).unwrap_or(f64::INFINITY);
                    tr!(
                        "{found} % if they vary by {cv} %",
                        found = format_args!("{found:.1}"),
                        cv = percent_points(cv)
                    )
                });
                tr!(
                    "with {trials} trials a difference of {each}; how much these jobs vary here is \
                     not known yet",
                    trials,
                    each = each.join(", ")
                )
            }
        }
    }
}

/// Returns the difference, in percent, that is detected in four of five comparisons.
fn shown(cv: f64, trials: u32, held: LevelAndMargin) -> Option<f64> {
    let rows = power::table(cv, held.alpha, held.margin, &[trials]);
    rows.first()?.difference_percent
}

/// Returns the number of metrics that decide on these jobs: as many tests share the level.
pub fn deciding(jobs: &[Job]) -> usize {
    jobs.iter().map(|job| primary_metrics(job).len()).sum()
}
