//! Facts, series, changes and opinions: what is derived can be dropped, what users said stays.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::figures::{
    Better, ChangeSide, CircumstanceChange, FACTS_VERSION, FigureFacts, Opinion, OpinionState,
    RunFacts, SeriesChange, Turn, Unit,
};
use assay_model::run::RunStatus;
use assay_store::exchange::{Given, Part, Sink, Source};
use assay_store::{CheckedSeries, SeriesFilter, Store, StoredId};
use common::{Bed, header, owner};
use std::collections::BTreeMap;

on_both!(
    facts_become_points_of_series_and_are_not_asked_for_again,
    figures_that_cannot_be_points_of_their_own_spoil_no_other_run,
    saving_again_replaces_and_a_resumed_run_is_derived_again,
    changes_stand_until_the_points_differ,
    a_check_of_points_that_are_older_than_the_series_does_not_count,
    series_are_found_by_what_they_are_of,
    opinions_outlive_what_is_derived_and_the_last_one_counts,
    facts_that_come_with_a_run_are_not_derived_again,
    other_units_of_a_kind_are_found_by_their_newest_runs,
);

const KEY: &str = "00000000a001";
const OTHER: &str = "ffffffffffff";

fn figure(key: &str, metric: &str, centre: f64) -> FigureFacts {
    FigureFacts {
        series: key.to_owned(),
        job: "rand-read".to_owned(),
        job_hash: "0123456789ab".to_owned(),
        condition: String::new(),
        metric: metric.to_owned(),
        label: "device".to_owned(),
        unit: Unit::Iops,
        better: Some(Better::Higher),
        primary: metric == "read_iops",
        tail: false,
        n: 2,
        centre,
        samples: vec![centre, 0.1 + 0.2],
    }
}

fn facts(run: &str, started_unix_ms: u64) -> RunFacts {
    RunFacts {
        evidence: Vec::new(),
        version: FACTS_VERSION,
        run: run.to_owned(),
        started_unix_ms,
        project: "default".to_owned(),
        target: "board-1".to_owned(),
        model: "eMMC 100%_X".to_owned(),
        series_unit: None,
        surroundings: BTreeMap::from([("kernel".to_owned(), "6.1".to_owned())]),
        figures: vec![figure(KEY, "read_iops", 5.0), figure(OTHER, "read_bw", 7.0)],
    }
}

fn ended(store: &mut Store, run: &str, started: u64) {
    store.begin_run(&header(run, started), &owner()).unwrap();
    store
        .finish_run(run, &RunStatus::Finished, started + 10)
        .unwrap();
}

fn change(run: &str) -> SeriesChange {
    SeriesChange {
        run: run.to_owned(),
        before_run: "a".to_owned(),
        started_unix_ms: 2_000,
        found_unix_ms: 4_000,
        turn: Turn::Slower,
        effect_percent: Some(-8.25),
        effect_interval: Some((-9.0, -7.5)),
        before: ChangeSide {
            runs: 1,
            centre: 5.0,
        },
        after: ChangeSide {
            runs: 3,
            centre: 4.5,
        },
        p: 0.000_1,
        events: vec![CircumstanceChange {
            circumstance: "firmware".to_owned(),
            before: "1".to_owned(),
            after: "2".to_owned(),
        }],
        method: "e-divisive/1".to_owned(),
        accepted: false,
    }
}

/// Marks every series as checked, with a change in the first.
fn check(store: &mut Store) {
    for group in store.unchecked_series().unwrap() {
        for series in group {
            let points = store.points(&series.key).unwrap();
            let changes = match series.key == KEY && points.len() > 1 {
                true => vec![change(&points[1].run)],
                false => Vec::new(),
            };
            let checked = CheckedSeries {
                key: &series.key,
                points: &points,
                changes,
            };
            store.save_changes(&[checked]).unwrap();
        }
    }
}

fn keys(store: &Store, filter: &SeriesFilter) -> Vec<String> {
    let series = store.series(filter).unwrap().into_iter();
    series.map(|series| series.key).collect()
}

fn facts_become_points_of_series_and_are_not_asked_for_again(bed: &Bed) {
    let mut store = bed.open();
    for (run, started) in [("b", 2_000), ("a", 1_000)] {
        ended(&mut store, run, started);
    }
    store.begin_run(&header("c", 3_000), &owner()).unwrap();
    assert_eq!(store.runs_without_facts(1, 9).unwrap(), ["a", "b"]);
    let none = facts("gone", 1);
    let all = [facts("b", 2_000), facts("a", 1_000), none];
    store.save_facts(&all).unwrap();
    assert!(
        store
            .runs_without_facts(FACTS_VERSION, 9)
            .unwrap()
            .is_empty()
    );
    let newer = store.runs_without_facts(FACTS_VERSION + 1, 9).unwrap();
    assert_eq!(newer, ["a", "b"]);

    let points = store.points(KEY).unwrap();
    let runs: Vec<&str> = points.iter().map(|point| point.run.as_str()).collect();
    assert_eq!(runs, ["a", "b"]);
    assert_eq!(points[0].samples, [5.0, 0.1 + 0.2]);
    let unchecked = store.unchecked_series().unwrap();
    assert_eq!(unchecked.len(), 1, "metrics of one job are one group");
    assert_eq!(unchecked[0].len(), 2);
    let known = store.circumstances(&["a", "gone"]).unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!(known["a"]["kernel"], "6.1");
}

/// A run with damaged or foreign figures is stored, and the figures of other runs are still derived.
fn figures_that_cannot_be_points_of_their_own_spoil_no_other_run(bed: &Bed) {
    let mut store = bed.open();
    for (run, started) in [("a", 1_000), ("b", 2_000), ("c", 3_000)] {
        ended(&mut store, run, started);
    }
    let mut odd = facts("b", 2_000);
    odd.figures.push(figure(KEY, "same as the first", 6.0));
    odd.figures.push(figure("no number", "nothing", 1.0));
    odd.figures.push(figure("nor this", "nothing", 2.0));
    odd.figures
        .push(figure("00000000a003", "infinite", f64::INFINITY));
    let mut nan = figure("00000000a004", "no number in it", 1.0);
    nan.samples.push(f64::NAN);
    odd.figures.push(nan);
    odd.model = "eMMC\0".to_owned();
    for all in [
        &[facts("a", 1_000), odd.clone(), facts("c", 3_000)][..],
        &[odd],
    ] {
        store.save_facts(all).unwrap();
        let points = store.points(KEY).unwrap();
        let centres: Vec<f64> = points.iter().map(|point| point.centre).collect();
        assert_eq!(centres, [5.0, 5.0, 5.0], "the first counts");
        for series in store.unchecked_series().unwrap().iter().flatten() {
            store.points(&series.key).unwrap();
        }
        let none = store.runs_without_facts(FACTS_VERSION, 9).unwrap();
        assert!(none.is_empty(), "{none:?}");
    }
}

fn saving_again_replaces_and_a_resumed_run_is_derived_again(bed: &Bed) {
    let mut store = bed.open();
    ended(&mut store, "a", 1_000);
    store.save_facts(&[facts("a", 1_000)]).unwrap();
    let mut again = facts("a", 1_000);
    again.figures.truncate(1);
    store.save_facts(&[again]).unwrap();
    assert_eq!(store.points(KEY).unwrap().len(), 1);
    check(&mut store);
    assert_eq!(keys(&store, &SeriesFilter::default()), [KEY]);
    store.finish_run("a", &RunStatus::Finished, 99_000).unwrap();
    assert_eq!(store.runs_without_facts(1, 9).unwrap(), ["a"]);
}

fn changes_stand_until_the_points_differ(bed: &Bed) {
    let mut store = bed.open();
    for (run, started) in [("a", 1_000), ("b", 2_000)] {
        ended(&mut store, run, started);
        store.save_facts(&[facts(run, started)]).unwrap();
    }
    check(&mut store);
    assert!(store.unchecked_series().unwrap().is_empty());
    let changes = store.changes(&SeriesFilter::default()).unwrap();
    assert_eq!(changes.len(), 1);
    let (series, found) = &changes[0];
    assert_eq!((series.key.as_str(), found), (KEY, &change("b")));
    assert_eq!((series.runs, series.last_unix_ms), (2, 2_000));
    assert_eq!(store.changes_of(KEY).unwrap(), [change("b")]);

    ended(&mut store, "c", 3_000);
    store.save_facts(&[facts("c", 3_000)]).unwrap();
    assert_eq!(store.unchecked_series().unwrap()[0].len(), 2);
    check(&mut store);
    store
        .remove(&[StoredId::Run("c".to_owned())], |_| false)
        .unwrap();
    assert_eq!(store.points(KEY).unwrap().len(), 2);
    assert_eq!(store.unchecked_series().unwrap().len(), 1);
}

fn a_check_of_points_that_are_older_than_the_series_does_not_count(bed: &Bed) {
    let mut store = bed.open();
    ended(&mut store, "a", 1_000);
    store.save_facts(&[facts("a", 1_000)]).unwrap();
    let seen = store.points(KEY).unwrap();
    ended(&mut store, "b", 2_000);
    store.save_facts(&[facts("b", 2_000)]).unwrap();
    let checked = CheckedSeries {
        key: KEY,
        points: &seen,
        changes: Vec::new(),
    };
    store.save_changes(&[checked]).unwrap();
    assert_eq!(store.unchecked_series().unwrap().len(), 1);
}

fn series_are_found_by_what_they_are_of(bed: &Bed) {
    let mut store = bed.open();
    ended(&mut store, "a", 1_000);
    store.save_facts(&[facts("a", 1_000)]).unwrap();
    check(&mut store);
    let filter = |edit: fn(&mut SeriesFilter)| {
        let mut filter = SeriesFilter::default();
        edit(&mut filter);
        keys(&store, &filter)
    };
    let both = [OTHER, KEY];
    assert_eq!(filter(|_| ()), both);
    assert_eq!(filter(|f| f.device = Some("emmc 100%_x".to_owned())), both);
    assert_eq!(filter(|f| f.device = Some("BOARD".to_owned())), both);
    assert_eq!(filter(|f| f.device = Some("100%%X".to_owned())), [""; 0]);
    assert_eq!(filter(|f| f.job = Some("rand*".to_owned())), both);
    assert_eq!(filter(|f| f.job = Some("rand".to_owned())), [""; 0]);
    assert_eq!(filter(|f| f.job = Some("rand_read".to_owned())), [""; 0]);
    assert_eq!(filter(|f| f.metric = Some("read_bw".to_owned())), [OTHER]);
    assert_eq!(filter(|f| f.key = Some("0000".to_owned())), [KEY]);
    assert_eq!(filter(|f| f.project = Some("other".to_owned())), [""; 0]);
    assert_eq!(filter(|f| f.since_unix_ms = Some(1_000)), both);
    assert_eq!(filter(|f| f.since_unix_ms = Some(1_001)), [""; 0]);
    assert_eq!(filter(|f| f.only_primary = true), [KEY]);
    assert_eq!(filter(|f| f.job = Some("' OR 1=1 --".to_owned())), [""; 0]);
}

fn opinions_outlive_what_is_derived_and_the_last_one_counts(bed: &Bed) {
    let mut store = bed.open();
    ended(&mut store, "a", 1_000);
    store.save_facts(&[facts("a", 1_000)]).unwrap();
    check(&mut store);
    let opinion = |state, at_unix_ms| Opinion {
        series: KEY.to_owned(),
        run: "a".to_owned(),
        state,
        note: "new kernel".to_owned(),
        author: "kim".to_owned(),
        at_unix_ms,
    };
    store
        .save_opinion(&opinion(OpinionState::False, 20))
        .unwrap();
    // The clock of who said it first may be ahead.
    store
        .save_opinion(&opinion(OpinionState::Accepted, 10))
        .unwrap();
    assert_eq!(store.unchecked_series().unwrap().len(), 1);
    store.drop_derived().unwrap();
    assert!(store.series(&SeriesFilter::default()).unwrap().is_empty());
    assert_eq!(store.runs_without_facts(1, 9).unwrap(), ["a"]);
    let kept = store.opinions(Some(KEY)).unwrap();
    assert_eq!(kept, [opinion(OpinionState::Accepted, 21)]);
    assert!(store.opinions(Some(OTHER)).unwrap().is_empty());
    assert_eq!(store.opinions(None).unwrap().len(), 1);
}

fn facts_that_come_with_a_run_are_not_derived_again(bed: &Bed) {
    let ((_folder, mut from), mut to) = (common::store(), bed.open());
    let ids = ["a", "b"].map(str::to_owned);
    for id in &ids {
        ended(&mut from, id, 1_000);
    }
    let mut parcels = Vec::new();
    for given in from.give(&ids, Part::Whole).unwrap() {
        if let Given::Parcel(parcel) = given {
            parcels.push(*parcel);
        }
    }
    parcels[0].facts = Some(facts("a", 1_000));
    to.take(parcels, false).unwrap();
    assert_eq!(to.runs_without_facts(FACTS_VERSION, 9).unwrap(), ["b"]);
    assert_eq!(to.points(KEY).unwrap().len(), 1);
    to.save_facts(&[facts("b", 1_000)]).unwrap();
    assert_eq!(to.runs_without_facts(FACTS_VERSION, 9).unwrap(), [""; 0]);
}

fn other_units_of_a_kind_are_found_by_their_newest_runs(bed: &Bed) {
    let mut store = bed.open();
    let mut save = |run: &str, started: u64, edit: &dyn Fn(&mut RunFacts)| {
        ended(&mut store, run, started);
        let mut facts = facts(run, started);
        let known = [("unit", run), ("bus", "HS400")];
        let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
        facts.surroundings.extend(known);
        edit(&mut facts);
        store.save_facts(&[facts]).unwrap();
    };
    for (at, run) in (1..).zip(["a", "b", "c", "d", "e"]) {
        save(run, at * 1_000, &|_| {});
    }
    save("own", 9_000, &|_| {});
    let unit = |facts: &mut RunFacts| {
        facts
            .surroundings
            .insert("unit".to_owned(), "own".to_owned())
    };
    save("again", 9_100, &|facts| drop(unit(facts)));
    let bus = |facts: &mut RunFacts| {
        facts
            .surroundings
            .insert("bus".to_owned(), "HS200".to_owned())
    };
    save("slow", 9_200, &|facts| drop(bus(facts)));
    save("nameless", 9_300, &|facts| {
        drop(facts.surroundings.remove("unit"))
    });
    save("another", 9_400, &|facts| {
        for (at, figure) in facts.figures.iter_mut().enumerate() {
            figure.series = format!("00000000b00{at}");
            "another".clone_into(&mut figure.job_hash);
        }
    });
    let found = |bus: &str, most: u32| {
        let figures = store.figures_of_kind("own", bus, "own", most).unwrap();
        let primary = figures.iter().filter(|figure| figure.metric == "read_iops");
        let mut runs: Vec<String> = primary.map(|figure| figure.unit.clone()).collect();
        assert_eq!(figures.len(), 2 * runs.len(), "all figures of each run");
        runs.sort();
        runs
    };
    assert_eq!(found("HS400", 250), ["a", "b", "c", "d", "e"]);
    assert_eq!(found("HS400", 2), ["d", "e"]);
    assert_eq!(found("HS200", 250), ["slow"]);
    assert!(found("", 250).is_empty());
    assert!(
        store
            .figures_of_kind("none", "HS400", "", 9)
            .unwrap()
            .is_empty()
    );
}
