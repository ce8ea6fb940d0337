//! Two runs of the fixture that differ in a known way, and a sweep, for tests of what
//! shows verdicts.

use crate::results::comparison::{Compared, Ranked};
use crate::results::names;
use crate::results::names::ComparedSource;
use crate::testing::fixture;
use assay_lang::Told;
use assay_model::condition::{Condition, Setting, Subject};
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_model::trial::{Outcome, TrialRecord};
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_stats::verdict::compare::{Comparison, compare_figures};
use assay_stats::verdict::ranking::{Ranking, rank_figures};
use std::collections::BTreeMap;

/// A and B with all four words: `seq-read-1m` is slower in B, `rand-rw-4k` faster,
/// `dd-plain` equivalent, and `rand-read-4k` varies too much for a word.
pub struct Sides {
    pub a: Run,
    pub b: Run,
    pub a_figures: Vec<Figure>,
    pub b_figures: Vec<Figure>,
    pub options: Options,
    pub comparison: Comparison,
}

impl Sides {
    pub fn new() -> Self {
        Self::of(repeated(2, |_| 1.0), b_side())
    }

    pub fn of(a: Run, b: Run) -> Self {
        let (a_figures, b_figures) = (
            of_trials(&a.header, &a.trials),
            of_trials(&b.header, &b.trials),
        );
        let options = Options {
            same_session: false,
            ..Options::default()
        };
        Self {
            comparison: compare_figures(&a_figures, &b_figures, &options),
            a,
            b,
            a_figures,
            b_figures,
            options,
        }
    }

    pub fn compared(&self) -> Compared<'_> {
        fn source<'a>(
            name: &'a str,
            figures: &'a [Figure],
            run: &'a Run,
        ) -> Vec<ComparedSource<'a>> {
            vec![ComparedSource {
                name,
                lasting_name: &run.header.id,
                figures,
                run: Some(run),
                circumstances: &[],
            }]
        }
        let a_sources = source("k3v9", &self.a_figures, &self.a);
        let b_sources = source("last", &self.b_figures, &self.b);
        Compared {
            names: names::of_sides(&a_sources, &b_sources),
            a: "k3v9",
            b: "last",
            options: &self.options,
            comparison: &self.comparison,
            warnings: Told::all(|| vec!["the kernel differs: 6.1.55 and 6.6.8".to_owned()]),
            qualify: false,
            margins: BTreeMap::new(),
            requirements: Vec::new(),
            remedy: String::new(),
            allow_unjudged: false,
            a_sources,
            b_sources,
        }
    }
}

fn b_side() -> Run {
    let mut b = repeated(2, |job| match job {
        "seq-read-1m" => 1.4,
        "rand-rw-4k" => 0.7,
        _ => 1.0,
    });
    b.header.id = "q7w8e9r2".to_owned();
    b.header.system.kernel = "6.6.8-board".to_owned();
    b.header.started_unix_ms += 3_600_000;
    b.finished_unix_ms = b.finished_unix_ms.map(|ms| ms + 3_600_000);
    b
}

/// Returns the fixture with its trials repeated `times` times. Each is slower by the `factor` of its
/// job, and varies by 1 % up and down.
pub fn repeated(times: u32, factor: fn(&str) -> f64) -> Run {
    let mut run = fixture::run();
    let once = run.trials.clone();
    run.trials.clear();
    for round in 0..times {
        for trial in &once {
            let mut trial = trial.clone();
            trial.trial += 3 * round;
            trial.position += u32::try_from(once.len()).unwrap() * round;
            let spread = match trial.job.name.as_str() {
                "rand-read-4k" => 0.5,
                _ => 0.01,
            };
            let step = f64::from(trial.position * 31 % 7) / 3.0 - 1.0;
            let factor = factor(&trial.job.name) * (1.0 + spread * step);
            slow_down(&mut trial, factor);
            run.trials.push(trial);
        }
    }
    for planned in &mut run.header.plan.jobs {
        planned.trials *= times;
    }
    run
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of seconds"
)]
fn slow_down(trial: &mut TrialRecord, factor: f64) {
    if let Some(measured) = &mut trial.measured {
        measured.elapsed_ns = (measured.elapsed_ns as f64 * factor) as u64;
    }
}

/// A sweep over schedulers and read-ahead, six rounds; `bfq` is slower.
pub fn swept() -> Run {
    let mut run = fixture::run();
    run.trials
        .retain(|trial| trial.outcome == Outcome::Completed);
    let once = repeated(2, |_| 1.0).trials;
    run.trials.clear();
    for scheduler in ["none", "bfq"] {
        for read_ahead in ["128", "512", "2048"] {
            let set = |subject, value: &str| Setting {
                subject,
                value: value.to_owned(),
            };
            let condition = Condition::of(vec![
                set(Subject::Scheduler, scheduler),
                set(
                    Subject::Queue {
                        attribute: "read_ahead_kb".to_owned(),
                    },
                    read_ahead,
                ),
            ]);
            for trial in &once {
                let mut trial = trial.clone();
                trial.condition = Some(condition.name.clone());
                slow_down(&mut trial, if scheduler == "bfq" { 1.5 } else { 1.0 });
                run.trials.push(trial);
            }
            run.header.plan.conditions.push(condition);
        }
    }
    run
}

/// Ranks the conditions of a sweep.
pub fn ranking(run: &Run, options: &Options) -> Ranking {
    let mut figures = of_trials(&run.header, &run.trials);
    figures.retain(|figure| figure.primary);
    rank_figures(&figures, None, options).expect("several conditions")
}

/// Returns a ranking in the form for outputs.
pub fn ranked<'a>(ranking: &'a Ranking, options: &'a Options) -> Ranked<'a> {
    Ranked {
        source: "last",
        baseline: None,
        options,
        ranking,
        warnings: Vec::new(),
    }
}
