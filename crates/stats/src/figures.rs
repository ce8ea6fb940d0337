//! The figures of a run, as a comparison takes them.

use crate::acts;
use crate::derive::{deciding_metrics, label_of, metrics};
use assay_judge::{Measured, judge};
use assay_lang::{tr, translated};
use assay_model::figures::{Better, Figure, Sample};
use assay_model::metric::{Metric, Unit};
use assay_model::run::RunHeader;
use assay_model::trial::{Outcome, TrialRecord};
use std::collections::{BTreeSet, HashMap};

/// Figures that are looked at beside those that decide.
const EXPLORATORY: [&str; 13] = [
    "read_bw",
    "write_bw",
    "read_iops",
    "write_iops",
    "read_lat_p50",
    "read_lat_p99",
    "write_lat_p50",
    "write_lat_p99",
    "flush_lat_p50",
    "durable_write_lat_p50",
    "durable_write_lat_p99",
    "longest_gap",
    "operation_lat_p99",
];

/// Between the labels of trials that measured different things.
pub(crate) const OR: &str = " or ";

/// Between the labels of one figure of reads and writes.
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

/// Labels of what a run is about: the device or its model, and memory where that itself
/// is measured.
const OF_THE_DEVICE: [&str; 5] = [
    Measured::Device.label(),
    Measured::DeviceUnflushed.label(),
    Measured::Simulated.label(),
    Measured::Memory.label(),
    Measured::CpuCache.label(),
];

/// Returns true if a figure may decide a comparison, judged by its label. The page cache and unknown labels may not decide. A step that reads and writes takes the device's time as soon as one direction does; where trials differ, each must be of the device. Imported results (`None`) seldom carry a label and are accepted.
///
/// ```
/// use assay_stats::figures::may_decide;
/// assert!(may_decide(Some("device")) && may_decide(None));
/// assert!(may_decide(Some("page-cache+device")));
/// assert!(!may_decide(Some("page-cache")) && !may_decide(Some("unknown")));
/// assert!(!may_decide(Some("device or page-cache")));
/// ```
pub fn may_decide(measured: Option<&str>) -> bool {
    let is_of_device = |label: &str| label.split(AND).any(|part| OF_THE_DEVICE.contains(&part));
    measured.is_none_or(|labels| labels.split(OR).all(is_of_device))
}

/// Which way a unit is good.
pub const fn better(unit: Unit) -> Option<Better> {
    match unit {
        Unit::BytesPerSec | Unit::Iops | Unit::Tps => Some(Better::Higher),
        Unit::Nanos => Some(Better::Lower),
        Unit::Bytes | Unit::Ratio | Unit::Count => None,
    }
}

/// The figures of completed trials of a run, one for each condition, job and metric;
/// conditions in the order of the plan, whichever came first, and under each in the order
/// in which they first came. Conditioning trials are left out. A metric is called `JOB: METRIC`, for example `rand-read: read_iops`. Figures beside those that
/// decide are exploratory. Places are those in the session, which two runs share that
/// took turns.
pub fn of_trials(header: &RunHeader, trials: &[TrialRecord]) -> Vec<Figure> {
    let mut figures = gather(trials, |position| header.place_of(position));
    figures.extend(whole_scenarios(trials, |position| {
        header.place_of(position)
    }));
    let conditions = &header.plan.conditions;
    figures.sort_by_cached_key(|figure| {
        let names = conditions.iter().map(|condition| &condition.name);
        names.into_iter().position(|name| *name == figure.condition)
    });
    figures
}

/// Computes the total duration of scenarios, one figure for each condition.
fn whole_scenarios(trials: &[TrialRecord], place_of: impl Fn(u32) -> u32) -> Vec<Figure> {
    let mut figures = Gathered::default();
    for (scenario, acts) in acts::repetitions(trials) {
        let (Some(total_ns), Some(first)) = (acts::total_ns(&acts), acts.first()) else {
            continue;
        };
        let metric = Metric {
            name: "act_time".to_owned(),
            unit: Unit::Nanos,
            value: total_ns as f64,
        };
        let growing = figures.find_named(&format!("{scenario}.all"), first, &metric, true);
        growing.values.push(metric.value);
        growing.places.push(f64::from(place_of(first.position)));
        let judged = acts.iter().filter_map(|act| judge(act));
        let judged = judged.filter(|judged| judged.read.is_some() || judged.write.is_some());
        let labels: Vec<String> = judged
            .map(|judged| label_of("act_time", Some(&judged)))
            .collect();
        let parts: BTreeSet<&str> = labels.iter().flat_map(|label| label.split(AND)).collect();
        // All acts are parts of the one figure.
        let label = parts.into_iter().collect::<Vec<_>>().join("+");
        growing.labels.extend((!label.is_empty()).then_some(label));
    }
    figures.list.into_iter().map(Growing::end).collect()
}

fn gather(trials: &[TrialRecord], place_of: impl Fn(u32) -> u32) -> Vec<Figure> {
    let mut figures = Gathered::default();
    for trial in trials {
        if trial.outcome != Outcome::Completed || !trial.counts() {
            continue;
        }
        let judgement = judge(trial);
        let metrics = metrics(trial);
        let has = |name: &str| metrics.iter().any(|metric| metric.name == name);
        let primary = deciding_metrics(&trial.job, has);
        for metric in metrics {
            let decides = primary.contains(&metric.name.as_str());
            if decides || EXPLORATORY.contains(&metric.name.as_str()) {
                let growing = figures.find(trial, &metric, decides);
                growing.values.push(metric.value);
                growing.places.push(f64::from(place_of(trial.position)));
                let label = label_of(&metric.name, judgement.as_ref());
                growing.labels.insert(label);
            }
        }
    }
    figures.list.into_iter().map(Growing::end).collect()
}

/// The figures under construction.
#[derive(Default)]
struct Gathered {
    list: Vec<Growing>,
    /// Index in the list by condition and metric.
    places: HashMap<(String, String), usize>,
}

/// One of them.
struct Growing {
    figure: Figure,
    values: Vec<f64>,
    places: Vec<f64>,
    labels: BTreeSet<String>,
}

impl Gathered {
    /// The one of a trial's metric; a new one is empty.
    fn find(&mut self, trial: &TrialRecord, metric: &Metric, primary: bool) -> &mut Growing {
        self.find_named(&trial.job.name, trial, metric, primary)
    }

    /// The same of what stands above a trial.
    fn find_named(
        &mut self,
        of: &str,
        trial: &TrialRecord,
        metric: &Metric,
        primary: bool,
    ) -> &mut Growing {
        let name = format!("{of}: {}", metric.name);
        let condition = trial.condition.clone().unwrap_or_default();
        let list = &mut self.list;
        let place = *(self.places)
            .entry((condition.clone(), name.clone()))
            .or_insert_with(|| {
                list.push(Growing {
                    figure: Figure {
                        condition,
                        metric: name,
                        unit: metric.unit.name().to_owned(),
                        better: better(metric.unit),
                        primary,
                        sample: Sample::Values {
                            values: Vec::new(),
                            positions: Vec::new(),
                        },
                        measured: None,
                    },
                    values: Vec::new(),
                    places: Vec::new(),
                    labels: BTreeSet::new(),
                });
                list.len() - 1
            });
        &mut self.list[place]
    }
}

impl Growing {
    fn end(self) -> Figure {
        let labels: Vec<String> = self.labels.into_iter().collect();
        Figure {
            sample: Sample::Values {
                values: self.values,
                positions: self.places,
            },
            measured: Some(labels.join(OR)),
            ..self.figure
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::{Job, Rw};
    use assay_model::trial::{DirectionTotals, Measurement};
    use assay_model::units::Bytes;

    fn trial(position: u32, ios: u64) -> TrialRecord {
        TrialRecord {
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
        let figures = gather(&[trial(0, 100), failed, trial(4, 120)], |at| 2 * at);
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
}
