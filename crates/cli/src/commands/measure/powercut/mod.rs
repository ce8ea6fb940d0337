//! `assay powercut PATH --cut METHOD`: checks that every acknowledged write survives a power cut.
//!
//! Each cycle uses two agents. The one before the cut carries out an act that reports each write
//! before it begins and when it is acknowledged, and never ends by itself. The one after the cut
//! receives these reports from the host, and checks the data. The host's journal is authoritative:
//! a message is recorded before it has an effect. A new boot id proves the cut, and a cycle is
//! stored before the next one begins.

pub mod args;
mod cut;
mod cycle;
mod journal;
mod resume;
mod session;

use crate::checks::admission::{Need, admit, can_be_stored};
use crate::driver::announce::{held, tell};
use crate::driver::host::Host;
use crate::driver::plans::interleaved;
use crate::driver::runs::{self, header};
use crate::exit::Failure;
use crate::stored::owner;
use args::PowercutArgs;
use assay_model::job::{Job, Rw};
use assay_model::plan::{Place, Plan, PlannedJob};
use assay_model::units::Bytes;
use assay_model::wire::Feature;
use assay_model::work::powercut::{DurabilityKind, Powercut, Task};
use assay_target::Target;
use cut::Switch;
use cycle::Cycles;
use journal::Journal;
use session::Session;
use std::process::ExitCode;
use std::time::Duration;

/// Cuts the power of a target in cycles and checks the data after each.
///
/// # Errors
/// If acknowledged data is lost (exit code 4), or a cycle cannot be completed.
pub fn run(args: &PowercutArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let Some(run) = &args.resume {
        return resume::run(args, run, target);
    }
    let to = args.path()?;
    can_be_stored(to)?;
    let name = named(target)?;
    let switch = Switch::new(args.cut()?, args.restore.as_ref(), &name)?;
    target.needs(Feature::Sqlite);
    let path = args.shared.store.path()?;
    let mut host = Host::start(target)?;
    let mut inspection = host.inspect(to)?;
    let agreed = args
        .destroy
        .allow(&inspection.path, |name| host.inspect(name))?;
    let place = admit(&inspection, Need::written(agreed))?;
    tell(&Vec::from_iter(held(&inspection)));
    if let Some(mount) = &args.mount {
        // The file system under test does not exist at the path before it is mounted.
        inspection = host.inspect(&mount.device)?;
    }
    let work = work(args, &place)?;
    let seed = args.shared.seed.unwrap_or_else(runs::random);
    let header = header(plan(args, place, seed), inspection, host.origin());
    let mut store = args.shared.store.open(&path)?;
    store.begin_run(&header, &owner::this_process())?;
    let journal = Journal::create(&path, &header.id, work.kinds.len())?;
    let session = Session {
        cycles: cycles(args, target, work, switch, &header.id),
        destroy: args.destroy.clone(),
        journal,
        store,
        header,
        trials: Vec::new(),
    };
    session.run(args, args.shared.json, host)
}

/// Returns the name of a target other than this machine.
fn named(target: &dyn Target) -> Result<String, Failure> {
    target.name().ok_or_else(|| {
        Failure::usage("the power of this machine cannot be cut by itself: name a board with --on")
    })
}

/// Returns the parameters that all cycles share.
fn cycles<'a>(
    args: &PowercutArgs,
    target: &'a mut dyn Target,
    work: Powercut,
    switch: Switch,
    run_id: &str,
) -> Cycles<'a> {
    Cycles {
        target,
        work,
        switch,
        off_time: Duration::from_nanos(args.off_time.0),
        boot_timeout: Duration::from_nanos(args.boot_timeout.0),
        atomic: args.atomic.parse().unwrap_or(512),
        destroy_data: args.destroy.destroy_data.is_some(),
        run_id: run_id.to_owned(),
    }
}

/// Returns the work that writes.
fn work(args: &PowercutArgs, place: &Place) -> Result<Powercut, Failure> {
    let device = matches!(place, Place::Device { .. });
    let fits = |kind: &DurabilityKind| !device || kind.on_device();
    let mut kinds = args.ways.clone();
    if kinds.is_empty() {
        kinds = DurabilityKind::ALL.into_iter().filter(fits).collect();
    }
    kinds.sort_by_key(|kind| DurabilityKind::ALL.iter().position(|known| known == kind));
    kinds.dedup();
    if let Some(kind) = kinds.iter().find(|kind| !fits(kind)) {
        return Err(Failure::usage(format!(
            "{} needs a file system, and {} is a device",
            kind.name(),
            place.path().display()
        )));
    }
    if device && args.mount.is_some() {
        return Err(Failure::usage(
            "--mount is for a folder, and PATH is a device",
        ));
    }
    Ok(Powercut {
        path: place.path().to_owned(),
        device,
        kinds,
        mount: args.mount.clone(),
        task: Task::Write,
    })
}

/// Makes the plan of a run: a cycle is a trial of one job.
fn plan(args: &PowercutArgs, place: Place, seed: u64) -> Plan {
    let job = Job::new("cut", Rw::RandWrite, Bytes(4096), Bytes(0));
    let trials = args.cycles;
    interleaved(seed, place, Bytes(0), vec![PlannedJob { job, trials }])
}
