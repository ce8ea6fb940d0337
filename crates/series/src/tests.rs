use crate::{Refreshed, rebuild, refresh};
use assay_model::figures::{
    Better, FACTS_VERSION, FigureFacts, Opinion, OpinionState, RunFacts, SeriesChange, Turn, Unit,
};
use assay_model::plan::{Place, Plan};
use assay_model::run::{RunHeader, RunStatus, Stopping};
use assay_model::storage::{Storage, System};
use assay_model::units::Bytes;
use assay_store::{Owner, SeriesFilter, Store};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tempfile::TempDir;

const IOPS: &str = "00000000a001";
const TAIL: &str = "00000000a002";
const DAY_MS: u64 = 86_400_000;

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite").as_path()).unwrap();
    (folder, store)
}

fn header(id: &str, started_unix_ms: u64) -> RunHeader {
    RunHeader {
        id: id.to_owned(),
        started_unix_ms,
        assay_version: "0.1.0".to_owned(),
        builds: None,
        command: vec!["assay".to_owned(), "qualify".to_owned()],
        target: None,
        plan: Plan {
            run_id: id.to_owned(),
            seed: 1,
            place: Place::Memory,
            file_size: Bytes(0),
            jobs: Vec::new(),
            conditions: Vec::new(),
            restore: assay_model::condition::Restore::default(),
            order: Vec::new(),
        },
        system: System::default(),
        storage: Storage::main_memory(None),
        stopping: Stopping::default(),
        paired: None,
        claims: None,
        acts: None,
        unit: None,
        project: None,
    }
}

fn id(night: usize) -> String {
    format!("night{night:03}")
}

fn figure(key: &str, metric: &str, values: [f64; 3]) -> FigureFacts {
    let tail = key == TAIL;
    FigureFacts {
        series: key.to_owned(),
        job: "rand-read".to_owned(),
        job_hash: "0123456789ab".to_owned(),
        condition: String::new(),
        metric: metric.to_owned(),
        label: "device".to_owned(),
        unit: if tail { Unit::Nanos } else { Unit::Iops },
        better: Some(if tail { Better::Lower } else { Better::Higher }),
        primary: !tail,
        tail,
        n: 3,
        centre: values[1],
        samples: values.to_vec(),
    }
}

/// A night of a board: its firmware, and how fast it was.
fn night(night: usize, firmware: &str, iops: f64, tail_ns: f64) -> RunFacts {
    // A little noise, the same in every test.
    let noise = |seed: usize| 1.0 + ((night * 7 + seed * 3) % 11) as f64 / 2_000.0;
    let around = |value: f64| [1, 2, 3].map(|seed| value * noise(seed));
    RunFacts {
        evidence: Vec::new(),
        version: FACTS_VERSION,
        run: id(night),
        started_unix_ms: DAY_MS * night as u64,
        project: "default".to_owned(),
        target: "board-1".to_owned(),
        model: "eMMC X".to_owned(),
        series_unit: None,
        surroundings: BTreeMap::from([
            ("firmware".to_owned(), firmware.to_owned()),
            ("kernel".to_owned(), "6.1".to_owned()),
        ]),
        figures: vec![
            figure(IOPS, "read_iops", around(iops)),
            figure(TAIL, "read_lat_p99", around(tail_ns)),
        ],
    }
}

fn add(store: &mut Store, facts: &RunFacts) {
    let owner = Owner {
        pid: 1,
        boot_id: "b".to_owned(),
        start_ticks: 1,
    };
    let started = facts.started_unix_ms;
    store
        .begin_run(&header(&facts.run, started), &owner)
        .unwrap();
    store
        .finish_run(&facts.run, &RunStatus::Finished, started + 1)
        .unwrap();
    store.save_facts(std::slice::from_ref(facts)).unwrap();
}

fn refreshed(store: &mut Store) -> Refreshed {
    refresh(store, |_, _| ControlFlow::Continue(())).unwrap()
}

fn changes(store: &Store, key: &str) -> Vec<SeriesChange> {
    store.changes_of(key).unwrap()
}

/// Nights 1 to 8 at one speed, then 8 % slower with another firmware.
fn slower_from_night_nine(store: &mut Store, nights: usize) {
    for n in 1..=nights {
        let facts = match n < 9 {
            true => night(n, "1", 1000.0, 1e6),
            false => night(n, "2", 920.0, 1e6),
        };
        add(store, &facts);
    }
}

#[test]
fn a_slowdown_is_found_within_three_nights_with_its_event() {
    let (_folder, mut store) = store();
    slower_from_night_nine(&mut store, 10);
    assert_eq!(refreshed(&mut store).jobs, 1);
    assert!(changes(&store, IOPS).is_empty(), "two runs are too few");
    add(&mut store, &night(11, "2", 920.0, 1e6));
    refreshed(&mut store);
    let found = changes(&store, IOPS);
    assert_eq!(found.len(), 1);
    let change = &found[0];
    assert_eq!(
        (change.run.as_str(), change.turn),
        (id(9).as_str(), Turn::Slower)
    );
    assert!(change.is_open());
    assert_eq!(change.found_unix_ms, 11 * DAY_MS);
    let percent = change.effect_percent.unwrap();
    assert!((-9.0..-7.0).contains(&percent), "{percent}");
    assert_eq!(change.events.len(), 1, "{:?}", change.events);
    assert_eq!(change.events[0].circumstance, "firmware");
    assert!(changes(&store, TAIL).is_empty());
    assert_eq!(
        refreshed(&mut store),
        Refreshed::default(),
        "nothing is left to do"
    );
}

#[test]
fn what_is_new_does_not_depend_on_when_it_was_looked_for() {
    let (_folder, mut store) = store();
    slower_from_night_nine(&mut store, 20);
    refreshed(&mut store);
    assert_eq!(changes(&store, IOPS)[0].found_unix_ms, 11 * DAY_MS);
}

#[test]
fn an_accepted_change_stays_closed_and_a_false_one_disappears() {
    let (_folder, mut store) = store();
    slower_from_night_nine(&mut store, 14);
    refreshed(&mut store);
    let opinion = |state, at_unix_ms| Opinion {
        series: IOPS.to_owned(),
        run: id(9),
        state,
        note: String::new(),
        author: "kim".to_owned(),
        at_unix_ms,
    };
    store
        .save_opinion(&opinion(OpinionState::Accepted, 1))
        .unwrap();
    refreshed(&mut store);
    let found = changes(&store, IOPS);
    assert!(found.len() == 1 && found[0].accepted && !found[0].is_open());
    store
        .save_opinion(&opinion(OpinionState::False, 2))
        .unwrap();
    refreshed(&mut store);
    assert!(changes(&store, IOPS).is_empty());
    store.remove_opinion(IOPS, &id(9)).unwrap();
    refreshed(&mut store);
    assert!(changes(&store, IOPS)[0].is_open());
}

#[test]
fn a_tail_alone_is_no_change() {
    let (_folder, mut store) = store();
    for n in 1..=16 {
        let tail_ns = if n < 9 { 1e6 } else { 2e6 };
        add(&mut store, &night(n, "1", 1000.0, tail_ns));
    }
    refreshed(&mut store);
    assert!(changes(&store, TAIL).is_empty());
    let (_folder, mut store) = crate::tests::store();
    for n in 1..=16 {
        let (iops, tail_ns) = if n < 9 { (1000.0, 1e6) } else { (800.0, 2e6) };
        add(&mut store, &night(n, "1", iops, tail_ns));
    }
    refreshed(&mut store);
    assert_eq!(changes(&store, TAIL).len(), 1);
    assert!(changes(&store, TAIL)[0].events.is_empty());
}

/// Runs of this test have no trials, so that their facts have no figures.
#[test]
fn a_rebuild_derives_all_from_the_runs() {
    let (_folder, mut store) = store();
    slower_from_night_nine(&mut store, 12);
    refreshed(&mut store);
    let done = rebuild(&mut store, |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((done.runs, done.damaged), (12, 0));
    assert!(store.series(&SeriesFilter::default()).unwrap().is_empty());
    assert!(
        store
            .runs_without_facts(FACTS_VERSION, 1)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_refresh_that_ends_early_is_completed_by_the_next() {
    let (_folder, mut store) = store();
    slower_from_night_nine(&mut store, 12);
    let done = refresh(&mut store, |_, _| ControlFlow::Break(())).unwrap();
    assert_eq!(done.jobs, 0);
    assert_eq!(refreshed(&mut store).jobs, 1);
}
