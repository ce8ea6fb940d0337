//! Everything that measures can be swept, paired, repeated until a verdict, limited by a budget and resumed after
//! a kill, or says why not.

use crate::assay::{Bed, await_some, test_folders, text};
use crate::sweep::{Knob, journals, kill_both};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A command, without the path where `--` follows one.
struct Row {
    name: &'static str,
    words: &'static [&'static str],
    /// Trials of a round.
    steps: usize,
}

const REPEATED: [Row; 6] = [
    Row {
        name: "dd",
        words: &[
            "dd",
            "if=/dev/zero",
            "of=f",
            "bs=64K",
            "count=4",
            "conv=fdatasync",
        ],
        steps: 1,
    },
    Row {
        name: "iozone",
        words: &["iozone", "-i0", "-s", "256k", "-r", "64k"],
        steps: 2,
    },
    Row {
        name: "androbench",
        words: &[
            "androbench",
            "--only",
            "sqlite-insert",
            "--transactions",
            "5",
        ],
        steps: 1,
    },
    Row {
        name: "disks",
        words: &[
            "disks",
            "--size",
            "1M",
            "--sample-size",
            "64K",
            "--samples",
            "2",
            "--access-samples",
            "0",
        ],
        steps: 1,
    },
    Row {
        name: "scenario",
        words: &["scenario", "log-writer", "--scale", "0.001"],
        steps: 2,
    },
    Row {
        name: "mem",
        words: &["mem", "latency", "--largest-set", "16K"],
        steps: 0,
    },
];

fn trials(run: &Value) -> &[Value] {
    run["trials"].as_array().expect("a list")
}

fn all_completed(run: &Value) {
    assert_eq!(run["run"]["status"], "finished", "{:#}", run["run"]);
    for trial in trials(run) {
        assert_eq!(trial["outcome"], "completed", "{trial:#}");
    }
}

/// Number of rounds that count, from the highest number of a trial.
fn rounds(run: &Value) -> usize {
    let numbers = trials(run)
        .iter()
        .filter_map(|trial| trial["trial"].as_u64());
    usize::try_from(numbers.max().expect("trials")).expect("few")
}

#[test]
fn every_command_is_swept_for_a_number_a_verdict_or_a_time() {
    let bed = Bed::new();
    let (knob, folder) = (Knob::new(&bed), bed.folder());
    for row in &REPEATED {
        for (how, rounds_wanted) in [
            (&["--rounds", "1"][..], 1..=1),
            (&["--trials", "auto", "--margin", "50"], 6..=20),
            (&["--budget", "2s", "--max-trials", "2"], 1..=2),
        ] {
            let front = ["sweep", text(&folder), "--vary", &knob.vary, "--json"];
            let words = [&front[..], how, &["--"], row.words].concat();
            let ended = bed.run(&words);
            ended.assert_code(0);
            let run = ended.json();
            all_completed(&run);
            let made = rounds(&run);
            assert!(
                rounds_wanted.contains(&made),
                "{} {how:?}: {made}",
                row.name
            );
            if row.steps > 0 {
                let expected = 2 * (made + 1) * row.steps;
                assert_eq!(trials(&run).len(), expected, "{} {how:?}", row.name);
            }
        }
    }
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
    assert!(test_folders(&folder).is_empty());
}

/// Labels of the figures of a stored run, by job and metric.
fn labels(run: &Value) -> BTreeSet<(String, String, String)> {
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let of_trial = |trial: &Value| {
        let job = word(&trial["job"]["name"]);
        let metrics = trial["metrics"].as_array().expect("a list").clone();
        let metrics = metrics.into_iter();
        metrics.map(move |metric| (job.clone(), word(&metric["name"]), word(&metric["label"])))
    };
    trials(run).iter().flat_map(of_trial).collect()
}

/// The words of the command itself, on files of a folder.
fn plain(row: &Row, folder: &str) -> Vec<String> {
    let words = row.words.iter().map(|word| match *word {
        "of=f" => format!("of={folder}/f"),
        other => other.to_owned(),
    });
    let mut words: Vec<String> = words.collect();
    match row.name {
        "iozone" => words.extend(["-f".to_owned(), format!("{folder}/g")]),
        "androbench" | "disks" | "scenario" => words.push(folder.to_owned()),
        _ => {}
    }
    words
}

#[test]
fn labels_of_swept_commands_are_those_of_the_command() {
    let bed = Bed::new();
    let (knob, folder) = (Knob::new(&bed), bed.folder());
    for row in &REPEATED {
        let words = plain(row, text(&folder));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        bed.run(&words).assert_code(0);
        let alone = labels(&bed.stored("last"));
        assert!(!alone.is_empty(), "{}", row.name);
        let front = [
            "sweep",
            text(&folder),
            "--vary",
            &knob.vary,
            "--rounds",
            "1",
            "--",
        ];
        bed.run(&[&front[..], row.words].concat()).assert_code(0);
        assert_eq!(labels(&bed.stored("last")), alone, "{}", row.name);
    }
}

#[test]
fn every_command_is_measured_in_turn() {
    let bed = Bed::new();
    let [a, b] = ["a", "b"].map(|name| bed.folder_named(name));
    for row in &REPEATED {
        let front = [
            "compare",
            "--paired-on",
            text(&a),
            text(&b),
            "--trials",
            "4",
            "--json",
            "--",
        ];
        let ended = bed.run(&[&front[..], row.words].concat());
        ended.assert_code(0);
        let pairs = ended.json()["pairs"].as_array().expect("a list").len();
        assert!(pairs > 0, "{}: nothing was compared", row.name);
    }
}

#[test]
fn what_is_not_repeated_in_rounds_says_why() {
    let bed = Bed::new();
    let (knob, folder) = (Knob::new(&bed), bed.folder());
    let sweep = ["sweep", text(&folder), "--vary", &knob.vary, "--"];
    let paired = ["compare", "--paired-on", text(&folder), text(&folder), "--"];
    for (command, says) in [
        (&["capacity", "--probe"][..], "depends on no setting"),
        (&["soak", "--passes", "1"], "writes for hours"),
        (&["replay", "x.log"], "assay replay --trials"),
        (&["powercut"], "cuts the power"),
        (&["fio", "x.fio"], "give the job file itself"),
        (&["qualify"], "without a command"),
    ] {
        for front in [&sweep[..], &paired] {
            let line = bed.refused(&[front, command].concat());
            assert!(line.contains(says), "{command:?}: {line}");
        }
    }
}

/// Starts a command, kills it with its agent when `least` trials are stored, and resumes the run.
fn resumed_after_a_kill(bed: &Bed, words: &[&str], least: usize) -> Value {
    let running = bed.start(words);
    let id = await_some("trials", || {
        let shown = bed.run(&["report", "last", "--json"]);
        let run: Value = serde_json::from_str(&shown.out).ok()?;
        let enough = run["run"]["status"] == "running" && trials(&run).len() >= least;
        enough.then(|| run["run"]["id"].as_str().expect("a word").to_owned())
    });
    kill_both(running);
    let ended = bed.run(&["resume", &id, "--json"]);
    ended.assert_code(0);
    ended.assert_says(&["resumes run"]);
    let run = ended.json();
    assert_eq!(run["run"]["id"], id.as_str());
    all_completed(&run);
    let positions: Vec<u64> = trials(&run)
        .iter()
        .map(|trial| trial["position"].as_u64().expect("a number"))
        .collect();
    let expected: Vec<u64> = (0..positions.len() as u64).collect();
    assert_eq!(positions, expected, "no gaps");
    bed.run(&["resume", &id])
        .assert_says(&["nothing is missing"]);
    run
}

#[test]
fn every_run_is_resumed_after_a_kill() {
    let bed = Bed::new();
    let folder = bed.folder();
    let path = text(&folder);
    let knob = Knob::new(&bed);
    let jobs = bed.join("jobs.fio");
    let job = "[reader]\nrw=randread\nsize=1m\nruntime=300ms\ntime_based\n[after]\nstonewall\nrw=write\nsize=1m\n";
    fs::write(&jobs, format!("[global]\ndirectory={path}\n{job}")).expect("room");
    let short = ["--quick", "--size", "1M", "--trials", "12"];
    for (words, all) in [
        (
            [&["qualify", path, "--only", "rand-read-4k"][..], &short].concat(),
            12,
        ),
        (vec!["run", text(&jobs), "--trials", "8"], 16),
        (
            vec![
                "androbench",
                path,
                "--only",
                "sqlite-insert",
                "--transactions",
                "200",
                "--trials",
                "20",
            ],
            20,
        ),
        (
            vec![
                "disks",
                path,
                "--size",
                "8M",
                "--sample-size",
                "1M",
                "--samples",
                "8",
                "--access-samples",
                "200",
                "--trials",
                "30",
            ],
            60,
        ),
        (
            vec![
                "scenario",
                "log-writer",
                path,
                "--scale",
                "0.05",
                "--trials",
                "5",
            ],
            10,
        ),
        (
            vec![
                "sweep",
                path,
                "--vary",
                &knob.vary,
                "--rounds",
                "6",
                "--",
                "dd",
                "if=/dev/zero",
                "of=g",
                "bs=64K",
                "count=400",
                "conv=fdatasync",
            ],
            14,
        ),
    ] {
        let run = resumed_after_a_kill(&bed, &words, 2);
        assert_eq!(trials(&run).len(), all, "{words:?}");
    }
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
    assert!(
        test_folders(&folder).is_empty(),
        "private folders are removed"
    );
}

#[test]
fn a_run_that_cannot_be_resumed_says_why() {
    let bed = Bed::new();
    let folder = bed.folder();
    let path: &Path = &folder;
    let ended = bed.short_run(path);
    ended.assert_code(0);
    bed.run(&["resume", "last"])
        .assert_says(&["nothing is missing"]);
    assert!(bed.refused(&["resume", "none"]).contains("none"));
    let words = [
        "compare",
        "--paired-on",
        text(path),
        text(path),
        "--trials",
        "4",
        "--quick",
    ];
    let only = ["--size", "1M", "--only", "rand-read-4k"];
    bed.run(&[&words[..], &only].concat()).assert_code(0);
    assert!(
        bed.refused(&["resume", "last"])
            .contains("was measured in turn")
    );
}
