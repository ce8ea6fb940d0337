//! `assay mark`: marks, classes and steady states.

use crate::assay::{Bed, text, trials};
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};

#[test]
fn marks_are_of_the_device_and_the_best_after_a_warm_up() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let bed = Bed::new();
    let words = [
        "mark",
        text(volume.point()),
        "--size",
        "32M",
        "--seconds",
        "1",
        "--trials",
        "1",
    ];
    let ended = bed.run(&words);
    ended.assert_code(0);
    for line in [
        "SEQ1M Q8T1   read",
        "RND4K Q32T1  write",
        "RND4K Q1T1   read",
    ] {
        assert!(ended.out.contains(line), "{}", ended.out);
    }
    let run = bed.stored("last");
    let reads = trials(&run, "rnd4k-q1t1-read");
    let numbers: Vec<_> = reads.iter().map(|trial| &trial["trial"]).collect();
    assert_eq!(numbers, [0, 1], "one for conditioning and one that counts");
    for trial in reads {
        assert_eq!(trial["evidence"]["read"]["label"], "device");
    }
}

#[test]
fn a_class_passes_by_figures_of_the_device_only() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let bed = Bed::new();
    let words = [
        "--class",
        "v6",
        "--size",
        "32M",
        "--seconds",
        "2",
        "--trials",
        "1",
    ];
    let check = |path: &str| bed.run(&[&["mark", path], &words[..]].concat());
    let ended = check(text(volume.point()));
    ended.assert_code(0);
    assert!(ended.out.contains("Class V6: pass"), "{}", ended.out);
    let memory = or_skip!(assay_testkit::Mount::tmpfs(64, &bed.join("memory")));
    let ended = check(text(memory.point()));
    ended.assert_code(0);
    assert!(
        ended.out.contains("Class V6: no conclusion"),
        "{}",
        ended.out
    );
}

#[test]
fn a_steady_state_is_of_a_device_that_may_be_overwritten() {
    needs!(root);
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let folder = bed.folder();
    let refusal = bed.refused(&["mark", text(&folder), "--steady-state"]);
    assert!(refusal.contains("not a block device"), "{refusal}");
    let refusal = bed.refused(&["mark", text(device.node()), "--steady-state"]);
    assert!(refusal.contains("--destroy-data"), "{refusal}");
    let words = [
        "--steady-state",
        "--destroy-data",
        "--seconds",
        "1",
        "--trials",
        "5",
    ];
    let ended = bed.run(&[&["mark", text(device.node())], &words[..]].concat());
    ended.assert_code(0);
    let concluded = [
        "Steady state after 5 rounds:",
        "No steady state in 5 rounds:",
    ];
    let found = concluded.iter().any(|words| ended.out.contains(words));
    assert!(found, "{}", ended.out);
    let run = bed.stored("last");
    assert_eq!(trials(&run, "steady-fill").len(), 1);
    assert_eq!(trials(&run, "steady-round").len(), 5);
    let unknown = bed.refused(&["mark", text(&folder), "--class", "V31"]);
    assert!(unknown.contains("V30"), "{unknown}");
}
