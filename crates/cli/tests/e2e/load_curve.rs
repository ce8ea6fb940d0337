//! `assay load-curve`: the rate that storage serves, against devices of known speed.

use crate::assay::{Bed, figure, text, trial};
use assay_testkit::{Fake, FakeDevice, KnownSpeed, Lie, Scratch, needs, or_skip};
use serde_json::Value;
use std::fs;
use std::time::Duration;

const EMMC: &str = "sim:emmc-8gb-hs400";

/// Names of the jobs that offer rates, with the rates.
fn offered(run: &Value) -> Vec<(String, u64)> {
    let trials = run["trials"].as_array().expect("trials").iter();
    let jobs = trials.filter_map(|trial| {
        let rate = trial["job"]["rate"]["arrivals"].as_u64()?;
        Some((trial["job"]["name"].as_str()?.to_owned(), rate))
    });
    let mut all: Vec<(String, u64)> = jobs.collect();
    all.sort_by_key(|(_, rate)| *rate);
    all
}

#[test]
fn the_latency_of_a_simulated_device_grows_with_the_rate() {
    let bed = Bed::new();
    let words = ["load-curve", EMMC, "--seed", "1", "--trials", "1"];
    let ended = bed.run(&[&words[..], &["--json"]].concat());
    ended.assert_code(0);
    let run = ended.json();
    let rates = offered(&run);
    assert_eq!(rates.len(), 8, "{rates:?}");
    let most = figure(&run, "saturation", "read_iops");
    let (_, highest) = rates.last().expect("rates");
    assert!(
        (0.9 * most..=most).contains(&(*highest as f64)),
        "{highest} of {most}"
    );
    let p99 = |name: &str| figure(&run, name, "read_lat_p99");
    let (lowest, highest) = (p99(&rates[0].0), p99(&rates[7].0));
    assert!(lowest * 3.0 < highest, "{lowest} and {highest}");
    for (name, rate) in &rates[..5] {
        let served = figure(&run, name, "read_iops");
        let share = served / *rate as f64;
        assert!((0.9..1.1).contains(&share), "{name}: {served}");
    }
    let shown = bed.run(&[&words[..], &["--read-write"]].concat());
    shown.assert_code(0);
    for word in [
        "Serves ",
        "random reads of 4 KiB",
        "50 % of them reads",
        "worst p99",
    ] {
        assert!(shown.out.contains(word), "{word}: {}", shown.out);
    }
}

/// The device serves one read at a time, 400 a second: at 380 arrivals a second reads wait for each
/// other, at 500 it cannot keep up.
#[test]
fn a_device_of_known_speed_serves_no_more_than_that() {
    needs!(root, "nbdfuse", "losetup");
    let scratch = or_skip!(Scratch::new());
    let percent = scratch.join("percent");
    fs::write(&percent, "100\n").expect("room");
    let mut fake = Fake::new(1 << 20, Lie::None);
    fake.speed = Some(KnownSpeed::new(percent, 400.0));
    let device = or_skip!(FakeDevice::over(&scratch, fake));
    let bed = Bed::new();
    let node = text(device.device().node()).to_owned();
    let words = [
        "load-curve",
        &node,
        "--rates",
        "200,380,500",
        "--trials",
        "1",
    ];
    let ended = bed.run(&words);
    ended.assert_code(0);
    let run = bed.stored("last");
    let most = figure(&run, "saturation", "read_iops");
    assert!((380.0..420.0).contains(&most), "{most}");
    assert!(figure(&run, "load-200", "read_lat_p50") < 10e6);
    // Due minus served: more than a hundred a second wait after two seconds.
    assert!(figure(&run, "load-500", "read_lat_p99") > 200e6);
    let job = &trial(&run, "load-500")["job"];
    assert_eq!(job["rate"]["arrivals"], 500);
    let serves = ended
        .out
        .lines()
        .find(|line| line.contains("Serves "))
        .expect("an answer");
    assert!(
        !serves.contains("Serves 500") && !serves.contains(", 500 below"),
        "{serves}"
    );
    assert!(ended.out.contains("does not keep up"), "{}", ended.out);
}

/// Every 2 s nothing completes for 200 ms. A tenth of the arrivals meets that, and the slowest
/// hundredth waits for at least nine tenths of it. A closed loop would delay one read in 2 s.
#[test]
fn reads_that_arrive_during_a_stall_wait_for_its_end() {
    needs!(root, "nbdfuse", "losetup");
    let scratch = or_skip!(Scratch::new());
    let percent = scratch.join("percent");
    fs::write(&percent, "100\n").expect("room");
    let mut fake = Fake::new(1 << 20, Lie::None);
    let mut speed = KnownSpeed::new(percent, 20_000.0);
    speed.stalls = Some((Duration::from_secs(2), Duration::from_millis(200)));
    fake.speed = Some(speed);
    let device = or_skip!(FakeDevice::over(&scratch, fake));
    let bed = Bed::new();
    let node = text(device.device().node()).to_owned();
    let words = ["--rates", "150", "--seconds", "20", "--trials", "1"];
    let ended = bed.run(&[&["load-curve", &node], &words[..]].concat());
    ended.assert_code(0);
    let run = bed.stored("last");
    let p99 = figure(&run, "load-150", "read_lat_p99") / 1e6;
    assert!((165.0..200.0).contains(&p99), "{p99} ms");
    let p50 = figure(&run, "load-150", "read_lat_p50") / 1e6;
    assert!(p50 < 20.0, "{p50} ms");
}

#[test]
fn what_cannot_be_offered_is_refused() {
    let bed = Bed::new();
    let file = bed.join("file");
    fs::write(&file, vec![1; 2 << 20]).expect("room");
    let file = text(&file);
    for (words, why) in [
        (&["load-curve", file, "--writes"][..], "only read"),
        (&["load-curve", file, "--bs", "0"][..], "--bs"),
        (&["load-curve", file, "--rates", "0"][..], "--rates"),
        (
            &["load-curve", EMMC, "--writes", "--read-write"][..],
            "cannot be used together",
        ),
    ] {
        let line = bed.refused(words);
        assert!(line.contains(why), "{words:?}: {line}");
    }
}
