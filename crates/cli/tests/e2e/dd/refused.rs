//! What assay does not do, and says why.

use crate::assay::{Bed, text};
use std::fs;

#[test]
fn what_cannot_be_repeated_or_mixed_is_refused() {
    let bed = Bed::new();
    let refusal = |words: &[&str]| bed.refused(&[&["dd"], words].concat());
    assert!(refusal(&["--json", "if=/dev/null"]).contains("of=FILE"));
    assert!(refusal(&["--trials", "2", "of=/dev/null"]).contains("if=FILE"));
    assert!(refusal(&["--trials", "2", "if=/dev/null"]).contains("of=FILE"));
    assert!(refusal(&["--ladder"]).contains("of=FILE"));
    assert!(refusal(&["--ladder", "of=/dev/null", "count=1"]).contains("neither a file"));
}

#[test]
fn the_ladder_leaves_data_alone() {
    let bed = Bed::new();
    let file = bed.folder().join("precious");
    fs::write(&file, "data").expect("room");
    let of = format!("of={}", text(&file));
    let refusal = bed.refused(&["dd", "--ladder", &of, "count=1"]);
    assert!(refusal.contains("holds data"), "{refusal}");
    assert_eq!(fs::read(&file).expect("it is there"), b"data");
    assert!(bed.refused(&["dd", "--ladder", &of]).contains("count=N"));
}

/// Not even when it is not there yet, by another name, or as standard output.
#[test]
fn the_store_is_no_output() {
    let bed = Bed::new();
    bed.run(&["dd", "if=/dev/zero", "of=/dev/null", "count=1"])
        .assert_code(0);
    let before = fs::read(bed.store()).expect("a store");
    let link = bed.join("link");
    std::os::unix::fs::symlink(bed.store(), &link).expect("a link");
    for path in [bed.store(), link] {
        let of = format!("of={}", text(&path));
        let refusal = bed.refused(&["dd", "if=/dev/zero", &of, "count=1", "conv=notrunc"]);
        assert!(refusal.contains("is the store"), "{refusal}");
    }
    let appends = fs::OpenOptions::new().append(true).open(bed.store());
    let mut command = bed.command(&["dd", "if=/dev/zero", "count=1"]);
    let ended = command.stdout(appends.expect("it is there")).output();
    assert_eq!(ended.expect("it starts").status.code(), Some(2));
    let is_same = fs::read(bed.store()).expect("a store") == before;
    assert!(is_same, "the store was written");
    let new = bed.join("new.sqlite");
    let of = format!("of={}", text(&new));
    let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
    command.args(["dd", "--store", text(&new), "if=/dev/zero", &of, "count=1"]);
    let refusal = crate::assay::Running::start(&mut command).end().refusal();
    assert!(refusal.contains("is the store"), "{refusal}");
    assert!(!new.exists());
}

#[test]
fn a_ladder_that_is_refused_shows_no_table() {
    assay_testkit::needs!(root);
    let bed = Bed::new();
    let folder = assay_testkit::Scratch::new().expect("a folder");
    let device = assay_testkit::or_skip!(assay_testkit::LoopDevice::new(&folder, "image", 8));
    let _held = rustix::fs::open(
        device.node(),
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::EXCL,
        rustix::fs::Mode::empty(),
    )
    .expect("it is free");
    let of = format!("of={}", text(device.node()));
    let ended = bed.run(&["dd", "--ladder", "--destroy-data", &of, "count=1"]);
    ended.assert_code(2);
    assert_eq!(ended.out, "", "a table of nothing");
}
