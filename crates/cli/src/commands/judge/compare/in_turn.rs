//! `assay compare --in-turn`: two states of a machine, such as two kernels, whose runs are made by
//! turns over days and reboots. It needs only the tags of the stored runs.

use crate::exit::{DONE, Failure};
use crate::judging::{Judged, VerdictArgs, present_judged, units, wanted};
use crate::output::say;
use assay_lang::tr;
use assay_model::run::RunStatus;
use assay_stats::verdict::units::{RUNS, Standing};
use assay_store::RunSummary;
use std::process::ExitCode;

/// Judges the runs that have the tags, after the numbers of runs in [`RUNS`], and prints which run to
/// make next.
pub fn run(args: &VerdictArgs, tags: [&String; 2]) -> Result<ExitCode, Failure> {
    let mut runs = args.store.open_existing()?.runs()?;
    let has = |run: &RunSummary, tag: &String| run.annotation.tags.contains(tag);
    runs.retain(|run| run.status == RunStatus::Finished && tags.iter().any(|tag| has(run, tag)));
    runs.sort_by_key(|run| run.started_unix_ms);
    // A tag may have been used before, for another card.
    let place = |run: &RunSummary| (run.target.clone(), run.device.clone(), run.path.clone());
    let of_newest = runs.last().map(place);
    runs.retain(|run| Some(place(run)) == of_newest);
    let made = tags.map(|tag| runs.iter().filter(|run| has(run, tag)).count());
    let least = u32::try_from(made[0].min(made[1])).unwrap_or(u32::MAX);
    let look = RUNS.looks.iter().rev().find(|look| **look <= least);
    let Some(&look) = look else {
        let next = next(tags, made, false);
        let is_asked = wanted(args)?.is_some() || args.gate && !args.allow_unjudged;
        if is_asked {
            return Err(Failure::usage(tr!("nothing was judged yet. {next}", next)));
        }
        say(&next);
        return Ok(DONE);
    };
    let first = |tag: &String| -> Vec<&RunSummary> {
        let of_side = runs.iter().filter(|run| has(run, tag));
        of_side.take(look as usize).collect()
    };
    let sides = tags.map(first);
    if !are_in_turn(&sides) {
        return Err(Failure::usage(tr!(
            "no verdict: the runs of {of_a} and {of_b} were not made in turn, so a change of the machine over time would look like a difference; with other tags, measure A B B A",
            of_a = tags[0],
            of_b = tags[1]
        )));
    }
    let [a, b] = [0, 1].map(|side: usize| {
        let ids: Vec<String> = sides[side].iter().map(|run| run.id.clone()).collect();
        units(tags[side], &ids, &args.store)
    });
    let judged = Judged::of_stored((a?, b?), &args.terms, &args.store, Some(RUNS.alpha))?;
    let settled = Standing::of_comparison(judged.compared().comparison).is_settled();
    let code = present_judged(args, judged)?;
    say(&next(tags, made, settled));
    Ok(code)
}

/// Describes how many runs of each side there are, and which one to make next.
fn next(tags: [&String; 2], [a, b]: [usize; 2], settled: bool) -> String {
    let [of_a, of_b] = tags;
    let made = tr!("Runs made: {a} of {of_a}, {b} of {of_b}.", a, b, of_a, of_b);
    if settled || a.min(b) >= RUNS.last() as usize {
        return tr!(
            "{made} That is enough; for another question use other tags.",
            made
        );
    }
    let aim = RUNS.looks.iter().find(|look| **look as usize > a.min(b));
    let aim = aim.copied().unwrap_or_else(|| RUNS.last());
    // A B B A, so that a drift affects both alike.
    let is_a = if a == b { a % 2 == 0 } else { a < b };
    let tag = if is_a { of_a } else { of_b };
    tr!(
        "{made} The next look is at {aim} of each. The next run is one of {tag}: repeat the command with --tag {tag}",
        made,
        aim,
        tag
    )
}

/// Returns `true` if the mean positions of both sides' runs in the session differ by at most a quarter
/// of it, so that a drift is not taken for a difference.
fn are_in_turn(sides: &[Vec<&RunSummary>; 2]) -> bool {
    let started = |run: &&RunSummary| run.started_unix_ms;
    let mut order: Vec<u64> = sides.iter().flatten().map(started).collect();
    order.sort_unstable();
    let place = |run: &&RunSummary| order.partition_point(|start| *start < run.started_unix_ms);
    let [a, b] = [0, 1].map(|side: usize| {
        let places: usize = sides[side].iter().map(place).sum();
        places as f64 / sides[side].len() as f64
    });
    4.0 * (a - b).abs() <= order.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_those_of_a_b_b_a() {
        let (a, b) = ("old".to_owned(), "new".to_owned());
        let sides = |made| next([&a, &b], made, false);
        for (made, tag) in [
            ([0, 0], "old"),
            ([1, 0], "new"),
            ([1, 1], "new"),
            ([1, 2], "old"),
            ([2, 2], "old"),
            ([3, 2], "new"),
        ] {
            let said = sides(made);
            assert!(
                said.ends_with(&format!("with --tag {tag}")),
                "{made:?} {said}"
            );
        }
        assert!(sides([6, 6]).contains("That is enough"));
        assert!(next([&a, &b], [3, 3], true).contains("That is enough"));
    }
}
