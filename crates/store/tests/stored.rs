//! Stores that earlier versions wrote can still be read.
//!
//! `stored/` holds one small store per format, made once and never changed.
//! To add one after a change of the tables or of what a record holds: name it
//! below, run `cargo test -p assay-store --test stored -- --ignored` at the last
//! commit before the change, and check the new file in.

mod common;

use assay_model::annotation::Annotation;
use assay_store::Store;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The newest sample, and how the tests find it.
const NEWEST: &str = "v4.sqlite";
const SAMPLES: [&str; 5] = [
    "v1.sqlite",
    "v2.sqlite",
    "v2-clocks.sqlite",
    "v3.sqlite",
    NEWEST,
];

fn stored(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored");
    folder.join(name)
}

/// Format of a store: SQLite's user version, four bytes of the file's header.
fn format(path: &Path) -> u32 {
    let file = fs::read(path).expect("a store");
    u32::from_be_bytes(file[60..64].try_into().expect("four bytes"))
}

fn annotation() -> Annotation {
    Annotation {
        name: Some("before".to_owned()),
        tags: vec!["kernel=6.1".to_owned()],
        note: Some("cold".to_owned()),
    }
}

#[test]
fn each_format_has_a_sample_and_becomes_the_newest() {
    let (folder, _store) = common::store();
    let newest = format(&common::path(&folder));
    let formats: BTreeSet<u32> = SAMPLES.map(|name| format(&stored(name))).into();
    assert_eq!(formats, (1..=newest).collect());
    for name in SAMPLES {
        let folder = tempfile::tempdir().unwrap();
        let path = common::path(&folder);
        fs::copy(stored(name), &path).unwrap();
        drop(Store::open(&path).unwrap());
        assert_eq!(format(&path), newest, "{name}");
        let store = Store::open_existing(&path).unwrap();
        assert_eq!(store.find("old").unwrap().id(), "old", "{name}");
    }
}

#[test]
fn every_stored_format_is_read_whole() {
    for name in SAMPLES {
        // A copy: opening for writing brings a store to the newest format.
        let folder = tempfile::tempdir().unwrap();
        let path = common::path(&folder);
        fs::copy(stored(name), &path).unwrap();
        let store = Store::open(&path).unwrap();
        let loaded = store.load(store.find("old").unwrap().id()).unwrap();
        assert!(loaded.damaged.is_empty(), "{name}: {:?}", loaded.damaged);
        let run = loaded.run;
        assert_eq!(run.header, common::header("old", 1_000), "{name}");
        let mut expected = [common::trial(0), common::skipped(1)];
        if ["v1.sqlite", "v2.sqlite"].contains(&name) {
            // Not stored when these samples were written.
            for trial in &mut expected {
                if let Some(measured) = &mut trial.measured {
                    measured.read.clock_ns = None;
                }
            }
        }
        assert_eq!(run.trials, expected, "{name}");
        let noted = if ["v3.sqlite", NEWEST].contains(&name) {
            annotation()
        } else {
            Annotation::default()
        };
        assert_eq!(run.annotation, noted, "{name}");
        let imports = store.imports().unwrap();
        if name == "v1.sqlite" {
            assert!(imports.is_empty(), "there were none in that format");
        } else {
            let loaded = store.load_import(&imports[0].id).unwrap();
            assert_eq!(loaded, common::import("else", 2_000), "{name}");
        }
    }
}

#[test]
#[ignore = "writes a new sample, once per format"]
fn write_the_newest_sample() {
    let path = stored(NEWEST);
    assert!(!path.exists(), "{NEWEST} is never written again");
    let mut store = Store::open(&path).unwrap();
    store
        .begin_run(&common::header("old", 1_000), &common::owner())
        .unwrap();
    store.save_trial("old", &common::trial(0)).unwrap();
    store.save_trial("old", &common::skipped(1)).unwrap();
    store.save_import(&common::import("else", 2_000)).unwrap();
    store
        .annotate("old", |noted| *noted = annotation())
        .unwrap();
}
