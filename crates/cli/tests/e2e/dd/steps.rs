//! What is kept of a copy, and what its evidence says.

use crate::assay::{Bed, label, text, trials};
use assay_testkit::{Volume, needs, or_skip};

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
fn the_four_ways_measure_what_they_say() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 256));
    let file = volume.point().join("ladder");
    let of = format!("of={}", text(&file));
    let ended = bed.run(&["dd", "--ladder", &of, "bs=1M", "count=16"]);
    ended.assert_code(0);
    for way in ["plain", "conv=fdatasync", "oflag=direct", "oflag=dsync"] {
        assert!(ended.out.contains(way), "{}", ended.out);
    }
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
