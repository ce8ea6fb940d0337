//! `assay require`: pass, fail and open by the bounds of a run's figures.

use crate::assay::{Bed, Running, text};
use assay_testkit::{Volume, needs, or_skip};
use serde_json::Value;
use std::fs;

/// A bed with a run of random reads on a loop device, kept under the name `golden`.
fn measured(volume: &Volume) -> Bed {
    let bed = Bed::new();
    let words = [
        "qualify",
        text(volume.point()),
        "--quick",
        "--size",
        "16M",
        "--only",
        "rand-read-4k,read-cached",
        "--name",
        "golden",
    ];
    bed.run(&words).assert_code(0);
    bed
}

fn results(found: &Value) -> Vec<&str> {
    let rows = found["requirements"].as_array().expect("rows").iter();
    rows.map(|row| row["result"].as_str().expect("a word"))
        .collect()
}

#[test]
fn each_requirement_passes_fails_or_is_open() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let bed = measured(&volume);
    let file = bed.join("limits.toml");
    let written = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line:?}")).collect();
        fs::write(&file, format!("require = [{}]", lines.join(","))).expect("room");
    };
    let check =
        |more: &[&str]| bed.run(&[&["require", "golden", "--file", text(&file)], more].concat());
    written(&[
        "rand-read-4k read_iops >= 1",
        "rand-read-4k read_lat_p50 < 1 ns",
        "rand-read-4k read_lat_p50 < 1 min",
        "rand-read-4k no_such_figure < 5 ms",
        "rand-read-4k read_iops < 5 MB/s",
        "read-cached read_bw >= 1",
        "capacity genuine",
        "stalls < 1 h",
    ]);
    let found = check(&["--json"]);
    found.assert_code(3);
    let found = found.json();
    let expected = [
        "pass", "fail", "pass", "open", "open", "open", "open", "pass",
    ];
    assert_eq!(results(&found), expected, "{found:#}");
    let verdict = found["verdict"].as_str().expect("a verdict");
    assert!(
        verdict.starts_with("Fail: 1 of 8 requirements"),
        "{verdict}"
    );
    let shown = check(&[]);
    shown.assert_code(3);
    assert!(
        shown
            .out
            .trim_end()
            .lines()
            .rev()
            .take(3)
            .any(|line| line.contains("Fail: 1 of 8"))
    );
    let junit = check(&["--format", "junit"]);
    assert!(
        junit.out.contains("failures=\"1\"") && junit.out.contains("skipped=\"4\""),
        "{}",
        junit.out
    );
    written(&["rand-read-4k read_iops >= 1", "stalls < 1 h"]);
    check(&[]).assert_code(0);
    for (lines, why) in [
        (&["capacity fine"][..], "JOB METRIC < NUMBER UNIT"),
        (&["a b < much"], "much is no number"),
        (&[], "it has no requirement"),
    ] {
        written(lines);
        let refused = check(&[]);
        refused.assert_code(2);
        assert!(refused.refusal().contains(why), "{}", refused.refusal());
    }
}

#[test]
fn requirements_of_a_golden_unit_are_met_by_it() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let bed = measured(&volume);
    let printed = bed.run(&["require", "--from", "golden", "--margin", "60%"]);
    printed.assert_code(0);
    assert!(
        printed.out.contains("rand-read-4k read_iops >="),
        "{}",
        printed.out
    );
    assert!(
        !printed.out.contains("read-cached"),
        "no figure of the device"
    );
    let file = bed.join("golden.toml");
    fs::write(&file, &printed.out).expect("room");
    let words = ["require", "golden", "--file", text(&file), "--json"];
    let found = Running::start(&mut bed.command(&words)).end();
    // Beside other tests a figure can vary by more than the margin: it is open then.
    let judged = found.json();
    let judged = results(&judged);
    assert!(
        !judged.is_empty() && !judged.contains(&"fail"),
        "{}",
        found.out
    );
}

#[test]
fn built_in_sets_are_checked_after_a_run_or_with_it() {
    let bed = Bed::new();
    let part = "sim:emmc-8gb-hs400,noise=2";
    let words = [
        "qualify",
        part,
        "--quick",
        "--only",
        "seq-read-1m,seq-write-1m,rand-read-4k,rand-write-4k",
    ];
    let ended = bed.run(&[&words[..], &["--require", "mpc-12"]].concat());
    ended.assert_code(3);
    let last = ended.out.rsplit_once("  Fail: ").expect("a verdict").1;
    assert!(last.contains("seq-write-1m write_bw >= 125 MB/s"), "{last}");
    let found = bed.run(&["require", "last", "--file", "mpc-11", "--json"]);
    found.assert_code(3);
    assert_eq!(results(&found.json()).len(), 4);
    let of_check = bed.run(&["require", "last", "--file", "a1", "--json"]);
    of_check.assert_code(2);
    assert!(results(&of_check.json()).iter().all(|word| *word == "open"));
    let line = bed.refused(&["require", "last", "--file", "a3"]);
    assert!(line.contains("a1, a2, v30"), "{line}");
    let line = bed.refused(&["qualify", part, "--require", "no.toml"]);
    assert!(line.contains("no.toml"), "{line}");
}
