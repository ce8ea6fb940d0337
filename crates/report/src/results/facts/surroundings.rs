//! Circumstances of a run, from its records.

use crate::results::describe;
use assay_model::evidence::{Evidence, QueueSettings, WriteCache};
use assay_model::facts::Circumstance;
use assay_model::run::{Run, RunHeader};
use assay_model::storage::DeviceIdentity;
use assay_model::unit::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// Names the measured machine.
pub(super) fn target(header: &RunHeader) -> String {
    let named = header.target.as_ref().or(header.system.hostname.as_ref());
    named.cloned().unwrap_or_default()
}

/// Returns the unit of a series, only if the manufacturer gave the device no name: devices of one
/// model are comparable.
pub(super) fn series_unit(header: &RunHeader) -> Option<String> {
    let device = header.storage.device();
    let named = device.is_some_and(|layer| layer.identity.model.is_some());
    unit(header).filter(|_| !named)
}

fn unit(header: &RunHeader) -> Option<String> {
    match Unit::of(header) {
        Unit::Device(words) | Unit::Named(words) => Some(words),
        Unit::Unknown => None,
    }
}

/// Returns every known circumstance by its name.
pub(super) fn all(run: &Run) -> BTreeMap<String, String> {
    let known = Circumstance::ALL
        .into_iter()
        .filter_map(|circumstance| Some((circumstance, value(run, circumstance)?)))
        .filter(|(_, value)| !value.is_empty());
    known
        .map(|(circumstance, value)| (circumstance.name().to_owned(), value))
        .collect()
}

fn value(run: &Run, circumstance: Circumstance) -> Option<String> {
    let header = &run.header;
    let system = &header.system;
    match circumstance {
        Circumstance::Unit => unit(header),
        Circumstance::Firmware => identity(header)?.firmware.clone(),
        Circumstance::Bus => bus(header),
        Circumstance::Kernel => Some(system.kernel.clone()),
        Circumstance::Scheduler => values(run, |evidence| {
            let scheduler = queue(run, evidence)?.scheduler.clone()?;
            Some(vec![scheduler])
        }),
        Circumstance::Governor => values(run, |evidence| {
            let cpus = evidence.before.cpus.iter();
            Some(cpus.filter_map(|cpu| cpu.governor.clone()).collect())
        }),
        Circumstance::WriteCache => values(run, |evidence| {
            let words = match queue(run, evidence)?.write_cache? {
                WriteCache::Back => "write back",
                WriteCache::Through => "write through",
            };
            Some(vec![words.to_owned()])
        }),
        Circumstance::FileSystem => {
            let mount = header.storage.mount.as_ref()?;
            Some(format!("{} ({})", mount.fs_type, mount.options.join(",")))
        }
        Circumstance::Machine => system.board.clone(),
        Circumstance::Cpu => {
            let model = system.cpu_model.as_deref().unwrap_or("CPU");
            (system.cpus > 0).then(|| format!("{model}, {} online", system.cpus))
        }
        Circumstance::Os => system.os.clone(),
        Circumstance::Assay => Some(describe::build(run)),
    }
}

fn identity(header: &RunHeader) -> Option<&DeviceIdentity> {
    Some(&header.storage.device()?.identity)
}

fn bus(header: &RunHeader) -> Option<String> {
    let own = identity(header).and_then(|identity| identity.bus.clone());
    let mut layers = header.storage.layers.iter();
    own.or_else(|| layers.find_map(|layer| layer.identity.bus.clone()))
}

/// Returns the queue settings of the device under test; for a partition, those of its disk.
fn queue<'a>(run: &Run, evidence: &'a Evidence) -> Option<&'a QueueSettings> {
    let device = run.header.storage.device()?;
    let mut queues = evidence.queues.iter();
    queues.find(|queue| queue.name == device.name)
}

/// Returns the values in the trials of a run, unique and sorted, because the order of trials is
/// random.
fn values(run: &Run, of: impl Fn(&Evidence) -> Option<Vec<String>>) -> Option<String> {
    let trials = run.trials.iter();
    let evidence = trials.filter_map(|trial| trial.evidence.as_ref());
    let values: BTreeSet<String> = evidence.filter_map(of).flatten().collect();
    (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(", "))
}
