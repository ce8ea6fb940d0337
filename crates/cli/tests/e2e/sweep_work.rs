//! `assay sweep PATH … -- COMMAND`: works of other tools under conditions.

use crate::assay::{Bed, Running, test_folders, text};
use crate::machine;
use crate::sweep::{Knob, assert_in_force, journals, kill_both};
use assay_testkit::{Volume, needs, or_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

const DD: [&str; 5] = ["--", "dd", "if=/dev/zero", "of=f", "bs=64K"];
const COUNT: [&str; 2] = ["count=4", "conv=fdatasync"];

fn start(bed: &Bed, folder: &Path, knob: &Knob, words: &[&str]) -> Running {
    let front = ["sweep", text(folder), "--vary", &knob.vary];
    bed.start(&[&front[..], words].concat())
}

fn dd<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, &DD, &COUNT].concat()
}

/// Repetitions in their order, by number and condition, with the names of their
/// steps.
fn repetitions(run: &Value) -> Vec<(u64, String, Vec<String>)> {
    let mut all: Vec<(u64, String, Vec<String>)> = Vec::new();
    for trial in run["trials"].as_array().expect("a list") {
        assert_eq!(trial["outcome"], "completed", "{trial:#}");
        let number = trial["trial"].as_u64().expect("a number");
        let condition = trial["condition"].as_str().expect("a word").to_owned();
        let step = trial["job"]["name"].as_str().expect("a word").to_owned();
        match all.last_mut() {
            Some((n, c, steps)) if (*n, &*c) == (number, &condition) => steps.push(step),
            _ => all.push((number, condition, vec![step])),
        }
    }
    all
}

fn assert_rounds(run: &Value, rounds: u64, steps: &[&str]) {
    let all = repetitions(run);
    let conditions = run["run"]["conditions"].as_array().expect("a list");
    assert_eq!(all.len() as u64, (rounds + 1) * conditions.len() as u64);
    for (round, part) in (0..).zip(all.chunks(conditions.len())) {
        for (number, _, of) in part {
            assert_eq!((*number, of.as_slice()), (round, &steps.map_to_owned()[..]));
        }
        for condition in conditions {
            let with = part.iter().filter(|(_, name, _)| name == condition);
            assert_eq!(with.count(), 1, "round {round}, {condition}");
        }
    }
}

trait Owned {
    fn map_to_owned(&self) -> Vec<String>;
}

impl Owned for [&str] {
    fn map_to_owned(&self) -> Vec<String> {
        self.iter().map(|&word| word.to_owned()).collect()
    }
}

#[test]
fn copies_are_made_under_each_condition_in_rounds() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let ended = start(&bed, &folder, &knob, &dd(&["--rounds", "2", "--json"])).end();
    ended.assert_code(0);
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
    let run = ended.json();
    assert_in_force(&run);
    assert_rounds(&run, 2, &["dd"]);
    assert_eq!(folder.join("f").metadata().unwrap().len(), 256 << 10);
    ended.assert_says(&["Takes", "6 repetitions of `dd if=/dev/zero of=f"]);

    let shown = bed.run(&["report", "last"]);
    for value in ["5", "6"] {
        let name = format!("file:{}={value}", knob.path.display());
        let mut lines = shown.out.lines().filter(|line| line.contains(&name));
        assert!(lines.any(|line| line.contains(" 2 ")), "{}", shown.out);
    }
    bed.run(&["rank", "last"]).assert_code(0);
    let conditions = run["run"]["conditions"].as_array().unwrap();
    let [a, b] = [0, 1].map(|at| format!("last@{}", conditions[at].as_str().unwrap()));
    bed.run(&["compare", &a, &b]).assert_code(0);
}

/// iozone calls sync(2): nobody else may measure meanwhile.
#[test]
fn iozone_is_swept_with_all_its_steps() {
    needs!(root, "mkfs.ext4");
    let _alone = machine::alone();
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let words = [
        "sweep",
        text(volume.point()),
        "--vary",
        "read_ahead_kb=64,512",
    ];
    let iozone = ["--", "iozone", "-i0", "-i1", "-s", "1m", "-r", "64k"];
    let words = [&words[..], &["--rounds", "1", "--json"], &iozone].concat();
    let ended = bed.run(&words);
    ended.assert_code(0);
    let run = ended.json();
    assert_in_force(&run);
    let steps = ["write", "rewrite", "read", "reread"].map(|name| format!("{name}-1024-64"));
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    assert_rounds(&run, 1, &steps);
    for trial in run["trials"].as_array().unwrap() {
        let ahead = trial["evidence"]["queues"][0]["read_ahead_kib"]
            .as_u64()
            .unwrap();
        assert_eq!(trial["condition"], format!("read_ahead_kb={ahead}"));
    }
}

#[test]
fn other_commands_of_assay_are_swept_in_the_place_of_the_sweep() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let sqlite = [
        "androbench",
        "--only",
        "sqlite-insert",
        "--transactions",
        "2",
    ];
    let samples = [
        "disks",
        "--size",
        "1M",
        "--sample-size",
        "64K",
        "--samples",
        "2",
    ];
    let access = ["--access-samples", "0"];
    let samples = [&samples[..], &access].concat();
    let log = ["scenario", "log-writer", "--scale", "0.001"];
    for (command, steps) in [
        (&sqlite[..], &["sqlite-insert"][..]),
        (&samples, &["read"]),
        (&log, &["lines", "paced-lines"]),
    ] {
        let words = [&["--rounds", "1", "--json", "--"][..], command].concat();
        let ended = start(&bed, &folder, &knob, &words).end();
        ended.assert_code(0);
        assert_rounds(&ended.json(), 1, steps);
        assert!(test_folders(&folder).is_empty());
    }
    let marks = [
        "--rounds",
        "1",
        "--json",
        "--",
        "mark",
        "--size",
        "1M",
        "--seconds",
        "1",
    ];
    let ended = start(&bed, &folder, &knob, &marks);
    // Its trials are those of a plan, which other tests are about.
    let mut ended = ended;
    ended.await_trials(2);
    ended.signal(Signal::INT);
    ended.end().assert_code(130);
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
}

#[test]
fn what_a_killed_sweep_of_a_work_had_set_is_put_back() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    // It waits under a condition, so that the kill finds one.
    let words = dd(&["--rounds", "500", "--idle", "60s"]);
    let mut running = start(&bed, &folder, &knob, &words);
    // All conditions were made once before it says so.
    running.await_words("Keeps");
    crate::assay::until("a condition is made", || {
        !["", "1"].contains(&&*knob.value())
    });
    let killed = kill_both(running);
    assert_eq!(journals(&bed), 1);
    let next = bed.short_run(&bed.folder_named("elsewhere"));
    let id = killed.run_id().expect("it had begun");
    next.assert_says(&[id, "was cut off under a condition", "back to '1'"]);
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
}

#[test]
fn an_interrupted_sweep_of_a_work_is_gone_on_with() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let words = dd(&["--rounds", "3", "--idle", "300ms"]);
    let mut running = start(&bed, &folder, &knob, &words);
    running.await_trials(3);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));

    let resumed = bed.run(&["sweep", "--resume", "last", "--json"]);
    resumed.assert_code(0);
    resumed.assert_says(&["resumes run", "of 8 repetitions are missing"]);
    let run = resumed.json();
    assert_eq!(run["run"]["id"], ended.run_id().unwrap());
    assert_eq!(run["run"]["status"], "finished");
    assert_rounds(&run, 3, &["dd"]);
    assert_eq!(bed.stored("last")["trials"], run["trials"]);
    bed.run(&["sweep", "--resume", "last"])
        .assert_says(&["nothing is missing"]);
}

#[test]
fn a_condition_that_cannot_be_made_fails_the_steps_of_a_work() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["sweep", text(&folder), "--vary", "cmd:x=good,bad"];
    let apply = [
        "--apply",
        "x=test $1 = good || { echo no luck >&2; exit 7; }",
    ];
    let undo = ["--undo", "x=true", "--rounds", "1"];
    let ended = bed.run(&dd(&[&words[..], &apply, &undo].concat()));
    ended.assert_code(1);
    ended.assert_says(&["dd", "under cmd:x=bad", "no luck"]);
    for trial in bed.stored("last")["trials"].as_array().unwrap() {
        let good = trial["condition"] == "cmd:x=good";
        assert_eq!(trial["outcome"], if good { "completed" } else { "failed" });
    }
}

/// Copies whose size depends on the condition: their durations differ without doubt.
fn copies_of_two_sizes<'a>(folder: &'a Path, size: &'a str, more: &[&'a str]) -> Vec<String> {
    let apply = format!("x=echo $1 > {size}");
    let undo = format!("x=rm -f {size}");
    let front = [
        "sweep",
        text(folder),
        "--vary",
        "cmd:x=1,2",
        "--apply",
        &apply,
        "--undo",
        &undo,
    ];
    let copy = [
        "--",
        "dd",
        "if=/dev/zero",
        "of=f",
        "bs=64K",
        "count=4",
        "conv=fdatasync",
    ];
    let words = [&front[..], more, &copy].concat();
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_command_is_repeated_until_a_verdict_or_as_long_as_its_budget() {
    let bed = Bed::new();
    let folder = bed.folder();
    let size = bed.join("x");
    let size = text(&size).to_owned();
    let rounds = |more: &[&str]| {
        let words = copies_of_two_sizes(&folder, &size, more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ended = bed.run(&words);
        ended.assert_code(0);
        let run = bed.stored("last");
        let all = repetitions(&run);
        assert_eq!(all.len() % 2, 0, "whole rounds");
        (all.len() / 2 - 1, run, ended)
    };
    // Two conditions that do the same: a wide margin settles it at a look.
    let (auto, run, ended) = rounds(&["--trials", "auto", "--margin", "50"]);
    assert!([6, 10, 20].contains(&auto), "{auto}");
    assert!(run["run"]["looks"].is_object(), "{run:#}");
    ended.assert_says(&["checked after 6, 10 and 20 trials"]);
    ended.assert_says(&["look after 6 trials"]);
    assert_eq!(run["run"]["status"], "finished");
    // The level of the looks is divided among several comparisons, too.
    let conditions = run["run"]["conditions"].as_array().expect("two");
    let side = |at: usize| format!("last@{}", conditions[at].as_str().expect("a name"));
    let (a, b) = (side(0), side(1));
    let other = bed.join("other.csv");
    fs::write(&other, "metric,trial,value,unit\nread,1,100,MB/s\n").expect("a file");
    let both = bed.run(&["compare", &a, &b, "--json"]).json();
    let all = bed.run(&["compare", &a, &b, text(&other), "--json"]).json();
    let level = both["alpha"].as_f64().expect("a level");
    assert!(level < 0.05, "{level}");
    assert_eq!(all[0]["alpha"].as_f64(), Some(level / 2.0));
    let (budget, run, _) = rounds(&["--budget", "1s", "--max-trials", "900"]);
    assert!((1..900).contains(&budget), "{budget}");
    assert_eq!(run["run"]["status"], "finished");
    assert!(!Path::new(&size).exists(), "the setting is undone");
}

#[test]
fn what_cannot_be_swept_is_refused() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let elsewhere = format!("of={}", bed.join("f").display());
    let refused = |command: &[&str]| {
        let front = ["sweep", text(&folder), "--vary", &knob.vary, "--"];
        bed.refused(&[&front[..], command].concat())
    };
    for (command, says) in [
        (&["watch", "sleep", "1"][..], "'watch' cannot be repeated"),
        (&["capacity", "--probe"], "'capacity' cannot be repeated"),
        (&["fio", "x.fio"], "give the job file itself"),
        (&["cp", "a", "b"], "only dd, iozone"),
        (&["iozone", "-v"], "nothing to sweep"),
        (&["iozone", "-i0", "-s", "1m", "-b", "x.xls"], "no workbook"),
        (&["dd", "of=f", "count=1"], "standard input"),
        (&["dd", "if=/dev/zero", "count=1"], "standard output"),
        (
            &["dd", "if=/dev/zero", "nonsense"],
            "dd: unrecognized operand",
        ),
        (
            &["dd", "if=/dev/zero", "of=/dev/null", "count=1"],
            "uses nothing on",
        ),
        (
            &["dd", "if=/dev/stdin", "of=f"],
            "is a stream of this process",
        ),
        (&["mark", "--steady-state"], "only the marks"),
        (&["mark", "/tmp"], "unknown argument '/tmp'"),
        (&["scenario", "ota-ab", "/tmp"], "unknown argument"),
        (&["scenario", "--list"], "cannot be used together"),
        (&["scenario", "none"], "none"),
        (&["androbench", "--json"], "in front of the --"),
        (&["dd", "--trials=3"], "put it in front of the --"),
    ] {
        let line = refused(command);
        assert!(line.contains(says), "{command:?}: {line}");
    }
    let of_proc = refused(&["dd", "if=/dev/zero", "of=/proc/f", "count=1"]);
    assert!(of_proc.contains("is a stream of this process"), "{of_proc}");
    let of_shm = refused(&["dd", "if=/dev/zero", "of=/dev/shm/f", "count=1"]);
    assert!(of_shm.contains("name a file there"), "{of_shm}");
    // The same file system: where in it is the user's affair.
    let front = [
        "sweep",
        text(&folder),
        "--vary",
        &knob.vary,
        "--rounds",
        "1",
        "--",
    ];
    let command = ["dd", "if=/dev/zero", &elsewhere, "count=1"];
    bed.run(&[&front[..], &command].concat()).assert_code(0);
    assert_eq!(knob.value(), "1");
}
