//! Sweeps that end when every comparison has a verdict, or when their time is over.

use crate::assay::{Bed, Running, text};
use crate::paired::{slowed, slowness};
use assay_testkit::{FakeDevice, Scratch, Unavailable, needs, or_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// A device with a setting that makes it ten times slower.
struct Tunable {
    bed: Bed,
    device: FakeDevice,
    vary: String,
    jobs: String,
}

impl Tunable {
    fn over(scratch: &Scratch) -> Result<Self, Unavailable> {
        let bed = Bed::new();
        let jobs = bed.join("jobs.fio");
        let job = "[reads]\nrw=randread\ndirect=1\nsize=1m\nruntime=400ms\ntime_based\n";
        fs::write(&jobs, job).expect("room");
        Ok(Self {
            vary: format!("file:{}=2,20", slowness(scratch).display()),
            jobs: text(&jobs).to_owned(),
            bed,
            device: slowed(scratch, 1)?,
        })
    }

    fn sweep(&self, words: &[&str]) -> Running {
        let node = text(self.device.device().node());
        let all = [
            "sweep",
            node,
            &self.jobs,
            "--destroy-data",
            "--vary",
            &self.vary,
        ];
        self.bed.start(&[&all[..], words].concat())
    }
}

/// It ended at a look, with every trial up to there and none beyond.
fn assert_settled(run: &Value) -> u64 {
    assert_eq!(run["run"]["status"], "finished");
    let looks = &run["run"]["looks"];
    let held = (&looks["alpha"], &looks["margin_pct"]);
    assert_eq!(held, (&0.0204.into(), &5.0.into()));
    let at = looks["settled_at"].as_u64().expect("it was settled");
    let trials = run["trials"].as_array().expect("a list");
    assert_eq!(trials.len() as u64, 2 * (at + 1));
    assert!(trials.iter().all(|trial| trial["outcome"] == "completed"));
    at
}

#[test]
fn a_sweep_ends_when_every_comparison_has_a_verdict() {
    needs!(root, "nbdfuse", "losetup");
    let scratch = or_skip!(Scratch::new());
    let tunable = or_skip!(Tunable::over(&scratch));
    let bed = &tunable.bed;
    let ended = tunable.sweep(&["--trials", "auto", "--json"]).end();
    ended.assert_code(0);
    ended.assert_says(&["Ends", "6, 10 and 20 trials", "2.04 %"]);
    ended.assert_says(&["Detects", "if trials vary by 5 %"]);
    let at = assert_settled(&ended.json());
    let look = format!("look after {at} trials: 1 of 1 comparisons have a verdict");
    ended.assert_says(&[&look, "no more trials are needed"]);

    // Who judges it later keeps to the level of the looks, and says so.
    let ranked = bed.run(&["rank", "last", "--json"]).json();
    let held = (&ranked["alpha"], &ranked["margin_pct"]);
    assert_eq!(held, (&0.0204.into(), &5.0.into()));
    let pair = &ranked["pairs"][0];
    let slow = pair["b"].as_str().is_some_and(|name| name.ends_with("=20"));
    let word = if slow { "slower" } else { "faster" };
    assert_eq!(pair["verdict"], word, "{ranked:#}");
    for command in ["rank", "compare", "report"] {
        let ended = bed.run(&[command, "last"]);
        ended.assert_code(0);
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains(&format!("settled at {at}")),
            "{command}: {said}"
        );
        assert!(said.contains("a level of 2.04 %"), "{command}: {said}");
    }
    let again = bed.run(&["sweep", "--resume", "last", "--destroy-data"]);
    again.assert_code(0);
    again.assert_says(&["nothing is missing"]);
}

#[test]
fn an_interrupted_sweep_goes_on_to_its_next_look() {
    needs!(root, "nbdfuse", "losetup");
    let scratch = or_skip!(Scratch::new());
    let tunable = or_skip!(Tunable::over(&scratch));
    let bed = &tunable.bed;
    let mut running = tunable.sweep(&["--rounds", "auto"]);
    running.await_trials(5);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    assert_eq!(
        bed.stored("last")["run"]["looks"]["settled_at"],
        Value::Null
    );
    // Its file has no time of birth, and tells nothing that another one of FUSE could not.
    let line = bed.refused(&["sweep", "--resume", "last", "--destroy-data"]);
    let named = format!("--destroy-data={}", text(tunable.device.device().node()));
    assert!(line.contains(&named), "{line}");
    let resumed = bed.run(&["sweep", "--resume", "last", &named, "--json"]);
    resumed.assert_code(0);
    assert_settled(&resumed.json());
}

#[test]
fn a_budget_is_kept_and_told() {
    needs!(root, "nbdfuse", "losetup");
    let scratch = or_skip!(Scratch::new());
    let tunable = or_skip!(Tunable::over(&scratch));
    let ended = tunable.sweep(&["--budget", "20s", "--json"]).end();
    ended.assert_code(0);
    ended.assert_says(&["Budget", "20 s", "enough for"]);
    let run = ended.json();
    assert_eq!(run["run"]["budget_ns"], 20_000_000_000_u64);
    assert_eq!(run["run"]["status"], "finished");
    let trials = run["trials"].as_array().expect("a list").len();
    assert!(trials.is_multiple_of(2), "whole rounds: {trials}");
    // As planned, or told why not.
    let planned = run["run"]["trials_planned"].as_u64().expect("a number");
    let early = (trials as u64) < planned;
    assert_eq!(
        ended.says(&["the budget of 20 s is used up"]),
        early,
        "{:#?}",
        ended.err
    );
    if !early {
        ended.assert_says(&["a round takes", "fit into the budget"]);
    }

    // What is known by now is told the next time.
    let mut again = tunable.sweep(&["--budget", "20s"]);
    again.await_words("Detects ");
    again.signal(Signal::INT);
    let told = again.end();
    told.assert_says(&["Detects", "reads: read_iops", "vary as in run"]);
    for (words, says) in [
        (&["--budget", "1s"][..], "a verdict takes 4 trials"),
        (&["--trials", "auto", "--max-trials", "8"], "12 trials"),
        (&["--max-trials", "8"], "--trials auto and --budget"),
    ] {
        let refused = tunable.sweep(words).end();
        refused.assert_code(2);
        refused.assert_says(&[says]);
    }
}
