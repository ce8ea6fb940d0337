//! A part that is better in one kind of work and worse in another: the comparison names
//! both, in every output.

use crate::assay::{Bed, Ended, text};
use std::fs;

/// A part as assay knows it.
const A: &str = include_str!("../../../flash/parts/emmc-8gb-hs400.toml");
/// What B has instead: its cache is emptied in half of the time, and flushed in ten times
/// as much.
const B: [(&str, &str); 2] = [
    ("drain_us = 8.0", "drain_us = 4.0"),
    ("flush_us = 400.0", "flush_us = 4000.0"),
];

fn qualify(bed: &Bed, name: &str, part: &str, seed: &str) -> String {
    let file = bed.join(name);
    fs::write(&file, part).expect("a part");
    let ended = bed.run(&[
        "qualify",
        &format!("sim:{},noise=5", text(&file)),
        "--quick",
        "--trials",
        "6",
        "--seed",
        seed,
        "--only",
        "seq-*,append-4k-fsync,rand-read-4k",
    ]);
    ended.assert_code(0);
    ended.run_id().expect("it is stored").to_owned()
}

/// What was printed, in one line.
fn flowing(ended: &Ended) -> String {
    ended.assert_code(0);
    ended.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_part_with_better_rates_and_worse_flushes_is_called_neither() {
    let bed = Bed::new();
    let other = B.iter().fold(A.to_owned(), |part, (from, to)| {
        assert!(part.contains(from), "{from}");
        part.replace(from, to)
    });
    let (a, b) = (
        qualify(&bed, "a.toml", A, "1"),
        qualify(&bed, "b.toml", &other, "2"),
    );
    let compare = |words: &[&str]| bed.run(&[&["compare", &a, &b], words].concat());
    let contradiction = "No one word holds for B: it is faster in “Sequential”, but slower in \
                         “Small durable writes”";
    let shown = flowing(&compare(&[]));
    assert!(shown.contains(contradiction), "{shown}");
    let json = compare(&["--json"]).json();
    let said = json["contradiction"].as_str().expect("it is told");
    assert!(said.starts_with(contradiction), "{said}");
    let page = bed.join("page.html");
    compare(&["-o", text(&page)]).assert_code(0);
    let page = fs::read_to_string(&page).expect("it was written");
    assert!(page.contains(contradiction));

    // The part against itself has none.
    let same = qualify(&bed, "a.toml", A, "3");
    let json = bed.run(&["compare", &a, &same, "--json"]).json();
    assert!(json["contradiction"].is_null(), "{json:#}");
}
