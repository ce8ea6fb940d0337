//! Repetition of a work under each condition.

use super::{SweepArgs, schedule as planned_rounds};
use crate::driver::Host;
use crate::driver::acts::{self, Request, Sweep};
use crate::driver::announce::{announce_work, tell};
use crate::driver::plans::SoFarOfPlan;
use crate::driver::runs::{random, run_id};
use crate::driver::trials::SlotTalk;
use crate::exit::Failure;
use crate::rounds::stopper::{Rounds, enough_rounds};
use crate::rounds::{ActPlace, Cost, RepeatedAct, check_place};
use crate::ui::progress::Messages;
use crate::{rounds, stored};
use assay_model::condition::Condition;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::{RunHeader, Stopping};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::Inspection;
use assay_target::Target;
use std::process::ExitCode;

/// Message when the user asks to stop.
const STOPPING: &str = "stopping; finished steps are kept, and all settings are put back";

/// Place and conditions for the repetitions of a work.
pub struct Bed {
    /// The storage whose settings are varied.
    pub inspection: Inspection,
    /// Inspection that the work gets: with file systems that are made, a folder on the storage.
    pub bench: Inspection,
    /// Part of it that may be written.
    pub place: Place,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

impl Bed {
    fn act_place(&self) -> ActPlace<'_> {
        ActPlace {
            inspection: &self.inspection,
            bench: &self.bench,
            makes_file_systems: self.conditions.iter().any(Condition::makes_file_system),
        }
    }
}

/// Repeats a work under each condition.
pub fn run(
    args: &SweepArgs,
    tool: &RepeatedAct,
    bed: &Bed,
    mut host: Host,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let (work, _) = (tool.make)(&bed.bench)?;
    check_place(&mut host, &work, &bed.act_place())?;
    let store_path = args.shared.store.path()?;
    stored::keep_apart(&store_path, work.spec().writes())?;
    let (run_id, seed) = (run_id(), args.shared.seed.unwrap_or_else(random));
    let request = request(args, tool, bed, (run_id, seed), &mut host)?;
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    let acts = request.acts();
    let plan = request.plan(&acts);
    announce_work(
        &words.join(" "),
        &plan,
        acts.slots.len(),
        &bed.inspection,
        &store_path,
    );
    if let Some(sweep) = &request.sweep {
        tell(&rounds::facts(&sweep.ends, request.trials));
    }
    let mut talk = SlotTalk::new(0, acts.slots.len());
    let mut enough = enough(&request, talk.messages.clone());
    let (inspection, store) = (bed.inspection.clone(), &args.shared.store);
    let done = acts::execute(
        target,
        &mut host,
        inspection,
        &request,
        store,
        &mut talk,
        &mut enough,
    );
    talk.close();
    done?.present(args.shared.json)
}

/// Makes the request for the work; each condition was set once to check it.
fn request(
    args: &SweepArgs,
    tool: &RepeatedAct,
    bed: &Bed,
    (run_id, seed): (String, u64),
    host: &mut Host,
) -> Result<Request, Failure> {
    let path = &bed.inspection.path;
    let bench = Inspection {
        path: host.rehearse(&run_id, path, &bed.conditions, args.rounds.restore())?,
        ..bed.bench.clone()
    };
    let (work, steps) = (tool.make)(&bench)?;
    let schedule = planned_rounds(args, bed.conditions.len(), &Cost::UNKNOWN)?;
    Ok(Request {
        work,
        steps,
        trials: schedule.trials,
        seed,
        destroy_data: args.rounds.destroy.destroy_data.is_some(),
        place: bed.place.clone(),
        stopping: STOPPING,
        must_be_stored: true,
        sweep: Some(Sweep {
            run_id,
            conditions: bed.conditions.clone(),
            restore: args.rounds.restore(),
            job: Job::new(tool.name, Rw::Write, Bytes(0), Bytes(0)),
            ends: schedule.stopping,
        }),
    })
}

/// Returns a function that decides after each slot if the sweep may end.
fn enough<'a>(
    request: &'a Request,
    messages: Messages,
) -> impl FnMut(&RunHeader, SoFarOfPlan<'_>) -> bool + use<'a> {
    let sweep = request.sweep.as_ref();
    let conditions = sweep.map_or(1, |sweep| sweep.conditions.len());
    let rounds = Rounds {
        conditions,
        slots: conditions,
        planned: request.trials,
    };
    let stopping = sweep.map_or(&Stopping::NEVER, |sweep| &sweep.ends);
    let mut enough = enough_rounds(rounds, stopping, Nanos(0));
    move |header, so_far| enough(header, so_far, &messages)
}
