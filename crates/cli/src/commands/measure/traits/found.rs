//! Conclusions of a stored run on each trait.

use super::is_asked;
use crate::commands::{Command, resume};
use assay_explain::medium;
use assay_flash::traits::ask::TraitJob;
use assay_flash::traits::series::Answers;
use assay_flash::traits::{Trait, TraitFinding, find};
use assay_judge::{Measured, judge};
use assay_model::run::Run;
use assay_model::storage::Storage;
use assay_model::trial::{Outcome, TrialRecord};
use std::collections::BTreeSet;

/// Conclusions of a run, and the data behind them.
pub struct Found {
    /// Measurements, for drawing.
    pub answers: Answers,
    /// Labels of the trials, each once.
    pub labels: BTreeSet<&'static str>,
    /// Conclusion on each trait.
    pub traits: Vec<(Trait, Said)>,
}

/// Conclusion on a trait.
pub enum Said {
    /// Finding that the figures show.
    Found(TraitFinding),
    /// Reason why the figures are refused: they are not the device's.
    Refused(String),
    /// Reason why the trait was not measured: the storage is not flash.
    NoFlash(String),
    /// The trait was not measured: it takes writes or a larger region, or was not requested.
    NotAsked,
}

impl Found {
    /// Draws the conclusions from a run of `assay traits`.
    pub fn of(run: &Run) -> Self {
        let jobs = run.header.plan.jobs.iter();
        let asked: Vec<TraitJob> = jobs
            .filter_map(|planned| TraitJob::of(&planned.job))
            .collect();
        let answers = Answers::of_trials(&asked, &run.trials);
        let only = only(run);
        let said = |what: Trait| {
            if !is_asked(what, &only) {
                return (what, Said::NotAsked);
            }
            if let Some(why) = no_flash(what, &run.header.storage) {
                return (what, Said::NoFlash(why));
            }
            let of_this = asked.iter().filter(|one| one.what == what);
            if of_this.clone().next().is_none() {
                return (what, Said::NotAsked);
            }
            let why = of_this
                .flat_map(|one| trials_of(run, one))
                .find_map(not_of_device);
            let said = match why {
                Some(why) => Said::Refused(why),
                None => Said::Found(find(what, &answers)),
            };
            (what, said)
        };
        Self {
            labels: labels(run, &asked),
            traits: Trait::ALL.map(said).into(),
            answers,
        }
    }
}

/// Returns the traits that `--only` named; empty means all.
fn only(run: &Run) -> Vec<Trait> {
    match resume::began(run) {
        Ok(Some(Command::Traits(args))) => args.only,
        _ => Vec::new(),
    }
}

/// Returns the labels of both directions.
fn labels(run: &Run, asked: &[TraitJob]) -> BTreeSet<&'static str> {
    let trials = asked.iter().flat_map(|one| trials_of(run, one));
    let judged = trials.filter_map(judge);
    let sides = judged.flat_map(|judged| [judged.read, judged.write]);
    sides.flatten().map(|side| side.measured.label()).collect()
}

fn trials_of<'a>(run: &'a Run, asked: &TraitJob) -> impl Iterator<Item = &'a TrialRecord> {
    let name = asked.job.name.clone();
    let trials = run.trials.iter();
    trials.filter(move |trial| trial.job.name == name && trial.outcome == Outcome::Completed)
}

/// Returns the reason why the figures of a trial are not those of the device; `None` if they are.
pub fn not_of_device(trial: &TrialRecord) -> Option<String> {
    let Some(judged) = judge(trial) else {
        return Some("no evidence was taken".to_owned());
    };
    let sides = [judged.read, judged.write].into_iter().flatten();
    let mut others = sides.filter(|side| {
        !matches!(
            side.measured,
            Measured::Device | Measured::DeviceUnflushed | Measured::Simulated
        )
    });
    let first = others.next()?;
    Some(format!("{}: {}", first.measured.label(), first.because))
}

/// Traits that only flash has.
const fn is_of_flash(what: Trait) -> bool {
    matches!(
        what,
        Trait::Boundaries
            | Trait::MapUnit
            | Trait::OpenUnits
            | Trait::MapSpan
            | Trait::Slc
            | Trait::Recovery
    )
}

/// Returns the reason why storage cannot have a trait of flash; `None` if it can.
pub fn no_flash(what: Trait, storage: &Storage) -> Option<String> {
    if !is_of_flash(what) {
        return None;
    }
    medium::no_flash(storage)
}
