//! What was saved is what is read.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::figures::Side;
use assay_model::run::{Looks, Paired, RunHeader, RunStatus, Stopping};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Nanos;
use assay_store::{Owner, StoreError, StoredId};
use common::{Bed, header, owner, skipped, trial};

on_both!(
    a_run_and_its_trials_come_back_unchanged_and_in_order,
    what_may_end_a_run_and_its_turns_come_back,
    a_run_on_another_machine_is_listed_as_such,
    the_list_tells_how_far_each_run_came_newest_first,
    a_run_is_found_by_last_by_id_and_by_unique_prefix,
    of_two_runs_of_one_millisecond_the_later_is_last,
    a_damaged_trial_is_named_and_the_others_load,
    a_run_whose_owner_died_is_abandoned_until_marked,
    the_store_refuses_what_does_not_belong_to_a_run,
    only_a_run_without_trials_is_forgotten,
    a_run_that_is_gone_on_with_loses_only_its_interrupted_trial,
);

fn run(id: &str) -> StoredId {
    StoredId::Run(id.to_owned())
}

fn a_run_and_its_trials_come_back_unchanged_and_in_order(bed: &Bed) {
    let mut store = bed.open();
    let header = header("k3v9", 1_000);
    store.begin_run(&header, &owner()).unwrap();
    for saved in [trial(2), trial(0), skipped(1)] {
        store.save_trial("k3v9", &saved).unwrap();
    }
    let status = RunStatus::Failed {
        error: "the device went away".to_owned(),
    };
    store.finish_run("k3v9", &status, 2_000).unwrap();

    let loaded = store.load("k3v9").unwrap();
    assert!(loaded.damaged.is_empty());
    assert_eq!(loaded.run.header, header);
    assert_eq!(loaded.run.status, status);
    assert_eq!(loaded.run.finished_unix_ms, Some(2_000));
    assert_eq!(loaded.run.trials, [trial(0), skipped(1), trial(2)]);
}

fn what_may_end_a_run_and_its_turns_come_back(bed: &Bed) {
    let mut store = bed.open();
    let mut header = header("k3v9", 1_000);
    header.stopping = Stopping {
        looks: Some(Looks {
            at: vec![6, 10, 20],
            alpha: 0.0204,
            margin: 0.05,
            runs_all: false,
        }),
        budget: Some(Nanos::secs(1800)),
    };
    header.paired = Some(Paired {
        with: "other".to_owned(),
        side: Side::B,
        places: vec![1, 2, 3],
        turns: vec![0, 3],
    });
    store.begin_run(&header, &owner()).unwrap();
    assert_eq!(store.load("k3v9").unwrap().run.header, header);
}

fn a_run_on_another_machine_is_listed_as_such(bed: &Bed) {
    let mut store = bed.open();
    let target = Some("ssh://root@board".to_owned());
    let there = RunHeader {
        target: target.clone(),
        ..header("there", 1_000)
    };
    store.begin_run(&there, &owner()).unwrap();
    store.begin_run(&header("here", 2_000), &owner()).unwrap();
    let runs = store.runs().unwrap();
    let targets: Vec<_> = runs.into_iter().map(|run| run.target).collect();
    assert_eq!(targets, [None, target]);
}

fn the_list_tells_how_far_each_run_came_newest_first(bed: &Bed) {
    let mut store = bed.open();
    for (id, started) in [("old", 1_000), ("new", 3_000), ("mid", 2_000)] {
        store.begin_run(&header(id, started), &owner()).unwrap();
    }
    store.save_trial("mid", &trial(0)).unwrap();
    store
        .finish_run("old", &RunStatus::Finished, 1_500)
        .unwrap();

    let runs = store.runs().unwrap();
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["new", "mid", "old"]);
    assert_eq!((runs[1].trials_done, runs[1].trials_planned), (1, 3));
    assert_eq!(runs[1].status, RunStatus::Running);
    assert_eq!(runs[1].finished_unix_ms, None);
    assert_eq!(runs[2].status, RunStatus::Finished);
    assert_eq!(runs[2].finished_unix_ms, Some(1_500));
    assert_eq!(runs[0].path, "/mnt");
    assert_eq!(runs[0].device, "eMMC SanDisk DG4032, 29 GiB");
}

fn a_run_is_found_by_last_by_id_and_by_unique_prefix(bed: &Bed) {
    let mut store = bed.open();
    assert!(matches!(store.find("last"), Err(StoreError::Empty { .. })));
    for (id, started) in [("abc1", 2_000), ("abc123", 1_000), ("xyz", 1_000)] {
        store.begin_run(&header(id, started), &owner()).unwrap();
    }
    assert_eq!(store.find("last").unwrap(), run("abc1"));
    assert_eq!(store.find("x").unwrap(), run("xyz"));
    assert_eq!(
        store.find("abc1").unwrap(),
        run("abc1"),
        "a whole id wins over a prefix"
    );
    assert_eq!(store.find("abc12").unwrap(), run("abc123"));
    for nothing in ["", "q", "%", "ABC1", "abc1234"] {
        let error = store.find(nothing).unwrap_err();
        assert!(matches!(error, StoreError::NoSuchRun { .. }), "{error}");
    }
    let error = store.find("ab").unwrap_err();
    assert_eq!(
        error.to_string(),
        "'ab' fits 2 runs or imports (abc1, abc123): type more of the id"
    );
}

fn of_two_runs_of_one_millisecond_the_later_is_last(bed: &Bed) {
    let mut store = bed.open();
    store.begin_run(&header("zz", 1_000), &owner()).unwrap();
    store.begin_run(&header("aa", 1_000), &owner()).unwrap();
    assert_eq!(store.find("last").unwrap(), run("aa"));
}

fn a_damaged_trial_is_named_and_the_others_load(bed: &Bed) {
    let mut store = bed.open();
    store.begin_run(&header("k3v9", 1_000), &owner()).unwrap();
    for position in 0..3 {
        store.save_trial("k3v9", &trial(position)).unwrap();
    }
    // The end of the second record is lost.
    bed.sql("UPDATE trials SET record = substr(record, 1, length(record) / 2) WHERE position = 1");

    let loaded = store.load("k3v9").unwrap();
    assert_eq!(loaded.run.trials, [trial(0), trial(2)]);
    let messages: Vec<String> = loaded.damaged.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 1);
    assert!(
        messages[0].starts_with("trial 2 of job 'rand-read-4k' in run k3v9 is damaged"),
        "{messages:?}"
    );
}

fn a_run_whose_owner_died_is_abandoned_until_marked(bed: &Bed) {
    let mut store = bed.open();
    let other = Owner { pid: 9, ..owner() };
    store.begin_run(&header("dead", 1_000), &owner()).unwrap();
    store.begin_run(&header("alive", 2_000), &other).unwrap();
    store.begin_run(&header("done", 3_000), &owner()).unwrap();
    store
        .finish_run("done", &RunStatus::Finished, 4_000)
        .unwrap();

    let abandoned = store.abandoned_runs(|owner| *owner == other).unwrap();
    let ids: Vec<&str> = abandoned.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["dead"]);

    store.mark_interrupted("dead").unwrap();
    store.mark_interrupted("done").unwrap();
    let status = |id| store.load(id).unwrap().run.status;
    assert_eq!(status("dead"), RunStatus::Interrupted);
    assert_eq!(
        status("done"),
        RunStatus::Finished,
        "it had ended by itself"
    );
    assert!(store.abandoned_runs(|o| *o == other).unwrap().is_empty());
}

fn the_store_refuses_what_does_not_belong_to_a_run(bed: &Bed) {
    let mut store = bed.open();
    assert!(store.save_trial("none", &trial(0)).is_err());
    assert!(matches!(
        store.finish_run("none", &RunStatus::Finished, 1),
        Err(StoreError::NoSuchRun { .. })
    ));
    store.begin_run(&header("k3v9", 1_000), &owner()).unwrap();
    assert!(store.begin_run(&header("k3v9", 2_000), &owner()).is_err());
    store.save_trial("k3v9", &trial(0)).unwrap();
    assert!(store.save_trial("k3v9", &trial(0)).is_err());
}

fn only_a_run_without_trials_is_forgotten(bed: &Bed) {
    let mut store = bed.open();
    for id in ["empty", "full"] {
        store.begin_run(&header(id, 1_000), &owner()).unwrap();
    }
    store.save_trial("full", &trial(0)).unwrap();
    assert!(store.forget_run("full").is_err());
    store.forget_run("empty").unwrap();
    let runs = store.runs().unwrap();
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["full"]);
    assert!(store.forget_run("empty").is_err(), "it is gone");
}

fn a_run_that_is_gone_on_with_loses_only_its_interrupted_trial(bed: &Bed) {
    let mut store = bed.open();
    store.begin_run(&header("k3v9", 1_000), &owner()).unwrap();
    let cut = TrialRecord {
        outcome: Outcome::Interrupted,
        ..trial(2)
    };
    for saved in [trial(0), skipped(1), cut] {
        store.save_trial("k3v9", &saved).unwrap();
    }
    let ended = RunStatus::Interrupted;
    store.finish_run("k3v9", &ended, 2_000).unwrap();
    let another = Owner {
        pid: owner().pid + 1,
        ..owner()
    };
    store.reopen_run("k3v9", &another, 2).unwrap();

    let run = store.load("k3v9").unwrap().run;
    assert_eq!(run.trials, [trial(0), skipped(1)]);
    assert_eq!(
        (run.status, run.finished_unix_ms),
        (RunStatus::Running, None)
    );
    assert!(
        store
            .abandoned_runs(|owner| *owner == another)
            .unwrap()
            .is_empty()
    );
    store.save_trial("k3v9", &trial(2)).unwrap();
    assert!(matches!(
        store.reopen_run("other", &another, 0),
        Err(StoreError::NoSuchRun { .. })
    ));
}
