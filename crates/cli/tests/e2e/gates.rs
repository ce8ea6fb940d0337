//! JUnit, TAP, LAVA and KCIDB: documents that others take, and statuses that never say
//! more than the verdict.

use crate::assay::{Bed, text};
use crate::python;
use assay_testkit::needs;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Slower in `rand_read`, equivalent in `seq_read`, open in `rand_write`.
const TABLE: &str = "\
condition,metric,unit,n,mean,stdev
before,seq_read,MB/s,6,100.0,0.5
before,rand_read,IOPS,6,1850,11
before,rand_write,IOPS,6,390,90
after,seq_read,MB/s,6,100.2,0.5
after,rand_read,IOPS,6,1120,20
after,rand_write,IOPS,6,400,90
";

fn table(bed: &Bed) -> PathBuf {
    let path = bed.join("before-after.csv");
    fs::write(&path, TABLE).expect("a file");
    path
}

/// The comparison in a file of that ending.
fn written(bed: &Bed, ending: &str, words: &[&str]) -> PathBuf {
    let (table, out) = (table(bed), bed.join(&format!("out{ending}")));
    let compare = ["compare", text(&table), "-o", text(&out)];
    bed.run(&[&compare, words].concat()).assert_code(0);
    out
}

#[test]
fn junit_is_well_formed_and_has_each_status() {
    needs!("xmllint");
    let bed = Bed::new();
    let xml = written(&bed, ".xml", &[]);
    let asked = |path: &str| {
        let mut xmllint = assay_testkit::command("xmllint");
        let ended = xmllint
            .args(["--xpath", path, text(&xml)])
            .output()
            .expect("xmllint");
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        String::from_utf8(ended.stdout)
            .expect("text")
            .trim()
            .to_owned()
    };
    assert_eq!(asked("string(//testsuite/@tests)"), "3");
    assert_eq!(
        asked("string(//testcase[failure]/@classname)"),
        "assay.rand_read"
    );
    assert_eq!(
        asked("string(//testcase[skipped]/@classname)"),
        "assay.rand_write"
    );
    assert!(asked("string(//failure/@message)").starts_with("slower, -39.5 %"));
    let why = asked("string(//skipped/@message)");
    assert!(
        why.starts_with("no conclusion") && why.contains("too noisy"),
        "{why}"
    );
}

#[test]
fn prove_reads_tap() {
    needs!("prove");
    let bed = Bed::new();
    let prove = |tap: &Path| {
        let mut prove = assay_testkit::command("prove");
        let ended = prove
            .args(["--verbose", "--exec", "cat", text(tap)])
            .output()
            .expect("prove");
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(!said.contains("Parse errors"), "{said}");
        (ended.status.success(), said)
    };
    let (passed, said) = prove(&written(&bed, ".tap", &[]));
    assert!(!passed && said.contains("Failed test:  2"), "{said}");
    assert!(said.contains("# SKIP no conclusion"), "{said}");
    let lenient = ["--replace", "--margin", "90"];
    let (passed, said) = prove(&written(&bed, ".tap", &lenient));
    assert!(passed, "nearly half may be lost: {said}");
}

#[test]
fn a_run_gives_signals_to_lava() {
    let bed = Bed::new();
    bed.short_run(&bed.folder());
    let ended = bed.run(&["report", "last", "--format", "lava"]);
    ended.assert_code(0);
    let signals = ended
        .out
        .lines()
        .filter(|line| line.starts_with("<LAVA_SIGNAL_TESTCASE "));
    let signals: Vec<&str> = signals.collect();
    let [signal] = signals.as_slice() else {
        panic!("{}", ended.out);
    };
    let begin = "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=read-cached.read_bw";
    assert!(signal.starts_with(begin), "{signal}");
    assert!(
        signal.contains(" RESULT=pass UNITS=B/s MEASUREMENT="),
        "{signal}"
    );
}

/// The schema is KCIDB's own.
#[test]
fn kcidb_takes_comparisons_and_runs() {
    let python = assay_testkit::or_skip!(python::with("kcidb_io"));
    let bed = Bed::new();
    bed.short_run(&bed.folder());
    let run = bed.join("run.kcidb.json");
    let names = ["--kcidb-origin", "my_lab", "--kcidb-build", "my_lab:v6.12"];
    bed.run(&[&["report", "last", "-o", text(&run)], &names[..]].concat())
        .assert_code(0);
    for document in [written(&bed, ".kcidb.json", &[]), run] {
        let script = "
import json, sys
from kcidb_io import schema
schema.LATEST.validate(json.load(open(sys.argv[1])))
";
        python.run(script, &[text(&document)]);
    }
}

#[test]
fn kcidb_has_the_status_and_the_figure() {
    let bed = Bed::new();
    let out = written(&bed, ".kcidb.json", &[]);
    let document: Value = serde_json::from_slice(&fs::read(out).expect("a file")).expect("JSON");
    let tests = document["tests"].as_array().expect("tests").iter();
    let found: Vec<(&str, &str, bool)> = tests
        .map(|test| {
            let word = |name: &str| test[name].as_str().expect("a word");
            (word("path"), word("status"), test["number"].is_object())
        })
        .collect();
    let expected = [
        ("assay.seq_read", "PASS", true),
        ("assay.rand_read", "FAIL", true),
        ("assay.rand_write", "SKIP", false),
    ];
    assert_eq!(found, expected);
    let line = bed.refused(&[
        "compare",
        "a",
        "b",
        "--format",
        "kcidb",
        "--kcidb-origin",
        "My Lab",
    ]);
    assert!(line.contains("lower-case"), "{line}");
}

/// One file a side, as a first look at a change has them, says nothing, however slow B is.
#[test]
fn a_gate_that_judged_nothing_does_not_pass() {
    let bed = Bed::new();
    let fio = |name: &str, rate: u32| {
        let json = format!(
            r#"{{"fio version": "fio-3.36", "jobs": [{{"jobname": "j", "error": 0,
                "read": {{"io_bytes": 1048576, "bw": {rate}, "iops": 9, "runtime": 30}}}}]}}"#
        );
        let path = bed.join(name);
        fs::write(&path, json).unwrap();
        path
    };
    let (a, b) = (fio("before.json", 34204), fio("after.json", 2000));
    let gate =
        |words: &[&str]| bed.run(&[&["compare", text(&a), text(&b), "--gate"][..], words].concat());
    let refused = gate(&[]);
    refused.assert_code(2);
    refused.assert_says(&["nothing was judged", "single trials"]);
    for (format, expected) in [
        ("junit", "<error"),
        ("tap", "not ok"),
        ("lava", "RESULT=fail"),
        ("kcidb", "\"ERROR\""),
    ] {
        let document = gate(&["--format", format]);
        document.assert_code(2);
        assert!(document.out.contains(expected), "{}", document.out);
        let allowed = gate(&["--format", format, "--allow-unjudged"]);
        allowed.assert_code(0);
        assert!(!allowed.out.contains(expected), "{}", allowed.out);
    }
}

/// An old result of another program, and a new one with a label.
#[test]
fn a_side_without_a_label_decides_if_it_is_trusted() {
    let bed = Bed::new();
    let table = |name: &str, mean: &str, more: [&str; 2]| {
        let [head, label] = more;
        let text = format!(
            "condition,metric,unit,n,mean,stdev{head}\n{name},rand-read: read_iops,IOPS,6,{mean},9{label}\n"
        );
        let path = bed.join(&format!("{name}.csv"));
        fs::write(&path, text).unwrap();
        path
    };
    let old = table("old", "1850", ["", ""]);
    let new = table("new", "1120", [",measured", ",device"]);
    let gate = |words: &[&str]| {
        bed.run(&[&["compare", text(&old), text(&new), "--gate"][..], words].concat())
    };
    let unsure = gate(&[]);
    unsure.assert_code(2);
    assert!(unsure.out.contains("slower"), "{}", unsure.out);
    unsure.assert_says(&["--trust A"]);
    gate(&["--trust", "B"]).assert_code(2);
    let trusted = gate(&["--trust", "A"]);
    trusted.assert_code(3);
    assert!(trusted.out.contains("is not recorded"), "{}", trusted.out);
}

#[test]
fn a_gate_writes_its_document_and_closes() {
    let bed = Bed::new();
    let table = table(&bed);
    let ended = bed.run(&["compare", text(&table), "--gate", "--format", "junit"]);
    ended.assert_code(3);
    assert!(ended.out.starts_with("<?xml") && ended.out.ends_with("</testsuites>\n"));
}
