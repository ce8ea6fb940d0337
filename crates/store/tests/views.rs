//! The views of a store, and statements of users over them.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::figures::{FACTS_VERSION, RunFacts, TrialEvidence};
use assay_model::run::RunStatus;
use assay_store::views::{StoreView, VIEWS};
use assay_store::{Question, Store, StoreError, Value};
use common::{Bed, owner};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

on_both!(
    each_view_has_its_columns_under_both_names,
    a_run_is_in_its_views,
    the_evidence_of_trials_is_a_row_each,
    more_than_one_statement_and_writing_are_refused,
    a_statement_that_takes_too_long_is_ended,
);

type Answer = (Vec<String>, Vec<Vec<Value>>);

fn ask(store: &Store, sql: &str) -> Result<Answer, StoreError> {
    let time = Duration::from_secs(10);
    let mut rows = Vec::new();
    let names = store.ask(&Question { sql, time }, &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok((names, rows))
}

/// A store for somebody who only reads.
fn read_only(bed: &Bed) -> Store {
    drop(bed.open());
    Store::open_existing(bed.reader()).unwrap()
}

fn each_view_has_its_columns_under_both_names(bed: &Bed) {
    let store = read_only(bed);
    for view in &VIEWS {
        let columns: Vec<&str> = view.columns.iter().map(|(name, _)| *name).collect();
        for name in [view.name.to_owned(), view.versioned()] {
            let sql = format!("SELECT * FROM {name} ORDER BY {}", view.order);
            let (names, rows) = ask(&store, &sql).unwrap();
            assert_eq!(names, columns, "{name}");
            assert!(rows.is_empty());
        }
    }
}

fn a_run_is_in_its_views(bed: &Bed) {
    let mut store = bed.open();
    let header = common::header("k3v9", 1_700_000_000_000);
    store.begin_run(&header, &owner()).unwrap();
    drop(store);
    let store = read_only(bed);
    let sql = "SELECT run, status, finished, started FROM assay_runs WHERE run = 'k3v9'";
    let (_, rows) = ask(&store, sql).unwrap();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!(row[0], "k3v9".into());
    assert_eq!(row[2], Value::Null);
    let Value::Text(started) = &row[3] else {
        panic!("{row:?}");
    };
    assert_eq!(started, "2023-11-14T22:13:20.000Z");
}

fn the_evidence_of_trials_is_a_row_each(bed: &Bed) {
    let mut store = bed.open();
    let id = "k3v9";
    store
        .begin_run(&common::header(id, 1_000), &owner())
        .unwrap();
    store
        .save_trials(id, &[common::trial(0), common::trial(1)])
        .unwrap();
    store.finish_run(id, &RunStatus::Finished, 2_000).unwrap();
    let row = |position, direction: &str, counted: bool| TrialEvidence {
        position,
        condition: "scheduler=bfq".to_owned(),
        direction: direction.to_owned(),
        label: "device".to_owned(),
        latency_label: "page-cache".to_owned(),
        because: "100 % of \"it\" reached mmcblk0; it's so".to_owned(),
        job_bytes: u64::from(u32::MAX) + 1,
        device_bytes: counted.then_some(5),
        device_share: counted.then_some(0.1),
        flushes: counted.then_some(0),
        volatile_cache: counted.then_some(true),
        dirty_bytes: None,
        foreign_bytes: counted.then_some(7),
    };
    let rows = [
        row(0, "read", true),
        row(0, "write", false),
        row(1, "read", true),
    ];
    let facts = RunFacts {
        version: FACTS_VERSION,
        run: id.to_owned(),
        started_unix_ms: 1_000,
        project: "default".to_owned(),
        target: String::new(),
        model: "card".to_owned(),
        series_unit: None,
        surroundings: std::collections::BTreeMap::new(),
        figures: Vec::new(),
        evidence: rows.into(),
    };
    store.save_facts(std::slice::from_ref(&facts)).unwrap();
    store.save_facts(&[facts]).unwrap();
    let sql = "SELECT * FROM assay_trial_evidence ORDER BY position, direction";
    let reader = read_only(bed);
    let (_, rows) = ask(&reader, sql).unwrap();
    assert_eq!(rows.len(), 3);
    let job = common::trial(0).job.name;
    let of = |row: &[Value]| row.get(4..).unwrap().to_vec();
    assert_eq!(rows[0].first(), Some(&id.into()));
    assert_eq!(rows[0].get(1..3), Some(&[0_i64.into(), job.into()][..]));
    let begin: [Value; 6] = [
        "scheduler=bfq".into(),
        "read".into(),
        "device".into(),
        "page-cache".into(),
        "100 % of \"it\" reached mmcblk0; it's so".into(),
        4_294_967_296_i64.into(),
    ];
    let counted: [Value; 6] = [
        5_i64.into(),
        0.1.into(),
        0_i64.into(),
        1_i64.into(),
        Value::Null,
        7_i64.into(),
    ];
    assert_eq!(of(&rows[0]), [&begin[..], &counted[..]].concat());
    assert_eq!(of(&rows[1]).get(6..), Some(&[const { Value::Null }; 6][..]));
    store.drop_derived().unwrap();
    assert!(ask(&reader, sql).unwrap().1.is_empty());
}

fn more_than_one_statement_and_writing_are_refused(bed: &Bed) {
    let store = read_only(bed);
    for sql in [
        "",
        ";",
        "SELECT 1; SELECT 2",
        "SELECT 1) AS a; DROP TABLE runs; --",
        "DROP TABLE runs",
        "DELETE FROM runs",
        "INSERT INTO tombstones (id, at_unix_ms) VALUES ('x', 1)",
        "UPDATE assay_runs SET status = 'failed'",
        "CREATE TABLE x (y int)",
        "SELECT * INTO x FROM assay_runs",
        "WITH x AS (DELETE FROM runs RETURNING id) SELECT * FROM x",
        "COPY (SELECT 1) TO '/tmp/assay-leaked'",
        "COPY runs FROM PROGRAM 'touch /tmp/assay-leaked'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('.')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT set_config('role', 'assay', true), \
         query_to_xml('SELECT pg_read_file(''/etc/passwd'')', true, true, '')",
        "SELECT nextval('runs_seq_seq')",
        "SET ROLE assay",
        "DO $$ BEGIN PERFORM 1; END $$",
        "COMMIT",
        "ATTACH 'x' AS y",
        "PRAGMA query_only = off",
        "SELECT readfile('/etc/passwd')",
        "SELECT $1",
    ] {
        let refused = ask(&store, sql);
        assert!(
            matches!(refused, Err(StoreError::Question { .. })),
            "{sql}: {refused:?}"
        );
    }
    assert!(!Path::new("/tmp/assay-leaked").exists());
    assert_eq!(bed.sql("SELECT count(*) FROM runs"), "0");
}

fn a_statement_that_takes_too_long_is_ended(bed: &Bed) {
    let store = read_only(bed);
    let begun = Instant::now();
    let question = Question {
        sql: "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 - x FROM n) \
              SELECT count(*) FROM n",
        time: Duration::from_millis(500),
    };
    let ended = store.ask(&question, &mut |_| Ok(()));
    let Err(StoreError::Question { reason }) = ended else {
        panic!("{ended:?}");
    };
    assert!(reason.contains("longer than"), "{reason}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    ask(&store, "SELECT 1").unwrap();
}

#[test]
fn types_that_postgresql_alone_has_are_read_as_text() {
    let bed = assay_testkit::or_skip!(Bed::server());
    let store = read_only(&bed);
    let sql = "SELECT DATE '2026-03-14' AS day, INTERVAL '90 s' AS day, ARRAY[1, 2], true, 2.5";
    let (names, rows) = ask(&store, sql).unwrap();
    assert_eq!(names[..2], ["day", "day"]);
    let text = |text: &str| Value::Text(text.to_owned());
    let expected = [
        text("2026-03-14"),
        text("00:01:30"),
        text("{1,2}"),
        Value::Int(1),
        Value::Real(2.5),
    ];
    assert_eq!(rows, [expected]);
    let none = ask(&store, "SELECT").unwrap_err().to_string();
    assert!(none.contains("no columns"), "{none}");
}

#[test]
fn who_may_read_files_of_the_server_is_refused() {
    let bed = assay_testkit::or_skip!(Bed::server());
    let refused = ask(&bed.open(), "SELECT 1");
    assert!(
        matches!(&refused, Err(StoreError::Question { reason }) if reason.contains("reader")),
        "{refused:?}"
    );
}

/// docs/query.md says the columns of each view.
#[test]
fn the_page_has_every_column() {
    let page = include_str!("../../../docs/query.md");
    for StoreView { name, columns, .. } in &VIEWS {
        let (_, section) = page.split_once(&format!("### `{name}`")).expect(name);
        let section = section.split("\n#").next().unwrap_or_default();
        for (column, _) in *columns {
            assert!(section.contains(&format!("`{column}`")), "{name} {column}");
        }
    }
}

/// Statements of the dashboards, as Grafana sends them.
#[test]
fn the_dashboards_of_grafana_run_on_the_views() {
    let bed = assay_testkit::or_skip!(Bed::server());
    let store = read_only(&bed);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/dashboards");
    let mut statements = 0;
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let dashboard: Json = serde_json::from_str(&text).unwrap();
        for sql in sql_of(&dashboard) {
            ask(&store, &filled(&sql)).unwrap_or_else(|error| panic!("{error}: {sql}"));
            statements += 1;
        }
    }
    assert!(statements > 15, "{statements}");
}

/// Statements of a dashboard: of panels, variables and annotations.
fn sql_of(value: &Json) -> Vec<String> {
    match value {
        Json::Object(fields) => {
            let of_field = |(name, value): (&String, &Json)| match value.as_str() {
                Some(sql) if ["rawSql", "rawQuery", "query"].contains(&name.as_str()) => {
                    vec![sql.to_owned()]
                }
                _ => sql_of(value),
            };
            fields.iter().flat_map(of_field).collect()
        }
        Json::Array(items) => items.iter().flat_map(sql_of).collect(),
        _ => Vec::new(),
    }
}

/// Puts something in the place of Grafana's macros and variables.
fn filled(sql: &str) -> String {
    let mut text = sql.to_owned();
    while let Some((before, rest)) = text.split_once("$__timeFilter(") {
        let (column, after) = rest.split_once(')').unwrap();
        text = format!("{before}{column} BETWEEN '2020-01-01' AND '2040-01-01'{after}");
    }
    while let Some((before, rest)) = text.split_once("${") {
        let (_, after) = rest.split_once(":sqlstring}").unwrap();
        text = format!("{before}'it''s'{after}");
    }
    assert!(!text.contains('$'), "{text}");
    text
}
