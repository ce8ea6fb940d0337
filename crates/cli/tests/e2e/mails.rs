//! Text and Markdown for mails and tickets, and how a format is chosen.

use crate::assay::{Bed, text};
use std::fs;

#[test]
fn two_runs_become_a_mail_of_72_columns() {
    let bed = Bed::new();
    let folder = bed.folder();
    for _ in 0..2 {
        let jobs = "read-cached,rand-read-4k";
        let words = ["--size", "4M", "--trials", "4", "--only", jobs];
        bed.qualify(&folder, &words).end().assert_code(0);
    }
    let list = bed.run(&["list"]).out;
    let ids: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
        .collect();
    for ending in ["txt", "md"] {
        let out = bed.join(&format!("patch.{ending}"));
        let ended = bed.run(&["report", ids[1], ids[0], "-o", text(&out)]);
        ended.assert_code(0);
        let mail = fs::read_to_string(&out).expect("a mail");
        assert!(
            mail.lines().all(|line| line.chars().count() <= 72),
            "{mail}"
        );
        let kernel = kernel();
        for asked in [
            "rand-read-4k",
            "verdict",
            "4 trials a side",
            "$ ",
            "4 KiB blocks",
            &kernel,
        ] {
            assert!(mail.contains(asked), "{asked}: {mail}");
        }
        assert!(mail.contains(ids[0]) && mail.contains(ids[1]), "{mail}");
    }
}

fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    release.trim().to_owned()
}

#[test]
fn a_sweep_becomes_a_table_for_each_metric() {
    let bed = Bed::new();
    let folder = bed.folder();
    let vary = [
        "--vary",
        "cmd:nothing=a,b",
        "--apply",
        "nothing=true",
        "--undo",
        "nothing=true",
    ];
    let words = [
        "sweep",
        text(&folder),
        "--quick",
        "--size",
        "1M",
        "--rounds",
        "2",
    ];
    let jobs = ["--only", "read-cached"];
    bed.run(&[&words[..], &vary[..], &jobs[..]].concat())
        .assert_code(0);
    let ended = bed.run(&["report", "last", "--format", "markdown"]);
    ended.assert_code(0);
    assert!(ended.out.contains("| condition"), "{}", ended.out);
    assert!(ended.out.contains("cmd:nothing=b"), "{}", ended.out);
}

#[test]
fn formats_are_chosen_by_name_or_by_ending() {
    let bed = Bed::new();
    bed.short_run(&bed.folder());
    let out = bed.join("report.dat");
    let line = bed.refused(&["report", "last", "-o", text(&out)]);
    assert!(line.contains(".md") && line.contains("--format"), "{line}");
    let named = bed.run(&["report", "last", "--format", "tap", "-o", text(&out)]);
    named.assert_code(0);
    let file = fs::read_to_string(&out).expect("a file");
    assert!(file.starts_with("TAP version"), "{file}");
    let printed = bed.run(&["report", "last", "--format", "tap"]);
    assert_eq!(printed.out, file, "the same on standard output");
    let line = bed.refused(&["compare", "last", "last", "--format", "csv"]);
    assert!(line.contains("'csv' is not a value of --format"), "{line}");
    let line = bed.refused(&["report", "last", "--format", "tap", "--replace"]);
    assert!(line.contains("two runs"), "{line}");
    let line = bed.refused(&["report", "last", "--format", "tap", "--kcidb-origin", "x"]);
    assert!(line.contains("--format kcidb"), "{line}");
    let line = bed.refused(&["compare", "last", "last", "--json", "-o", text(&out)]);
    assert!(line.contains("--json"), "{line}");
}
