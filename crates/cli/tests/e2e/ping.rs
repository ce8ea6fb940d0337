//! `assay ping`: latency of single reads, on each kind of place, and what is refused.

use crate::assay::{Bed, assert_label, pattern, test_folders, text, trials};
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};
use std::fs;

const EMMC: &str = "sim:emmc-8gb-hs400,noise=5";
const SHORT: [&str; 6] = ["--count", "5", "--interval", "20ms", "--trials", "1"];

#[test]
fn a_simulated_device_answers_with_its_latency_and_its_label() {
    let bed = Bed::new();
    let ended = bed.run(&["ping", EMMC, "--seed", "1"]);
    ended.assert_code(0);
    let answer = ended.out.lines().find(|line| line.contains("Latency"));
    let answer = answer.expect("an answer");
    for word in ["min ", "median ", "max ", "simulated"] {
        assert!(answer.contains(word), "{answer}");
    }
    let run = bed.stored("last");
    let trials = trials(&run, "ping");
    assert_eq!(trials.len(), 5);
    for trial in trials {
        assert_eq!(trial["totals"]["read"]["ios"], 20, "{trial}");
        // 19 pauses of 200 ms in virtual time, none after the last request.
        let elapsed_ns = trial["elapsed_ns"].as_u64().expect("a time");
        assert!(
            (3_800_000_000..4_000_000_000).contains(&elapsed_ns),
            "{elapsed_ns}"
        );
    }
}

#[test]
fn two_runs_are_listed_shown_reported_and_compared_by_latency() {
    let bed = Bed::new();
    for (name, seed) in [("before", "1"), ("after", "2")] {
        let words = ["ping", EMMC, "--seed", seed, "--name", name, "--json"];
        let ended = bed.run(&words);
        ended.assert_code(0);
        assert_eq!(trials(&ended.json(), "ping").len(), 5);
    }
    let list = bed.run(&["list"]);
    assert!(list.out.contains("ping"), "{}", list.out);
    let shown = bed.run(&["report", "after"]);
    assert!(shown.out.contains("simulated"), "{}", shown.out);
    let page = bed.join("ping.html");
    bed.run(&["report", "after", "-o", text(&page)])
        .assert_code(0);
    let compared = bed.run(&["compare", "before", "after", "--json"]);
    compared.assert_code(0);
    let compared = compared.json();
    let rows = compared["pairs"].as_array().expect("pairs").iter();
    let primary = rows.filter(|row| row["primary"] == true);
    let names: Vec<_> = primary.map(|row| &row["metric"]).collect();
    assert_eq!(names, ["ping: read_lat_mean"]);
}

#[test]
fn in_a_folder_a_file_is_made_and_removed() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let bed = Bed::new();
    let place = ["ping", text(volume.point()), "--size", "8M", "--json"];
    let ended = bed.run(&[&place, &SHORT[..]].concat());
    ended.assert_code(0);
    assert_label(&ended.json(), "ping", "read", "device");
    assert!(test_folders(volume.point()).is_empty());
}

#[test]
fn devices_and_files_are_only_read_even_if_mounted() {
    needs!(root, "mkfs.ext4");
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    fs::write(&image, pattern(16 << 20)).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let bed = Bed::new();
    let ping = |path: &str| {
        let ended = bed.run(&[&["ping", path], &SHORT[..]].concat());
        ended.assert_code(0);
        ended
    };
    let ended = ping(text(device.node()));
    assert!(ended.out.contains("the device itself"), "{}", ended.out);
    assert_label(&bed.stored("last"), "ping", "read", "device");
    device.detach().unwrap();
    ping(text(&image));
    assert!(fs::read(&image).unwrap() == pattern(16 << 20), "written");
    let volume = or_skip!(Volume::new("ext4", 32));
    ping(text(volume.device().node()));
}

#[test]
fn what_cannot_be_read_is_refused_before_anything_is_stored() {
    let bed = Bed::new();
    let folder = bed.folder();
    let empty = bed.join("empty");
    fs::write(&empty, "").unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&[text(&empty)], "is empty"),
        (&["/proc"], "exists only in the kernel"),
        (&[text(&folder), "--bs", "1000"], "multiple of 512"),
        (&[text(&folder), "--bs", "2M", "--size", "1M"], "at most"),
        (&[EMMC, "--size", "1T"], "not enough space"),
    ];
    for (words, why) in cases {
        let refusal = bed.refused(&[&["ping"], words].concat());
        assert!(refusal.contains(why), "{refusal}");
    }
    assert!(!bed.store().exists());
    assert!(test_folders(&folder).is_empty());
}
