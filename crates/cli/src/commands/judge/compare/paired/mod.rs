//! `assay compare --paired-on A B`: two targets measured in turn, then compared.

use super::{CompareArgs, Session, Setup, alpha_of_metric};
use crate::checks::estimate;
use crate::driver::announce::tell;
use crate::driver::plans::{self, Executed, Recorder, SlotDisplay, SoFarOfPlan};
use crate::driver::runs::Done;
use crate::driver::slot_talk::SlotTalk;
use crate::exit::{DONE, Failure};
use crate::judging::{NamedSide, present};
use crate::output::say;
use crate::rounds::acts::ReadCommand;
use crate::rounds::stopper::{ComparisonsSoFar, Spread, Stopper};
use crate::stored;
use crate::stored::lookup::FigureSource;
use crate::ui::progress::{Messages, Progress, Step, steps};
use assay_lang::tr;
use assay_model::figures::Side;
use assay_model::run::{Run, RunHeader};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_stats::verdict::compare::compare_figures;
use assay_stats::verdict::power::spreads;
use assay_stats::verdict::units::Standing;
use assay_target::Target;
use std::path::Path;
use std::process::ExitCode;

/// Measures two targets in turn and compares them.
pub fn run(
    args: &CompareArgs,
    paths: [&Path; 2],
    read: ReadCommand,
    mut targets: [Box<dyn Target>; 2],
) -> Result<ExitCode, Failure> {
    let store_path = args.shown.store.local_file()?;
    let mut setup = Setup::new(args, paths, read, &store_path, &mut targets)?;
    let annotations = [args.annotation.of_side("A")?, args.annotation.of_side("B")?];
    for annotation in &annotations {
        // Reports a name that is taken, before anything is stored.
        setup.store.annotate_next(annotation.clone())?;
    }
    tell(&setup.facts()?);
    for (header, annotation) in setup.headers.iter().zip(annotations) {
        setup.store.annotate_next(annotation)?;
        setup.store.begin_run(header, &stored::this_process())?;
    }
    let executed = measure(&mut setup)?;
    let untouched = executed.iter().all(|side| side.trials.is_empty());
    let refused = |side: &Executed| matches!(&side.ended, Err(failure) if failure.is_usage());
    if untouched && executed.iter().any(refused) {
        // An agent refused before anything ran: remove the empty runs.
        for header in &setup.headers {
            setup.store.forget_run(&header.id)?;
        }
        let ended = executed.into_iter().map(|side| side.ended.map(|_| DONE));
        return ended.collect::<Result<Vec<_>, _>>().map(|_| DONE);
    }
    let Setup {
        headers, mut store, ..
    } = setup;
    let [a, b] = headers;
    let [of_a, of_b] = executed;
    let [on_a, on_b] = &mut targets;
    let a = plans::close(a, &mut store, of_a, on_a.as_mut())?;
    let b = plans::close(b, &mut store, of_b, on_b.as_mut())?;
    conclude(args, a, b)
}

/// Shows the comparison; returns the exit code of a side that was stopped, else that of the gate.
fn conclude(args: &CompareArgs, a: Done, b: Done) -> Result<ExitCode, Failure> {
    let (id_a, id_b) = (&a.run.header.id, &b.run.header.id);
    say(&tr!(
        "Stored as runs {id_a} and {id_b}: assay compare {id_a} {id_b}",
        id_a,
        id_b
    ));
    let measured = |run: &Run| run.trials.iter().any(TrialRecord::counts);
    let gate = match measured(&a.run) && measured(&b.run) {
        true => present(&args.shown, (side(&a.run), side(&b.run))),
        false => Ok(DONE),
    };
    let [of_a, of_b] = [a, b].map(Done::conclude);
    // If one side failed, the other one was stopped; the failure gives the reason.
    match (of_a, of_b) {
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
        (Ok(DONE), Ok(DONE)) => gate,
        (Ok(DONE), Ok(code)) | (Ok(code), Ok(_)) => Ok(code),
    }
}

fn side(run: &Run) -> NamedSide {
    let source = FigureSource::of_run(run.clone());
    let path = run.header.plan.place.path().display();
    NamedSide {
        name: format!("{path} (run {})", run.header.id),
        ..NamedSide::of(source)
    }
}

/// Runs both plans in turn.
fn measure(setup: &mut Setup) -> Result<[Executed; 2], Failure> {
    let display = match &setup.acts {
        None => SlotDisplay::Jobs(Progress::new(in_turn(&setup.headers))),
        Some(_) => SlotDisplay::Acts(SlotTalk::new(0, setup.turns.len())),
    };
    let messages = display.messages().clone();
    let store = &mut setup.store;
    let mut recorder = Recorder { store, display };
    let [a, b] = &mut setup.hosts;
    let agents = vec![a.requests(), b.requests()];
    let [header_a, header_b] = &setup.headers;
    let acts = setup.acts.as_ref();
    let mut session = Session::new([a, b], [header_a, header_b], acts);
    let mut enough = enough(&setup.headers, (setup.trials, session.slots()), &messages);
    let ((), signal) = plans::interruptible(agents, &messages, |interrupt| {
        session.run(&setup.turns, &mut recorder, interrupt, &mut enough);
    })?;
    Ok(session.finish(signal))
}

/// Returns the trials of both sides, in the order of the session.
fn in_turn(headers: &[RunHeader; 2]) -> Vec<Step> {
    let mut all: Vec<(u32, Step)> = Vec::new();
    for (header, side) in headers.iter().zip(Side::BOTH) {
        let own = steps(&header.plan, &estimate::of_trials(&header.plan));
        for (position, step) in (0..).zip(own) {
            let step = Step {
                name: format!("{side}: {}", step.name),
                // The sides differ in speed, so each has its own kinds.
                kind: 2 * step.kind + side as usize,
                ..step
            };
            all.push((header.place_of(position), step));
        }
    }
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, step)| step).collect()
}

/// Returns a function that decides if both sides have enough trials; called when they have equally
/// many.
fn enough<'a>(
    headers: &'a [RunHeader; 2],
    (trials, slots): (u32, usize),
    messages: &'a Messages,
) -> impl FnMut([SoFarOfPlan<'_>; 2]) -> bool + 'a {
    let [header, _] = headers;
    let alpha = alpha_of_metric(header);
    // A block is two turns of each side.
    let mut stopper = Stopper::new(&header.stopping, alpha, trials, 2, Nanos(0));
    move |of_both| {
        // The first turn conditions the storage.
        let rounds = (of_both[0].slots / slots).saturating_sub(1);
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        stopper.is_enough(rounds, messages, || {
            found(headers, of_both.map(|side| side.trials))
        })
    }
}

/// Compares the trials so far in the same way as the final comparison.
fn found(headers: &[RunHeader; 2], trials: [&[TrialRecord]; 2]) -> ComparisonsSoFar {
    let a = of_trials(&headers[0], trials[0]);
    let b = of_trials(&headers[1], trials[1]);
    let options = Options {
        same_model: true,
        ..Options::of_run(&headers[0].stopping)
    };
    let standing = Standing::of_comparison(&compare_figures(&a, &b, &options));
    ComparisonsSoFar {
        standing,
        spread: Spread::of(spreads(&[a, b].concat())),
    }
}
