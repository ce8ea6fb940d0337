//! Decision to end a run before all planned rounds: at a look that finds a verdict for every
//! comparison, or when the time budget is used up.

use crate::checks::estimate::{LOOKED_INTO, minutes};
use crate::config;
use crate::driver::Host;
use crate::driver::plans::{self, Executed, SoFarOfPlan};
use crate::exit::Failure;
use crate::ui::progress::Messages;
use assay_lang::tr;
use assay_model::act::StepDetail;
use assay_model::job::Job;
use assay_model::run::{RunHeader, Stopping};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_report::words::{clean, percent_points};
use assay_stats::derive::primary_metrics;
use assay_stats::figures::of_trials;
use assay_stats::verdict::compare::{compare_figures, judge_by_own_margins};
use assay_stats::verdict::power::spreads;
use assay_stats::verdict::ranking::rank_figures;
use assay_stats::verdict::units::Standing;
use assay_stats::verdict::{Options, power};
use assay_store::Store;
use std::time::Instant;

/// State of the comparisons so far.
pub struct ComparisonsSoFar {
    /// Number of comparisons that have a verdict.
    pub standing: Standing,
    /// Spread of the trials.
    pub spread: Spread,
}

/// Decision after a round.
#[derive(Default)]
struct Decision {
    enough: bool,
    /// Message for the user.
    says: Option<String>,
}

/// Decision maker that is called after each round.
pub struct Stopper<'a> {
    stopping: &'a Stopping,
    /// Significance level of each test.
    alpha: f64,
    /// Rounds of the plan.
    planned: u32,
    /// Number of rounds in a block; the time is checked after each block.
    step: u32,
    /// Time used by an earlier part of the run.
    used: Nanos,
    began: Instant,
    /// First call: the number of rounds then, and the time.
    origin: Option<(u32, Nanos)>,
    /// Number of rounds that fit into the budget, as last reported.
    told: Option<u32>,
}

impl<'a> Stopper<'a> {
    /// Makes a stopper for a plan of `planned` rounds, in blocks of `step`, with tests at `alpha`. The
    /// clock starts now, at `used`, the time that an earlier part of the run took.
    pub fn new(stopping: &'a Stopping, alpha: f64, planned: u32, step: u32, used: Nanos) -> Self {
        Self {
            stopping,
            alpha,
            planned,
            step,
            used,
            began: Instant::now(),
            origin: None,
            told: None,
        }
    }

    /// Returns `true` if the run can end after `rounds` whole rounds (0: after the conditioning round).
    pub fn is_enough(
        &mut self,
        rounds: u32,
        messages: &Messages,
        found: impl Fn() -> ComparisonsSoFar,
    ) -> bool {
        let own = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let now = Nanos(own.saturating_add(self.used.0));
        let decision = self.decide(rounds, now, found);
        if let Some(line) = decision.says {
            messages.say(&line);
        }
        decision.enough
    }

    fn decide(
        &mut self,
        rounds: u32,
        now: Nanos,
        found: impl Fn() -> ComparisonsSoFar,
    ) -> Decision {
        let (first, then) = *self.origin.get_or_insert((rounds, now));
        if rounds >= self.planned {
            return Decision::default();
        }
        let look = self.look(rounds, &found);
        if look.enough || rounds == first || !rounds.is_multiple_of(self.step) {
            return look;
        }
        let round = Nanos((now.0 - then.0) / u64::from(rounds - first));
        let time = self.look_at_time(rounds, now, round, &found);
        Decision {
            enough: time.enough,
            says: match (look.says, time.says) {
                (Some(look), Some(time)) => Some(format!("{look}\n{time}")),
                (look, time) => look.or(time),
            },
        }
    }

    /// Decides, at rounds with a look, if every comparison has a verdict.
    fn look(&self, rounds: u32, found: &impl Fn() -> ComparisonsSoFar) -> Decision {
        let looks = self.stopping.looks.as_ref();
        let Some(looks) = looks.filter(|looks| !looks.runs_all && looks.at.contains(&rounds))
        else {
            return Decision::default();
        };
        let standing = found().standing;
        let Standing { settled, of } = standing;
        let next = looks.at.iter().find(|look| **look > rounds);
        let then = match next {
            _ if standing.is_settled() => tr!("no more trials are needed").to_owned(),
            Some(next) => tr!("the next look is after {next}", next),
            None => tr!("there is no further look").to_owned(),
        };
        Decision {
            enough: standing.is_settled(),
            says: Some(tr!(
                "look after {rounds} trials: {settled} of {of} comparisons have a verdict; {then}",
                rounds,
                settled,
                of,
                then
            )),
        }
    }

    /// Decides if there is time for more rounds of that length.
    fn look_at_time(
        &mut self,
        rounds: u32,
        now: Nanos,
        round: Nanos,
        found: &impl Fn() -> ComparisonsSoFar,
    ) -> Decision {
        let Some(budget) = self.stopping.budget else {
            return Decision::default();
        };
        let more = budget.0.saturating_sub(now.0) / round.0.max(1);
        let more = u32::try_from(more).unwrap_or(u32::MAX) / self.step * self.step;
        let fits = rounds.saturating_add(more).min(self.planned);
        let enough = fits == rounds;
        let says = match enough {
            true => Some(tr!(
                "the budget of {budget} is used up after {rounds} of {planned} trials",
                budget = minutes(budget),
                rounds,
                planned = self.planned
            )),
            false if self.told == Some(fits) => None,
            false => Some(self.outlook(fits, round, &found().spread)),
        };
        self.told = Some(fits);
        Decision { enough, says }
    }

    fn outlook(&self, fits: u32, round: Nanos, spread: &Spread) -> String {
        let shows = spread.shows(fits, LevelAndMargin::to(self.alpha, self.stopping));
        let shows = shows.map_or_else(String::new, |shows| tr!("; they show {shows}", shows));
        tr!(
            "a round takes {round}: {fits} of {planned} trials fit into the budget{shows}",
            round,
            fits,
            planned = self.planned,
            shows
        )
    }
}

/// Coefficient of variation that is assumed if the spread is unknown.
const GUESSED_CV: f64 = 0.05;

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
        for run in store.runs_on(storage, LOOKED_INTO)? {
            let Ok(loaded) = store.load(&run.id) else {
                continue;
            };
            let mut trials = loaded.run.trials;
            trials.retain(|trial| jobs.contains(&trial.job));
            let metrics = spreads(&of_trials(&loaded.run.header, &trials));
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
                let found = shown(GUESSED_CV, trials, held).unwrap_or(f64::INFINITY);
                tr!(
                    "with {trials} trials about {found} %, if trials vary by {cv} %",
                    trials,
                    found = format_args!("{found:.0}"),
                    cv = percent_points(GUESSED_CV)
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
        slots: plan.order.iter().filter(|slot| slot.trial == 0).count(),
        planned: plan.order.last().map_or(0, |last| last.trial),
    };
    let mut enough = enough_rounds(rounds, &header.stopping, time_used(header, &done));
    let enough = |so_far: SoFarOfPlan<'_>, messages: &Messages| enough(header, so_far, messages);
    plans::execute(host, header, store, done, enough)
}

/// Time that the finished part of a run took.
pub fn time_used(header: &RunHeader, done: &[TrialRecord]) -> Nanos {
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
pub fn enough_rounds<'a>(
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
            && stopper.is_enough(rounds, messages, || compare_conditions(header, trials))
    }
}

/// Compares the trials so far: all pairs of conditions, as `assay rank` judges them.
fn compare_conditions(header: &RunHeader, trials: &[TrialRecord]) -> ComparisonsSoFar {
    let mut figures = of_trials(header, trials);
    figures.retain(|figure| figure.primary);
    let options = Options::of_run(&header.stopping);
    let ranking = rank_figures(&figures, None, &options);
    ComparisonsSoFar {
        standing: ranking.map_or(Standing::NOTHING, |found| Standing::of_ranking(&found)),
        spread: Spread::of(spreads(&figures)),
    }
}

/// Significance level of a metric in the first step of Holm's correction for all that decide.
pub fn alpha_of_metric(header: &RunHeader) -> f64 {
    let metrics = deciding(&jobs_of(header)).max(1) as f64;
    header.stopping.alpha() / metrics
}

/// Returns the jobs of a run.
pub fn jobs_of(header: &RunHeader) -> Vec<Job> {
    let jobs = header.plan.jobs.iter().map(|planned| planned.job.clone());
    jobs.collect()
}

/// Question of a session, which decides when both sides have enough trials.
pub struct Question<'a> {
    /// Headers of A and of B.
    pub headers: &'a [RunHeader; 2],
    /// Maximum number of trials of a side.
    pub trials: u32,
    /// Time that an earlier part of the session took.
    pub used: Nanos,
    /// Margins of single metrics, if it is asked whether B may replace A.
    pub margins: Option<&'a [(String, f64)]>,
}

impl<'a> Question<'a> {
    /// Returns a function that accepts the trials of both sides at the last one, or at a look that
    /// answers everything.
    pub fn decide(
        &'a self,
        messages: &'a Messages,
    ) -> impl FnMut(u32, [SoFarOfPlan<'_>; 2]) -> bool + 'a {
        let [header, _] = self.headers;
        let alpha = alpha_of_metric(header);
        // A block is two turns of each side.
        let mut stopper = Stopper::new(&header.stopping, alpha, self.trials, 2, self.used);
        move |rounds, of_both| {
            stopper.is_enough(rounds, messages, || {
                self.compare_so_far(of_both.map(|side| side.trials))
            })
        }
    }

    /// Compares the trials so far in the same way as the final comparison.
    fn compare_so_far(&self, trials: [&[TrialRecord]; 2]) -> ComparisonsSoFar {
        let [a, b] = [0, 1].map(|side| {
            let trials = trials[side].iter().filter(|trial| !is_probe(trial));
            of_trials(&self.headers[side], &trials.cloned().collect::<Vec<_>>())
        });
        let options = Options {
            same_model: true,
            qualify: self.margins.is_some(),
            ..Options::of_run(&self.headers[0].stopping)
        };
        let mut compared = compare_figures(&a, &b, &options);
        let standing = match self.margins {
            Some(margins) => {
                judge_by_own_margins(&mut compared, margins, &options, |options| {
                    compare_figures(&a, &b, options)
                });
                Standing::of_replacement(&compared)
            }
            None => Standing::of_comparison(&compared),
        };
        ComparisonsSoFar {
            standing,
            spread: Spread::of(spreads(&[a, b].concat())),
        }
    }
}

/// `true` for a probe of the capacity: it has an answer, and its speed is no figure of the storage.
pub fn is_probe(trial: &TrialRecord) -> bool {
    matches!(trial.detail.as_deref(), Some(StepDetail::Capacity(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::run::Looks;

    const OPEN: Standing = Standing { settled: 1, of: 2 };
    const SETTLED: Standing = Standing { settled: 2, of: 2 };

    fn found(standing: Standing) -> impl Fn() -> ComparisonsSoFar {
        move || ComparisonsSoFar {
            standing,
            spread: Spread::default(),
        }
    }

    fn looks() -> Option<Looks> {
        Some(Looks {
            at: vec![6, 12],
            alpha: 0.0294,
            margin: 0.05,
            runs_all: false,
        })
    }

    /// Returns the number of rounds after which a run ends, and the messages.
    fn run(stopping: &Stopping, step: u32, round: Nanos, standing: Standing) -> (u32, String) {
        let mut stopper = Stopper::new(stopping, 0.05, 12, step, Nanos(0));
        let mut said = String::new();
        for rounds in 0..=12 {
            let now = Nanos(u64::from(rounds + 1) * round.0);
            let Decision { enough, says } = stopper.decide(rounds, now, found(standing));
            said.extend(says.map(|line| line + "\n"));
            if enough {
                return (rounds, said);
            }
        }
        (12, said)
    }

    #[test]
    fn it_ends_at_the_first_look_that_settles_all() {
        let stopping = Stopping {
            looks: looks(),
            budget: None,
        };
        let (rounds, said) = run(&stopping, 1, Nanos::secs(1), SETTLED);
        assert_eq!(rounds, 6);
        assert_eq!(
            said,
            "look after 6 trials: 2 of 2 comparisons have a verdict; no more trials are needed\n"
        );
        let (rounds, said) = run(&stopping, 1, Nanos::secs(1), OPEN);
        assert_eq!(rounds, 12, "{said}");
        assert!(said.contains("1 of 2 comparisons have a verdict; the next look is after 12"));
    }

    #[test]
    fn without_looks_verdicts_end_nothing() {
        let (rounds, said) = run(&Stopping::default(), 1, Nanos::secs(1), SETTLED);
        assert_eq!((rounds, said.as_str()), (12, ""));
    }

    #[test]
    fn it_ends_before_a_round_that_would_pass_the_budget() {
        let stopping = Stopping {
            looks: None,
            budget: Some(Nanos::secs(58)),
        };
        // Conditioning and 4 rounds take 50 s of 58.
        let (rounds, said) = run(&stopping, 1, Nanos::secs(10), OPEN);
        assert_eq!(rounds, 4);
        assert_eq!(
            said,
            "a round takes 10.0 s: 4 of 12 trials fit into the budget\n\
             the budget of 58 s is used up after 4 of 12 trials\n"
        );
        // Blocks of two: a third one has no room.
        assert_eq!(run(&stopping, 2, Nanos::secs(9), OPEN).0, 4);
        // Quick ones are all made.
        assert_eq!(run(&stopping, 1, Nanos::secs(1), OPEN).0, 12);
    }

    #[test]
    fn what_an_earlier_part_used_counts() {
        let stopping = Stopping {
            looks: None,
            budget: Some(Nanos::secs(60)),
        };
        let mut resumed = Stopper::new(&stopping, 0.05, 12, 1, Nanos(0));
        assert!(
            !resumed.decide(5, Nanos::secs(50), found(OPEN)).enough,
            "no round is known"
        );
        assert!(resumed.decide(6, Nanos::secs(60), found(OPEN)).enough);
    }
}
