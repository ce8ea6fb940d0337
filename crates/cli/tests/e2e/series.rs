//! Series over many runs: a slower device is found, with what changed, accepted, and gates.

use crate::assay::{Bed, Running, text};
use assay_store::ROLES;
use assay_testkit::{Postgres, or_skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const PART: &str = include_str!("../../../flash/parts/emmc-8gb-hs400.toml");

/// A file of a part that reads so many microseconds slower. The model stays the same.
fn part(bed: &Bed, name: &str, command_us: f64) -> PathBuf {
    let file = bed.join(name);
    let slower = format!("[read]\ncommand_us = {command_us:.1}");
    assert!(PART.contains("[read]\ncommand_us = 180.0"));
    let part = PART.replace("[read]\ncommand_us = 180.0", &slower);
    fs::write(&file, part).expect("a part");
    file
}

/// So many runs of a part, in a project.
fn measure(bed: &Bed, part: &Path, runs: u64, project: &str) {
    let path = format!("sim:{},noise=3", text(part));
    for _ in 0..runs {
        let words = [
            "--only",
            "rand-read-4k",
            "--trials",
            "3",
            "--project",
            project,
        ];
        bed.qualify(Path::new(&path), &words).end().assert_code(0);
    }
}

fn json(bed: &Bed, words: &[&str]) -> Value {
    let ended = bed.run(words);
    ended.assert_code(0);
    ended.json()
}

/// The newest change of the series of that metric.
fn change(bed: &Bed, words: &[&str]) -> (String, Value) {
    let all = [&["series", "--json"], words].concat();
    let listed = json(bed, &all);
    let series = listed["series"].as_array().expect("a list");
    assert_eq!(series.len(), 1, "{listed:#}");
    let key = series[0]["series"]["series"].as_str().expect("a key");
    (key.to_owned(), series[0]["change"].clone())
}

#[test]
fn a_gate_of_who_only_reads_passes_no_run_that_is_in_no_series() {
    let server = or_skip!(Postgres::shared());
    let database = server.database().expect("a database");
    let url = server.url(&database);
    let bed = Bed::new();
    let (old, new) = (part(&bed, "old.toml", 180.0), part(&bed, "new.toml", 230.0));
    measure(&bed, &old, 8, "nightly");
    measure(&bed, &new, 8, "nightly");
    bed.run(&["store", "push", "--all", "--to", &url])
        .assert_code(0);
    server.sql(&database, ROLES).expect("roles");
    let reader = format!("reader_of_{database}");
    let role = format!("CREATE ROLE {reader} LOGIN IN ROLE assay_reader");
    server.sql(&database, &role).expect("a role");
    let with = |url: &str, words: &[&str]| {
        let all = [words, &["--store", url]].concat();
        Running::start(&mut bed.command_without_store(&all)).end()
    };
    let reader = server.url_of(&reader, &database);
    // Whoever pushed has looked for changes.
    with(&reader, &["series", "--gate"]).assert_code(3);
    let unchecked = "UPDATE series SET checked = -1; DELETE FROM changes";
    server.sql(&database, unchecked).expect("no changes");
    let gate = with(&reader, &["series", "--gate"]);
    gate.assert_code(1);
    assert!(gate.err.join(" ").contains("no verdict"), "{:?}", gate.err);
    let told = with(&reader, &["series"]);
    told.assert_code(0);
    assert!(
        told.err.join(" ").contains("not up to date"),
        "{:?}",
        told.err
    );
    let listed = with(&url, &["series", "--json"]);
    let run = listed.json()["series"][0]["change"]["run"].clone();
    let run = run.as_str().expect("a run");
    with(&reader, &["series", "--gate"]).assert_code(3);
    with(&url, &["series", "--accept", run]).assert_code(0);
    with(&reader, &["series", "--gate"]).assert_code(0);
}

#[test]
fn a_slower_device_is_found_named_accepted_and_gates() {
    let bed = Bed::new();
    let (old, new) = (part(&bed, "old.toml", 180.0), part(&bed, "new.toml", 230.0));
    measure(&bed, &old, 8, "nightly");
    let quiet = bed.run(&["series", "--gate"]);
    quiet.assert_code(0);
    assert!(quiet.out.contains("No open slowdowns."), "{}", quiet.out);
    measure(&bed, &new, 8, "nightly");

    let gate = bed.run(&["series", "--gate", "--since", "1h"]);
    gate.assert_code(3);
    // The answer comes last.
    let (_, answer) = gate.out.split_once("Answer").expect("an answer");
    assert!(
        answer.contains("1 slowdown that nobody accepted"),
        "{}",
        gate.out
    );
    assert!(
        answer.contains("new.toml"),
        "the unit is the event: {}",
        gate.out
    );

    let (key, found) = change(&bed, &["--project", "nightly"]);
    assert_eq!(found["verdict"], "slower");
    let percent = found["effect_pct"].as_f64().expect("an effect");
    assert!((-30.0..-5.0).contains(&percent), "{percent}");
    let events = found["events"].as_array().expect("events");
    assert!(events.iter().any(|event| event["circumstance"] == "unit"));
    let run = found["run"].as_str().expect("a run").to_owned();

    let trend = bed.run(&["series", "rand-read-4k iops"]);
    trend.assert_code(0);
    assert!(
        trend.out.contains(&run) && trend.out.contains("slower"),
        "{}",
        trend.out
    );
    let page = bed.join("trend.html");
    let written = bed.run(&["series", key.get(..6).expect("digits"), "-o", text(&page)]);
    written.assert_code(0);
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("<svg") && page.contains(&run));

    let accept = [
        "series", "--job", "rand-*", "--accept", &run, "--note", "new part",
    ];
    bed.run(&[&accept[..], &["--json"]].concat()).assert_code(2);
    bed.run(&accept).assert_code(0);
    bed.run(&["series", "--gate"]).assert_code(0);
    assert_eq!(change(&bed, &[]).1["accepted"], true);
    let told = bed.run(&["series", &key]);
    assert!(told.out.contains("new part"), "{}", told.out);
    bed.run(&["series", "--withdraw", &run]).assert_code(0);
    bed.run(&["series", "--gate"]).assert_code(3);
    bed.run(&["series", &key, "--false", &run]).assert_code(0);
    bed.run(&["series", "--gate"]).assert_code(0);
    assert_eq!(change(&bed, &[]).1, Value::Null);
}

#[test]
fn news_are_the_text_of_a_mail_and_a_webhook() {
    let bed = Bed::new();
    let (old, new) = (part(&bed, "old.toml", 180.0), part(&bed, "new.toml", 240.0));
    measure(&bed, &old, 6, "a");
    measure(&bed, &new, 6, "a");
    let mail = bed.run(&["series", "--news", "--since", "1h", "--format", "text"]);
    mail.assert_code(0);
    assert!(mail.out.starts_with("1 new slowdown\n"), "{}", mail.out);
    assert!(mail.out.lines().all(|line| line.chars().count() <= 72));
    let hook = json(&bed, &["series", "--news", "--json"]);
    assert_eq!(hook["slowdowns"], 1);
    assert_eq!(hook["changes"][0]["change"]["open"], true);
    let line = hook["text"].as_str().expect("a line");
    let begin = "assay: 1 new slowdown: rand-read-4k read_iops -";
    assert!(line.starts_with(begin) && line.contains("unit"), "{line}");
    let none = bed.run(&["series", "--news", "--since", "2999-01-01"]);
    assert!(none.out.contains("No new change"), "{}", none.out);
}

#[test]
fn projects_are_kept_apart_and_alike_runs_change_nothing() {
    let bed = Bed::new();
    let old = part(&bed, "old.toml", 180.0);
    measure(&bed, &old, 5, "a");
    measure(&bed, &old, 5, "b");
    let listed = json(&bed, &["series", "--json"]);
    let series = listed["series"].as_array().expect("a list");
    assert_eq!(series.len(), 2);
    for one in series {
        assert_eq!(one["series"]["runs"], 5);
        assert_eq!(one["change"], Value::Null);
    }
    bed.run(&["store", "rm", "last"]).assert_code(0);
    assert_eq!(change(&bed, &["--project", "b"]).1, Value::Null);
    let left = json(&bed, &["series", "--project", "b", "--json"]);
    assert_eq!(left["series"][0]["series"]["runs"], 4);
    let why = bed.refused(&["series", "rand-read-4k"]);
    assert!(why.contains("give more words"), "{why}");
    let why = bed.refused(&["series", "nonsense words"]);
    assert!(why.contains("no series"), "{why}");
    let why = bed.refused(&["series", "--withdraw", "last"]);
    assert!(why.contains("no opinion is stored"), "{why}");
    let gate = bed.run(&["series", "--gate", "--project", "c"]);
    gate.assert_code(2);
    assert!(gate.out.contains("no such series"), "{}", gate.out);
    gate.assert_says(&["--gate checked no series"]);
    let allowed = ["series", "--gate", "--project", "c", "--allow-unjudged"];
    bed.run(&allowed).assert_code(0);
}
