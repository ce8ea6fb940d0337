//! `assay resume RUN`, and the checks of a stored run before it is resumed.

use crate::checks::admission::{self, DestroyArgs, Need};
use crate::checks::estimate;
use crate::commands::{Command, command_of, parse_stored};
use crate::driver::acts::{ActRun, all_slots, carry_out_slots};
use crate::driver::plans::{self, SoFarOfPlan, never_enough};
use crate::driver::records::{StreamTrials, entries};
use crate::driver::runs::Done;
use crate::driver::trials::SlotTalk;
use crate::driver::{Host, clear_leftovers, runs};
use crate::exit::{DONE, EXIT_CODES, Failure, Interrupts};
use crate::output::say;
use crate::rounds::stopper::{Rounds, enough_rounds, execute_jobs, time_used};
use crate::stored;
use crate::stored::KeepArgs;
use crate::stored::lookup::{StoreArgs, run_id, whole_run};
use crate::targets::OnArgs;
use assay_model::act::{Act, Acts, record_slots};
use assay_model::load::Load;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::text::clean;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Nanos;
use assay_model::wire::{Feature, Inspection};
use assay_store::Store;
use assay_target::Target;
use clap::Args;
use std::cell::Cell;
use std::process::ExitCode;

/// Parses the command that began the run from its stored arguments; `None` if they are no command.
///
/// # Errors
/// If this version does not accept the arguments.
pub fn began(run: &Run) -> Result<Option<Command>, Failure> {
    Ok(parse_stored(&run.header.command)?.and_then(|cli| cli.command))
}

/// Run that is to be resumed, and a connection to its target.
pub struct Resumed {
    /// Store that has the run.
    pub store: Store,
    /// Connection to the agent.
    pub host: Host,
    /// Run, which no process carries out.
    pub run: Run,
    /// `true` if the run gets more trials than the stored header has; it is stored once the storage
    /// is admitted.
    pub is_extended: bool,
}

impl Resumed {
    /// Finds a run, and cleans up after its process if that was killed.
    ///
    /// # Errors
    /// If the run began on another target, or is still under way.
    pub fn find(keep: &KeepArgs, name: &str, target: &mut dyn Target) -> Result<Self, Failure> {
        let mut store = keep.store.open_local()?;
        let id = run_id(&store, name)?;
        let run = whole_run(&store, &id)?;
        let acts = run.header.acts.as_deref();
        let of_acts = acts.and_then(|acts| Feature::of_acts(&acts.acts));
        let feature = Feature::of_jobs(&run.header.plan.jobs).or(of_acts);
        if let Some(feature) = feature {
            target.needs(feature);
        }
        let mut host = Host::start(target)?;
        is_on(&run, host.target())?;
        tell_of_builds(&run, &host);
        clear_leftovers(&mut host, &mut store, &run.header.plan.place)?;
        // Clearing leftovers marked a run whose owner is gone as interrupted.
        let run = whole_run(&store, &id)?;
        match run.status {
            RunStatus::Running => Err(still_under_way(&id)),
            _ => Ok(Self {
                store,
                host,
                run,
                is_extended: false,
            }),
        }
    }
}

/// Warns if other programs measure the rest of a run: its header names those that began it.
fn tell_of_builds(run: &Run, host: &Host) {
    if let (Some(began), Some(now)) = (&run.header.builds, &host.origin().builds)
        && began != now
    {
        say(&clean(&format!(
            "assay: run {} was begun by assay {} with agent {}, and goes on with assay {} and agent {}",
            run.header.id, began.host, began.agent, now.host, now.agent
        )));
    }
}

/// Inspects the storage of a run again and checks that it is the same. `began`: the flags that the
/// run was begun with, if they apply to the rest of it.
pub fn inspect(
    run: &Run,
    destroy: &DestroyArgs,
    began: Option<&DestroyArgs>,
    host: &mut Host,
) -> Result<Inspection, Failure> {
    let inspection = host.inspect(run.header.plan.place.path())?;
    let path = &inspection.path;
    let agreed = began.map_or(Ok(false), |began| {
        began.allow(path, |name| host.inspect(name))
    })?;
    let agreed = destroy.allow(path, |name| host.inspect(name))? || agreed;
    admission::admit(&inspection, Need::anything(agreed))?;
    admission::is_that_of(&run.header, &inspection, destroy)?;
    Ok(inspection)
}

/// Checks that a run is resumed on the target where it began.
///
/// # Errors
/// If it is another target.
pub fn is_on(run: &Run, target: Option<&str>) -> Result<(), Failure> {
    let began = run.header.target.as_deref();
    if began == target {
        return Ok(());
    }
    let id = &run.header.id;
    Err(Failure::usage(match began {
        Some(began) => format!("run {id} began on {began}: add --on {began}"),
        None => format!("run {id} began on this machine: leave out --on"),
    }))
}

/// Failure for a run that another process carries out.
pub fn still_under_way(id: &str) -> Failure {
    Failure::usage(format!("run {id} is still under way"))
}

/// Shows a run that has nothing left to do.
pub fn nothing_missing(run: &Run, json: bool) -> Result<ExitCode, Failure> {
    say(&format!(
        "assay: nothing is missing of run {}",
        run.header.id
    ));
    runs::present(run, json)?;
    Ok(DONE)
}

/// Message when the user asks to stop.
const STOPPING: &str = "stopping; finished steps are kept, and all settings are put back";

const EXAMPLES: &str = "\
Examples:
  assay resume last
  assay resume 3f2a --on ssh://root@board --destroy-data
";

/// `assay resume`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct ResumeArgs {
    /// Run that was interrupted: last, its name, or the first letters of its id.
    #[arg(value_name = "RUN")]
    pub run: String,
    #[command(flatten)]
    pub destroy: DestroyArgs,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Resumes a run on the target where it began.
pub fn run(
    args: &ResumeArgs,
    present: Present,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let keep = KeepArgs {
        store: args.store.clone(),
        ..KeepArgs::default()
    };
    let resumed = Resumed::find(&keep, &args.run, target)?;
    resume_run(resumed, &args.destroy, (args.json, present), target)
}

/// Shows a run whose trials are all there, as JSON or for a reader; returns the exit code.
pub type Present = fn(Done, bool) -> Result<ExitCode, Failure>;

/// Runs the missing trials of a run, and shows all of it.
///
/// # Errors
/// If the run cannot be resumed, or the storage is not that of the run.
pub fn resume_run(
    resumed: Resumed,
    destroy: &DestroyArgs,
    (json, present): (bool, Present),
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let Resumed {
        mut store,
        mut host,
        mut run,
        is_extended,
    } = resumed;
    is_resumable(&run)?;
    if run.status == RunStatus::Finished {
        return nothing_missing(&run, json);
    }
    let acts = run.header.acts.clone();
    let missing = match &acts {
        Some(acts) => Missing::of_acts(&mut run, acts)?,
        None => Missing::of_jobs(&mut run)?,
    };
    if missing.slots == 0 {
        return nothing_missing(&run, json);
    }
    inspect_again(destroy, &run, &mut host)?;
    if is_extended {
        store.extend_run(&run.header)?;
    }
    say(&format!(
        "assay: resumes run {}: {}",
        run.header.id, missing.words
    ));
    let done = match acts {
        None => jobs(run, store, host, target),
        Some(acts) => carry_out(run, store, host, &acts, missing.done, target),
    };
    present(done?, json)
}

/// Refuses runs that have a command of their own for this, or cannot be resumed.
fn is_resumable(run: &Run) -> Result<(), Failure> {
    let id = &run.header.id;
    let refused = |why: String| Err(Failure::usage(format!("run {id} {why}")));
    if command_of(&run.header.command) == "accept" {
        return refused(format!(
            "took turns with another: use assay accept --resume {id}"
        ));
    }
    if let Some(paired) = &run.header.paired {
        return refused(format!(
            "was measured in turn with {}: its blocks cannot be continued, so begin again",
            paired.with
        ));
    }
    // The words may be those of an older version, which need not parse.
    let words = &run.header.command;
    match command_of(words) {
        "soak" => return refused(format!("is a soak: use assay lab soak --resume {id}")),
        "powercut" => {
            return refused(format!(
                "cuts the power: use assay lab powercut --resume {id}"
            ));
        }
        // Runs from before composed runs.
        "qualify"
            if run.header.acts.is_none()
                && words.iter().any(|word| word.starts_with("--profile")) =>
        {
            return refused("does not store its scenarios: begin again".to_owned());
        }
        "replay" => {
            return refused("replays a trace, which is not stored: begin again".to_owned());
        }
        _ => {}
    }
    match run.header.acts.is_some() || is_of_jobs(words) {
        true => Ok(()),
        false => refused("does not store what it repeats: begin again".to_owned()),
    }
}

/// `true` if the plan of a run without acts has its jobs. Runs from before protocol 2 have no acts
/// either: the jobs in their plans only describe the steps of another command.
fn is_of_jobs(words: &[String]) -> bool {
    let repeated = words.iter().skip_while(|word| *word != "--").nth(1);
    match command_of(words) {
        "check" | "qualify" | "mark" | "ping" | "load-curve" => true,
        "sweep" => repeated.is_none_or(|command| command == "mark"),
        _ => false,
    }
}

/// Missing part of a run.
pub struct Missing {
    /// Number of missing slots.
    slots: usize,
    /// Number of slots that are done.
    pub done: usize,
    /// Description for the user.
    words: String,
}

impl Missing {
    /// Removes the trial that was interrupted.
    fn of_jobs(run: &mut Run) -> Result<Self, Failure> {
        run.trials
            .retain(|trial| trial.outcome != Outcome::Interrupted);
        let mut positions = (0..).zip(&run.trials);
        if !positions.all(|(at, trial)| trial.position == at) {
            return Err(has_gaps(run));
        }
        let plan = &run.header.plan;
        let (done, all) = (run.trials.len(), plan.order.len());
        let times = estimate::of_trials(plan);
        let left: u64 = times.iter().skip(done).map(|time| time.0).sum();
        let slots = all.saturating_sub(done);
        Ok(Self {
            slots,
            done,
            words: format!("{slots} of {all} trials are missing, about {}", Nanos(left)),
        })
    }

    /// Removes the trials of the last repetition, which may be incomplete.
    pub fn of_acts(run: &mut Run, acts: &Acts) -> Result<Self, Failure> {
        if let Some(Act::Copy(copy)) = acts.acts.first()
            && (copy.input.is_none() || copy.output.is_none())
        {
            return Err(Failure::usage(format!(
                "run {} copies a stream of a process that has ended: begin again",
                run.header.id
            )));
        }
        if record_slots(&acts.acts) {
            return Self::of_several(run, acts);
        }
        let of = |trial: &TrialRecord| (trial.trial, trial.condition.clone());
        let mut parts: Vec<&[TrialRecord]> = run.trials.chunk_by(|a, b| of(a) == of(b)).collect();
        parts.pop();
        let conditions = &run.header.plan.conditions;
        let mut planned = acts.slots.iter().map(|(slot, _)| {
            let condition = slot.condition.and_then(|index| conditions.get(index));
            (
                slot.trial,
                condition.map(|condition| condition.name.clone()),
            )
        });
        if !parts
            .iter()
            .all(|part| planned.next() == Some(of(&part[0])))
        {
            return Err(has_gaps(run));
        }
        let (done, all) = (parts.len(), acts.slots.len());
        let kept = parts.iter().map(|part| part.len()).sum();
        run.trials.truncate(kept);
        let slots = all - done;
        Ok(Self {
            slots,
            done,
            words: format!("{slots} of {all} repetitions are missing"),
        })
    }

    /// Removes the trials of a slot that is not whole, except for those of jobs.
    fn of_several(run: &mut Run, acts: &Acts) -> Result<Self, Failure> {
        let parts: Vec<&[TrialRecord]> = run.trials.chunk_by(|a, b| a.slot == b.slot).collect();
        let mut numbered = (0..).zip(&parts);
        let in_order = numbered.all(|(number, part)| part[0].slot == Some(number));
        if !in_order || parts.len() > acts.slots.len() {
            return Err(has_gaps(run));
        }
        let (mut done, mut kept) = (parts.len(), run.trials.len());
        if let Some(last) = parts.last() {
            let act = acts.slots[done - 1].0.job;
            let ended = |trial: &&TrialRecord| trial.outcome != Outcome::Interrupted;
            let ended = last.iter().take_while(ended).count();
            let is_whole = acts.steps.get(act) == Some(&ended);
            kept -= match acts.acts.get(act) {
                Some(Act::Jobs(_)) => last.len() - ended,
                _ if is_whole => 0,
                _ => last.len(),
            };
            done -= usize::from(!is_whole);
        }
        run.trials.truncate(kept);
        let (all, planned) = (acts.slots.len(), run.header.plan.order.len());
        let missing = planned.saturating_sub(kept);
        Ok(Self {
            slots: all - done,
            done,
            words: format!("{missing} of {planned} trials are missing"),
        })
    }
}

fn has_gaps(run: &Run) -> Failure {
    Failure::failed(format!(
        "run {} has gaps between its trials: it cannot be resumed",
        run.header.id
    ))
}

/// Inspects the storage again and checks that it is the same.
pub fn inspect_again(destroy: &DestroyArgs, run: &Run, host: &mut Host) -> Result<(), Failure> {
    let inspection = inspect(run, destroy, None, host)?;
    let (began, now) = (&run.header.system.kernel, &inspection.system.kernel);
    if began != now {
        let id = &run.header.id;
        say(&format!(
            "assay: warning: run {id} began under Linux {began}, and this is Linux {now}"
        ));
    }
    Ok(())
}

/// Runs the missing jobs.
fn jobs(
    run: Run,
    mut store: Store,
    mut host: Host,
    target: &mut dyn Target,
) -> Result<Done, Failure> {
    let Run { header, trials, .. } = run;
    store.reopen_run(&header.id, &stored::this_process(), trials.len())?;
    let executed = match header.plan.conditions.is_empty() {
        true => plans::execute(&mut host, &header, &mut store, trials, never_enough),
        false => execute_jobs(&mut host, &header, &mut store, trials),
    };
    plans::close(header, &mut store, executed, target)
}

/// Carries out the missing slots.
fn carry_out(
    run: Run,
    mut store: Store,
    mut host: Host,
    acts: &Acts,
    done: usize,
    target: &mut dyn Target,
) -> Result<Done, Failure> {
    let Run { header, trials, .. } = run;
    store.reopen_run(&header.id, &stored::this_process(), trials.len())?;
    if record_slots(&acts.acts) {
        let run = ActRun {
            done: (trials, done),
            ..ActRun::new(header.clone(), Some(store), acts)
        };
        let times = estimate::of_trials(&header.plan);
        return carry_out_slots(run, &header, &times, (&mut host, target));
    }
    let interrupt = host.obey_signals(Interrupts::Caught, || say(STOPPING))?;
    let mut talk = SlotTalk::new(done, acts.slots.len());
    let (stopping, messages) = (header.stopping.clone(), talk.messages.clone());
    let conditions = header.plan.conditions.len();
    let rounds = Rounds {
        conditions,
        slots: conditions,
        planned: acts.slots.last().map_or(0, |(slot, _)| slot.trial),
    };
    let mut sweep = enough_rounds(rounds, &stopping, time_used(&header, &trials));
    let mut enough = |header: &RunHeader, so_far: SoFarOfPlan<'_>| match conditions {
        0 => all_slots(header, so_far),
        _ => sweep(header, so_far, &messages),
    };
    let load = match acts.acts.first() {
        Some(Act::Streams(load)) => (**load).clone(),
        _ => Load::default(),
    };
    let streams = StreamTrials {
        entries: entries(&load),
        load: &load,
        replay: None,
        acts,
        mismatches: Cell::new(0),
    };
    let run = ActRun {
        done: (trials, done),
        of_streams: Some(Box::new(|report, number| streams.trials(report, number))),
        ..ActRun::new(header, Some(store), acts)
    };
    let done = run.carry_out(target, &mut host, &interrupt, &mut talk, &mut enough);
    talk.close();
    let mut done = done?;
    streams.note_mismatches(&mut done);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plans_of_jobs_are_resumed_without_acts() {
        let is_of_jobs = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            is_of_jobs(&words)
        };
        for words in [
            "assay qualify /mnt",
            "/usr/bin/assay sweep /mnt --vary scheduler=all",
            "assay sweep /mnt --vary scheduler=all -- mark",
        ] {
            assert!(is_of_jobs(words), "{words}");
        }
        for words in [
            "assay androbench /mnt",
            "assay run jobs.fio",
            "dd if=/dev/zero of=f",
            "assay sweep /mnt --vary scheduler=all -- dd if=/dev/zero of=f",
        ] {
            assert!(!is_of_jobs(words), "{words}");
        }
    }
}
