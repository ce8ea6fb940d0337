//! The disks of this machine, and what would spoil a measurement on it.

use crate::assay::{Bed, Ended, Running, text};
use assay_testkit::{Volume, needs, or_skip};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn run(bed: &Bed, words: &[&str]) -> Ended {
    Running::start(&mut bed.command_without_store(words)).end()
}

fn json(bed: &Bed, words: &[&str]) -> Value {
    let ended = run(bed, &[words, &["--json"]].concat());
    ended.assert_code(0);
    ended.json()
}

/// Findings of a kind.
fn of_kind<'a>(checkup: &'a Value, kind: &str) -> Vec<&'a Value> {
    let findings = checkup["findings"].as_array().expect("a list").iter();
    findings.filter(|finding| finding["kind"] == kind).collect()
}

#[test]
fn a_mounted_disk_is_listed_with_its_files_and_the_reason_against_it() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let list = json(&bed, &["devices"]);
    let name = volume.device().name();
    let devices = list["devices"].as_array().unwrap();
    let device = devices.iter().find(|device| device["name"] == name);
    let device = device.unwrap_or_else(|| panic!("no {name}: {list:#}"));
    assert_eq!(device["kind"], "loop");
    assert_eq!(device["size_bytes"], 64 << 20);
    assert_eq!(device["mounted"][0]["point"], text(volume.point()));
    assert_eq!(device["mounted"][0]["writable"], true);
    let reason = device["in_use"][0].as_str().unwrap();
    assert_eq!(
        reason,
        format!("{name} is mounted on {}", text(volume.point()))
    );
    assert!(device["ceiling"].is_null());
    let shown = run(&bed, &["devices", &format!("/dev/{name}")]);
    shown.assert_code(0);
    assert!(shown.out.contains("file behind it"), "{}", shown.out);
    assert!(!shown.out.contains("WHAT"), "not the list: {}", shown.out);
}

#[test]
fn a_disk_that_is_not_there_is_refused_with_those_that_are() {
    let bed = Bed::new();
    let refusal = run(&bed, &["devices", "sdzz"]).refusal();
    assert!(
        refusal.contains("there is no disk sdzz; there are"),
        "{refusal}"
    );
}

#[test]
fn a_user_sees_disks_and_is_told_what_is_missing() {
    needs!(root, "setpriv");
    let bed = Bed::new();
    let mut command = bed.command_of_nobody_without_store(&["devices"]);
    let ended = Running::start(&mut command).end();
    ended.assert_code(0);
    assert!(ended.out.contains("without root"), "{}", ended.out);
    assert!(!ended.out.contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn a_doctor_tells_of_a_loop_device_and_of_what_is_in_memory() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let checkup = json(&bed, &["doctor", text(volume.point())]);
    let found = of_kind(&checkup, "loop_device");
    assert_eq!(found[0]["device"], volume.device().name());
    assert_eq!(found[0]["severity"], "spoils");
    assert_eq!(of_kind(&checkup, "little_room").len(), 1, "{checkup:#}");
    let node = volume.device().node();
    let checkup = json(&bed, &["doctor", text(node)]);
    let found = of_kind(&checkup, "not_writable");
    let reason = found[0]["reasons"][0].as_str().unwrap();
    assert!(reason.contains("is mounted on"), "{reason}");
    let checkup = json(&bed, &["doctor", "/dev/shm"]);
    assert_eq!(of_kind(&checkup, "memory").len(), 1, "{checkup:#}");
}

#[test]
fn what_was_switched_off_is_found_and_is_sound_again_when_it_is_on() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let iostats = format!("/sys/block/{}/queue/iostats", volume.device().name());
    let found = |bed: &Bed| {
        let checkup = json(bed, &["doctor", text(volume.point())]);
        of_kind(&checkup, "iostats_off").len()
    };
    fs::write(&iostats, "0").unwrap();
    assert_eq!(found(&bed), 1);
    fs::write(&iostats, "1").unwrap();
    assert_eq!(found(&bed), 0);
}

#[test]
fn a_strict_doctor_ends_with_3_when_figures_would_be_spoiled() {
    let bed = Bed::new();
    let memory = Path::new("/dev/shm");
    run(&bed, &["doctor", text(memory)]).assert_code(0);
    run(&bed, &["doctor", text(memory), "--strict"]).assert_code(3);
}

#[test]
fn a_path_that_is_not_there_is_refused() {
    let bed = Bed::new();
    let refusal = run(&bed, &["doctor", "/no/such/path"]).refusal();
    assert!(
        refusal.contains("/no/such/path does not exist"),
        "{refusal}"
    );
}
