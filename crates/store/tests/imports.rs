//! Results that were made elsewhere.

mod common;

use assay_model::figures::Sample;
use assay_store::{StoreError, StoredId};
use common::{header, import, owner, store};

#[test]
fn an_import_comes_back_to_the_last_digit() {
    let (_folder, mut store) = store();
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

#[test]
fn no_value_changes_by_being_stored() {
    let (_folder, mut store) = store();
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

#[test]
fn runs_and_imports_share_their_ids() {
    let (_folder, mut store) = store();
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

#[test]
fn a_damaged_import_is_named_and_the_others_are_listed() {
    let (folder, mut store) = store();
    store.save_import(&import("k3v9", 1_000)).unwrap();
    let connection = rusqlite::Connection::open(common::path(&folder)).unwrap();
    connection
        .execute("UPDATE imports SET record = x'789c00'", [])
        .unwrap();
    let error = store.load_import("k3v9").unwrap_err();
    assert!(
        error.to_string().starts_with("import k3v9 is damaged"),
        "{error}"
    );
    assert_eq!(store.imports().unwrap().len(), 1);
}
