//! Figures of a run, as input of a comparison, and the duration of a whole scenario: the sum of its
//! stages.

use crate::derive::{MetricName, deciding_metrics, label_of, metrics_with};
use crate::streams::lowest_second_written;
use crate::summary::mean;
use assay_judge::{Measured, judge};
use assay_lang::{tr, translated};
use assay_model::act::StepDetail;
use assay_model::evidence::Snapshot;
use assay_model::figures::{Figure, Metric, Sample, Unit};
use assay_model::job::{Direction, Job};
use assay_model::plan::Plan;
use assay_model::run::RunHeader;
use assay_model::trial::{Outcome, TrialRecord};
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// Separator between the labels of trials that measured different layers.
pub const OR: &str = " or ";

/// Separator between the labels of reads and writes in one figure.
const AND: char = '+';

/// Returns the label of a figure in the user's language.
pub fn measured_in_words(measured: &str) -> String {
    let both = |label: &str| {
        label
            .split(AND)
            .map(translated)
            .collect::<Vec<_>>()
            .join("+")
    };
    let labels: Vec<String> = measured.split(OR).map(both).collect();
    labels.join(tr!(" or "))
}

/// Labels of figures that describe the device: the device or its model, and memory if memory is
/// measured.
const OF_THE_DEVICE: [&str; 5] = [
    Measured::Device.label(),
    Measured::DeviceUnflushed.label(),
    Measured::Simulated.label(),
    Measured::Memory.label(),
    Measured::CpuCache.label(),
];

/// `true` if a figure may decide a comparison, judged by its label. The page cache and unknown
/// labels may not decide. A step that reads and writes may decide if one direction has a device
/// label and the other label is known; if trials differ, each must meet this. Imported results
/// (`None`) seldom carry a label and are accepted.
///
/// ```
/// use assay_stats::figures::may_decide;
/// assert!(may_decide(Some("device")) && may_decide(None));
/// assert!(may_decide(Some("page-cache+device")));
/// assert!(!may_decide(Some("page-cache")) && !may_decide(Some("unknown")));
/// assert!(!may_decide(Some("device or page-cache")) && !may_decide(Some("unknown+device")));
/// ```
pub fn may_decide(measured: Option<&str>) -> bool {
    let is_of_device = |label: &str| {
        let mut parts = label.split(AND);
        parts.clone().any(|part| OF_THE_DEVICE.contains(&part))
            && parts.all(|part| part != "unknown")
    };
    measured.is_none_or(|labels| labels.split(OR).all(is_of_device))
}

/// Returns the figures of completed trials of a run, one for each condition, job and metric.
/// Conditions are in the order of the plan; jobs and metrics of a condition are in the order of
/// their first trial. Conditioning trials are left out. A metric is named `JOB: METRIC`, for
/// example `rand-read: read_iops`. Figures that do not decide are exploratory. Positions count over
/// both runs if two were interleaved.
pub fn of_trials(header: &RunHeader, trials: &[TrialRecord]) -> Vec<Figure> {
    let gathered = gather(&header.plan, trials, Labels::Together, |trial| {
        header.place_of_trial(trial)
    });
    let mut figures: Vec<Figure> = gathered.into_iter().map(Growing::end).collect();
    if header.plan.varies_jobs() {
        // A metric that decides on one variant of a job decides on all that have it.
        let primary = figures.iter().filter(|figure| figure.primary);
        let primary: BTreeSet<String> = primary.map(|figure| figure.metric.clone()).collect();
        for figure in &mut figures {
            figure.primary |= primary.contains(&figure.metric);
        }
    }
    let conditions = &header.plan.conditions;
    figures.sort_by_cached_key(|figure| {
        let names = conditions.iter().map(|condition| &condition.name);
        names.into_iter().position(|name| *name == figure.condition)
    });
    figures
}

/// A figure of trials that all have the same label.
#[derive(Debug)]
pub struct Labelled<'a> {
    /// The figure; places are positions in the run.
    pub figure: Figure,
    /// Trials behind each value: one, or the acts of a scenario.
    pub trials: Vec<&'a TrialRecord>,
}

/// Returns the figures of a run's completed trials; trials of different labels are separate
/// figures.
pub fn by_label<'a>(plan: &Plan, trials: &'a [TrialRecord]) -> Vec<Labelled<'a>> {
    let gathered = gather(plan, trials, Labels::Apart, |trial| trial.position);
    let labelled = gathered.into_iter().map(|mut growing| Labelled {
        trials: std::mem::take(&mut growing.trials),
        figure: growing.end(),
    });
    labelled.collect()
}

fn gather<'a>(
    plan: &Plan,
    trials: &'a [TrialRecord],
    labels: Labels,
    place_of: impl Fn(&TrialRecord) -> u32,
) -> Vec<Growing<'a>> {
    let mut figures = Gathered {
        labels,
        ..Gathered::default()
    };
    each_metric(trials, &mut figures, &place_of);
    whole_scenarios(plan, trials, &mut figures, &place_of);
    figures.list
}

/// Adds the total duration of scenarios, one figure for each condition.
fn whole_scenarios<'a>(
    plan: &Plan,
    trials: &'a [TrialRecord],
    figures: &mut Gathered<'a>,
    place_of: impl Fn(&TrialRecord) -> u32,
) {
    for (scenario, acts) in scenario_repetitions(plan, trials) {
        let (Some(total_ns), Some(first)) = (scenario_ns(&acts), acts.first()) else {
            continue;
        };
        let metric = Metric {
            name: "act_time".to_owned(),
            unit: Unit::Nanos,
            value: total_ns as f64,
        };
        let label = label_of_acts(&acts);
        let of = format!("{scenario}.all");
        let growing = figures.find(&of, first, &metric, true, &label);
        growing.push(metric.value, place_of(first));
        growing.trials.extend(acts);
    }
}

/// Returns the label of a scenario as a whole, to which all acts contribute.
fn label_of_acts(acts: &[&TrialRecord]) -> String {
    let judged = acts.iter().filter_map(|act| judge(act));
    let judged = judged.filter(|judged| judged.read.is_some() || judged.write.is_some());
    let labels: Vec<String> = judged
        .map(|judged| label_of("act_time", Some(&judged)))
        .collect();
    let parts: BTreeSet<&str> = labels.iter().flat_map(|label| label.split(AND)).collect();
    parts.into_iter().collect::<Vec<_>>().join("+")
}

fn each_metric<'a>(
    trials: &'a [TrialRecord],
    figures: &mut Gathered<'a>,
    place_of: impl Fn(&TrialRecord) -> u32,
) {
    for trial in trials {
        if trial.outcome != Outcome::Completed || !trial.counts() {
            continue;
        }
        let judgement = judge(trial);
        // `None`: the time course adds only level metrics, which are not compared.
        let metrics = metrics_with(trial, None);
        let has = |name: &str| metrics.iter().any(|metric| metric.name == name);
        let primary = deciding_metrics(&trial.job, has);
        for metric in metrics {
            let decides = primary.contains(&metric.name.as_str());
            let explores = MetricName::parse(&metric.name).is_some_and(MetricName::explores);
            if decides || explores {
                let label = label_of(&metric.name, judgement.as_ref());
                let growing = figures.find(&trial.job.name, trial, &metric, decides, &label);
                growing.push(metric.value, place_of(trial));
                growing.trials.push(trial);
            }
        }
    }
}

/// Treatment of trials with different labels: one figure, or separate figures.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Labels {
    #[default]
    Together,
    Apart,
}

/// Figures under construction.
#[derive(Default)]
struct Gathered<'a> {
    labels: Labels,
    list: Vec<Growing<'a>>,
    /// Index in the list by condition, metric and, if labels are separated, label.
    places: HashMap<(String, String, String), usize>,
}

/// A figure under construction.
struct Growing<'a> {
    figure: Figure,
    values: Vec<f64>,
    places: Vec<f64>,
    labels: BTreeSet<String>,
    trials: Vec<&'a TrialRecord>,
}

impl<'a> Gathered<'a> {
    /// Returns the figure of a metric of `of`, a job or a scenario; creates an empty one if needed.
    fn find(
        &mut self,
        of: &str,
        trial: &TrialRecord,
        metric: &Metric,
        primary: bool,
        label: &str,
    ) -> &mut Growing<'a> {
        let name = format!("{of}: {}", metric.name);
        let condition = trial.condition.clone().unwrap_or_default();
        let apart = self.labels == Labels::Apart;
        let key = if apart { label } else { "" }.to_owned();
        let list = &mut self.list;
        let place = *(self.places)
            .entry((condition.clone(), name.clone(), key))
            .or_insert_with(|| {
                list.push(Growing::new(condition, name, metric, primary));
                list.len() - 1
            });
        let growing = &mut self.list[place];
        growing
            .labels
            .extend((!label.is_empty()).then(|| label.to_owned()));
        growing
    }
}

impl Growing<'_> {
    fn new(condition: String, name: String, metric: &Metric, primary: bool) -> Self {
        Self {
            figure: Figure {
                condition,
                metric: name,
                unit: metric.unit.name().to_owned(),
                better: MetricName::parse(&metric.name).and_then(|known| known.row.better),
                primary,
                sample: Sample::Values {
                    values: Vec::new(),
                    positions: Vec::new(),
                },
                measured: None,
                waited: None,
            },
            values: Vec::new(),
            places: Vec::new(),
            labels: BTreeSet::new(),
            trials: Vec::new(),
        }
    }

    fn push(&mut self, value: f64, place: u32) {
        self.values.push(value);
        self.places.push(f64::from(place));
    }

    fn end(self) -> Figure {
        let labels: Vec<String> = self.labels.into_iter().collect();
        Figure {
            sample: Sample::Values {
                values: self.values,
                positions: self.places,
            },
            measured: Some(labels.join(OR)),
            waited: mean_of_all(self.trials.iter().map(|trial| wait(trial))),
            ..self.figure
        }
    }
}

/// Returns the mean; `None` if there is no value, or one is not known.
pub(crate) fn mean_of_all(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(mean(&values))
}

/// Returns the share of a trial's time in which a task waited for a processor (pressure stall
/// information, Documentation/accounting/psi.rst), and of the processors' time that a hypervisor
/// took.
fn wait(trial: &TrialRecord) -> Option<f64> {
    let evidence = trial.evidence.as_ref()?;
    let (before, after) = (&evidence.before, &evidence.after);
    let ns = after.at_ns.checked_sub(before.at_ns).filter(|ns| *ns > 0)? as f64;
    let us = |at: &Snapshot| at.pressure.map(|pressure| pressure.cpu_some_us);
    let pressure = 1e3 * us(after)?.saturating_sub(us(before)?) as f64 / ns;
    let steal = |at: &Snapshot| {
        let hindrances = at.hindrances.as_ref()?;
        Some(hindrances.steal_ns? as f64 / f64::from(hindrances.processors.max(1)))
    };
    let stolen = steal(after).zip(steal(before));
    let stolen = stolen.map_or(0.0, |(after, before)| (after - before).max(0.0) / ns);
    Some((pressure + stolen).min(1.0))
}

/// A required minimum of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// Name of the job that measures it.
    pub job: &'static str,
    /// Figure that is checked.
    pub figure: RequiredFigure,
    /// Required minimum: IOPS, or bytes per second.
    pub least: f64,
}

/// Figure of a job that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredFigure {
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes written per second, on average.
    WriteBandwidth,
    /// Bytes written in the slowest second.
    LowestSecondWritten,
}

/// Result of checking trials against a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementFinding {
    /// Every trial reached it.
    Met,
    /// No trial reached it.
    Missed,
    /// The trials differ, or cannot be judged.
    NoConclusion {
        /// Reason, as one clause.
        why: String,
    },
}

impl fmt::Display for RequirementFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met => f.write_str(tr!("pass")),
            Self::Missed => f.write_str(tr!("FAIL")),
            Self::NoConclusion { why } => f.write_str(&tr!("no conclusion: {why}", why)),
        }
    }
}

impl RequiredFigure {
    const fn direction(self) -> Direction {
        match self {
            Self::ReadIops => Direction::Read,
            Self::WriteIops | Self::WriteBandwidth | Self::LowestSecondWritten => Direction::Write,
        }
    }

    /// Returns the name of the figure.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadIops => tr!("random read"),
            Self::WriteIops => tr!("random write"),
            Self::WriteBandwidth => tr!("sequential write"),
            Self::LowestSecondWritten => tr!("slowest second of writing"),
        }
    }
}

impl Requirement {
    /// Returns the figure of each completed trial.
    pub fn values(&self, trials: &[TrialRecord]) -> Vec<f64> {
        self.completed(trials)
            .filter_map(|t| self.value(t))
            .collect()
    }

    /// Checks the trials of a run against the requirement. A figure that was not measured on the
    /// device cannot pass or fail a device.
    pub fn finding(&self, trials: &[TrialRecord]) -> RequirementFinding {
        let values = self.values(trials);
        let reached = values.iter().filter(|value| **value >= self.least).count();
        let elsewhere = self.completed(trials).find_map(|t| self.not_of_device(t));
        match (reached, elsewhere) {
            _ if values.is_empty() => RequirementFinding::NoConclusion {
                why: tr!("no trial was completed").to_owned(),
            },
            (_, Some(why)) => RequirementFinding::NoConclusion { why },
            (0, None) => RequirementFinding::Missed,
            (reached, None) if reached == values.len() => RequirementFinding::Met,
            (reached, None) => RequirementFinding::NoConclusion {
                why: tr!(
                    "{reached} of {all} trials reached it",
                    reached,
                    all = values.len()
                ),
            },
        }
    }

    fn completed<'a>(
        &self,
        trials: &'a [TrialRecord],
    ) -> impl Iterator<Item = &'a TrialRecord> + use<'a> {
        let job = self.job;
        let completed = move |trial: &&TrialRecord| {
            trial.job.name == job && trial.outcome == Outcome::Completed
        };
        trials.iter().filter(completed)
    }

    fn value(&self, trial: &TrialRecord) -> Option<f64> {
        let measured = trial.measured.as_ref()?;
        let per_second = |amount: u64, direction| {
            let clock_ns = measured.clock_ns(direction);
            (clock_ns > 0).then(|| amount as f64 * 1e9 / clock_ns as f64)
        };
        let (read, write) = (Direction::Read, Direction::Write);
        match self.figure {
            RequiredFigure::ReadIops => per_second(measured.read.ios, read),
            RequiredFigure::WriteIops => per_second(measured.write.ios, write),
            RequiredFigure::WriteBandwidth => per_second(measured.write.bytes, write),
            RequiredFigure::LowestSecondWritten => lowest_second_written(&measured.series),
        }
    }

    /// Returns the label of a trial that measured something other than the device.
    fn not_of_device(&self, trial: &TrialRecord) -> Option<String> {
        let judgement = judge(trial);
        let side = judgement.and_then(|judged| match self.figure.direction() {
            Direction::Read => judged.read,
            Direction::Write => judged.write,
        });
        match side.map(|side| side.measured) {
            Some(Measured::Device | Measured::DeviceUnflushed) => None,
            Some(Measured::Unknown { why }) => {
                Some(tr!("what was measured is unknown: {why}", why))
            }
            Some(other) => Some(tr!("what was measured is {other}", other)),
            None => Some(tr!("what was measured is unknown").to_owned()),
        }
    }
}

/// Smallest ratio to the latency of the next smaller set that counts as a rise.
const RISE: f64 = 1.25;

/// Latency of one working set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Size of the set in bytes.
    pub set_bytes: u64,
    /// Nanoseconds per load.
    pub load_ns: f64,
}

/// Sets over which latency rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// Last set before the rise.
    pub from: Point,
    /// First set at the end of the rise.
    pub to: Point,
}

impl Rise {
    /// `true` if a cache of this size would explain the rise: sets that fit into the cache come
    /// before its end, and larger ones after its start. A tolerance of half a set allows for other
    /// data in the cache.
    pub const fn fits(&self, cache_bytes: u64) -> bool {
        cache_bytes >= self.from.set_bytes / 2 && cache_bytes <= self.to.set_bytes
    }
}

/// Returns all rises, in order of size. Neighbouring sets that both rise count as one.
pub fn rises(points: &[Point]) -> Vec<Rise> {
    let mut found: Vec<Rise> = Vec::new();
    for pair in points.windows(2) {
        let &[from, to] = pair else { continue };
        if to.load_ns < from.load_ns * RISE {
            continue;
        }
        match found.last_mut().filter(|rise| rise.to == from) {
            Some(rise) => rise.to = to,
            None => found.push(Rise { from, to }),
        }
    }
    found
}

/// Returns the time of all measured stages of one repetition of a scenario. Of concurrent acts the
/// longest counts; background acts do not count. `None` when there is no act, or one was not
/// completed.
pub fn scenario_ns(trials: &[&TrialRecord]) -> Option<u64> {
    let mut scenario_ns = 0;
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
                scenario_ns += stage.replace((start, elapsed_ns)).map_or(0, |(_, ns)| ns);
            }
            (_, None) => {
                scenario_ns += stage.take().map_or(0, |(_, ns)| ns) + elapsed_ns;
            }
        }
    }
    scenario_ns += stage.map_or(0, |(_, ns)| ns);
    (scenario_ns > 0).then_some(scenario_ns)
}

/// Returns the complete repetitions of scenarios in a run: the name and the acts of each, in order.
/// A repetition with missing acts is left out, since its duration is not that of the scenario.
pub fn scenario_repetitions<'a>(
    plan: &Plan,
    trials: &'a [TrialRecord],
) -> Vec<(&'a str, Vec<&'a TrialRecord>)> {
    let counted: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.counts()).collect();
    let same = |a: &TrialRecord, b: &TrialRecord| {
        (a.trial, &a.condition) == (b.trial, &b.condition) && scenario_of(a) == scenario_of(b)
    };
    let parts = counted.chunk_by(|a, b| same(a, b));
    let named = parts.filter_map(|acts| Some((scenario_of(acts.first()?)?, acts.to_vec())));
    let complete =
        named.filter(|(scenario, acts)| acts.len() >= planned_acts(plan, scenario, acts));
    complete.collect()
}

/// Returns the number of acts of a scenario in a plan. The acts' names begin with its name if the
/// plan has other jobs too.
fn planned_acts(plan: &Plan, scenario: &str, acts: &[&TrialRecord]) -> usize {
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
fn scenario_of(trial: &TrialRecord) -> Option<&str> {
    let act = trial.detail.as_deref().and_then(StepDetail::scenario)?;
    Some(&act.scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::scenario::ScenarioStep;
    use assay_model::condition::Restore;
    use assay_model::figures::Better;
    use assay_model::job::Rw;
    use assay_model::load::Load;
    use assay_model::load::report::{LoadReport, WaveRecord};
    use assay_model::plan::Place;
    use assay_model::trial::{DirectionTotals, Measurement};
    use assay_model::units::Bytes;

    fn trial(position: u32, ios: u64) -> TrialRecord {
        TrialRecord {
            slot: None,
            job: Job::new("rand", Rw::RandRead, Bytes::kib(4), Bytes::mib(1)),
            trial: 1,
            position,
            started_unix_ms: 0,
            seed: 1,
            outcome: Outcome::Completed,
            measured: Some(Measurement {
                elapsed_ns: 1_000_000_000,
                read: DirectionTotals {
                    ios,
                    bytes: ios * 4096,
                    ..DirectionTotals::default()
                },
                ..Measurement::default()
            }),
            evidence: None,
            wave: None,
            detail: None,
            condition: None,
            in_force: Vec::new(),
        }
    }

    #[test]
    fn a_metric_of_a_job_is_a_figure_with_its_places_in_the_session() {
        let mut failed = trial(1, 7);
        failed.outcome = Outcome::Interrupted;
        let trials = [trial(0, 100), failed, trial(4, 120)];
        let plan = Plan {
            run_id: String::new(),
            seed: 1,
            place: Place::Memory,
            file_size: Bytes(0),
            jobs: Vec::new(),
            conditions: Vec::new(),
            restore: Restore::default(),
            order: Vec::new(),
        };
        let figures = gather(&plan, &trials, Labels::Together, |trial| 2 * trial.position);
        let figures: Vec<Figure> = figures.into_iter().map(Growing::end).collect();
        let iops = figures.iter().find(|f| f.metric == "rand: read_iops");
        let iops = iops.expect("it decides");
        assert!(iops.primary && iops.better == Some(Better::Higher));
        let sample = Sample::Values {
            values: vec![100.0, 120.0],
            positions: vec![0.0, 8.0],
        };
        assert_eq!(iops.sample, sample);
        assert_eq!(iops.measured.as_deref(), Some("unknown"));
        let bandwidth = figures.iter().find(|f| f.metric == "rand: read_bw");
        assert!(bandwidth.is_some_and(|f| !f.primary));
    }

    fn points(latencies: &[f64]) -> Vec<Point> {
        let sizes = (0..).map(|n| 4096_u64 << n);
        let all = sizes.zip(latencies);
        all.map(|(set_bytes, &load_ns)| Point { set_bytes, load_ns })
            .collect()
    }

    #[test]
    fn rises_lie_between_the_levels_and_fit_their_caches() {
        // 4K 8K 16K 32K | 64K 128K 256K .. 512K | 1M 2M
        let found = rises(&points(&[
            1.0, 1.0, 1.0, 1.1, 3.5, 4.0, 4.1, 9.0, 30.0, 31.0,
        ]));
        let sizes: Vec<_> = found
            .iter()
            .map(|rise| (rise.from.set_bytes >> 10, rise.to.set_bytes >> 10))
            .collect();
        assert_eq!(sizes, [(32, 64), (256, 1024)]);
        assert!(found[0].fits(32 << 10) && found[0].fits(48 << 10));
        assert!(!found[0].fits(512 << 10));
        assert!(found[1].fits(512 << 10));
    }

    #[test]
    fn a_slow_climb_and_a_fall_are_no_rises() {
        assert_eq!(rises(&points(&[1.0, 1.2, 1.4, 0.5, 0.6])), []);
        assert_eq!(rises(&[]), []);
    }

    fn act(elapsed_ns: u64, stage: Option<u64>, background: bool) -> TrialRecord {
        let step = ScenarioStep {
            background,
            ..ScenarioStep::default()
        };
        TrialRecord {
            slot: None,
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
        assert_eq!(scenario_ns(&all), Some(1131));
        let mut failed = act(1, None, false);
        failed.outcome = Outcome::Interrupted;
        assert_eq!(scenario_ns(&[&acts[0], &failed]), None);
        assert_eq!(scenario_ns(&[]), None);
    }
}
