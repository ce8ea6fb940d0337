//! Simulated devices: every feature on no hardware, and every figure called what it is.

use crate::assay::{Bed, Ended, Running, text, trials};
use std::fs;

const EMMC: &str = "sim:emmc-8gb-hs400,noise=5";

fn qualify(bed: &Bed, words: &[&str]) -> Ended {
    let ended = bed.run(&[&["qualify", EMMC, "--quick"], words].concat());
    ended.assert_code(0);
    ended
}

#[test]
fn a_qualification_says_of_every_figure_that_it_is_simulated() {
    let bed = Bed::new();
    let shown = qualify(&bed, &["--seed", "1"]);
    for words in ["simulated device emmc-8gb-hs400", "nothing was measured"] {
        assert!(shown.out.contains(words), "{}", shown.out);
    }
    assert!(!shown.out.contains("unknown"), "{}", shown.out);
    let run = bed.stored("last");
    let all = run["trials"].as_array().expect("trials");
    assert!(all.len() > 40, "{}", all.len());
    for trial in all {
        for direction in ["read", "write"] {
            let label = &trial["evidence"][direction]["label"];
            assert!(label.is_null() || label == "simulated", "{label}");
        }
    }
    for format in ["html", "csv", "md", "xlsx"] {
        let path = bed.join(&format!("run.{format}"));
        let words = ["report", "last", "-o", path.to_str().expect("UTF-8")];
        bed.run(&words).assert_code(0);
        let written = fs::read(&path).expect("it was written");
        let says = String::from_utf8_lossy(&written).contains("simulated");
        assert!(says || format == "xlsx", "{format}");
    }
}

/// The part at half its speed: all that it does takes twice as long.
pub fn half_as_fast() -> String {
    let part = include_str!("../../../flash/parts/emmc-8gb-hs400.toml");
    let slower = |line: &str| match line.split_once("_us = ") {
        Some((what, time)) => format!(
            "{what}_us = {:.2}",
            2.0 * time.parse::<f64>().expect("a number")
        ),
        None => line.to_owned(),
    };
    part.lines().map(slower).collect::<Vec<_>>().join("\n")
}

/// As they stand: without a number of trials.
#[test]
fn default_runs_of_devices_that_differ_by_two_end_in_verdicts() {
    let bed = Bed::new();
    let file = bed.join("slow.toml");
    fs::write(&file, half_as_fast()).expect("a part");
    let slow = format!("sim:{},noise=5", file.to_str().expect("UTF-8"));
    for (quick, trials_of_each) in [(&[][..], 5), (&["--quick"][..], 4)] {
        let measured = |part: &str, seed: &str| {
            let words = ["qualify", part, "--json", "--seed", seed];
            let ended = bed.run(&[&words, quick].concat());
            ended.assert_code(0);
            let run = ended.json();
            for trial in run["trials"].as_array().expect("trials") {
                let name = trial["job"]["name"].as_str().expect("a name");
                assert_eq!(trials(&run, name).len(), trials_of_each, "{name}");
            }
            run["run"]["id"].as_str().expect("an id").to_owned()
        };
        let (a, b) = (measured(EMMC, "1"), measured(&slow, "2"));
        let compared = bed.run(&["compare", &a, &b, "--json"]).json();
        let pairs = compared["pairs"].as_array().expect("pairs").iter();
        let deciding: Vec<_> = pairs.filter(|pair| pair["primary"] == true).collect();
        assert!(deciding.len() > 15, "{compared:#}");
        for pair in deciding {
            assert_eq!(pair["verdict"], "slower", "{pair:#}");
        }
    }
}

/// Without noise a model has no spread: its figures are exact, and end in words all the same.
#[test]
fn exact_figures_of_simulated_devices_end_in_words() {
    let bed = Bed::new();
    let file = bed.join("slow.toml");
    fs::write(&file, half_as_fast()).expect("a part");
    let slow = format!("sim:{}", file.to_str().expect("UTF-8"));
    let measured = |part: &str| {
        let words = ["qualify", part, "--quick", "--only", "seq-read-1m"];
        let ended = bed.run(&words);
        ended.assert_code(0);
        ended.run_id().expect("it is stored").to_owned()
    };
    let fast = "sim:emmc-8gb-hs400";
    let (a, b, again) = (measured(fast), measured(&slow), measured(fast));
    let compared = bed.run(&["compare", &a, &b, "--json"]).json();
    let pair = &compared["pairs"][0];
    assert_eq!(pair["verdict"], "slower", "{compared:#}");
    let notes = pair["notes"].to_string();
    assert!(notes.contains("deterministic, no spread"), "{notes}");
    assert_eq!(compared["scope"], "these two units");
    bed.run(&["compare", &a, &b, "--gate"]).assert_code(3);
    let same = bed.run(&["compare", &a, &again, "--json"]).json();
    assert_eq!(same["pairs"][0]["verdict"], "equivalent", "{same:#}");
    assert_eq!(same["scope"], "this one device");
}

/// Three runs of one device say nothing of other units of its part.
#[test]
fn runs_of_one_device_are_one_unit() {
    let bed = Bed::new();
    let file = bed.join("slow.toml");
    fs::write(&file, half_as_fast()).expect("a part");
    let slow = format!("sim:{},noise=5", file.to_str().expect("UTF-8"));
    let compared = |named: bool| {
        let mut words = vec!["compare".to_owned()];
        for (side, part) in [("a", EMMC), ("b", &slow)] {
            for seed in ["1", "2", "3"] {
                let mut run = vec!["qualify", part, "--quick", "--only", "seq-write-1m"];
                run.extend(["--seed", seed]);
                let unit = format!("{side}{seed}");
                if named {
                    run.extend(["--unit", &unit]);
                }
                let ended = bed.run(&run);
                ended.assert_code(0);
                let id = ended.run_id().expect("it is stored").to_owned();
                words.extend([format!("--{side}"), id]);
            }
        }
        words.push("--json".to_owned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        bed.run(&words).json()
    };
    let one = compared(false);
    let scope = "these two units, by 3 and 3 runs";
    assert_eq!(one["scope"], scope, "{one:#}");
    assert_eq!(one["pairs"][0]["a_n"], 3, "{one:#}");
    let warnings = one["warnings"].to_string();
    assert!(warnings.contains("3 runs"), "{warnings}");
    assert!(warnings.contains("they count as one unit"), "{warnings}");
    let three = compared(true);
    assert_eq!(three["scope"], "the parts, by 3 and 3 units", "{three:#}");
    assert_eq!(three["pairs"][0]["a_n"], 3, "{three:#}");
    assert!(!three["warnings"].to_string().contains("count as one"));
    let notes = three["pairs"][0]["notes"].to_string();
    assert!(!notes.contains("trials"), "{notes}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let bed = Bed::new();
    let figures = |seed: &str| {
        let words = ["--seed", seed, "--only", "rand-read-4k-qd32", "--json"];
        let run = qualify(&bed, &words).json();
        let all = trials(&run, "rand-read-4k-qd32").into_iter();
        all.map(|trial| trial["metrics"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(figures("1"), figures("1"));
    assert_ne!(figures("1"), figures("2"));
}

#[test]
fn policies_are_compared_and_the_verdict_is_that_of_the_model() {
    let bed = Bed::new();
    let compare = |b: &str| {
        let words = [
            "compare",
            "--paired-on",
            "sim:rtsx-sd-pro-plus-128,noise=3",
            b,
            "--only",
            "rand-read-8k,seq-read-1m",
            "--quick",
            "--trials",
            "6",
            "--seed",
            "5",
        ];
        bed.run(&words)
    };
    let ended = compare("sim:rtsx-sd-pro-plus-128,noise=3,policy=open");
    ended.assert_code(0);
    let short = ended.out.split("Metrics").next().unwrap_or_default();
    assert!(short.contains("slower in rand-read-8k"), "{}", ended.out);
    assert!(short.contains("equivalent in seq-read-1m"), "{}", ended.out);
    let same = compare("sim:rtsx-sd-pro-plus-128,noise=3");
    for word in ["faster in", "slower in"] {
        assert!(!same.out.contains(word), "{}", same.out);
    }
}

/// `assay fio WORDS`, which stores nothing.
fn fio(bed: &Bed, words: &[&str]) -> Ended {
    Running::start(&mut bed.command_without_store(&[&["fio"], words].concat())).end()
}

#[test]
fn fio_and_job_files_run_in_virtual_time() {
    let bed = Bed::new();
    let words = [
        "--name=a",
        "--ioengine=sim:ufs-128gb-g3x2",
        "--rw=randread",
        "--bs=4k",
        "--size=1g",
        "--time_based",
        "--runtime=3600",
        "--iodepth=16",
        "--rate_iops=100",
    ];
    let ended = fio(&bed, &words);
    ended.assert_code(0);
    assert!(ended.out.contains("read=simulated ("), "{}", ended.out);
    assert!(
        ended.out.contains("IOPS=99") || ended.out.contains("IOPS=100"),
        "{}",
        ended.out
    );
    let file = bed.join("jobs.fio");
    let text = "[a]\nioengine=sim:emmc-8gb-hs400\nrw=write\nbs=128k\nsize=256m\nfsync=1\n";
    fs::write(&file, text).expect("it can be written");
    let ended = bed.run(&["run", file.to_str().expect("UTF-8")]);
    ended.assert_code(0);
    assert!(ended.out.contains("simulated"), "{}", ended.out);
}

#[test]
fn what_a_simulated_device_cannot_do_is_refused_with_the_reason() {
    let bed = Bed::new();
    for (words, expected) in [
        (
            &["qualify", "sim:nothing"][..],
            "no simulated part is called 'nothing': there are rtsx-sd-pro-plus-128",
        ),
        (
            &["qualify", "sim:emmc-8gb-hs400,speed=3"],
            "'speed=3' is not known",
        ),
        (&["qualify", EMMC, "--profile", "emmc"], "keeps no data"),
        (&["capacity", EMMC], "keeps no data"),
        (&["disks", EMMC], "keeps no data"),
        (
            &["sweep", EMMC, "--vary", "scheduler=none,bfq"],
            "no kernel settings",
        ),
        (
            &["sweep", EMMC, "--vary", "governor=performance"],
            "no kernel settings",
        ),
    ] {
        let refused = bed.refused(words);
        assert!(refused.contains(expected), "{words:?}: {refused}");
    }
    let verified = [
        "--name=a",
        "--ioengine=sim:emmc-8gb-hs400",
        "--rw=write",
        "--size=1m",
        "--verify=crc32c",
    ];
    let ended = fio(&bed, &verified);
    let told = ended.err.join("\n");
    assert!(told.contains("cannot be verified"), "{told}");
}

/// A part as assay knows it.
const PART: &str = include_str!("../../../flash/parts/emmc-8gb-hs400.toml");
/// Changes of a part whose cache differs: its cache is emptied in half of the time, and flushed in ten times
/// as much.
const OTHER_CACHE: [(&str, &str); 2] = [
    ("drain_us = 8.0", "drain_us = 4.0"),
    ("flush_us = 400.0", "flush_us = 4000.0"),
];

fn qualify_part(bed: &Bed, name: &str, part: &str, seed: &str) -> String {
    let file = bed.join(name);
    fs::write(&file, part).expect("a part");
    let ended = bed.run(&[
        "qualify",
        &format!("sim:{},noise=5", text(&file)),
        "--quick",
        "--trials",
        "6",
        "--seed",
        seed,
        "--only",
        "seq-*,append-4k-fsync,rand-read-4k",
    ]);
    ended.assert_code(0);
    ended.run_id().expect("it is stored").to_owned()
}

/// Standard output of a command that succeeded, on one line.
fn flowing(ended: &Ended) -> String {
    ended.assert_code(0);
    ended.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_part_with_better_rates_and_worse_flushes_is_called_neither() {
    let bed = Bed::new();
    let other = OTHER_CACHE
        .iter()
        .fold(PART.to_owned(), |part, (from, to)| {
            assert!(part.contains(from), "{from}");
            part.replace(from, to)
        });
    let (a, b) = (
        qualify_part(&bed, "a.toml", PART, "1"),
        qualify_part(&bed, "b.toml", &other, "2"),
    );
    let compare = |words: &[&str]| bed.run(&[&["compare", &a, &b], words].concat());
    let contradiction = "Mixed: faster in “Sequential”, slower in “Small durable writes”";
    let shown = flowing(&compare(&[]));
    assert!(shown.contains(contradiction), "{shown}");
    let json = compare(&["--json"]).json();
    let said = json["contradiction"].as_str().expect("it is told");
    assert!(said.starts_with(contradiction), "{said}");
    let page = bed.join("page.html");
    compare(&["-o", text(&page)]).assert_code(0);
    let page = fs::read_to_string(&page).expect("it was written");
    assert!(page.contains(contradiction));

    // The part against itself has none.
    let same = qualify_part(&bed, "a.toml", PART, "3");
    let json = bed.run(&["compare", &a, &same, "--json"]).json();
    assert!(json["contradiction"].is_null(), "{json:#}");
}
