//! What else is different between two sides: a difference of figures may come
//! from there.

use crate::figures::Source;
use assay_model::run::Run;
use assay_report::stopping::looked_at;
use assay_report::text::enumerate;
use std::collections::{BTreeMap, BTreeSet};

/// A sentence for each circumstance that differs.
pub fn warnings(a: &[Source], b: &[Source]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (what, of) in FACTS {
        let facts = |side: &[Source]| -> BTreeSet<String> {
            let runs = side.iter().filter_map(|source| source.run.as_deref());
            runs.filter_map(of).collect()
        };
        let (of_a, of_b) = (facts(a), facts(b));
        if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
            let words = |facts: BTreeSet<String>| facts.into_iter().collect::<Vec<_>>().join(", ");
            warnings.push(format!(
                "{what} differs: {} and {}",
                words(of_a),
                words(of_b)
            ));
        }
    }
    warnings.extend(looks(a.iter().chain(b)));
    if a.iter().chain(b).any(|source| source.run.is_none()) {
        warnings.push(
            "results that were made elsewhere: what else differed between the sides is not known"
                .to_owned(),
        );
    }
    let notes: BTreeSet<&String> = a.iter().chain(b).flat_map(|source| &source.notes).collect();
    warnings.extend(notes.into_iter().cloned());
    warnings
}

/// A sentence for all runs that were looked at in the same way.
fn looks<'a>(sources: impl Iterator<Item = &'a Source>) -> Vec<String> {
    let mut alike: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for run in sources.filter_map(|source| source.run.as_deref()) {
        if let Some(how) = looked_at(run) {
            alike.entry(how).or_default().insert(&run.header.id);
        }
    }
    let said = alike.into_iter().map(|(how, runs)| {
        let names: Vec<&str> = runs.into_iter().collect();
        let verb = if names.len() == 1 { "was" } else { "were" };
        format!("{} {verb} {how}", enumerate(&names))
    });
    said.collect()
}

type Fact = (&'static str, fn(&Run) -> Option<String>);

/// What is looked at.
const FACTS: [Fact; 7] = [
    ("the kernel", |run| Some(run.header.system.kernel.clone())),
    ("the version of assay", |run| {
        Some(run.header.assay_version.clone())
    }),
    ("the file system", |run| {
        let mount = run.header.storage.mount.as_ref()?;
        Some(format!("{} ({})", mount.fs_type, mount.options.join(",")))
    }),
    ("how full the file system is", fill),
    ("the scheduler", |run| {
        let evidence = run
            .trials
            .iter()
            .find_map(|trial| trial.evidence.as_ref())?;
        evidence.queues.first()?.scheduler.clone()
    }),
    ("the device", |run| {
        let identity = &run.header.storage.layers.first()?.identity;
        Some(identity.kind.to_string())
    }),
    ("the bus", |run| {
        let layers = &run.header.storage.layers;
        layers.iter().find_map(|layer| layer.identity.bus.clone())
    }),
];

/// In steps of a tenth, for less has no effect.
fn fill(run: &Run) -> Option<String> {
    let storage = &run.header.storage;
    let (total, available) = (storage.total?.0, storage.available?.0);
    let tenth = 10 * total.saturating_sub(available) / total.max(1);
    Some(format!("from {} % on", 10 * tenth))
}
