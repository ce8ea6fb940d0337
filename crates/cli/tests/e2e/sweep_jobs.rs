//! `assay sweep` of the job's options: variants, effects, knees and maps.

use crate::assay::{Bed, Ended, text};
use assay_testkit::{Volume, needs, or_skip};
use serde_json::Value;
use std::collections::BTreeSet;

/// Simulated card with a known knee: its queue overlaps the command of one request with the data of
/// another, so that the rate doubles with the second request and stays.
const EMMC: &str = "sim:emmc-8gb-hs400,noise=2";

fn sweep(bed: &Bed, place: &str, words: &[&str]) -> Ended {
    let ended = bed.run(&[&["sweep", place, "--quick", "--seed", "5"], words].concat());
    ended.assert_code(0);
    ended
}

fn trials(run: &Value) -> &Vec<Value> {
    run["trials"].as_array().expect("trials")
}

/// Options of the job that a trial ran, in the form of a condition's name.
fn ran(trial: &Value) -> String {
    let job = &trial["job"];
    let kib = job["bs"].as_u64().expect("bytes") / 1024;
    format!("bs={kib}k,iodepth={}", job["iodepth"])
}

#[test]
fn block_size_and_depth_of_a_loop_device_are_swept() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let vary = ["--vary", "bs=4k,16k", "--vary", "iodepth=1,4"];
    let words = [&vary[..], &["--size", "8M", "--trials", "4"]].concat();
    let ended = sweep(
        &bed,
        text(volume.point()),
        &[&words[..], &["--json"]].concat(),
    );
    ended.assert_says(&["Varies", "bs to 4k, 16k; iodepth to 1, 4"]);
    let run = ended.json();
    let conditions: Vec<&str> = run["run"]["conditions"]
        .as_array()
        .expect("conditions")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let all = [
        "bs=4k,iodepth=1",
        "bs=4k,iodepth=4",
        "bs=16k,iodepth=1",
        "bs=16k,iodepth=4",
    ];
    assert_eq!(conditions, all);
    assert_eq!(trials(&run).len(), 4 * 5);
    for trial in trials(&run) {
        assert_eq!(trial["outcome"], "completed", "{trial:#}");
        assert_eq!(trial["condition"].as_str(), Some(&*ran(trial)));
        let engine = trial["job"]["ioengine"].as_str().expect("an engine");
        assert!(
            ["io_uring", "libaio"].contains(&engine),
            "{engine} has no depth"
        );
    }
    let shown = bed.run(&["report", "last"]).out;
    for words in ["bs \\ iodepth", "Effect of each factor", "  iodepth  "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // What reads stored sweeps reads these.
    bed.run(&["rank", "last"]).assert_code(0);
    for file in ["r.html", "r.xlsx", "r.csv", "r.md", "r.xml"] {
        let file = bed.join(file);
        bed.run(&["report", "last", "-o", text(&file)])
            .assert_code(0);
    }
    for file in ["m.png", "m.gp", "m.csv"] {
        let file = bed.join(file);
        let words = [
            "report",
            "last",
            "--chart",
            "map-job-read-iops",
            "-o",
            text(&file),
        ];
        bed.run(&words).assert_code(0);
    }
}

#[test]
fn the_knee_of_a_known_device_is_found() {
    let bed = Bed::new();
    let depths = ["--vary", "iodepth=1,2,4,8", "--trials", "8"];
    let ended = sweep(&bed, EMMC, &depths);
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("2 against 1 +10"), "{said}");
    assert!(said.contains("; knee at 2: more adds"), "{said}");
    assert!(said.contains("p99 latency x3."), "{said}");
    // In a map each row has it.
    let ended = sweep(
        &bed,
        EMMC,
        &[&["--vary", "bs=4k,16k"][..], &depths].concat(),
    );
    for size in ["4k", "16k"] {
        let rows = ended.out.lines().map(|line| line.split_whitespace());
        let rows = rows.map(Iterator::collect::<Vec<&str>>);
        let row = rows.clone().find(|row| row.len() == 5 && row[0] == size);
        let row = row.expect("a row of the map");
        let marks: Vec<char> = row[1..]
            .iter()
            .filter_map(|cell| cell.chars().next())
            .collect();
        assert_eq!(marks[1..], ['*', '=', '='], "{row:?}");
        assert!(marks[0].is_ascii_digit(), "{row:?}");
    }
    // A card without a queue works on one request at a time.
    let ended = sweep(&bed, "sim:rtsx-sd-pro-plus-128,noise=2", &depths);
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("a plateau from 1 on: more adds"), "{said}");
}

#[test]
fn patterns_are_compared_by_the_metrics_that_both_have() {
    let bed = Bed::new();
    let vary = ["--vary", "rw=randread,randwrite", "--vary", "iodepth=1,2"];
    let run = sweep(
        &bed,
        EMMC,
        &[&vary[..], &["--trials", "5", "--json"]].concat(),
    )
    .json();
    let patterns: BTreeSet<&str> = trials(&run)
        .iter()
        .filter_map(|trial| trial["job"]["rw"].as_str())
        .collect();
    assert_eq!(patterns, BTreeSet::from(["randread", "randwrite"]));
    let ranking = bed.run(&["rank", "last", "--json"]).json();
    let metrics = ranking["metrics"].as_array().expect("metrics");
    let conditions = |metric: &str| -> Vec<&str> {
        let found = metrics.iter().find(|found| found["metric"] == metric);
        let conditions = found.expect(metric)["conditions"]
            .as_array()
            .expect("a list");
        conditions
            .iter()
            .filter_map(|one| one["condition"].as_str())
            .collect()
    };
    for (metric, pattern) in [
        ("job: read_iops", "randread"),
        ("job: write_iops", "randwrite"),
    ] {
        let own = format!("rw={pattern},");
        assert_eq!(conditions(metric).len(), 2, "{metric}");
        assert!(conditions(metric).iter().all(|name| name.starts_with(&own)));
    }
}

#[test]
fn a_pair_gives_reads_and_writes_their_own_block() {
    let bed = Bed::new();
    let vary = ["--vary", "rw=randread,randwrite", "--vary", "bs=4k+16k,8k"];
    let run = sweep(
        &bed,
        EMMC,
        &[&vary[..], &["--trials", "1", "--json"]].concat(),
    )
    .json();
    for trial in trials(&run) {
        let condition = trial["condition"].as_str().expect("a name");
        let expected = match (condition.contains("4k+16k"), condition.contains("randread")) {
            (true, true) => 4096,
            (true, false) => 16384,
            (false, _) => 8192,
        };
        assert_eq!(trial["job"]["bs"], expected, "{condition}");
    }
}

#[test]
fn named_jobs_are_varied_together_with_the_system() {
    let bed = Bed::new();
    let folder = bed.folder();
    let knob = crate::sweep::Knob::new(&bed);
    let words = [
        "--vary",
        &knob.vary,
        "--vary",
        "numjobs=1,2",
        "--trials",
        "1",
    ];
    let only = [
        "--only",
        "rand-read-4k,seq-read-1m",
        "--size",
        "4M",
        "--json",
    ];
    let run = sweep(&bed, text(&folder), &[&words[..], &only].concat()).json();
    assert_eq!(trials(&run).len(), 2 * 4 * 2);
    for trial in trials(&run) {
        let condition = trial["condition"].as_str().expect("a name");
        let workers = format!("numjobs={}", trial["job"]["numjobs"]);
        assert!(condition.ends_with(&workers), "{condition}");
        let set = trial["in_force"][0]["value"].as_str().expect("a value");
        assert!(condition.contains(&format!("={set},")), "{condition}");
    }
    assert_eq!(knob.value(), "1");
}

#[test]
fn a_finished_sweep_gets_more_trials() {
    let bed = Bed::new();
    let vary = ["--vary", "iodepth=1,2", "--trials", "2"];
    let ended = sweep(&bed, EMMC, &vary);
    assert!(
        ended.out.contains("(2 trials): --add 2 or more"),
        "{}",
        ended.out
    );
    let add = |more: &str| {
        let ended = bed.run(&["sweep", "--resume", "last", "--add", more, "--json"]);
        ended.assert_code(0);
        ended.json()
    };
    let run = add("4");
    let rounds: Vec<u64> = trials(&run)
        .iter()
        .filter_map(|trial| trial["trial"].as_u64())
        .collect();
    assert_eq!(rounds, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    let looks = &run["run"]["looks"];
    assert_eq!(looks["at"], serde_json::json!([2, 6]));
    assert_eq!(looks["alpha"], 0.025);
    // Verdicts after the first looks do not end it early.
    let run = add("3");
    assert_eq!(trials(&run).len(), 14 + 6);
    assert_eq!(run["run"]["looks"]["at"], serde_json::json!([2, 6, 9]));
    assert_eq!(run["run"]["looks"]["alpha"], 0.0125);
    let shown = bed.run(&["report", "last"]).out;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let bound = "the last look at a level of 1.25 %, all looks together at most 10 %";
    assert!(shown.contains(bound), "{shown}");
    let ranking = bed.run(&["rank", "last", "--json"]).json();
    assert_eq!(ranking["pairs"][0]["verdict"], "faster", "{ranking:#}");
    let ended = bed.run(&["qualify", EMMC, "--quick"]);
    ended.assert_code(0);
    let line = bed.refused(&["sweep", "--resume", "last", "--add", "2"]);
    assert!(line.contains("is no sweep"), "{line}");
}

#[test]
fn a_refused_extension_leaves_the_run_as_it_was() {
    let bed = Bed::new();
    let folder = bed.folder();
    let vary = ["--size", "1M", "--vary", "bs=4k,8k", "--trials", "1"];
    sweep(&bed, text(&folder), &vary);
    let run = || bed.run(&["report", "last", "--json"]).json();
    let before = run();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let line = bed.refused(&["sweep", "--resume", "last", "--add", "10"]);
    assert!(line.contains(text(&folder)), "{line}");
    assert_eq!(run(), before);
}

#[test]
fn options_that_cannot_be_varied_are_refused_in_words() {
    let bed = Bed::new();
    let folder = bed.folder();
    let base = ["sweep", text(&folder), "--size", "1M"];
    for (vary, says) in [
        ("filename=a,b", "sweep each of them"),
        ("directory=a,b", "sweep each of them"),
        ("stonewall=0,1", "each job of a sweep runs alone"),
        ("iodepth=all", "name them"),
        ("iodepth=1,x", "'x' is not a number"),
        ("thinktime=1,2", "more than can be repeated in rounds"),
        ("bs=4k,4096", "are the same for job job"),
        ("bs=2m", "less than one block of 2097152"),
        ("size=2m", "beyond the test file of 1 MiB"),
        ("schedular=none", "did you mean scheduler?"),
        (
            "iodeph=1,4",
            "of the options of jobs, did you mean iodepth?",
        ),
    ] {
        let line = bed.refused(&[&base[..], &["--vary", vary]].concat());
        assert!(line.contains(says), "{vary}: {line}");
    }
    let pair = ["--vary", "rw=randrw", "--vary", "bs=4k+64k"];
    let line = bed.refused(&[&base[..], &pair].concat());
    assert!(line.contains("more than can be repeated"), "{line}");
    let engine = ["--vary", "iodepth=1,4", "--vary", "ioengine=psync,libaio"];
    let line = bed.refused(&[&base[..], &engine].concat());
    assert!(line.contains("psync does one I/O at a time"), "{line}");
    let command = [
        "--vary",
        "bs=4k,8k",
        "--",
        "dd",
        "if=/dev/zero",
        "of=f",
        "count=1",
    ];
    let line = bed.refused(&[&["sweep", text(&folder)], &command[..]].concat());
    assert!(line.contains("is an option of jobs"), "{line}");
    let line = bed.refused(&["sweep", EMMC, "--vary", "numjobs=1,2"]);
    assert!(line.contains("one stream at a time"), "{line}");
    assert!(!bed.store().exists(), "a refused sweep leaves no store");
}
