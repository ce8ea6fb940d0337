//! Number of planned rounds, and conditions that end them early.

use crate::config;
use crate::driver::announce::minutes;
use crate::exit::Failure;
use assay_lang::tr;
use assay_model::run::Stopping;
use assay_model::units::Nanos;
use assay_report::format::percent_points;
use assay_report::text::enumerate;
use assay_stats::verdict::line::Options;
use assay_stats::verdict::sequential::Plan as Sequential;

/// Default number of trials.
pub const USUAL: u32 = 6;
/// Default maximum number of trials with a time budget.
const FILLED: u32 = 100;
/// Default maximum number of trials with `--trials auto`.
const LOOKED_AT: u32 = 20;
/// Maximum number of trials.
const MOST: u32 = 1000;

/// Value of `--trials`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// Fixed number.
    Number(u32),
    /// Until all comparisons have a verdict.
    Auto,
}

impl Trials {
    /// Reads a number or `auto`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(number) if (1..=MOST).contains(&number) => Ok(Self::Number(number)),
            _ => Err(format!("give a number from 1 to {MOST}, or auto")),
        }
    }
}

/// Requested number of trials and time.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Value of `--trials`.
    pub trials: Option<Trials>,
    /// Value of `--max-trials`.
    pub max_trials: Option<u32>,
    /// Value of `--budget`.
    pub budget: Option<Nanos>,
    /// Margin of the looks, as a share.
    pub margin: f64,
}

/// Duration of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Time before the first round that counts.
    pub before: Nanos,
    /// Time of a round.
    pub round: Nanos,
    /// Number of rounds in a block, which is never split.
    pub step: u32,
}

impl Cost {
    /// Duration that is known only after the first round: no budget is refused beforehand.
    pub const UNKNOWN: Self = Self {
        before: Nanos(0),
        round: Nanos(0),
        step: 1,
    };
}

/// Planned rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Maximum number of rounds.
    pub trials: u32,
    /// Conditions that may end the rounds early.
    pub stopping: Stopping,
}

impl Schedule {
    /// Plans rounds for a request, given their duration.
    pub fn of(wish: &Wish, cost: &Cost) -> Result<Self, Failure> {
        let fits = wish.budget.map(|budget| fit(budget, cost)).transpose()?;
        let room = fits.unwrap_or(MOST);
        let (trials, looks) = match wish.trials {
            Some(Trials::Auto) => {
                let most = room.min(wish.max_trials.unwrap_or(LOOKED_AT));
                match Sequential::within(most) {
                    Some(plan) => (plan.last(), Some(plan.looks(wish.margin))),
                    // Too few trials for more than one look.
                    None if fits == Some(most) => (most, None),
                    None => return Err(too_few_for_looks(most)),
                }
            }
            Some(Trials::Number(number)) => (number.min(room), None),
            None if fits.is_some() => (room.min(wish.max_trials.unwrap_or(FILLED)), None),
            None => (config::trials(None, USUAL), None),
        };
        if wish.max_trials.is_some() && wish.budget.is_none() && looks.is_none() {
            return Err(Failure::usage(
                "--max-trials limits --trials auto and --budget: give one of them",
            ));
        }
        let budget = wish.budget;
        Ok(Self {
            trials,
            stopping: Stopping { looks, budget },
        })
    }
}

/// Returns the number of rounds that fit into the budget.
fn fit(budget: Nanos, cost: &Cost) -> Result<u32, Failure> {
    let fewest = u32::try_from(Options::default().min_trials).unwrap_or(u32::MAX);
    let left = budget.0.saturating_sub(cost.before.0);
    let rounds = u32::try_from(left / cost.round.0.max(1)).unwrap_or(u32::MAX);
    let rounds = (rounds / cost.step * cost.step).min(MOST);
    if rounds >= fewest {
        return Ok(rounds);
    }
    let needed = cost.before.0 + u64::from(fewest) * cost.round.0;
    Err(Failure::usage(format!(
        "--budget {budget}: a verdict takes {fewest} trials, which need about {}: give more \
         time, fewer jobs (--only), or --quick",
        Nanos(needed)
    )))
}

/// Returns the facts to announce about the conditions that may end the run.
pub fn facts(stopping: &Stopping, trials: u32) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(looks) = &stopping.looks {
        let at: Vec<String> = looks.at.iter().map(u32::to_string).collect();
        let text = tr!(
            "checked after {looks} trials of each; ends when every comparison has a verdict \
             (margin {margin} %; level of each check {level} %)",
            looks = enumerate(&at),
            margin = percent_points(looks.margin),
            level = format_args!("{:.2}", 100.0 * looks.alpha)
        );
        facts.push((tr!("Ends"), text));
    }
    if let Some(budget) = stopping.budget {
        let text = tr!(
            "{budget}: enough for {trials} trials of each",
            budget = minutes(budget),
            trials
        );
        facts.push((tr!("Budget"), text));
    }
    facts
}

fn too_few_for_looks(most: u32) -> Failure {
    Failure::usage(format!(
        "--max-trials {most}: looking more than once takes room for 12 trials: give 12 or \
         more, or --trials {most} to look once"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost {
        before: Nanos::secs(30),
        round: Nanos::secs(10),
        step: 2,
    };

    fn wish(trials: Option<Trials>, budget: Option<u64>) -> Wish {
        Wish {
            trials,
            max_trials: None,
            budget: budget.map(Nanos::secs),
            margin: 0.05,
        }
    }

    fn trials(wish: &Wish) -> (u32, Option<Vec<u32>>) {
        let schedule = Schedule::of(wish, &COST).unwrap();
        let looks = schedule.stopping.looks.map(|looks| looks.at);
        (schedule.trials, looks)
    }

    #[test]
    fn a_number_or_auto() {
        assert_eq!(Trials::parse("auto"), Ok(Trials::Auto));
        assert_eq!(Trials::parse("12"), Ok(Trials::Number(12)));
        for wrong in ["0", "1001", "-1", "many", ""] {
            assert!(Trials::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_a_budget_the_number_is_the_users() {
        assert_eq!(trials(&wish(None, None)), (6, None));
        let three = wish(Some(Trials::Number(3)), None);
        assert_eq!(trials(&three), (3, None));
        let auto = wish(Some(Trials::Auto), None);
        assert_eq!(trials(&auto), (20, Some(vec![6, 10, 20])));
    }

    #[test]
    fn a_budget_is_filled_or_caps() {
        // (175 - 30) / 10 is 14 and a half.
        assert_eq!(trials(&wish(None, Some(175))), (14, None));
        let few = wish(Some(Trials::Number(8)), Some(175));
        assert_eq!(trials(&few), (8, None));
        let many = wish(Some(Trials::Number(50)), Some(175));
        assert_eq!(trials(&many), (14, None));
        let auto = wish(Some(Trials::Auto), Some(175));
        assert_eq!(trials(&auto), (12, Some(vec![6, 12])));
        let short = wish(Some(Trials::Auto), Some(115));
        assert_eq!(trials(&short), (8, None), "one look");
    }

    #[test]
    fn too_little_is_refused() {
        let refused = |wish| Schedule::of(&wish, &COST).unwrap_err().to_string();
        assert!(refused(wish(None, Some(69))).contains("need about 70"));
        let few = Wish {
            max_trials: Some(8),
            ..wish(Some(Trials::Auto), None)
        };
        assert!(refused(few).contains("--trials 8"));
        let alone = Wish {
            max_trials: Some(8),
            ..wish(None, None)
        };
        assert!(refused(alone).contains("--trials auto and --budget"));
    }
}
