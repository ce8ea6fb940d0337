//! A store with runs of every kind that ended at every step is usable by every command.

use crate::assay::{Bed, Ended, text, with_store};
use crate::back_ends::reader;
use crate::kinds::{self, Stage};
use assay_model::run::RunStatus;
use assay_store::{Owner, Store};
use assay_testkit::{Postgres, Unavailable, needs, or_skip};
use serde_json::Value;
use std::fs;

/// More steps are cut at the first ones alone, and at the last.
const STEPS: usize = 8;

/// Adds copies of all runs that ended after none of their steps, after the first, and so on. Their
/// ids, those of a kind together.
fn cut(bed: &Bed) -> Vec<Vec<String>> {
    let listed = bed.run(&["list", "--json"]).json();
    let runs = listed["runs"].as_array().expect("a list").iter();
    let ids: Vec<String> = runs
        .filter_map(|run| Some(run["id"].as_str()?.to_owned()))
        .collect();
    let mut store = Store::open_existing(bed.store().as_path()).expect("a store");
    let owner = Owner {
        pid: 1,
        boot_id: "another machine".to_owned(),
        start_ticks: 1,
    };
    let mut all = Vec::new();
    for id in ids {
        let run = store.load(&id).expect("it was stored").run;
        let last = run.trials.len();
        let mut copies = vec![id.clone()];
        for done in (0..=last).filter(|done| *done < STEPS || *done == last) {
            let mut header = run.header.clone();
            header.id = format!("{id}-{done}");
            header.plan.run_id.clone_from(&header.id);
            header.started_unix_ms += done as u64;
            store.begin_run(&header, &owner).expect("a new run");
            store
                .save_trials(&header.id, &run.trials[..done])
                .expect("its first trials");
            match done % 3 {
                0 => store.mark_interrupted(&header.id),
                1 => store.finish_run(&header.id, &RunStatus::Interrupted, 1),
                _ => {
                    let error = "the device went away".to_owned();
                    store.finish_run(&header.id, &RunStatus::Failed { error }, 1)
                }
            }
            .expect("it ends");
            copies.push(header.id);
        }
        all.push(copies);
    }
    all
}

fn asked(bed: &Bed, store: &str, words: &[&str], codes: &[i32]) -> Ended {
    let ended = with_store(bed, store, words);
    let code = ended.code.expect("no signal");
    assert!(
        codes.contains(&code),
        "{words:?} on {store}: {code}: {:#?}",
        ended.err
    );
    ended
}

/// Commands about a store as a whole; statements are asked as `reader`.
fn usable(bed: &Bed, store: &str, reader: &str, name: &str) {
    let ask = |words: &[&str], codes: &[i32]| asked(bed, store, words, codes);
    for _ in 0..2 {
        for words in [
            &["series"][..],
            &["series", "--all"],
            &["list"],
            &["list", "--json"],
        ] {
            ask(words, &[0]);
        }
        ask(&["series", "--gate", "--allow-unjudged"], &[0, 3]);
        let series = ask(&["series", "--all", "--json"], &[0]).json();
        let series = series["series"].as_array().expect("a list").clone();
        assert!(series.len() > 50, "{}", series.len());
        for one in series.iter().step_by(series.len() / 10) {
            ask(
                &["series", one["series"]["series"].as_str().expect("a key")],
                &[0],
            );
        }
        for view in ["runs", "trials", "figures", "evidence", "series", "changes"] {
            let statement = format!("SELECT count(*) FROM assay_{view}");
            asked(bed, reader, &["store", "query", &statement], &[0]);
        }
        let tables = bed.join(&format!("tables of {name}"));
        asked(
            bed,
            reader,
            &["store", "export", "--tidy", text(&tables)],
            &[0],
        );
        let _ = fs::remove_dir_all(tables);
        ask(&["store", "rebuild"], &[0]);
    }
}

/// Runs of every kind, cut short, and the ids of each kind.
fn filled() -> Result<(Bed, Vec<Vec<String>>), Unavailable> {
    let stage = Stage::new()?;
    let bed = Bed::new();
    for kind in kinds::all(&bed, &stage) {
        let words = kind.brief();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ended = bed.run(&words);
        assert_eq!(ended.code, Some(0), "{}: {:#?}", kind.name, ended.err);
    }
    let cut = cut(&bed);
    Ok((bed, cut))
}

#[test]
fn a_store_of_runs_that_ended_at_every_step_stays_usable() {
    needs!(root, "mkfs.ext4", "mkfs.ext2");
    let (bed, kinds) = or_skip!(filled());
    assert!(kinds.len() > 20, "{}", kinds.len());
    let store = bed.store().display().to_string();
    usable(&bed, &store, &store, "the first");
    for ids in &kinds {
        let whole = &ids[0];
        for (place, id) in ids.iter().enumerate() {
            asked(&bed, &store, &["report", id], &[0]);
            // Every second one: a page takes its time.
            if place % 2 == 0 {
                let page = bed.join("page.html");
                asked(&bed, &store, &["report", id, "-o", text(&page)], &[0]);
                // There may be nothing to compare or to rank.
                asked(&bed, &store, &["compare", whole, id], &[0, 2]);
                asked(&bed, &store, &["rank", id], &[0, 2]);
            }
        }
    }
    let second = bed.join("second.sqlite").display().to_string();
    let pushed = asked(
        &bed,
        &store,
        &["store", "push", "--all", "--to", &second, "--json"],
        &[0],
    );
    let pushed = pushed.json();
    let refused = &pushed["transfers"][0]["refused"];
    assert_eq!(refused.as_array().map(Vec::len), Some(0), "{refused}");
    usable(&bed, &second, &second, "the second");
    let count = |store: &str| -> Value {
        let words = [
            "store",
            "query",
            "SELECT count(*) AS n FROM assay_figures",
            "--format",
            "json",
        ];
        asked(&bed, store, &words, &[0]).json()
    };
    let third = bed.join("third.sqlite").display().to_string();
    asked(
        &bed,
        &third,
        &["store", "pull", "--all", "--from", &second],
        &[0],
    );
    assert_eq!(count(&third), count(&store));
    let server = or_skip!(Postgres::shared());
    let database = or_skip!(server.database());
    let url = server.url(&database);
    asked(
        &bed,
        &store,
        &["store", "push", "--all", "--to", &url],
        &[0],
    );
    let reader = reader(&server, &database);
    usable(&bed, &url, &reader, "the database");
    assert_eq!(count(&reader), count(&store));
}
