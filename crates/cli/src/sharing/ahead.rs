//! Transfer of runs with progress.

use crate::exit::Failure;
use crate::sharing::connection::{Connection, Direction};
use crate::ui::progress::Voice;
use assay_lang::tr;
use assay_report::facts;
use assay_store::Store;
use assay_store::exchange::{Parcel, Record, Transfer, TransferTally};
use std::thread;

/// Runs and imports to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every run and import that has ended.
    All,
    /// Runs and imports with these ids.
    These(Vec<String>),
}

/// Copies runs between the local store and another. The tally includes the runs that were copied
/// before a failure.
pub fn copy(
    direction: Direction,
    store: &mut Store,
    other: &mut Connection,
    which: &Which,
    again: bool,
) -> (TransferTally, Option<Failure>) {
    let voice = Voice::new();
    let of = match which {
        Which::All => 0,
        Which::These(ids) => ids.len(),
    };
    let mut tell = |tally: &TransferTally| {
        let seen = tally.seen();
        let added = tally.added.len();
        voice.show(seen, of.max(seen), &tr!("{added} copied", added));
    };
    let mut prepare = |parcels: &mut [Parcel]| match direction {
        Direction::Push => add_facts(parcels),
        Direction::Pull => {}
    };
    let (from, to) = match direction {
        Direction::Push => (
            store as &mut dyn assay_store::exchange::Source,
            other.sink(),
        ),
        Direction::Pull => (other.source(), store as _),
    };
    let mut tally = TransferTally::default();
    let mut transfer = Transfer {
        from,
        to,
        again,
        prepare: &mut prepare,
        tell: &mut tell,
    };
    let copied = match which {
        Which::All => transfer.everything(&mut tally),
        Which::These(ids) => transfer.these(ids, &mut tally),
    };
    voice.clear();
    let failure = copied.err().map(|error| other.failure(error));
    (tally, failure)
}

/// Derives the facts of runs on all cores: this takes longer than reading the runs.
fn add_facts(parcels: &mut [Parcel]) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let share = parcels.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        for some in parcels.chunks_mut(share) {
            let derive = move || some.iter_mut().for_each(add_facts_of);
            // If a thread cannot be started, its share is processed below.
            let _ = thread::Builder::new().spawn_scoped(scope, derive);
        }
    });
    let rest = parcels.iter_mut().filter(|parcel| parcel.facts.is_none());
    rest.for_each(add_facts_of);
}

fn add_facts_of(parcel: &mut Parcel) {
    if let Some(Record::Run(run)) = &parcel.record {
        parcel.facts = run.run().ok().map(|run| facts::of(&run));
    }
}
