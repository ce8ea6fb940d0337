//! Results that were made elsewhere.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::figures::Sample;
use assay_store::{StoreError, StoredId};
use common::{Bed, header, import, owner};

on_both!(
    an_import_comes_back_to_the_last_digit,
    no_value_changes_by_being_stored,
    runs_and_imports_share_their_ids,
    a_damaged_import_is_named_and_the_others_are_listed,
);

fn an_import_comes_back_to_the_last_digit(bed: &Bed) {
    let mut store = bed.open();
    let saved = import("k3v9", 1_000);
    store.save_import(&saved).unwrap();
    assert_eq!(store.load_import("k3v9").unwrap(), saved);
    let listed = store.imports().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].files, saved.files);
    assert_eq!((&*listed[0].tool, listed[0].figures), ("fio-3.33", 2));
    let missing = store.load_import("none").unwrap_err();
    assert!(matches!(missing, StoreError::NoSuchRun { .. }), "{missing}");
}

fn no_value_changes_by_being_stored(bed: &Bed) {
    let mut store = bed.open();
    let mut saved = import("k3v9", 1_000);
    saved.results.figures[0].sample = Sample::Values {
        values: (1..2_000)
            .map(|n| f64::from(n).sqrt() * 1e3 / 7.0)
            .collect(),
        positions: Vec::new(),
    };
    store.save_import(&saved).unwrap();
    assert_eq!(store.load_import("k3v9").unwrap(), saved);
}

fn runs_and_imports_share_their_ids(bed: &Bed) {
    let mut store = bed.open();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    store.save_import(&import("abd2", 2_000)).unwrap();
    let found = StoredId::Import("abd2".to_owned());
    assert_eq!(store.find("last").unwrap(), found);
    assert_eq!(store.find("abd").unwrap(), found);
    assert_eq!(store.find("abc").unwrap(), StoredId::Run("abc1".to_owned()));
    let error = store.find("ab").unwrap_err();
    assert_eq!(
        error.to_string(),
        "'ab' fits 2 runs or imports (abd2, abc1): type more of the id"
    );
    for taken in [
        store.save_import(&import("abc1", 3_000)).unwrap_err(),
        store
            .begin_run(&header("abd2", 3_000), &owner())
            .unwrap_err(),
    ] {
        assert!(matches!(taken, StoreError::Taken { .. }), "{taken}");
    }
    assert!(store.save_import(&import("abd2", 3_000)).is_err());
}

fn a_damaged_import_is_named_and_the_others_are_listed(bed: &Bed) {
    let mut store = bed.open();
    store.save_import(&import("k3v9", 1_000)).unwrap();
    bed.sql("UPDATE imports SET record = substr(record, 1, 3)");
    let error = store.load_import("k3v9").unwrap_err();
    assert!(
        error.to_string().starts_with("import k3v9 is damaged"),
        "{error}"
    );
    assert_eq!(store.imports().unwrap().len(), 1);
}
