//! SQL over the views of a store, tidy exports, and names that would be SQL or formulas.

use crate::assay::{Bed, text};
use crate::python;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Names of device models that would do something if they were not only text.
const SQL: &str = "'; DROP TABLE runs; --";
const FORMULA: &str = "=cmd|' /C calc'!A0";

/// A store with a run on a device of each name.
fn hostile() -> Bed {
    let bed = Bed::new();
    let part = include_str!("../../../flash/parts/emmc-8gb-hs400.toml");
    for (file, name) in [("sql.toml", SQL), ("formula.toml", FORMULA)] {
        let named = part.lines().map(|line| match line.starts_with("name = ") {
            true => format!("name = {}", json!(name)),
            false => line.to_owned(),
        });
        let path = bed.join(file);
        fs::write(&path, named.collect::<Vec<_>>().join("\n")).expect("a part");
        let device = format!("sim:{},noise=5", text(&path));
        let words = ["--quick", "--only", "seq-read-1m", "--trials", "3"];
        bed.run(&[&["qualify", &device][..], &words].concat())
            .assert_code(0);
    }
    bed.run(&["store", "tag", "last", "--note", FORMULA])
        .assert_code(0);
    bed
}

fn asked(bed: &Bed, sql: &str) -> Value {
    let ended = bed.run(&["store", "query", sql, "--format", "json"]);
    ended.assert_code(0);
    ended.json()
}

#[test]
fn names_that_would_be_sql_or_formulas_are_texts() {
    let bed = hostile();
    let runs = asked(
        &bed,
        "SELECT run, model, started FROM assay_runs ORDER BY started",
    );
    let models: Vec<&str> = runs
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["model"].as_str().expect("a text"))
        .collect();
    assert!(
        models[0].contains(SQL) && models[1].contains(FORMULA),
        "{models:?}"
    );
    let note = "SELECT 1 AS n, note FROM assay_runs WHERE note IS NOT NULL";
    let csv = bed.run(&["store", "query", note, "--format", "csv"]);
    assert_eq!(csv.out, format!("n,note\n1,'{FORMULA}\n"));
    let table = bed.run(&[
        "store",
        "query",
        "SELECT 'a' || char(27) || '[2J' AS x FROM assay_devices",
    ]);
    table.assert_code(0);
    assert!(!table.out.contains('\u{1b}'), "{:?}", table.out);
    let devices = asked(&bed, "SELECT model, units, runs FROM assay_devices_v1");
    assert_eq!(devices.as_array().map(Vec::len), Some(2), "{devices}");
    let figures = asked(
        &bed,
        "SELECT n, centre, low, high, label, bus FROM assay_figures WHERE metric = 'read_bw'",
    );
    for row in figures.as_array().expect("rows") {
        assert_eq!((&row["n"], &row["label"]), (&json!(3), &json!("simulated")));
        let number = |name: &str| row[name].as_f64().expect("a number");
        assert!(number("low") <= number("centre") && number("centre") <= number("high"));
    }
    let evidence = "SELECT value FROM assay_evidence WHERE name = 'kernel'";
    assert!(asked(&bed, evidence)[0]["value"].is_string());
    let trials = asked(
        &bed,
        "SELECT count(*) AS n FROM assay_trials WHERE outcome = 'completed'",
    );
    assert!(trials[0]["n"].as_u64() >= Some(6), "{trials}");
}

#[test]
fn a_statement_can_only_read_the_views_of_a_file() {
    let bed = hostile();
    // The first one derives the facts of the runs.
    bed.run(&["store", "query", "SELECT 1"]).assert_code(0);
    let before = fs::read(bed.store()).expect("the store");
    let leaked = bed.join("leaked");
    let attach = format!("ATTACH '{}' AS other", text(&leaked));
    let into = format!("VACUUM INTO '{}'", text(&leaked));
    for sql in [
        "DROP TABLE runs",
        "DELETE FROM runs",
        "UPDATE runs SET status = 'failed'",
        "INSERT INTO tombstones VALUES ('x', 1)",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "SELECT * FROM runs",
        "SELECT count(id) FROM main.runs",
        "WITH assay_runs AS (SELECT * FROM runs) SELECT * FROM assay_runs",
        "WITH assay_runs_v1(a) AS (SELECT header FROM main.runs) SELECT * FROM assay_runs_v1",
        "SELECT * FROM (SELECT * FROM runs) AS assay_runs",
        "SELECT sql FROM sqlite_schema",
        "SELECT sql FROM sqlite_temp_schema",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_table_info('runs')",
        "PRAGMA query_only = off",
        "PRAGMA writable_schema = on",
        "SELECT load_extension('x')",
        "SELECT writefile('x', 'y')",
        "SELECT readfile('/etc/passwd')",
        "SELECT 1; DROP TABLE runs",
        "SELECT 1; SELECT 2",
        "BEGIN",
        "EXPLAIN SELECT * FROM runs",
        &attach,
        &into,
    ] {
        let ended = bed.run(&["store", "query", sql]);
        assert_ne!(ended.code, Some(0), "{sql}: {}", ended.out);
        assert_eq!(ended.out, "", "{sql}");
        assert_eq!(ended.err.len(), 1, "{sql}: {:?}", ended.err);
    }
    assert!(!leaked.exists());
    assert!(
        fs::read(bed.store()).expect("the store") == before,
        "nothing was written"
    );
}

#[test]
fn a_statement_that_does_not_end_is_ended() {
    let bed = hostile();
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
                   SELECT max(x) FROM n";
    let ended = bed.run(&["store", "query", endless, "--time-limit", "1s"]);
    assert_ne!(ended.code, Some(0));
    ended.assert_says(&["longer than 1 s"]);
}

#[test]
fn formats_are_refused_before_the_store_is_asked() {
    let bed = Bed::new();
    let line = bed.refused(&["store", "query", "SELECT 1", "--out", "x.txt"]);
    assert!(line.contains(".parquet"), "{line}");
    if !cfg!(feature = "parquet") {
        let line = bed.refused(&["store", "query", "SELECT 1", "--out", "x.parquet"]);
        assert!(line.contains("--features parquet"), "{line}");
    }
}

/// Formats that this build has.
fn formats() -> &'static str {
    match cfg!(feature = "parquet") {
        true => "csv,parquet",
        false => "csv",
    }
}

fn exported(bed: &Bed) -> std::path::PathBuf {
    let folder = bed.join("data");
    bed.run(&[
        "store",
        "export",
        "--tidy",
        text(&folder),
        "--format",
        formats(),
    ])
    .assert_code(0);
    folder
}

#[test]
fn a_tidy_export_has_a_file_for_each_view() {
    let bed = hostile();
    let folder = exported(&bed);
    for view in [
        "runs",
        "devices",
        "units",
        "jobs",
        "trials",
        "figures",
        "evidence",
        "trial_evidence",
        "series",
        "changes",
    ] {
        for format in formats().split(',') {
            let file = folder.join(view).with_extension(format);
            assert!(file.is_file(), "{}", file.display());
        }
    }
    let runs = fs::read_to_string(folder.join("runs.csv")).expect("text");
    assert!(runs.contains(&format!("'{FORMULA}")), "{runs}");
    let devices = fs::read_to_string(folder.join("devices.csv")).expect("text");
    assert!(devices.contains(SQL), "{devices}");
    for line in runs.lines().chain(devices.lines()) {
        assert!(!line.split(',').any(|cell| cell.starts_with('=')), "{line}");
    }
}

/// The notebook is valid, and its cells run on an export.
#[test]
fn the_notebook_of_the_examples_runs() {
    let python = assay_testkit::or_skip!(python::with("polars").and(python::with("nbformat")));
    let bed = hostile();
    let again = format!("sim:{},noise=5", text(&bed.join("sql.toml")));
    let words = ["--quick", "--only", "seq-read-1m", "--trials", "3"];
    bed.run(&[&["qualify", &again][..], &words].concat())
        .assert_code(0);
    let folder = exported(&bed);
    let notebook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/series.ipynb");
    let script = "
import os, sys
import nbformat
os.environ['ASSAY_TIDY'] = sys.argv[2]
book = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(book)
names = {}
for cell in book.cells:
    if cell.cell_type == 'code':
        exec(compile(cell.source, cell.id, 'exec'), names)
print(names['runs'].height, names['runs'].schema['started'], names['trend'].height > 0,
      names['samples'].schema['value'], names['figures'].schema['n'])
";
    let read = python.run(script, &[text(&notebook), text(&folder)]);
    assert!(read.starts_with("3 Datetime("), "{read}");
    assert!(read.trim_end().ends_with("True Float64 Int64"), "{read}");
}
