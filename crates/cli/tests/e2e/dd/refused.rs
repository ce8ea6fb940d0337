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
