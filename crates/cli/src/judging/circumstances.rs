//! Differences in circumstances between two sides, which may cause differences of figures.

use crate::judging::units;
use crate::stored::lookup::FigureSource;
use assay_lang::{Told, in_english, key, tr, translated};
use assay_model::run::Run;
use assay_report::describe;
use assay_report::describe::looked_at;
use assay_report::words::enumerate;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a sentence for each circumstance that differs.
pub fn warnings(a: &[FigureSource], b: &[FigureSource]) -> Vec<Told> {
    Told::all(|| said(a, b))
}

fn said(a: &[FigureSource], b: &[FigureSource]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    warnings.extend(units::warnings("A", a).chain(units::warnings("B", b)));
    for (what, of) in FACTS {
        let facts = |side: &[FigureSource]| -> BTreeSet<String> {
            let runs = side.iter().filter_map(|source| source.run.as_deref());
            runs.filter_map(of).collect()
        };
        let (of_a, of_b) = (facts(a), facts(b));
        if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
            let words = |facts: BTreeSet<String>| facts.into_iter().collect::<Vec<_>>().join(", ");
            warnings.push(tr!(
                "{what} differs: {a} and {b}",
                what = translated(what),
                a = words(of_a),
                b = words(of_b)
            ));
        }
    }
    warnings.extend(looks(a.iter().chain(b)));
    if a.iter().chain(b).any(|source| source.run.is_none()) {
        warnings.push(
            tr!("results that were made elsewhere: what else differed between the sides is not known")
                .to_owned(),
        );
    }
    let notes: BTreeSet<&String> = a.iter().chain(b).flat_map(|source| &source.notes).collect();
    warnings.extend(notes.into_iter().cloned());
    warnings
}

/// Returns a sentence for each group of runs that were checked early in the same way.
fn looks<'a>(sources: impl Iterator<Item = &'a FigureSource>) -> Vec<String> {
    // Keys are English, so that the order is the same in every language.
    let mut alike: BTreeMap<Option<String>, (String, BTreeSet<&str>)> = BTreeMap::new();
    for run in sources.filter_map(|source| source.run.as_deref()) {
        if let Some(how) = looked_at(run) {
            let key = in_english(|| looked_at(run));
            let (_, runs) = alike.entry(key).or_insert((how, BTreeSet::new()));
            runs.insert(&run.header.id);
        }
    }
    let said = alike.into_values().map(|(how, runs)| {
        let names: Vec<&str> = runs.into_iter().collect();
        let runs = enumerate(&names);
        match names.len() {
            1 => tr!("{runs} was {how}", runs, how),
            _ => tr!("{runs} were {how}", runs, how),
        }
    });
    said.collect()
}

type Fact = (&'static str, fn(&Run) -> Option<String>);

/// Circumstances that are compared.
const FACTS: [Fact; 7] = [
    (key!("the kernel"), |run| {
        Some(run.header.system.kernel.clone())
    }),
    (key!("the version of assay"), |run| {
        Some(describe::build(run))
    }),
    (key!("the file system"), |run| {
        let mount = run.header.storage.mount.as_ref()?;
        Some(format!("{} ({})", mount.fs_type, mount.options.join(",")))
    }),
    (key!("how full the file system is"), fill),
    (key!("the scheduler"), |run| {
        let evidence = run
            .trials
            .iter()
            .find_map(|trial| trial.evidence.as_ref())?;
        evidence.queues.first()?.scheduler.clone()
    }),
    (key!("the device"), |run| {
        let identity = &run.header.storage.layers.first()?.identity;
        Some(identity.kind.to_string())
    }),
    (key!("the bus"), |run| {
        let layers = &run.header.storage.layers;
        layers.iter().find_map(|layer| layer.identity.bus.clone())
    }),
];

/// Describes the fill level of the file system in steps of 10 %: smaller differences have no effect.
fn fill(run: &Run) -> Option<String> {
    let storage = &run.header.storage;
    let (total, available) = (storage.total?.0, storage.available?.0);
    let tenth = 10 * total.saturating_sub(available) / total.max(1);
    Some(tr!("from {percent} % on", percent = 10 * tenth))
}
