//! What is kept of a copy, and what its evidence says.

use crate::assay::{Bed, await_some, is_pure, label, text, trial, trials, undisturbed};
use assay_testkit::{LoopDevice, Mount, Scratch, Volume, needs, or_skip, run};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

#[test]
fn a_copy_is_kept_with_its_repetitions() {
    let bed = Bed::new();
    let of = format!("of={}", text(&bed.folder().join("out")));
    let words = [
        "dd",
        "--trials",
        "3",
        "--json",
        "if=/dev/zero",
        &of,
        "bs=64k",
        "count=16",
    ];
    let ended = bed.run(&words);
    ended.assert_code(0);
    let run = ended.json();
    let copies = trials(&run, "dd");
    assert_eq!(copies.len(), 3);
    assert_eq!(copies[0]["totals"]["write"]["bytes"], 1 << 20);
    assert_eq!(trials(&bed.stored("last"), "dd").len(), 3);
}

#[test]
fn a_copy_is_made_although_it_cannot_be_kept() {
    let bed = Bed::new();
    let out = bed.folder().join("out");
    let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
    command.env_remove("HOME").env_remove("XDG_DATA_HOME");
    command.args(["dd", "if=/dev/zero", "bs=4k", "count=2"]);
    command.arg(format!("of={}", text(&out)));
    let ended = crate::assay::Running::start(&mut command).end();
    ended.assert_code(0);
    ended.assert_says(&["assay: this run is not stored:", "--store"]);
    ended.assert_says(&["2+0 records out"]);
    assert_eq!(std::fs::metadata(out).unwrap().len(), 8192);
}

#[test]
fn the_four_ways_measure_what_they_say() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 256));
    let file = volume.point().join("ladder");
    let of = format!("of={}", text(&file));
    // A sync(2) of others writes the page cache back.
    let ended = undisturbed(
        || bed.run(&["dd", "--ladder", &of, "bs=1M", "count=16"]),
        |_| is_pure(&trial(&bed.stored("last"), "plain")["evidence"]["write"]),
    );
    ended.assert_code(0);
    for way in ["plain", "conv=fdatasync", "oflag=direct", "oflag=dsync"] {
        assert!(ended.out.contains(way), "{}", ended.out);
    }
    let caveat = format!("{} is a loop device over", volume.device().name());
    assert!(ended.out.contains(&caveat), "{}", ended.out);
    assert!(!file.exists(), "it was made for the ladder alone");
    let run = bed.stored("last");
    assert_eq!(label(&run, "plain", "write").0, "page-cache");
    assert_eq!(label(&run, "conv=fdatasync", "write").0, "device");
    assert!(label(&run, "oflag=direct", "write").0.starts_with("device"));
    assert_eq!(label(&run, "oflag=dsync", "write").0, "device");
}

#[test]
fn a_mounted_device_is_left_alone() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 16));
    let of = format!("of={}", text(volume.device().node()));
    let ended = bed.run(&["dd", "if=/dev/zero", &of, "count=1"]);
    ended.assert_code(2);
    ended.assert_says(&["in use", "mounted"]);
}

/// A device whose image has no room: writes of it go to the page cache, and fail
/// when they are flushed.
#[test]
fn a_flush_that_failed_proves_nothing() {
    needs!(root);
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let small = or_skip!(Mount::tmpfs(1, &scratch.join("small")));
    let image = small.point().join("image");
    let made = File::create_new(&image).and_then(|file| file.set_len(16 << 20));
    made.expect("a file without blocks takes no room");
    let device = or_skip!(LoopDevice::over(&image));
    let of = format!("of={}", text(device.node()));
    let words = ["if=/dev/urandom", &of, "bs=1M", "count=8", "conv=fsync"];
    let ended = bed.run(&[&["dd", "--json"], &words[..]].concat());
    ended.assert_code(1);
    ended.assert_says(&["fsync failed for", "Input/output error"]);
    let run = ended.json();
    let copy = &trials(&run, "dd")[0];
    assert_eq!(copy["error_count"], 1, "{}", copy["errors"]);
    let (said, because) = label(&run, "dd", "write");
    assert_eq!(said, "unknown");
    assert!(because.contains("a write or a flush failed"), "{because}");
}

#[test]
fn a_copy_says_when_it_left_direct_io() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let of = format!("of={}", text(&volume.point().join("out")));
    let copied = |bytes: &str| {
        let words = ["if=/dev/zero", &of, "bs=64k", bytes, "iflag=count_bytes"];
        let flags = ["oflag=direct"];
        let ended = bed.run(&[&["dd", "--json"], &words[..], &flags].concat());
        ended.assert_code(0);
        trials(&ended.json(), "dd")[0]["detail"]["left_direct"].clone()
    };
    assert_eq!(copied("count=524288"), false);
    assert_eq!(copied("count=524289"), true);
}

#[test]
fn the_end_of_the_input_is_no_read() {
    let bed = Bed::new();
    let data = bed.folder().join("data");
    std::fs::write(&data, vec![7; 1 << 20]).unwrap();
    let input = format!("if={}", text(&data));
    let ended = bed.run(&["dd", "--json", &input, "of=/dev/null", "bs=64k"]);
    ended.assert_code(0);
    let run = ended.json();
    let copy = &trials(&run, "dd")[0];
    assert_eq!(copy["totals"]["read"]["ios"], 16, "{copy}");
}

#[test]
fn standard_output_behind_a_device_in_use_is_left_alone() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 16));
    let image = File::options().write(true).open(volume.image());
    let mut command = bed.command(&["dd", "if=/dev/zero", "count=1"]);
    command.stdout(image.expect("it is there"));
    let output = command.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("mounted"), "{said}");
}

/// Opens a device as mounting it would.
fn claimed(node: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    open(node, flags, Mode::empty())
}

#[test]
fn a_device_is_held_as_long_as_it_is_written() {
    needs!(root, "mkfifo");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let pipe = scratch.join("pipe");
    or_skip!(run(&["mkfifo", text(&pipe)]));
    let input = format!("if={}", text(&pipe));
    let of = format!("of={}", text(device.node()));
    let copy = bed.start(&["dd", &input, &of]);
    let writer = await_some("somebody who reads", || {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        open(&pipe, flags, Mode::empty()).ok()
    });
    let held = claimed(device.node());
    drop(writer);
    copy.end().assert_code(0);
    assert_eq!(held.err(), Some(Errno::BUSY));
    claimed(device.node()).expect("nobody holds it any more");
}

/// Nothing of it was in the page cache either.
#[test]
fn holes_read_past_the_page_cache_are_made_up_by_the_kernel() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let file = volume.point().join("holes");
    File::create(&file).unwrap().set_len(16 << 20).unwrap();
    let of = format!("if={}", text(&file));
    let words = ["dd", &of, "of=/dev/null", "bs=1M", "iflag=direct"];
    let ended = bed.run(&words);
    ended.assert_code(0);
    ended.assert_says(&["nothing reached a device", "page cache: ", "holes"]);
}
