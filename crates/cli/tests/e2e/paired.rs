//! `assay compare --paired-on`: two targets in turn, and a verdict that holds.

use crate::assay::{Bed, Ended, lives, test_folders, text, until};
use assay_testkit::{
    Fake, FakeDevice, Lie, LoopDevice, Mount, Scratch, Unavailable, make_file_system, needs,
    or_skip, signal_to,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const SHORT: [&str; 5] = ["--quick", "--size", "1M", "--only", "rand-read-4k"];

/// A device whose reads take as many milliseconds as the file `slowness` says.
pub fn slowed(scratch: &Scratch, millis: u32) -> Result<FakeDevice, Unavailable> {
    let mut fake = Fake::new(64 << 20, Lie::None);
    let file = slowness(scratch);
    fs::write(&file, millis.to_string()).expect("room");
    fake.slowed_by = Some(file);
    FakeDevice::over(scratch, fake)
}

/// The file that says how slow the device of a scratch folder is.
pub fn slowness(scratch: &Scratch) -> PathBuf {
    scratch.join("slowness")
}

fn paired(bed: &Bed, a: &Path, b: &Path, words: &[&str]) -> Ended {
    let all = [
        &["compare", "--paired-on", text(a), text(b)][..],
        &SHORT,
        words,
    ]
    .concat();
    bed.run(&all)
}

/// The only line that decides.
fn line(found: &Value) -> &Value {
    let pairs = found["pairs"].as_array().expect("a list");
    let line = pairs
        .iter()
        .find(|pair| pair["metric"] == "rand-read-4k: read_iops");
    line.unwrap_or_else(|| panic!("it is not there: {found:#}"))
}

/// All that is said of each metric, but what the sides are called.
fn figures(found: &Value) -> Vec<Value> {
    let mut pairs = found["pairs"].as_array().expect("a list").clone();
    for pair in &mut pairs {
        pair["a"].take();
        pair["b"].take();
    }
    pairs
}

/// Ids of the two runs of a comparison, A first.
fn ids(ended: &Ended) -> [String; 2] {
    let line = ended
        .err
        .iter()
        .find(|line| line.starts_with("Stored as runs "));
    let words: Vec<&str> = line.expect("they are told").split_whitespace().collect();
    [
        words[3].to_owned(),
        words[5].trim_end_matches(':').to_owned(),
    ]
}

#[test]
fn a_slower_device_is_found_and_the_gate_closes() {
    needs!(root, "nbdfuse", "losetup");
    let bed = Bed::new();
    let scratches = or_skip!(Scratch::new().and_then(|a| Ok([a, Scratch::new()?])));
    let fast = or_skip!(slowed(&scratches[0], 2));
    let slow = or_skip!(slowed(&scratches[1], 20));
    let (a, b) = (fast.device().node(), slow.device().node());
    let words = ["--destroy-data", "--trials", "4", "--gate", "--json"];
    let ended = paired(&bed, a, b, &words);
    ended.assert_code(3);
    for node in [a, b] {
        ended.assert_says(&["OVER THE DATA ON", text(node)]);
    }
    ended.assert_says(&["4 trials of 1 job on each side", "in turn"]);
    let found = ended.json();
    assert_eq!(line(&found)["verdict"], "slower", "{found:#}");
    assert!(line(&found)["drift_pct"].is_number(), "the order is known");
    assert_eq!(ended.trials_told(), 10, "one of each side is thrown away");

    // What is stored says the same again.
    let [id_a, id_b] = ids(&ended);
    let again = bed.run(&["compare", &id_a, &id_b, "--json"]);
    again.assert_code(0);
    assert_eq!(figures(&again.json()), figures(&found));
    let runs = [id_a.as_str(), &id_b].map(|id| bed.stored(id));
    assert_eq!(runs[0]["run"]["paired"]["with"], id_b.as_str());
    assert_eq!(runs[1]["run"]["paired"]["side"], "B");
    assert_eq!(
        runs[0]["run"]["seed"], runs[1]["run"]["seed"],
        "the same I/Os"
    );
    let mut places: Vec<u64> = Vec::new();
    for run in &runs {
        let own = run["run"]["paired"]["places"].as_array().expect("a list");
        places.extend(own.iter().map(|place| place.as_u64().expect("a number")));
        assert_eq!(run["run"]["status"], "finished");
    }
    places.sort_unstable();
    assert_eq!(places, (0..10).collect::<Vec<_>>());
    assert_blocks(&runs);
}

/// In the order in which they began, the trials that count are ABBA or BAAB.
fn assert_blocks(runs: &[Value; 2]) {
    let mut all: Vec<(u64, u64, usize)> = Vec::new();
    for (side, run) in runs.iter().enumerate() {
        let places = run["run"]["paired"]["places"].as_array().expect("a list");
        for trial in run["trials"].as_array().expect("a list") {
            let position = trial["position"].as_u64().expect("a number");
            let place = places[usize::try_from(position).expect("small")].as_u64();
            let started = trial["started"].as_str().expect("a moment");
            let digits: String = started.chars().filter(char::is_ascii_digit).collect();
            all.push((
                digits.parse().expect("a number"),
                place.expect("a number"),
                side,
            ));
        }
    }
    all.sort_unstable();
    assert!(all.is_sorted_by_key(|(_, place, _)| *place), "{all:?}");
    let sides: Vec<usize> = all.iter().map(|(.., side)| *side).collect();
    for block in sides[2..].chunks(4) {
        assert!(
            [[0, 1, 1, 0], [1, 0, 0, 1]].iter().any(|one| one == block),
            "{sides:?}"
        );
    }
}

/// Whatever the looks find: reads take 20 ms, and by a margin of 90 % no stall of a busy
/// machine makes a difference.
#[test]
fn a_device_is_neither_faster_nor_slower_than_itself() {
    needs!(root, "nbdfuse", "losetup", "mkfs.ext4");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(slowed(&scratch, 20));
    or_skip!(make_file_system("ext4", device.device().node()));
    let point = bed.folder_named("mounted");
    let _mount = or_skip!(Mount::new(&[], text(device.device().node()), &point));
    let words = [
        "--trials",
        "auto",
        "--max-trials",
        "12",
        "--margin",
        "90",
        "--json",
    ];
    let ended = paired(&bed, &point, &point, &words);
    ended.assert_code(0);
    ended.assert_says(&["look after 6 trials", "of 1 comparisons have a verdict"]);
    let found = ended.json();
    let word = line(&found)["verdict"].as_str().expect("a word");
    assert!(["equivalent", "no conclusion"].contains(&word), "{found:#}");
    assert_eq!(found["alpha"], 0.0294, "that of the looks");
    let said = found["warnings"].to_string();
    assert!(said.contains("checked after 6 and 12 trials"), "{said}");
    assert!(said.contains("a level of 2.94 %"), "{said}");
    for id in ids(&ended) {
        let run = bed.stored(&id);
        assert_eq!(run["run"]["status"], "finished");
        let trials = run["run"]["looks"]["settled_at"].as_u64().unwrap_or(12);
        assert_eq!(
            run["trials"].as_array().expect("a list").len() as u64,
            1 + trials
        );
    }
    assert!(test_folders(&point).is_empty());
}

#[test]
fn a_device_is_not_held_twice() {
    needs!(root, "losetup");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let (part, _undo) = or_skip!(device.partition(1, 1, 32));
    let node = device.node();
    for (a, b) in [(node, node), (node, &part), (&part, node)] {
        let words = ["compare", "--paired-on", text(a), text(b), "--destroy-data"];
        let line = bed.refused(&words);
        assert!(line.contains("are one device"), "{line}");
    }
    assert!(!bed.store().exists(), "nothing was stored");
}

#[test]
fn ctrl_c_ends_both_sides() {
    let bed = Bed::new();
    let [a, b] = ["a", "b"].map(|name| bed.folder_named(name));
    let words = [
        "compare",
        "--paired-on",
        text(&a),
        text(&b),
        "--trials",
        "1000",
    ];
    let mut running = bed.start(&[&words[..], &SHORT].concat());
    running.await_trials(3);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    for id in ids(&ended) {
        assert_eq!(bed.stored(&id)["run"]["status"], "interrupted");
    }
    assert!(test_folders(&a).is_empty() && test_folders(&b).is_empty());
}

#[test]
fn an_agent_that_is_lost_ends_the_other_side_too() {
    let bed = Bed::new();
    let [a, b] = ["a", "b"].map(|name| bed.folder_named(name));
    let words = [
        "compare",
        "--paired-on",
        text(&a),
        text(&b),
        "--trials",
        "1000",
    ];
    let mut running = bed.start(&[&words[..], &SHORT].concat());
    running.await_trials(3);
    let agent = running.agent();
    signal_to(agent, Signal::KILL);
    let ended = running.end();
    ended.assert_code(5);
    let mut found = ids(&ended).map(|id| {
        let run = bed.stored(&id);
        run["run"]["status"].as_str().expect("a word").to_owned()
    });
    found.sort();
    assert_eq!(found, ["failed", "interrupted"]);
    assert!(test_folders(&a).is_empty() && test_folders(&b).is_empty());
}

#[test]
fn a_killed_host_leaves_no_test_file() {
    let bed = Bed::new();
    let [a, b] = ["a", "b"].map(|name| bed.folder_named(name));
    let words = [
        "compare",
        "--paired-on",
        text(&a),
        text(&b),
        "--trials",
        "1000",
    ];
    let mut running = bed.start(&[&words[..], &SHORT].concat());
    running.await_trials(3);
    let agent = running.agent();
    running.kill(false);
    until("the agent ends", || !lives(agent));
    until("both folders are empty", || {
        test_folders(&a).is_empty() && test_folders(&b).is_empty()
    });
}

#[test]
fn what_cannot_be_compared_in_turn_is_refused() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = bed.join("file");
    fs::write(&file, crate::assay::pattern(1 << 20)).expect("room");
    let [folder, file] = [text(&folder), text(&file)];
    let pair = ["compare", "--paired-on", folder, folder];
    let refused = |words: &[&str]| bed.refused(&[&pair[..], words].concat());
    for (words, says) in [
        (&["--trials", "5"][..], "an even number, 4 or more"),
        (&["--trials", "2"], "an even number, 4 or more"),
        (&["--trials", "auto", "--max-trials", "8"], "12 trials"),
        (&["--max-trials", "8"], "--trials auto and --budget"),
        (&["--budget", "1s"], "a verdict takes 4 trials"),
        (&["--only", "nope"], "no such job"),
        (&["--format", "csv"], "'csv' is not a value of --format"),
        (&["x"], "cannot be used together"),
    ] {
        let line = refused(words);
        assert!(line.contains(says), "{words:?}: {line}");
    }
    let line = bed.refused(&["compare", "x", "y", "--trials", "4"]);
    assert!(line.contains("cannot be used together"), "{line}");
    let line = bed.refused(&["compare", "--paired-on", folder]);
    assert!(line.contains("2 values"), "{line}");
    let words = [
        "compare",
        "--paired-on",
        folder,
        file,
        "--size",
        "1M",
        "--only",
        "rand-*",
    ];
    let line = bed.refused(&words);
    assert!(line.contains("cannot run the same jobs"), "{line}");
    let listed = bed.run(&["list"]).out;
    assert_eq!(listed.lines().count(), 1, "only the heading: {listed}");
}

#[test]
fn both_runs_get_a_name_of_their_own_and_the_same_tags() {
    let bed = Bed::new();
    let part = Path::new("sim:emmc-8gb-hs400");
    let words = ["--trials", "4", "--name", "patch", "--tag", "nightly"];
    let ended = paired(&bed, part, part, &words);
    ended.assert_code(0);
    for (name, id) in ["patch-A", "patch-B"].iter().zip(ids(&ended)) {
        let shown = bed.run(&["report", name]).out;
        assert!(
            shown.contains(&id) && shown.contains("Tags  nightly"),
            "{shown}"
        );
    }
    let again = paired(&bed, part, part, &words);
    again.assert_code(2);
    again.assert_says(&["is called 'patch-A' already"]);
    assert_eq!(bed.run(&["list"]).out.lines().count(), 3);
    let line = bed.refused(&["compare", "patch-A", "patch-B", "--name", "x"]);
    assert!(line.contains("cannot be used together"), "{line}");
}

/// Steps of a run in its order: round, and name of the step.
fn steps(run: &Value) -> Vec<(u64, String)> {
    let trials = run["trials"].as_array().expect("a list").iter();
    let step = |trial: &Value| {
        assert_eq!(trial["outcome"], "completed", "{trial:#}");
        let name = trial["job"]["name"].as_str().expect("a word").to_owned();
        (trial["trial"].as_u64().expect("a number"), name)
    };
    trials.map(step).collect()
}

#[test]
fn commands_take_turns_too() {
    let bed = Bed::new();
    let [a, b] = [bed.join("a"), bed.join("b")];
    for side in [&a, &b] {
        fs::create_dir(side).expect("room");
    }
    let androbench = [
        "androbench",
        "--only",
        "sqlite-insert",
        "--transactions",
        "20",
    ];
    let iozone = ["iozone", "-i0", "-i1", "-s", "256k", "-r", "64k"];
    let dd = ["dd", "if=/dev/zero", "of=f", "bs=64K", "count=4"];
    for (command, of_round) in [(&androbench[..], 1), (&iozone, 4), (&dd, 1)] {
        let words = [
            "compare",
            "--paired-on",
            text(&a),
            text(&b),
            "--trials",
            "4",
            "--json",
            "--",
        ];
        let ended = bed.run(&[&words[..], command].concat());
        ended.assert_code(0);
        let pairs = ended.json()["pairs"].as_array().expect("a list").len();
        assert!(pairs > 0, "{command:?}: nothing was compared");
        let runs = ids(&ended).map(|id| bed.stored(&id));
        assert_eq!(
            steps(&runs[0]),
            steps(&runs[1]),
            "the same steps in the same order"
        );
        for run in &runs {
            let steps = steps(run);
            assert_eq!(
                steps.len(),
                5 * of_round,
                "one round that does not count, then four"
            );
            assert!(steps.is_sorted_by_key(|(round, _)| *round));
            assert_eq!(run["run"]["status"], "finished");
        }
        if of_round == 1 {
            assert_blocks(&[runs[0].clone(), runs[1].clone()]);
        }
    }
    assert!(test_folders(&a).is_empty(), "private folders are removed");
}

#[test]
fn a_command_that_uses_nothing_on_a_side_is_refused() {
    let bed = Bed::new();
    let folder = bed.folder();
    let out = format!("of={}", bed.join("f").display());
    let words = ["compare", "--paired-on", text(&folder), "/proc", "--"];
    let line = bed.refused(&[&words[..], &["dd", "if=/dev/zero", &out, "count=1"]].concat());
    assert!(!line.is_empty());
    let words = [
        "compare",
        "--paired-on",
        text(&folder),
        text(&folder),
        "--",
        "capacity",
    ];
    let line = bed.refused(&words);
    assert!(line.contains("'capacity' cannot be repeated"), "{line}");
}

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// Returns the time of day of a moment such as `2026-01-02T03:04:05.678Z`, in milliseconds.
fn millis_of_day(moment: &str) -> u64 {
    let number = |from: usize, to: usize| moment[from..to].parse::<u64>().expect("a number");
    let seconds = (number(11, 13) * 60 + number(14, 16)) * 60 + number(17, 19);
    seconds * 1000 + number(20, 23)
}

#[test]
fn a_repeated_command_waits_before_each_trial() {
    let bed = Bed::new();
    let (a, b) = (bed.folder_named("a"), bed.folder_named("b"));
    let words = [
        "compare",
        "--paired-on",
        text(&a),
        text(&b),
        "--trials",
        "4",
        "--idle",
        "400ms",
    ];
    let command = ["--", "dd", "if=/dev/zero", "of=copied", "bs=4k", "count=1"];
    let ended = bed.run(&[&words[..], &command].concat());
    ended.assert_code(0);
    for id in ids(&ended) {
        let run = bed.stored(&id);
        let trials = run["trials"].as_array().expect("a list");
        let began = |trial: &Value| millis_of_day(trial["started"].as_str().expect("a time"));
        assert_eq!(trials.len(), 5);
        for pair in trials.windows(2) {
            let between = (began(&pair[1]) + DAY - began(&pair[0])) % DAY;
            assert!(between >= 400, "{between} ms between two trials of a side");
        }
    }
}
