//! A bare device is overwritten only when that was asked for and nobody uses
//! it.

use crate::assay::{Bed, assert_label, pattern, text};
use assay_testkit::{
    LoopDevice, Mount, Scratch, Undo, Volume, make_file_system, needs, or_skip, run,
};
use std::fs::{self, File};
use std::path::Path;

const MIB: usize = 1 << 20;

/// A device over a file full of data.
fn full_device(scratch: &Scratch, mib: usize) -> Result<LoopDevice, assay_testkit::Unavailable> {
    let image = scratch.join("disk.img");
    fs::write(&image, pattern(mib * MIB)).expect("room");
    LoopDevice::over(&image)
}

fn content(scratch: &Scratch) -> Vec<u8> {
    fs::read(scratch.join("disk.img")).expect("an image")
}

/// Refused with and without the flag, and why.
fn assert_in_use(node: &Path, words: &[&str]) {
    let bed = Bed::new();
    for flag in [None, Some("--destroy-data")] {
        let mut all = vec!["qualify", text(node), "--quick"];
        all.extend(flag);
        let line = bed.refused(&all);
        assert!(line.contains("in use"), "{line}");
        for word in words {
            assert!(line.contains(word), "no '{word}': {line}");
        }
    }
}

#[test]
fn without_the_flag_not_a_byte_is_changed() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(full_device(&scratch, 32));
    let before = content(&scratch);
    let line = Bed::new().refused(&["qualify", text(device.node()), "--quick"]);
    assert!(line.contains("--destroy-data"), "{line}");
    device.detach().unwrap();
    assert!(content(&scratch) == before, "the device was written");
}

#[test]
fn with_the_flag_only_the_announced_part_is_written() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(full_device(&scratch, 64));
    let before = content(&scratch);
    let jobs = "ladder-*,read-cached,read-buffered,seq-read-1m,seq-write-1m,rand-write-4k";
    let run = Bed::new().measure(device.node(), "16M", jobs, &["--destroy-data"]);
    assert_eq!(run["device"]["name"], device.name());
    assert_label(&run, "ladder-fdatasync", "write", "device");
    assert_label(&run, "ladder-direct", "write", "device-unflushed");
    assert_label(&run, "ladder-dsync", "write", "device");
    assert_label(&run, "read-cached", "read", "page-cache");
    assert_label(&run, "read-buffered", "read", "device");
    assert_label(&run, "seq-read-1m", "read", "device");
    device.detach().unwrap();
    let after = content(&scratch);
    assert!(
        after[..16 * MIB] != before[..16 * MIB],
        "it was not written"
    );
    assert!(after[16 * MIB..] == before[16 * MIB..], "more was written");
}

#[test]
fn a_mounted_device_is_left_alone() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let (name, point) = (volume.device().name(), text(volume.point()));
    assert_in_use(volume.device().node(), &[name, "mounted on", point]);
}

#[test]
fn so_is_the_disk_of_a_mounted_partition_but_not_its_sibling() {
    needs!(root, "mkfs.ext4", "addpart");
    let scratch = or_skip!(Scratch::new());
    let disk = or_skip!(LoopDevice::new(&scratch, "disk.img", 128));
    let (first, _first_known) = or_skip!(disk.partition(1, 1, 60));
    let (second, _second_known) = or_skip!(disk.partition(2, 64, 60));
    or_skip!(make_file_system("ext4", &first));
    let mount = or_skip!(Mount::new(&[], text(&first), &scratch.join("mnt")));
    let notes = mount.point().join("notes");
    fs::write(&notes, vec![3; 20 * MIB]).unwrap();

    let partition = format!("{}p1", disk.name());
    let words = [partition.as_str(), "mounted on", text(mount.point())];
    assert_in_use(&first, &words);
    assert_in_use(disk.node(), &words);

    let jobs = "ladder-direct,seq-write-1m";
    let run = Bed::new().measure(&second, "32M", jobs, &["--destroy-data"]);
    assert_eq!(run["device"]["disk"], disk.name());
    mount.unmount().unwrap();
    let _mount = or_skip!(Mount::new(
        &["-o", "ro"],
        text(&first),
        &scratch.join("mnt")
    ));
    run_fsck(&first);
    assert!(fs::read(&notes).unwrap() == vec![3; 20 * MIB]);
}

/// Panics when the file system is damaged.
fn run_fsck(node: &Path) {
    run(&["e2fsck", "-f", "-n", text(node)]).expect("it is sound");
}

#[test]
fn swap_space_is_left_alone() {
    needs!(root, "mkswap", "swapon");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "swap.img", 16));
    let node = text(device.node());
    or_skip!(run(&["mkswap", node]));
    let _swapping = or_skip!(Undo::after(&["swapon", node], &["swapoff", node]));
    assert_in_use(device.node(), &[device.name(), "swap"]);
}

#[test]
fn a_device_behind_another_one_is_left_alone() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let lower = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let upper = or_skip!(LoopDevice::over(lower.node()));
    assert_in_use(lower.node(), &[lower.name(), upper.name()]);
}

#[test]
fn a_device_that_another_program_holds_is_left_alone() {
    use rustix::fs::{Mode, OFlags, open};
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let held = File::from(open(device.node(), flags, Mode::empty()).unwrap());
    assert_in_use(device.node(), &[device.name(), "is open in"]);
    drop(held);
}

/// Nothing uses it, but it is not empty.
#[test]
fn what_a_device_holds_is_said_before_it_is_overwritten() {
    needs!(root, "mkfs.ext4", "addpart");
    let scratch = or_skip!(Scratch::new());
    let disk = or_skip!(LoopDevice::new(&scratch, "disk.img", 128));
    let bed = Bed::new();
    let node = text(disk.node());
    let words = [
        "--quick",
        "--size",
        "1M",
        "--only",
        "ladder-direct",
        "--destroy-data",
    ];
    let empty = bed.run(&[&["qualify", node], &words[..]].concat());
    empty.assert_code(0);
    assert!(!empty.says(&["Holds"]), "{:#?}", empty.err);

    let (first, known) = or_skip!(disk.partition(1, 1, 60));
    or_skip!(make_file_system("ext4", &first));
    let part = format!("ext4 file system on {}p1: it will", disk.name());
    let [trace, jobs] = ["trace", "jobs.fio"].map(|name| scratch.join(name));
    let log = "fio version 3 iolog\n0 /x add\n0 /x open\n1 /x write 0 4096\n2 /x read 0 4096\n";
    fs::write(&trace, log).expect("room");
    let job = format!("[w]\nfilename={node}\nrw=write\nsize=64k\n");
    fs::write(&jobs, job).expect("room");
    for all in [
        &[&["qualify", node], &words[..]].concat()[..],
        &[
            "lab",
            "soak",
            node,
            "--passes",
            "1",
            "--size",
            "1M",
            "--destroy-data",
        ],
        &["capacity", node, "--limit", "1M", "--destroy-data"],
        &[
            "replay",
            text(&trace),
            node,
            "--trials",
            "1",
            "--destroy-data",
        ],
        &["run", text(&jobs), "--trials", "1"],
    ] {
        let ended = bed.run(all);
        ended.assert_code(0);
        ended.assert_says(&["Holds", &part, "be overwritten"]);
    }
    drop(known);
    or_skip!(make_file_system("ext4", disk.node()));
    let ended = bed.run(&[&["qualify", node], &words[..]].concat());
    ended.assert_says(&[
        "Holds",
        "an ext2, ext3 or ext4 file system: it will be overwritten",
    ]);
}
