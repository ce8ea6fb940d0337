//! Sweep: each metric under each condition, the input of all comparisons of conditions.

use crate::results::summary::{self, JobSummary, Summary};
use crate::words::labels::Labels;
use assay_lang::{tr, translated};
use assay_model::figures::{Figure, Unit, Verdict};
use assay_model::job::Job;
use assay_model::plan::PlannedJob;
use assay_model::run::Run;
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranking, rank_figures};

/// Run under several conditions.
#[derive(Debug, Default)]
pub struct Sweep<'a> {
    /// Tables, one for each primary metric of each job, in reading order.
    pub metrics: Vec<SweptMetric<'a>>,
}

/// Metric of one job under all conditions.
#[derive(Debug)]
pub struct SweptMetric<'a> {
    /// The job.
    pub job: &'a Job,
    /// Name of the metric, for example `read_bw`.
    pub name: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Conditions in the plan's order.
    pub arms: Vec<Arm<'a>>,
}

/// Condition with its figure.
#[derive(Debug)]
pub struct Arm<'a> {
    /// Name of the condition.
    pub condition: &'a str,
    /// Values of its completed trials by round, without conditioning trials; `None` without any.
    pub figure: Option<summary::Figure>,
    /// Outcomes of the trials without a figure, for example `2 failed`; `None` if there are none.
    pub missing: Option<String>,
}

impl<'a> Sweep<'a> {
    /// Collects all primary metrics of a run under its conditions.
    pub fn of(run: &'a Run) -> Self {
        let mut metrics = Vec::new();
        for job in &Summary::of(run).jobs {
            let conditions = run.header.plan.conditions.iter();
            let under: Vec<(&str, JobSummary<'a>)> = conditions
                .map(|c| (c.name.as_str(), job.under(&c.name)))
                .collect();
            // Variants of a job may have other metrics, as reads and writes have.
            let mut headlines: Vec<(String, Unit)> = Vec::new();
            for own in std::iter::once(job).chain(under.iter().map(|(_, own)| own)) {
                for summary::Figure { name, unit, .. } in own.headlines() {
                    if !headlines.iter().any(|(known, _)| *known == name) {
                        headlines.push((name, unit));
                    }
                }
            }
            for (name, unit) in headlines {
                let arms = under.iter().map(|(condition, own)| Arm {
                    condition,
                    figure: own.figure(&name),
                    missing: missing(own),
                });
                let varies = run.header.plan.varies_jobs();
                let arms =
                    arms.filter(|arm| !varies || arm.figure.is_some() || arm.missing.is_some());
                metrics.push(SweptMetric {
                    job: job.job,
                    arms: arms.collect(),
                    name,
                    unit,
                });
            }
        }
        Self { metrics }
    }
}

impl Arm<'_> {
    /// Returns the labels of the condition's trials.
    pub fn labels(&self) -> Labels {
        let figure = self.figure.as_ref();
        figure
            .map(|figure| figure.labels.clone())
            .unwrap_or_default()
    }
}

/// Verdicts of a sweep on its conditions, by the deciding metrics.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// Options of the verdicts.
    pub options: Options,
    /// Level of the verdicts after `--add`; `None` if the run cannot be extended.
    pub extended: Option<f64>,
    /// Ranking of all conditions against each other, as in `assay rank`.
    pub all: Ranking,
    /// The first condition, with which tables compare the others.
    pub baseline: String,
    /// Figures under the conditions: those that decide, and the exploratory ones.
    pub figures: Vec<Figure>,
}

impl Verdicts {
    /// Judges the conditions; `None` for a run without conditions, or with too few measured ones.
    pub fn of(run: &Run) -> Option<Self> {
        run.header.plan.conditions.first()?;
        let options = Options {
            same_session: true,
            ..Options::of_run(&run.header.stopping)
        };
        let mut figures = of_trials(&run.header, &run.trials);
        for figure in &mut figures {
            // In a run split by condition, each condition has a separate job.
            let apart = format!("{}: ", under("", &figure.condition));
            figure.metric = figure.metric.replacen(&apart, ": ", 1);
        }
        // `--add` extends sweeps of jobs.
        let can_be_extended = run.header.acts.is_none() && run.header.paired.is_none();
        let extended = can_be_extended.then(|| run.header.stopping.alpha_if_extended());
        Some(Self {
            extended,
            ..Self::of_figures(&figures, options)?
        })
    }

    /// Judges figures under several conditions by the deciding metrics; `None` if there is only one
    /// condition.
    pub fn of_figures(figures: &[Figure], options: Options) -> Option<Self> {
        let deciding = figures.iter().filter(|figure| figure.primary);
        let deciding: Vec<Figure> = deciding.cloned().collect();
        Some(Self {
            all: rank_figures(&deciding, None, &options).ok()?,
            baseline: deciding.first()?.condition.clone(),
            figures: figures.to_vec(),
            options,
            extended: None,
        })
    }

    /// Returns true if a verdict shows that two conditions differ in a metric of a job. The job's
    /// name may contain one of them.
    pub fn tells_apart(&self, (job, metric): (&str, &str), conditions: [&str; 2]) -> bool {
        let job = conditions.iter().fold(job, |job, of| plain_name(job, of));
        let name = format!("{job}: {metric}");
        let own = self.all.metrics.iter().filter(|found| found.metric == name);
        own.flat_map(|found| &found.pairs).any(|pair| {
            [&pair.a, &pair.b]
                .iter()
                .all(|of| conditions.contains(&of.as_str()))
                && matches!(pair.verdict, Verdict::Faster(_) | Verdict::Slower(_))
        })
    }

    /// Returns the comparison of a condition with the first one.
    pub fn against<'a>(&self, metric: &'a MetricRanking, condition: &str) -> Option<&'a Pair> {
        let mut pairs = metric.pairs.iter();
        pairs.find(|pair| pair.a == self.baseline && pair.b == condition)
    }
}

/// Splits the jobs by condition, for outputs without a notion of conditions. Each new job is named
/// after its job and condition.
pub fn by_condition(mut run: Run) -> Run {
    let plan = &mut run.header.plan;
    if plan.conditions.is_empty() {
        return run;
    }
    let under = |job: &Job, condition: &str| Job {
        name: under(&job.name, condition),
        ..job.clone()
    };
    let names: Vec<&str> = plan.conditions.iter().map(|c| c.name.as_str()).collect();
    let varies = plan.varies_jobs();
    let has = |job: usize, condition: usize| {
        let mut slots = plan.order.iter();
        !varies || slots.any(|slot| slot.job == job && slot.condition == Some(condition))
    };
    let split = |(index, planned): (usize, &PlannedJob)| {
        let own = names.iter().enumerate();
        let own = own.filter(|(condition, _)| has(index, *condition));
        let own: Vec<&&str> = own.map(|(_, name)| name).collect();
        let share = u32::try_from(own.len()).unwrap_or(u32::MAX).max(1);
        let each = own.into_iter().map(|name| PlannedJob {
            job: under(&planned.job, name),
            trials: planned.trials / share,
        });
        each.collect::<Vec<_>>()
    };
    plan.jobs = plan.jobs.iter().enumerate().flat_map(split).collect();
    for trial in &mut run.trials {
        if let Some(condition) = &trial.condition {
            trial.job = under(&trial.job, condition);
        }
    }
    run
}

/// Returns the name of a job under a condition.
fn under(job: &str, condition: &str) -> String {
    format!("{job} under {condition}")
}

/// Returns the name of a job without its condition.
pub fn plain_name<'j>(job: &'j str, condition: &str) -> &'j str {
    job.strip_suffix(&under("", condition)).unwrap_or(job)
}

fn missing(job: &JobSummary<'_>) -> Option<String> {
    let counted = job.trials.iter().filter(|trial| trial.record.counts());
    let words: Vec<&str> = counted.map(|trial| trial.record.outcome.word()).collect();
    let others = ["skipped", "failed", "interrupted"]
        .into_iter()
        .filter_map(
            |word| match words.iter().filter(|other| **other == word).count() {
                0 => None,
                count => Some(tr!("{n} {outcome}", n = count, outcome = translated(word))),
            },
        );
    let others: Vec<String> = others.collect();
    (!others.is_empty()).then(|| others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal::{Style, write_summary};
    use crate::testing::{fixture, samples};
    use assay_model::condition::{Condition, Setting, Subject};
    use assay_model::evidence::CpuState;
    use assay_model::run::RunStatus;
    use assay_model::trial::Outcome;

    /// The fixture's trials in turn under two conditions; the first of each is a
    /// conditioning trial.
    fn swept() -> Run {
        let mut run = fixture::run();
        let condition = |value: &str| {
            Condition::of(vec![Setting {
                subject: Subject::Scheduler,
                value: value.to_owned(),
            }])
        };
        run.header.plan.conditions = vec![condition("none"), condition("bfq")];
        let one = run.trials.clone();
        run.trials.clear();
        for condition in &run.header.plan.conditions {
            for trial in &one {
                let mut trial = trial.clone();
                trial.trial -= 1;
                trial.condition = Some(condition.name.clone());
                run.trials.push(trial);
            }
        }
        run
    }

    #[test]
    fn each_condition_has_its_own_values_without_the_conditioning_trial() {
        let run = swept();
        let sweep = Sweep::of(&run);
        let metric = sweep.metrics.iter().find(|m| m.job.name == "seq-read-1m");
        let metric = metric.unwrap();
        assert_eq!(metric.name, "read_bw");
        let names: Vec<&str> = metric.arms.iter().map(|arm| arm.condition).collect();
        assert_eq!(names, ["scheduler=none", "scheduler=bfq"]);
        for arm in &metric.arms {
            let rounds: Vec<u32> = arm
                .figure
                .as_ref()
                .unwrap()
                .values
                .iter()
                .map(|v| v.0)
                .collect();
            assert_eq!(rounds, [1, 2]);
        }
    }

    #[test]
    fn a_sweep_and_its_ranking_have_the_same_means_and_spreads() {
        let mut run = samples::swept();
        for trial in &mut run.trials {
            let drift = u64::from(trial.position);
            let measured = trial.measured.iter_mut();
            measured.for_each(|found| found.elapsed_ns = found.elapsed_ns * (100 + drift) / 100);
        }
        let verdicts = Verdicts::of(&run).unwrap();
        let mut compared = 0;
        for metric in Sweep::of(&run).metrics {
            let name = format!("{}: {}", metric.job.name, metric.name);
            let mut ranked = verdicts.all.metrics.iter();
            let ranked = ranked.find(|ranked| ranked.metric == name).unwrap();
            for arm in &metric.arms {
                let Some(stats) = arm.figure.as_ref().map(|figure| figure.stats) else {
                    continue;
                };
                let mut conditions = ranked.conditions.iter();
                let one = conditions
                    .find(|one| one.condition == arm.condition)
                    .unwrap();
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
                assert!(near(one.summary.cv.unwrap(), stats.cv.unwrap()), "{name}");
                assert!(near(one.summary.centre, stats.centre()), "{name}");
                compared += 1;
            }
        }
        assert!(compared > 5, "{compared}");
    }

    #[test]
    fn outputs_that_know_no_conditions_get_a_job_for_each() {
        let plain = fixture::run();
        assert_eq!(by_condition(plain.clone()), plain);
        let run = by_condition(swept());
        let summary = Summary::of(&run);
        let job = |value: &str| {
            let name = format!("seq-read-1m under scheduler={value}");
            summary
                .jobs
                .iter()
                .find(|job| job.job.name == name)
                .unwrap()
        };
        for value in ["none", "bfq"] {
            assert_eq!(job(value).trials.len(), 3);
            assert_eq!(job(value).figure("read_bw").unwrap().stats.n, 2);
        }
        assert_eq!(summary.jobs.len(), 2 * Summary::of(&plain).jobs.len());
    }

    #[test]
    fn a_sweep_is_shown_with_the_warnings_of_other_runs() {
        let mut run = swept();
        run.status = RunStatus::Interrupted;
        for trial in &mut run.trials {
            if let Some(evidence) = &mut trial.evidence {
                evidence.before.cpus = vec![CpuState {
                    cpu: 0,
                    khz: None,
                    governor: Some("schedutil".to_owned()),
                }];
            }
        }
        let shown = |run: &Run| {
            let style = Style {
                width: 100,
                color: false,
                ascii: true,
            };
            let mut shown = Vec::new();
            write_summary(run, style, &[], &mut shown).unwrap();
            String::from_utf8(shown).unwrap()
        };
        let text = shown(&run);
        for words in ["Warnings", "the run was stopped", "schedutil"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        run.header.plan.conditions[1].settings[0].subject = Subject::Governor;
        assert!(!shown(&run).contains("schedutil"), "it was asked for");
    }

    #[test]
    fn a_condition_without_figures_says_why() {
        let mut run = swept();
        for trial in run
            .trials
            .iter_mut()
            .filter(|t| t.job.name == "seq-read-1m")
        {
            if trial.condition.as_deref() == Some("scheduler=bfq") {
                trial.outcome = Outcome::Failed {
                    error: "no".to_owned(),
                };
            }
        }
        let sweep = Sweep::of(&run);
        let metric = sweep.metrics.iter().find(|m| m.job.name == "seq-read-1m");
        let arm = &metric.unwrap().arms[1];
        assert!(arm.figure.is_none());
        assert_eq!(arm.missing.as_deref(), Some("2 failed"));
    }
}
