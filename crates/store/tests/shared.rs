//! Several users of one store at a time.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_store::Store;
use common::{Bed, header, owner, trial};
use std::sync::Barrier;
use std::thread;

const USERS: u32 = 6;
const TRIALS: u32 = 20;

on_both!(stores_that_create_and_fill_one_together_lose_nothing);

fn stores_that_create_and_fill_one_together_lose_nothing(bed: &Bed) {
    let location = bed.location();
    let start = Barrier::new(USERS as usize);
    thread::scope(|scope| {
        for user in 0..USERS {
            let (location, start) = (&location, &start);
            scope.spawn(move || {
                start.wait();
                let mut store = Store::open(location).unwrap();
                let run = format!("user{user}");
                store.begin_run(&header(&run, 1_000), &owner()).unwrap();
                for position in 0..TRIALS {
                    store.save_trial(&run, &trial(position)).unwrap();
                    Store::open_existing(location).unwrap().load(&run).unwrap();
                }
            });
        }
    });
    let store = Store::open_existing(&location).unwrap();
    for run in store.runs().unwrap() {
        let trials = store.load(&run.id).unwrap().run.trials;
        assert!(trials.into_iter().eq((0..TRIALS).map(trial)), "{}", run.id);
    }
    assert_eq!(store.runs().unwrap().len(), USERS as usize);
}
