//! Duration of a whole scenario: the sum of its stages.

use assay_model::act::StepDetail;
use assay_model::job::Job;
use assay_model::plan::Plan;
use assay_model::trial::{Outcome, TrialRecord};

/// Returns the time of all measured stages of one repetition of a scenario. Of concurrent acts the
/// longest counts; background acts do not count. `None` when there is no act, or one was not
/// completed.
pub fn total_ns(trials: &[&TrialRecord]) -> Option<u64> {
    let mut total_ns = 0;
    let mut stage: Option<(u64, u64)> = None;
    for trial in trials {
        let act = trial.detail.as_deref().and_then(StepDetail::scenario)?;
        let elapsed_ns = trial.measured.as_ref()?.elapsed_ns;
        if trial.outcome != Outcome::Completed {
            return None;
        }
        if act.background {
            continue;
        }
        let together = trial.wave.as_ref().map(|_| trial.started_unix_ms);
        match (&mut stage, together) {
            (Some((begun, longest)), Some(start)) if *begun == start => {
                *longest = elapsed_ns.max(*longest);
            }
            (_, Some(start)) => {
                total_ns += stage.replace((start, elapsed_ns)).map_or(0, |(_, ns)| ns);
            }
            (_, None) => {
                total_ns += stage.take().map_or(0, |(_, ns)| ns) + elapsed_ns;
            }
        }
    }
    total_ns += stage.map_or(0, |(_, ns)| ns);
    (total_ns > 0).then_some(total_ns)
}

/// Returns the complete repetitions of scenarios in a run: the name and the acts of each, in order.
/// A repetition with missing acts is left out, since its duration is not that of the scenario.
pub fn repetitions<'a>(
    plan: &Plan,
    trials: &'a [TrialRecord],
) -> Vec<(&'a str, Vec<&'a TrialRecord>)> {
    let counted: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.counts()).collect();
    let same = |a: &TrialRecord, b: &TrialRecord| {
        (a.trial, &a.condition) == (b.trial, &b.condition) && scenario_of(a) == scenario_of(b)
    };
    let parts = counted.chunk_by(|a, b| same(a, b));
    let named = parts.filter_map(|acts| Some((scenario_of(acts.first()?)?, acts.to_vec())));
    let complete = named.filter(|(scenario, acts)| acts.len() >= planned(plan, scenario, acts));
    complete.collect()
}

/// Returns the number of acts of a scenario in a plan. The acts' names begin with its name if the
/// plan has other jobs too.
fn planned(plan: &Plan, scenario: &str, acts: &[&TrialRecord]) -> usize {
    let is_own = |job: &Job| {
        job.name
            .strip_prefix(scenario)
            .is_some_and(|act| act.starts_with('.'))
    };
    let are_named = acts.iter().all(|act| is_own(&act.job));
    let jobs = plan.jobs.iter();
    jobs.filter(|planned| !are_named || is_own(&planned.job))
        .count()
}

/// Returns the scenario that the trial belongs to as an act.
pub fn scenario_of(trial: &TrialRecord) -> Option<&str> {
    let act = trial.detail.as_deref().and_then(StepDetail::scenario)?;
    Some(&act.scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::scenario::ScenarioStep;
    use assay_model::job::{Job, Rw};
    use assay_model::load::Load;
    use assay_model::load::report::{LoadReport, WaveRecord};
    use assay_model::trial::Measurement;
    use assay_model::units::Bytes;

    fn act(elapsed_ns: u64, stage: Option<u64>, background: bool) -> TrialRecord {
        let step = ScenarioStep {
            background,
            ..ScenarioStep::default()
        };
        TrialRecord {
            job: Job::new("act", Rw::Write, Bytes(1), Bytes(1)),
            trial: 1,
            position: 0,
            started_unix_ms: stage.unwrap_or(0),
            seed: 0,
            outcome: Outcome::Completed,
            measured: Some(Measurement {
                elapsed_ns,
                ..Measurement::default()
            }),
            evidence: None,
            wave: stage.map(|_| {
                Box::new(WaveRecord {
                    load: Load::default(),
                    report: LoadReport::default(),
                    members: Vec::new(),
                })
            }),
            detail: Some(Box::new(StepDetail::Scenario(Box::new(step)))),
            condition: None,
            in_force: Vec::new(),
        }
    }

    #[test]
    fn of_acts_at_the_same_time_the_longest_counts_and_none_in_the_background() {
        let acts = [
            act(1, None, false),
            act(10, Some(5), false),
            act(30, Some(5), false),
            act(99, Some(5), true),
            act(100, Some(6), false),
            act(1000, None, false),
        ];
        let all: Vec<&TrialRecord> = acts.iter().collect();
        assert_eq!(total_ns(&all), Some(1131));
        let mut failed = act(1, None, false);
        failed.outcome = Outcome::Interrupted;
        assert_eq!(total_ns(&[&acts[0], &failed]), None);
        assert_eq!(total_ns(&[]), None);
    }
}
