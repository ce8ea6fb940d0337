//! Runs are resumed on the medium that they began on, not on another one of the same name, model
//! and size.

use crate::assay::{Bed, pattern, text};
use assay_testkit::{LoopDevice, Scratch, Unavailable, Undo, needs, or_skip};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const MIB: usize = 1 << 20;

/// Puts another image behind a loop device.
fn swap(device: LoopDevice, image: &Path) -> Result<Undo, Unavailable> {
    let node = text(device.node()).to_owned();
    device.detach()?;
    Undo::after(
        &["losetup", &node, text(image)],
        &["losetup", "--detach", &node],
    )
}

/// Begins a command on one image, and resumes it on another and on the first again.
fn on_another_medium(begin: &[&str], resume: &[&str], under_way: impl Fn(&str) -> bool) {
    let scratch = or_skip!(Scratch::new());
    let [first, other] = ["first.img", "other.img"].map(|name| scratch.join(name));
    fs::write(&first, pattern(8 * MIB)).expect("room");
    fs::write(&other, pattern(8 * MIB)).expect("room");
    let device = or_skip!(LoopDevice::over(&first));
    let node = text(device.node()).to_owned();
    let bed = Bed::new();
    let mut words = begin.to_vec();
    let place = begin
        .iter()
        .take_while(|word| !word.starts_with('-'))
        .count();
    words.insert(place, &node);
    let mut running = bed.start(&words);
    running.await_lines("steps", 2, &under_way);
    running.signal(Signal::INT);
    running.end().assert_code(130);

    let mut swapped = or_skip!(swap(device, &other));
    let before = fs::read(&other).expect("an image");
    let named = format!("--destroy-data={node}");
    for flag in ["--destroy-data", &named] {
        let line = bed.refused(&[resume, &[flag]].concat());
        assert!(line.contains("other storage than run"), "{line}");
        assert!(line.contains("file behind the loop device"), "{line}");
    }
    let line = bed.refused(&[resume, &["--destroy-data=/dev/other"]].concat());
    assert!(line.contains("--destroy-data names /dev/other"), "{line}");
    assert!(
        fs::read(&other).expect("an image") == before,
        "it was written"
    );

    swapped.now().expect("it is detached");
    let _again = or_skip!(Undo::after(
        &["losetup", &node, text(&first)],
        &["losetup", "--detach", &node]
    ));
    let mut running = bed.start(&[resume, &["--destroy-data"]].concat());
    running.await_lines("resumed steps", 1, &under_way);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    ended.assert_says(&["resumes run"]);
}

#[test]
fn a_soak_is_not_resumed_on_another_medium() {
    needs!(root, "losetup");
    let begin = [
        "lab",
        "soak",
        "--passes",
        "1000000",
        "--checkpoint",
        "150ms",
        "--destroy-data",
    ];
    on_another_medium(&begin, &["lab", "soak", "--resume", "last"], |line| {
        line.contains(" #1: ")
    });
}

#[test]
fn a_sweep_is_not_resumed_on_another_medium() {
    needs!(root, "losetup");
    let begin = [
        "sweep",
        "--vary",
        "read_ahead_kb=64,128",
        "--only",
        "seq-write-1m",
        "--size",
        "4M",
        "--trials",
        "1000",
        "--destroy-data",
    ];
    on_another_medium(&begin, &["sweep", "--resume", "last"], |line| {
        line.contains("seq-write-1m")
    });
}

/// As `/dev/disk/by-id/...` names a device.
#[test]
fn a_device_may_be_named_by_a_link() {
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 8));
    let link = scratch.join("by-id");
    symlink(device.node(), &link).expect("a link");
    let named = |name: &Path| format!("--destroy-data={}", text(name));
    let words = ["--passes", "1", "--size", "1M"];
    let bed = Bed::new();
    for (path, name) in [
        (&*link, &*link),
        (&link, device.node()),
        (device.node(), &link),
    ] {
        let soak = ["lab", "soak", text(path), &named(name)];
        bed.run(&[&soak[..], &words].concat()).assert_code(0);
    }
    let other = named(&scratch.join("other"));
    let line = bed.refused(&["lab", "soak", text(&link), &other]);
    assert!(line.contains("--destroy-data names"), "{line}");
}
