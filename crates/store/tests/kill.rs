//! A trial whose save was acknowledged survives the death of the process.

mod common;

use assay_store::Store;
use common::{header, owner, trial};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

/// Set for the process that saves trials until it is killed.
const STORE: &str = "ASSAY_TEST_STORE_TO_FILL";
const RUN: &str = "ASSAY_TEST_RUN_TO_FILL";
const ROUNDS: usize = 25;

/// Saves trials without end, and says so after each.
#[test]
fn child_saves_trials() {
    let (Some(path), Ok(run)) = (std::env::var_os(STORE), std::env::var(RUN)) else {
        return;
    };
    let mut store = Store::open(Path::new(&path)).unwrap();
    store.begin_run(&header(&run, 1_000), &owner()).unwrap();
    for position in 0.. {
        store.save_trial(&run, &trial(position)).unwrap();
        eprintln!("saved {position}");
    }
}

#[test]
fn acknowledged_trials_survive_sigkill() {
    let folder = tempfile::tempdir().unwrap();
    let path = common::path(&folder);
    for round in 0..ROUNDS {
        let run = format!("run{round}");
        let mut child = assay_testkit::command(std::env::current_exe().unwrap())
            .args(["--exact", "child_saves_trials", "--nocapture"])
            .env(STORE, &path)
            .env(RUN, &run)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // Killed after a few acknowledgements, wherever it is by then.
        let mut acknowledged = lines.by_ref().take(1 + round % 5).count();
        child.kill().unwrap();
        child.wait().unwrap();
        // Those it still gave; the last line may be cut off.
        acknowledged += lines
            .map_while(Result::ok)
            .filter(|line| line.starts_with("saved "))
            .count();

        let loaded = Store::open(&path).unwrap().load(&run).unwrap();
        assert!(loaded.damaged.is_empty(), "round {round}");
        let stored = loaded.run.trials;
        assert!(
            stored.len() >= acknowledged,
            "round {round}: {acknowledged} were acknowledged, {} are there",
            stored.len()
        );
        for (position, stored) in (0..).zip(&stored) {
            assert_eq!(*stored, trial(position), "round {round}");
        }
    }
    let runs = Store::open_existing(&path).unwrap().runs().unwrap();
    assert_eq!(runs.len(), ROUNDS, "earlier runs are still there");
}
