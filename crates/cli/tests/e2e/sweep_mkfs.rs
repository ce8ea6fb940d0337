//! `assay sweep DEVICE --vary mkfs=…`: file systems that are made, mounted where
//! nobody else looks, and unmounted on every way out.

use crate::assay::{Bed, Running, text};
use crate::sweep::{journals, kill_both};
use assay_testkit::{LoopDevice, Scratch, needs, or_skip};
use rustix::process::Signal;
use std::fs;
use std::path::Path;

const READ: [&str; 5] = ["--quick", "--size", "1M", "--only", "read-cached"];

/// Unmounts what a failed test left.
struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        if !mounts(self.0).is_empty() {
            let _ = assay_testkit::command("umount").arg(self.0).status();
        }
    }
}

/// Where a device is mounted.
fn mounts(device: &Path) -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mounts").expect("it is there");
    let of = format!("{} ", device.display());
    let lines = all.lines().filter(|line| line.starts_with(&of));
    lines.map(str::to_owned).collect()
}

fn start(bed: &Bed, device: &LoopDevice, words: &[&str]) -> Running {
    let front = ["sweep", text(device.node()), "--destroy-data"];
    bed.start(&[&front[..], words].concat())
}

fn assert_all_gone(bed: &Bed, device: &LoopDevice) {
    assert_eq!(mounts(device.node()), Vec::<String>::new());
    assert_eq!(journals(bed), 0, "neither journal nor mount point");
}

#[test]
fn file_systems_are_made_mounted_and_unmounted() {
    needs!(root, "mkfs.ext4", "mkfs.ext2");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let _unmount = Unmount(device.node());
    let words = [
        "--vary",
        "mkfs=ext4:-b+1024,ext2",
        "--vary",
        "mount=noatime,relatime",
    ];
    let words = [&words[..], &["--rounds", "1", "--json"], &READ].concat();
    let ended = start(&bed, &device, &words).end();
    ended.assert_code(0);
    ended.assert_says(&["Writes", "OVER ALL DATA ON"]);
    assert_all_gone(&bed, &device);
    let run = ended.json();
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 8);
    for trial in trials {
        let condition = trial["condition"].as_str().unwrap();
        let in_force = |subject: &str| {
            let all = trial["in_force"].as_array().unwrap();
            let one = all.iter().find(|one| one["subject"] == subject);
            one.and_then(|one| one["value"].as_str())
                .unwrap()
                .to_owned()
        };
        let kind = in_force("mkfs");
        assert!(
            condition.starts_with(&format!("mkfs={kind}")),
            "{condition}"
        );
        let option = condition.rsplit('=').next().unwrap();
        assert!(in_force("mount").split(',').any(|shown| shown == option));
    }
}

#[test]
fn a_work_is_done_in_file_systems_that_are_made_for_it() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let _unmount = Unmount(device.node());
    let words = ["--vary", "mkfs=ext4:-b+1024,ext4:-b+4096", "--rounds", "1"];
    let dd = ["--", "dd", "if=/dev/zero", "of=f", "bs=64K", "count=4"];
    let ended = start(&bed, &device, &[&words[..], &dd].concat()).end();
    ended.assert_code(0);
    assert_all_gone(&bed, &device);
    let run = bed.stored("last");
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    assert!(trials.iter().all(|trial| trial["outcome"] == "completed"));
    // What it writes goes with the file system: it may not be elsewhere.
    let out = format!("of={}", bed.join("f").display());
    let dd = ["--", "dd", "if=/dev/zero", &out, "count=1"];
    let ended = start(&bed, &device, &[&words[..], &dd].concat()).end();
    assert!(ended.refusal().contains("name a file there"));
}

#[test]
fn a_file_system_that_a_killed_sweep_left_is_unmounted_by_the_next_start() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let _unmount = Unmount(device.node());
    let words = [&["--vary", "mkfs=ext4", "--rounds", "500"][..], &READ].concat();
    let mut running = start(&bed, &device, &words);
    running.await_trials(2);
    let killed = kill_both(running);
    assert_eq!(mounts(device.node()).len(), 1, "it is left");
    let next = bed.short_run(&bed.folder());
    let id = killed.run_id().expect("it had begun");
    next.assert_says(&[id, "was cut off under a condition", text(device.node())]);
    assert_all_gone(&bed, &device);
}

#[test]
fn ctrl_c_unmounts() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let _unmount = Unmount(device.node());
    let words = [&["--vary", "mkfs=ext4", "--rounds", "500"][..], &READ].concat();
    let mut running = start(&bed, &device, &words);
    running.await_trials(2);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    assert_all_gone(&bed, &device);
}

#[test]
fn only_an_unused_device_whose_data_may_go_gets_a_file_system() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let folder = bed.folder();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let node = text(device.node());
    let refused =
        |path: &str, words: &[&str]| bed.refused(&[&["sweep", path][..], words, &READ].concat());
    let mkfs = ["--vary", "mkfs=ext4"];
    assert!(refused(node, &mkfs).contains("--destroy-data"));
    assert!(refused(text(&folder), &mkfs).contains("is none"));
    let destroy = |vary: &'static str| ["--destroy-data", "--vary", vary];
    for (vary, says) in [
        ("mkfs=all", "name them"),
        ("mkfs=nothing", "ext4"),
        ("mkfs=ext4:", "KIND:OPTION"),
    ] {
        let line = refused(node, &destroy(vary));
        assert!(line.contains(says), "{vary}: {line}");
    }
    // What is refused only when it is tried is refused before anything is measured.
    let odd = ["--vary", "mkfs=ext4", "--vary", "mount=no_such_option"];
    for (words, says) in [
        (&["--vary", "mkfs=ext4:-b+77"][..], "77"),
        (&odd, "mount: "),
    ] {
        let ended = start(&bed, &device, &[words, &READ].concat()).end();
        ended.assert_code(2);
        ended.assert_says(&["assay:", says]);
    }
    assert_all_gone(&bed, &device);
    let mounted = or_skip!(assay_testkit::Volume::new("ext4", 64));
    let line = refused(text(mounted.device().node()), &destroy("mkfs=ext4"));
    assert!(line.contains("is mounted on"), "{line}");
}
