//! Jobs of figures. The metric of a run's figure is named `JOB: METRIC`, and the job determines its
//! position.

use crate::results::describe;
use crate::results::summary::{Group, Summary};
use crate::words::clean;
use assay_lang::tr;
use assay_model::figures::Figure;
use assay_model::job::Job;
use assay_model::run::Run;
use std::collections::HashSet;

/// Jobs of several runs, each name once, in reading order.
#[derive(Clone, Debug)]
pub struct Jobs<'a> {
    jobs: Vec<(Group, &'a Job)>,
}

impl<'a> Jobs<'a> {
    /// Collects the jobs of all `runs`.
    pub fn of(runs: impl Iterator<Item = &'a Run>) -> Self {
        let mut jobs: Vec<(Group, &'a Job)> = Vec::new();
        for run in runs {
            for job in Summary::of(run).jobs {
                if !jobs.iter().any(|(_, known)| known.name == job.job.name) {
                    jobs.push((job.group, job.job));
                }
            }
        }
        jobs.sort_by_key(|(group, _)| *group);
        Self { jobs }
    }

    /// Returns the name and description of each job; safe to show.
    pub fn described(&self) -> Vec<(String, String)> {
        let jobs = self.jobs.iter();
        jobs.map(|(_, job)| (clean(&job.name), clean(&describe::job(job))))
            .collect()
    }

    /// Groups items by the job of their metric, in reading order with the titles of the groups.
    /// Items without a job come last.
    pub fn grouped<T>(
        &self,
        all: impl Iterator<Item = T>,
        metric: impl Fn(&T) -> &str,
    ) -> Vec<(String, Vec<T>)> {
        let mut placed: Vec<(usize, T)> = all.map(|one| (self.place(metric(&one)), one)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let mut groups: Vec<(String, Vec<T>)> = Vec::new();
        for (place, one) in placed {
            let title = match self.jobs.get(place) {
                Some((group, job)) => title(*group, job),
                None => tr!("Others").to_owned(),
            };
            match groups.iter_mut().find(|(known, _)| *known == title) {
                Some((_, group)) => group.push(one),
                None => groups.push((title, vec![one])),
            }
        }
        groups
    }

    fn place(&self, metric: &str) -> usize {
        let name = job_of(metric);
        let mut jobs = self.jobs.iter();
        let found = jobs.position(|(_, job)| Some(job.name.as_str()) == name);
        let of_all = || self.place_of_all(name?);
        found.or_else(of_all).unwrap_or(self.jobs.len())
    }

    /// Returns the position of a scenario as a whole: that of its last act.
    fn place_of_all(&self, name: &str) -> Option<usize> {
        let scenario = name.strip_suffix(WHOLE)?;
        let acts = |(group, _): &&(Group, &Job)| *group == Group::Act;
        let own = |(_, job): &(Group, &Job)| scenario_of(job) == Some(scenario);
        let named = self.jobs.iter().rposition(own);
        let alone = || self.jobs.iter().rposition(|job| acts(&job));
        named.or_else(alone)
    }
}

/// Suffix of the name of a whole scenario's figure.
const WHOLE: &str = ".all";

/// Returns the scenario of an act, if a run has several scenarios.
fn scenario_of(job: &Job) -> Option<&str> {
    job.name.split_once('.').map(|(scenario, _)| scenario)
}

/// Returns the title of a job's group; each scenario forms a group.
fn title(group: Group, job: &Job) -> String {
    match (group, scenario_of(job)) {
        (Group::Act | Group::Transactions, Some(scenario)) => {
            tr!("Scenario {scenario}", scenario = clean(scenario))
        }
        _ => group.title().to_owned(),
    }
}

fn job_of(metric: &str) -> Option<&str> {
    metric.split_once(": ").map(|(job, _)| job)
}

/// Returns the metrics of `figures` without duplicates, in order of first occurrence.
pub fn metrics<'a>(figures: impl Iterator<Item = &'a Figure>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    let metrics = figures.map(|figure| figure.metric.as_str());
    metrics.filter(|metric| seen.insert(*metric)).collect()
}

/// Names a metric for readers: `rand-read-4k: read`, or only the job if the metric is its only one
/// (`alone`). Names of imported metrics are not changed.
pub fn spoken(metric: &str, alone: bool) -> String {
    match metric.split_once(": ") {
        Some((job, _)) if alone => clean(job),
        Some((job, name)) => format!("{}: {}", clean(job), describe::metric(name)),
        None => clean(metric),
    }
}

/// Returns true if a metric is the only one of its job among `all`.
pub fn is_alone<'a>(metric: &str, mut all: impl Iterator<Item = &'a str>) -> bool {
    let job = job_of(metric);
    job.is_some() && !all.any(|other| other != metric && job_of(other) == job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn metrics_stand_where_their_jobs_do() {
        let run = fixture::run();
        let jobs = Jobs::of([&run].into_iter());
        let metrics = ["others", "rand-read-4k: read_iops", "seq-read-1m: read_bw"];
        let groups = jobs.grouped(metrics.into_iter(), |metric| metric);
        assert_eq!(
            groups,
            [
                ("Sequential".to_owned(), vec!["seq-read-1m: read_bw"]),
                ("Random read".to_owned(), vec!["rand-read-4k: read_iops"]),
                ("Others".to_owned(), vec!["others"]),
            ]
        );
    }

    #[test]
    fn the_only_metric_of_a_job_is_called_after_it() {
        let all = ["a: read_bw", "b: read_iops", "b: read_lat_p99", "seq read"];
        let spoken = all.map(|metric| spoken(metric, is_alone(metric, all.into_iter())));
        assert_eq!(spoken, ["a", "b: read", "b: read latency p99", "seq read"]);
    }
}
