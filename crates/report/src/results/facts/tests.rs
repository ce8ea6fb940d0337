use super::*;
use crate::testing::fixture;
use assay_model::act::scenario::ScenarioStep;
use assay_model::figures::{Better, Circumstance};
use assay_model::job::Purpose;
use assay_model::plan::PlannedJob;
use assay_model::units::{Bytes, Nanos};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn figure<'a>(facts: &'a RunFacts, job: &str, metric: &str) -> Vec<&'a FigureFacts> {
    let figures = facts.figures.iter();
    figures
        .filter(|figure| figure.job == job && figure.metric == metric)
        .collect()
}

fn one<'a>(facts: &'a RunFacts, job: &str, metric: &str) -> &'a FigureFacts {
    let found = figure(facts, job, metric);
    assert_eq!(found.len(), 1, "{job} {metric}");
    found[0]
}

/// Hashes are stored: a change of this test breaks every series that exists.
#[test]
fn hashes_of_jobs_and_keys_of_series_stay_the_same_in_every_version() {
    let facts = of(&fixture::run());
    let hash = |job, metric| {
        let figure = one(&facts, job, metric);
        (figure.job_hash.clone(), figure.series.clone())
    };
    let pinned = [
        ("seq-read-1m", "read_bw"),
        ("rand-rw-4k", "read_iops"),
        ("rand-rw-4k", "write_iops"),
        ("fsync-append-4k", "flush_lat_p50"),
    ]
    .map(|(job, metric)| hash(job, metric));
    let text = |(hash, series): &(String, String)| format!("{hash} {series}");
    assert_eq!(
        pinned.each_ref().map(text),
        [
            "0d4991ba4b63 dd626b3ff0f3",
            "7e6275195566 edded223bbae",
            "7e6275195566 4ea37db8d76f",
            "aabefdb328fc f20bb651b6c1",
        ]
    );
}

#[test]
fn a_figure_has_its_label_its_trials_and_its_centre() {
    let facts = of(&fixture::run());
    let read = one(&facts, "seq-read-1m", "read_bw");
    assert_eq!((read.label.as_str(), read.n), ("device", 3));
    assert_eq!(
        (read.unit, read.better),
        (Unit::BytesPerSec, Some(Better::Higher))
    );
    assert!(read.primary && !read.tail);
    let same = Summary::of(&read.samples).and_then(|found| found.geometric_mean);
    assert_eq!(Some(read.centre), same, "what verdicts compare");
    let cached = one(&facts, "dd-plain", "write_bw");
    assert_eq!(cached.label, "page-cache");
    assert!(!cached.primary, "memory's figure is none of the device");
}

#[test]
fn trials_of_different_labels_are_points_of_different_series() {
    let mut run = fixture::run();
    let mut trials = run.trials.iter_mut();
    let trial = trials.find(|trial| trial.job.name == "seq-read-1m");
    trial.expect("it ran").evidence = None;
    let facts = of(&run);
    let found = figure(&facts, "seq-read-1m", "read_bw");
    let labels: BTreeSet<(&str, u32)> = found
        .iter()
        .map(|figure| (figure.label.as_str(), figure.n))
        .collect();
    assert_eq!(labels, BTreeSet::from([("device", 2), ("unknown", 1)]));
    assert_ne!(found[0].series, found[1].series);
}

#[test]
fn what_does_not_change_the_work_does_not_change_the_series() {
    let run = fixture::run();
    let before = of(&run);
    let mut other = run.clone();
    other.header.id = "other".to_owned();
    other.header.plan.seed += 1;
    other.header.plan.place = Place::Directory {
        path: PathBuf::from("/elsewhere"),
    };
    other.header.system.kernel = "9.9".to_owned();
    for trial in &mut other.trials {
        trial.seed += 1;
        trial.job.interval = Nanos::millis(7);
    }
    let keys = |facts: &RunFacts| -> Vec<String> {
        let figures = facts.figures.iter();
        figures.map(|figure| figure.series.clone()).collect()
    };
    assert_eq!(keys(&of(&other)), keys(&before));
    assert_eq!(of(&other).known(Circumstance::Kernel), Some("9.9"));

    let job = |edit: fn(&mut Run)| {
        let mut run = run.clone();
        edit(&mut run);
        one(&of(&run), "seq-read-1m", "read_bw").series.clone()
    };
    let own = job(|_| ());
    let edits: [fn(&mut Run); 4] = [
        |run| run.header.project = Some("kernel".to_owned()),
        |run| run.header.target = Some("ssh://board".to_owned()),
        |run| {
            run.trials
                .iter_mut()
                .for_each(|trial| trial.job.size = Bytes::mib(7))
        },
        |run| {
            run.trials
                .iter_mut()
                .for_each(|trial| trial.job.direct = false)
        },
    ];
    for edit in edits {
        assert_ne!(job(edit), own);
    }
}

/// A run of a scenario with `acts` acts, of which `done` ended before it was killed.
fn scenario(acts: usize, done: usize) -> Run {
    let mut run = fixture::run();
    let trial = run.trials.swap_remove(0);
    let of = |number: usize| {
        let mut act = trial.clone();
        let place = u32::try_from(number).expect("a few");
        (act.position, act.trial) = (place, 1);
        act.job.name = format!("act-{number}");
        act.job.purpose = Some(Purpose::Act);
        act.detail = Some(Box::new(StepDetail::Scenario(Box::new(ScenarioStep {
            scenario: "boot".to_owned(),
            ..ScenarioStep::default()
        }))));
        act
    };
    run.trials = (0..done).map(of).collect();
    let planned = (0..acts).map(|number| PlannedJob {
        job: of(number).job,
        trials: 1,
    });
    run.header.plan.jobs = planned.collect();
    run
}

#[test]
fn no_two_figures_of_a_scenario_share_a_series() {
    let keys = |run: &Run| -> Vec<String> {
        let figures = of(run).figures.into_iter();
        figures.map(|figure| figure.series).collect()
    };
    for (acts, done) in [(1, 1), (2, 1), (2, 2), (5, 3)] {
        let keys = keys(&scenario(acts, done));
        let each: BTreeSet<&String> = keys.iter().collect();
        assert!(
            !keys.is_empty() && each.len() == keys.len(),
            "{acts} {done}: {keys:?}"
        );
    }
}

#[test]
fn the_duration_of_a_scenario_is_that_of_all_its_acts() {
    let has_total = |acts, done| {
        let facts = of(&scenario(acts, done));
        !figure(&facts, "boot.all", "act_time").is_empty()
    };
    assert!(has_total(1, 1) && has_total(3, 3));
    assert!(!has_total(3, 1) && !has_total(3, 2), "it was cut short");
    let mut beside = scenario(2, 2);
    for job in &mut beside.header.plan.jobs {
        job.job.name = format!("boot.{}", job.job.name);
    }
    for trial in &mut beside.trials {
        trial.job.name = format!("boot.{}", trial.job.name);
    }
    let another = fixture::run().header.plan.jobs.swap_remove(0);
    beside.header.plan.jobs.push(another);
    assert_eq!(figure(&of(&beside), "boot.all", "act_time").len(), 1);
}

#[test]
fn the_tail_is_that_of_all_operations_together() {
    let run = crate::testing::samples::with_tails();
    let facts = of(&run);
    let tails: Vec<_> = facts.figures.iter().filter(|figure| figure.tail).collect();
    assert!(tails.iter().any(|figure| figure.metric.ends_with("_p99")));
    let pooled = crate::results::tails::of_run(&run);
    for figure in tails
        .iter()
        .filter(|figure| figure.metric == "read_lat_p99")
    {
        let same = |tail: &&crate::results::tails::JobTail<'_>| {
            tail.job == figure.job && tail.operation == Operation::Read
        };
        let tail = pooled.iter().find(same).expect("it has a tail").tail;
        if tail.trials == figure.samples.len() {
            assert_eq!(figure.centre, tail.pooled_ns as f64, "{}", figure.job);
        }
        assert!(!figure.primary);
    }
}

#[test]
fn surroundings_are_those_of_the_records() {
    let facts = of(&fixture::run());
    insta::assert_debug_snapshot!((
        &facts.project,
        &facts.target,
        &facts.model,
        &facts.series_unit,
        &facts.surroundings,
    ));
}

#[test]
fn a_device_without_a_name_is_followed_by_its_unit() {
    let mut run = fixture::run();
    run.header.storage.layers[0].identity.model = None;
    for layer in &mut run.header.storage.layers {
        layer.identity.model = None;
    }
    run.header.unit = Some("card 7".to_owned());
    let unit = of(&run).known(Circumstance::Unit).map(str::to_owned);
    assert_eq!(of(&run).series_unit, unit);
    assert!(unit.is_some());
}

#[test]
fn every_trial_has_its_evidence_or_says_that_it_has_none() {
    let mut run = fixture::run();
    let position = run
        .trials
        .iter()
        .position(|trial| trial.job.name == "seq-read-1m")
        .expect("it ran");
    let of_job = |run: &Run| {
        let all = of(run).evidence;
        let wanted = run.trials[position].position;
        let mut found = all.into_iter().filter(|row| row.position == wanted);
        let row = found.next().expect("a row");
        assert_eq!(found.next(), None, "it only reads");
        row
    };
    let row = of_job(&run);
    assert_eq!((&*row.direction, &*row.label), ("read", "device"));
    let judged = assay_judge::judge(&run.trials[position]).expect("evidence");
    let judged = judged.read.expect("it reads");
    assert_eq!(row.because, judged.because);
    assert_eq!(row.device_share, judged.device_share);
    let mut layers = judged.layers.iter();
    assert!(layers.any(|(_, bytes)| Some(*bytes) == row.device_bytes));
    run.trials[position].evidence = None;
    let row = of_job(&run);
    assert_eq!((&*row.label, row.device_bytes), ("unknown", None));
    assert!(row.job_bytes > 0);
}
