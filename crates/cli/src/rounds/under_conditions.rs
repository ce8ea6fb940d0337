//! Rounds under conditions: their trials, and when there are enough of them.

use super::stopper::{ComparisonsSoFar, Spread, Stopper};
use crate::driver::host::Host;
use crate::driver::plans::{self, Executed, SoFarOfPlan};
use crate::ui::progress::Messages;
use assay_model::run::{RunHeader, Stopping};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_stats::verdict::power::spreads;
use assay_stats::verdict::ranking::rank_figures;
use assay_stats::verdict::units::Standing;
use assay_store::Store;

/// Significance level of one pair of conditions: the level is divided by the number of pairs.
pub fn alpha_of_pair(conditions: usize, stopping: &Stopping) -> f64 {
    let pairs = (conditions * conditions.saturating_sub(1) / 2).max(1);
    let pairs = pairs as f64;
    stopping.alpha() / pairs
}

/// Runs the missing trials of a sweep of jobs.
pub fn execute_jobs(
    host: &mut Host,
    header: &RunHeader,
    store: &mut Store,
    done: Vec<TrialRecord>,
) -> Executed {
    let plan = &header.plan;
    let rounds = Rounds {
        conditions: plan.conditions.len(),
        slots: plan.jobs.len() * plan.conditions.len().max(1),
        planned: plan.order.last().map_or(0, |last| last.trial),
    };
    let mut enough = enough(rounds, &header.stopping, used(header, &done));
    let enough = |so_far: SoFarOfPlan<'_>, messages: &Messages| enough(header, so_far, messages);
    plans::execute(host, header, store, done, enough)
}

/// Time that the finished part of a run took.
pub fn used(header: &RunHeader, done: &[TrialRecord]) -> Nanos {
    let last = done.last().map_or(0, |last| last.started_unix_ms);
    Nanos::millis(last.saturating_sub(header.started_unix_ms))
}

/// Rounds of a sweep.
#[derive(Clone, Copy)]
pub struct Rounds {
    /// Number of conditions.
    pub conditions: usize,
    /// Slots of a round.
    pub slots: usize,
    /// Rounds of the plan that count.
    pub planned: u32,
}

/// Returns a function that decides if a sweep may end; called after each slot.
pub fn enough<'a>(
    rounds: Rounds,
    stopping: &'a Stopping,
    used: Nanos,
) -> impl FnMut(&RunHeader, SoFarOfPlan<'_>, &Messages) -> bool + use<'a> {
    let alpha = alpha_of_pair(rounds.conditions, stopping);
    let mut stopper = Stopper::new(stopping, alpha, rounds.planned, 1, used);
    let per_round = rounds.slots.max(1);
    move |header, SoFarOfPlan { trials, slots }, messages| {
        // The first round conditions the storage.
        let rounds = u32::try_from(slots / per_round).ok();
        let Some(rounds) = rounds.and_then(|all| all.checked_sub(1)) else {
            return false;
        };
        slots.is_multiple_of(per_round)
            && stopper.is_enough(rounds, messages, || found(header, trials))
    }
}

/// Compares the trials so far: all pairs of conditions, as `assay rank` judges them.
fn found(header: &RunHeader, trials: &[TrialRecord]) -> ComparisonsSoFar {
    let mut figures = of_trials(header, trials);
    figures.retain(|figure| figure.primary);
    let options = Options::of_run(&header.stopping);
    let ranking = rank_figures(&figures, None, &options);
    ComparisonsSoFar {
        standing: ranking.map_or(Standing::NOTHING, |found| Standing::of_ranking(&found)),
        spread: Spread::of(spreads(&figures)),
    }
}
