//! Names, tags and notes, and removing what has them.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;
use assay_store::{Owner, SomeTrials, Store, StoreError, StoredId};
use common::{Bed, header, import, owner, skipped, trial};
use std::fs;
use std::path::Path;

on_both!(
    what_is_given_to_the_next_run_is_its_and_no_others,
    a_name_stands_for_an_id_and_wins_over_the_beginning_of_one,
    a_name_is_of_one_run,
    a_run_whose_name_was_taken_meanwhile_is_not_begun,
    an_unknown_id_has_no_annotation,
    the_record_of_a_run_stays_as_it_was_written,
    removing_is_all_or_nothing,
    some_trials_of_a_run_are_read_alone,
);

fn named(name: &str) -> Annotation {
    Annotation {
        name: Some(name.to_owned()),
        tags: vec!["nightly".to_owned(), "x=1".to_owned()],
        note: Some("two\nlines".to_owned()),
    }
}

fn run(id: &str) -> StoredId {
    StoredId::Run(id.to_owned())
}

fn what_is_given_to_the_next_run_is_its_and_no_others(bed: &Bed) {
    let mut store = bed.open();
    store.annotate_next(named("base")).unwrap();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    store.begin_run(&header("abd2", 2_000), &owner()).unwrap();
    store.annotate_next(named("else")).unwrap();
    store.save_import(&import("imp3", 3_000)).unwrap();
    assert_eq!(store.load("abc1").unwrap().run.annotation, named("base"));
    assert!(store.load("abd2").unwrap().run.annotation.is_empty());
    assert_eq!(store.load_import("imp3").unwrap().annotation, named("else"));
    let runs = store.runs().unwrap();
    let listed: Vec<_> = runs
        .iter()
        .map(|run| run.annotation.name.as_deref())
        .collect();
    assert_eq!(listed, [None, Some("base")]);
    assert_eq!(store.imports().unwrap()[0].annotation, named("else"));
}

fn a_name_stands_for_an_id_and_wins_over_the_beginning_of_one(bed: &Bed) {
    let mut store = bed.open();
    for (id, started) in [("abc1", 1_000), ("xyz2", 2_000)] {
        store.begin_run(&header(id, started), &owner()).unwrap();
    }
    store
        .annotate("xyz2", |a| a.name = Some("abc".to_owned()))
        .unwrap();
    assert_eq!(store.find("abc").unwrap(), run("xyz2"));
    assert_eq!(store.find("abc1").unwrap(), run("abc1"), "a whole id wins");
    assert_eq!(
        store.find("ab").unwrap(),
        run("abc1"),
        "a name is not shortened"
    );
}

fn a_name_is_of_one_run(bed: &Bed) {
    let mut store = bed.open();
    store.annotate_next(named("base")).unwrap();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    store.begin_run(&header("abd2", 2_000), &owner()).unwrap();
    store.save_import(&import("imp3", 3_000)).unwrap();
    for taken in [
        store.annotate_next(named("base")).unwrap_err(),
        store.annotate("abd2", |a| *a = named("base")).unwrap_err(),
        store.annotate("imp3", |a| *a = named("base")).unwrap_err(),
    ] {
        assert!(
            taken
                .to_string()
                .starts_with("abc1 is called 'base' already"),
            "{taken}"
        );
    }
    assert!(
        store.annotation("abd2").unwrap().is_empty(),
        "nothing of it is kept"
    );
    let error = store.annotate("abd2", |a| *a = named("imp3")).unwrap_err();
    assert!(matches!(error, StoreError::NameTaken { .. }), "{error}");
    // Its own name is no obstacle.
    store.annotate("abc1", |a| a.add_tag("more")).unwrap();
    store.annotate("abc1", |a| a.name = None).unwrap();
    store.annotate("abd2", |a| *a = named("base")).unwrap();
    assert_eq!(store.find("base").unwrap(), run("abd2"));
}

fn a_run_whose_name_was_taken_meanwhile_is_not_begun(bed: &Bed) {
    let mut store = bed.open();
    store.annotate_next(named("base")).unwrap();
    let mut other = bed.open();
    other.annotate_next(named("base")).unwrap();
    other.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    let taken = store
        .begin_run(&header("abd2", 2_000), &owner())
        .unwrap_err();
    assert!(matches!(taken, StoreError::NameTaken { .. }), "{taken}");
    assert_eq!(store.runs().unwrap().len(), 1);
}

fn an_unknown_id_has_no_annotation(bed: &Bed) {
    let mut store = bed.open();
    let error = store.annotate("none", |a| *a = named("base")).unwrap_err();
    assert!(matches!(error, StoreError::NoSuchRun { .. }), "{error}");
    assert!(store.annotation("none").unwrap().is_empty());
}

fn the_record_of_a_run_stays_as_it_was_written(bed: &Bed) {
    let mut store = bed.open();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    store.save_trial("abc1", &trial(0)).unwrap();
    store.save_import(&import("imp3", 3_000)).unwrap();
    let rows = || {
        let record = bed.hex("record");
        [
            "SELECT header FROM runs".to_owned(),
            format!("SELECT {record} FROM trials"),
            format!("SELECT {record} FROM imports"),
        ]
        .map(|sql| bed.sql(&sql))
    };
    let before = rows();
    store.annotate("abc1", |a| *a = named("base")).unwrap();
    store.annotate("imp3", |a| *a = named("else")).unwrap();
    assert_eq!(rows(), before);
}

fn removing_is_all_or_nothing(bed: &Bed) {
    let mut store = bed.open();
    for id in ["abc1", "abd2"] {
        store
            .annotate_next(named(&format!("name of {id}")))
            .unwrap();
        store.begin_run(&header(id, 1_000), &owner()).unwrap();
        store.save_trial(id, &trial(0)).unwrap();
    }
    store.save_import(&import("imp3", 3_000)).unwrap();
    store
        .finish_run("abc1", &RunStatus::Finished, 2_000)
        .unwrap();
    let imported = StoredId::Import("imp3".to_owned());
    let alive = |_: &Owner| true;
    let under_way = store
        .remove(&[run("abc1"), imported.clone(), run("abd2")], alive)
        .unwrap_err();
    assert!(
        under_way.to_string().contains("abd2 is under way"),
        "{under_way}"
    );
    let unknown = store
        .remove(&[run("abc1"), run("none")], alive)
        .unwrap_err();
    assert!(matches!(unknown, StoreError::NoSuchRun { .. }), "{unknown}");
    assert_eq!(store.load("abc1").unwrap().run.trials.len(), 1);
    assert_eq!(
        store.load("abc1").unwrap().run.annotation,
        named("name of abc1")
    );

    store.remove(&[run("abc1"), imported], alive).unwrap();
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 1);
    assert!(store.imports().unwrap().is_empty());
    // One whose owner died is not under way.
    store.remove(&[run("abd2")], |_| false).unwrap();
    for table in ["runs", "trials", "imports", "annotations"] {
        let rows = bed.sql(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(rows, "0", "{table}");
    }
    assert_eq!(bed.sql("SELECT count(*) FROM tombstones"), "3");
}

#[test]
fn an_older_store_that_is_only_read_has_no_annotations() {
    let folder = tempfile::tempdir().unwrap();
    let path = common::path(&folder);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/v1.sqlite");
    fs::copy(sample, &path).unwrap();
    let store = Store::open_existing(&path).unwrap();
    assert!(store.runs().unwrap()[0].annotation.is_empty());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let version: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(
        version, 4,
        "one that may be written is brought to the newest format"
    );
}

fn some_trials_of_a_run_are_read_alone(bed: &Bed) {
    let mut store = bed.open();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    for saved in [trial(0), skipped(1), trial(2)] {
        store.save_trial("abc1", &saved).unwrap();
    }
    let positions = |wanted: SomeTrials| -> Vec<u32> {
        let loaded = store.load_some("abc1", |_| wanted).unwrap();
        loaded
            .run
            .trials
            .iter()
            .map(|trial| trial.position)
            .collect()
    };
    assert_eq!(positions(SomeTrials::Last), [2]);
    assert_eq!(
        positions(SomeTrials::OfJob("rand-read-4k".to_owned())),
        [0, 1, 2]
    );
    assert!(positions(SomeTrials::OfJob("other".to_owned())).is_empty());
    store.begin_run(&header("abc2", 2_000), &owner()).unwrap();
    store.save_trial("abc2", &trial(0)).unwrap();
    let ids = ["abc1", "gone", "abc2"];
    let several = store.load_several(&ids, |header| match &*header.id {
        "abc1" => SomeTrials::Last,
        _ => SomeTrials::All,
    });
    let mut several = several.unwrap();
    assert!(!several.contains_key("gone"));
    for (id, positions) in [("abc1", [2]), ("abc2", [0])] {
        let loaded = several.remove(id).unwrap().unwrap();
        let found = loaded.run.trials.iter().map(|trial| trial.position);
        assert_eq!(found.collect::<Vec<_>>(), positions, "{id}");
    }
}
