//! Describes why a run stopped before the end of its plan, and the runs with which it alternated.

use crate::words::{enumerate, percent_points};
use assay_lang::{counted, tr};
use assay_model::run::{Looks, Run, RunStatus};

/// Returns a sentence for each; empty for a run with a fixed number of trials.
pub fn sentences(run: &Run) -> Vec<String> {
    let stopping = &run.header.stopping;
    let mut sentences: Vec<String> = looked_at(run).into_iter().collect();
    if let Some(budget) = stopping.budget {
        let rounds = counted!(run.whole_rounds(), "{n} trial", "{n} trials");
        sentences.push(tr!(
            "budget of {budget}: {rounds} of each out of {planned} planned",
            budget,
            rounds,
            planned = planned(run)
        ));
    }
    if let Some(paired) = &run.header.paired {
        sentences.push(tr!(
            "in turn with run {run}, as side {side}",
            run = paired.with,
            side = paired.side
        ));
    }
    sentences
}

/// Describes the interim analyses and their significance level; `None` for runs without any.
pub fn looked_at(run: &Run) -> Option<String> {
    let looks = run.header.stopping.looks.as_ref()?;
    let at: Vec<String> = looks.at.iter().map(u32::to_string).collect();
    Some(tr!(
        "looked at after {looks} trials of each by a margin of {margin} %, {ended}; each look, and so every \
         verdict on it, is held to a level of {level} %",
        looks = enumerate(&at),
        margin = percent_points(looks.margin),
        ended = ended(run, looks),
        level = format_args!("{:.2}", 100.0 * looks.alpha)
    ))
}

/// Returns the interim analysis that settled the result; `None` if none did, or the run was not
/// finished.
pub fn settled_at(run: &Run) -> Option<u32> {
    let looks = run.header.stopping.looks.as_ref()?;
    let rounds = run.whole_rounds();
    let early = rounds < planned(run) && looks.at.contains(&rounds);
    (early && run.status == RunStatus::Finished).then_some(rounds)
}

fn ended(run: &Run, looks: &Looks) -> String {
    let rounds = run.whole_rounds();
    match settled_at(run) {
        Some(look) => tr!("settled after {look}", look),
        None if rounds == planned(run) => tr!("ended with the last look, after {rounds}", rounds),
        None if looks.at.contains(&rounds) => tr!("stopped after {rounds}", rounds),
        None => tr!("stopped between looks, after {rounds}", rounds),
    }
}

fn planned(run: &Run) -> u32 {
    run.header.plan.order.last().map_or(0, |last| last.trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use assay_model::figures::Side;
    use assay_model::plan::rounds;
    use assay_model::run::{Paired, Stopping};
    use assay_model::units::Nanos;

    /// Returns a run that ended after some of 20 rounds.
    fn looked_at_run(rounds_run: usize) -> Run {
        let mut run = fixture::run();
        run.header.plan.order = rounds(1, 0, 20, 1);
        let one = run.trials[0].clone();
        run.trials = vec![one; 1 + rounds_run];
        run.header.stopping = Stopping {
            looks: Some(Looks {
                at: vec![6, 10, 20],
                alpha: 0.0204,
                margin: 0.05,
            }),
            budget: None,
        };
        run
    }

    #[test]
    fn it_is_said_where_a_run_ended() {
        let says = |rounds, words: &str| {
            let found = looked_at(&looked_at_run(rounds)).unwrap();
            assert!(found.contains(words), "{rounds}: {found}");
        };
        says(
            10,
            "after 6, 10 and 20 trials of each by a margin of 5 %, settled after 10",
        );
        says(20, "ended with the last look, after 20");
        says(8, "stopped between looks, after 8");
        says(8, "a level of 2.04 %");
        assert_eq!(looked_at(&fixture::run()), None);
        assert!(sentences(&fixture::run()).is_empty());
    }

    #[test]
    fn an_interrupted_run_is_not_settled() {
        let mut run = looked_at_run(10);
        assert_eq!(settled_at(&run), Some(10));
        run.status = RunStatus::Interrupted;
        assert_eq!(settled_at(&run), None);
        assert!(looked_at(&run).unwrap().contains("stopped after 10"));
    }

    #[test]
    fn budget_and_turns_are_told() {
        let mut run = looked_at_run(7);
        run.header.stopping = Stopping {
            looks: None,
            budget: Some(Nanos::secs(600)),
        };
        run.header.paired = Some(Paired {
            with: "other".to_owned(),
            side: Side::B,
            places: Vec::new(),
        });
        let found = sentences(&run);
        assert_eq!(
            found[0],
            "budget of 10 min 0 s: 7 trials of each out of 20 planned"
        );
        assert_eq!(found[1], "in turn with run other, as side B");
    }
}
