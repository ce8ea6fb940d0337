//! `assay scenario`: the built-in ones on real storage, and files with mistakes.

use crate::assay::{Bed, Ended, assert_label, figure, test_folders, text, trial, until};
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// All of them, with the steps that they measure in a folder.
pub const BUILT_IN: [(&str, usize); 12] = [
    ("ota-ab", 2),
    ("ota-files", 5),
    ("flashing", 2),
    ("factory-reset", 4),
    ("app-install", 5),
    ("boot", 6),
    ("camera-burst", 3),
    ("video", 2),
    ("database-log", 2),
    ("log-writer", 2),
    ("low-space", 9),
    ("background-write", 3),
];

fn play(bed: &Bed, scenario: &str, path: &Path, words: &[&str]) -> Ended {
    let mut all = vec!["scenario", scenario, text(path), "--trials", "1"];
    all.extend_from_slice(words);
    bed.run(&all)
}

/// A file of a scenario, in the bed.
fn written(bed: &Bed, text: &str) -> String {
    let path = bed.join("mine.toml");
    fs::write(&path, text).expect("a file");
    path.to_str().expect("it is text").to_owned()
}

pub fn names(run: &Value) -> Vec<&str> {
    let trials = run["trials"].as_array().expect("a list");
    trials
        .iter()
        .filter_map(|trial| trial["job"]["name"].as_str())
        .collect()
}

#[test]
fn each_built_in_one_plays_in_a_small_file_system_and_leaves_nothing() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 512));
    for (scenario, steps) in BUILT_IN {
        let bed = Bed::new();
        let ended = play(
            &bed,
            scenario,
            volume.point(),
            &["--scale", "0.01", "--json"],
        );
        ended.assert_code(0);
        let run = ended.json();
        assert_eq!(names(&run).len(), steps, "{scenario}: {:?}", names(&run));
        for trial in run["trials"].as_array().unwrap() {
            assert_eq!(trial["outcome"], "completed", "{scenario}");
            assert_eq!(trial["detail"]["kind"], "scenario", "{scenario}");
            assert!(trial["evidence"].is_object() || trial["totals"]["write"]["bytes"] == 0);
        }
        assert!(test_folders(volume.point()).is_empty(), "{scenario}");
    }
}

#[test]
fn an_upgrade_says_what_it_measured_and_that_all_is_as_it_was_written() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let bed = Bed::new();
    let ended = play(&bed, "ota-ab", volume.point(), &["--scale", "0.02"]);
    ended.assert_code(0);
    assert!(
        ended
            .out
            .contains("all of it is as it was written (SHA-256)")
    );
    assert!(ended.out.contains("all of ota-ab: "), "{}", ended.out);
    let run = bed.stored("last");
    let verified = &trial(&run, "verify")["detail"]["verified"];
    assert_eq!(verified["read"], verified["written"]);
    assert!(figure(&run, "install", "act_time") > 0.0);
    assert_label(&run, "install", "write", "device");
}

#[test]
fn a_device_is_discarded_formatted_and_unmounted_again() {
    needs!(root, "mkfs.ext4");
    let scratch = Scratch::new().unwrap();
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 256));
    for scenario in ["factory-reset", "flashing", "low-space"] {
        let bed = Bed::new();
        let refused = play(&bed, scenario, device.node(), &["--scale", "0.01"]);
        refused.assert_code(2);
        let words = ["--scale", "0.01", "--destroy-data", "--json"];
        let ended = play(&bed, scenario, device.node(), &words);
        ended.assert_code(0);
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        assert!(
            !mounts.contains(text(device.node())),
            "{scenario}: {mounts}"
        );
        if scenario == "factory-reset" {
            assert_eq!(names(&ended.json())[..2], ["discard", "format"]);
        }
    }
}

#[test]
fn a_change_behind_its_back_is_a_mismatch() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = written(
        &bed,
        r#"
about = "A slot is changed after it was written."
[[step]]
name = "write"
do = "write"
file = "slot"
size = "1M"
[[step]]
name = "change"
do = "command"
run = ["dd", "if=/dev/zero", "of=slot", "bs=1", "count=100", "seek=70000", "conv=notrunc"]
[[step]]
name = "verify"
do = "verify"
file = "slot"
"#,
    );
    let refused = play(&bed, &file, &folder, &[]);
    refused.assert_code(2);
    refused.assert_says(&["line 8: change: it runs a program"]);
    let ended = play(&bed, &file, &folder, &["--allow-commands"]);
    ended.assert_code(4);
    ended.assert_says(&["slot is not what was written to it"]);
    assert!(
        ended
            .out
            .contains("what was read back is not what was written"),
        "{}",
        ended.out
    );
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn deadlines_that_cannot_be_kept_are_counted() {
    let bed = Bed::new();
    let file = written(
        &bed,
        r#"
about = "More lines than any device can flush."
[[step]]
name = "lines"
do = "log"
file = "log"
lines = 200
per_second = 1000000
deadline = "1ms"
"#,
    );
    let ended = play(&bed, &file, &bed.folder(), &["--json"]);
    ended.assert_code(0);
    let run = ended.json();
    let kept = &trial(&run, "lines")["detail"]["deadlines"];
    assert_eq!(kept["operations"], 200);
    assert!(
        kept["missed"].as_u64().is_some_and(|missed| missed > 100),
        "{kept}"
    );
    assert!(kept["worst_late_ns"].as_u64() > Some(0));
    assert!(figure(&run, "lines", "deadline_misses") > 100.0);
}

#[test]
fn a_mistake_in_a_file_is_named_with_its_line() {
    let bed = Bed::new();
    let folder = bed.folder();
    let good =
        "about = \"a\"\n[[step]]\nname = \"w\"\ndo = \"write\"\nfile = \"f\"\nsize = \"1M\"\n";
    for (from, to, expected) in [
        (
            "do = \"write\"",
            "do = \"wirte\"",
            "line 4: do: nothing is called wirte (did you mean write?)",
        ),
        (
            "size",
            "sise",
            "line 6: there is no key sise (did you mean size?)",
        ),
        ("size = \"1M\"", "", "line 2: size is missing"),
        (
            "size = ",
            "sice = \"1\"\nsize = ",
            "line 6: there is no key sice (did you mean size?)",
        ),
        ("\"1M\"", "\"1 potato\"", "line 6: size: "),
        ("\"1M\"", "7", "line 6: size: a size in quotes"),
        (
            "\"f\"",
            "\"../f\"",
            "line 5: file: ../f is neither a path inside",
        ),
        ("\"f\"", "\"f", "line 5: "),
        (
            "about",
            "abuot",
            "line 1: there is no key abuot (did you mean about?)",
        ),
        ("about", "#", "line 1: about is missing"),
        (
            "name = \"w\"",
            "nmae = \"w\"",
            "line 3: there is no key nmae (did you mean name?)",
        ),
        (
            "\"1M\"",
            "\"1M\"\nperpare = true",
            "line 7: there is no key perpare (did you mean prepare?)",
        ),
        (
            "\"1M\"",
            "\"1M\"\nholes = 100",
            "line 7: holes: a number from 0 to 99",
        ),
        (
            "\"1M\"",
            "\"1M\"\nappend = 1",
            "line 7: append: true or false is wanted here",
        ),
        (
            "\"1M\"",
            "\"1M\"\nsync = \"often\"",
            "line 7: sync: often is none of none",
        ),
        (
            "\"1M\"",
            "\"1M\"\n[[step]]\nname = \"w\"\ndo = \"drop-caches\"",
            "line 7: there is a step w already",
        ),
        (
            "\"1M\"",
            "\"1M\"\n[[step]]\nname = \"v\"\ndo = \"verify\"\nfile = \"g\"",
            "line 7: v: no step before has written g",
        ),
        (
            "\"1M\"",
            "\"1M\"\n[[step]]\nname = \"v\"\ndo = \"format\"",
            "line 7: v: a file system is made on a scratch device only",
        ),
        (
            "\"1M\"",
            "\"1M\"\nbackground = true",
            "line 7: background: there is nothing beside it",
        ),
        (
            "\"1M\"",
            "\"1M\"\nrate = \"1M\"\nper_second = 3",
            "line 7: rate: it and per_second",
        ),
        (
            "\"1M\"",
            "\"1M\"\nblock = \"1000\"\ndirect = true",
            "line 8: direct: its block",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let file = written(&bed, &good.replacen(from, to, 1));
        let ended = play(&bed, &file, &folder, &[]);
        ended.assert_code(2);
        ended.assert_says(&[expected]);
    }
    let file = written(&bed, good);
    play(&bed, &file, &folder, &[]).assert_code(0);
}

#[test]
fn an_interrupted_one_leaves_nothing_and_a_killed_one_is_swept() {
    needs!(root, "mkfs.ext4");
    let scratch = Scratch::new().unwrap();
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 256));
    let mounted = || {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        mounts.contains(text(device.node()))
    };
    let bed = Bed::new();
    let file = written(
        &bed,
        r#"
about = "Waits in a file system of its own."
[[step]]
name = "format"
on = "device"
do = "format"
[[step]]
name = "files"
do = "create-files"
in = "many"
files = 20
size = "4K"
[[step]]
name = "wait"
do = "pause"
time = "100s"
"#,
    );
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let words = ["scenario", &file, text(device.node()), "--destroy-data"];
        let mut running = bed.start(&words);
        running.await_words("files #1");
        assert!(mounted());
        let ended = match signal {
            Signal::KILL => running.kill(true),
            signal => {
                running.signal(signal);
                running.end()
            }
        };
        assert_ne!(ended.code, Some(0));
        if signal == Signal::KILL {
            let swept = play(
                &bed,
                "flashing",
                device.node(),
                &["--scale", "0.001", "--destroy-data"],
            );
            swept.assert_code(0);
        }
        until("it is unmounted", || !mounted());
    }
    let folder = bed.folder();
    let words = ["scenario", &file, text(&folder)];
    let mut running = bed.start(&words);
    running.await_words("files #1");
    assert_eq!(test_folders(&folder).len(), 1);
    running.kill(true);
    play(&bed, "log-writer", &folder, &["--scale", "0.001"]).assert_code(0);
    assert!(test_folders(&folder).is_empty());
}

#[test]
fn built_in_ones_are_listed_and_shown_to_start_from() {
    let bed = Bed::new();
    let said = |words: &[&str]| {
        let output = bed.command_without_store(words).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("it is text")
    };
    let listed = said(&["scenario", "--list"]);
    for (name, _) in BUILT_IN {
        assert!(listed.lines().any(|line| line == name), "{name}");
    }
    let shown = said(&["scenario", "--show", "log-writer"]);
    let file = written(&bed, &shown);
    play(&bed, &file, &bed.folder(), &["--scale", "0.005"]).assert_code(0);
}

#[test]
fn a_profile_is_one_run_of_suite_and_scenarios_that_is_compared_in_all_of_them() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 512));
    let bed = Bed::new();
    let words = [
        "--profile",
        "usb",
        "--size",
        "8M",
        "--only",
        "seq-read-1m,rand-read-4k",
        "--trials",
        "1",
    ];
    for _ in 0..2 {
        let ended = bed.qualify(volume.point(), &words).end();
        ended.assert_code(0);
        assert!(ended.out.contains("Scenarios"), "{}", ended.out);
        assert!(test_folders(volume.point()).is_empty());
    }
    let run = bed.stored("last");
    assert_eq!(run["run"]["status"], "finished");
    let names = names(&run);
    for name in ["seq-read-1m", "flashing.verify", "ota-files.manifest"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let ids = bed.run(&["list"]).out;
    let ids: Vec<&str> = ids
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let two = &ids[ids.len() - 2..];
    let compared = bed.run(&["compare", two[0], two[1]]);
    compared.assert_code(0);
    for kind in ["seq-read-1m", "flashing.all", "ota-files.all"] {
        assert!(compared.out.contains(kind), "{kind}: {}", compared.out);
    }
}
