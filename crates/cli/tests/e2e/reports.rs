//! `assay report` of two runs, of all runs, and of one that did not end.

use crate::assay::{Bed, text};
use serde_json::Value;
use std::fs;

/// Two runs of the same job.
fn two_runs() -> (Bed, [String; 2]) {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["--size", "1M", "--trials", "4", "--only", "rand-read-4k"];
    let ids = [(); 2].map(|()| {
        let ended = bed.qualify(&folder, &words).end();
        ended.assert_code(0);
        ended.run_id().expect("a run").to_owned()
    });
    (bed, ids)
}

#[test]
fn a_comparison_is_a_page_that_begins_with_the_verdict() {
    let (bed, [a, b]) = two_runs();
    let path = bed.join("compared.html");
    bed.run(&["report", &a, &b, "-o", text(&path)])
        .assert_code(0);
    let page = fs::read_to_string(&path).unwrap();
    let verdict = page.find("<section id=\"verdict\"").unwrap();
    assert_eq!(page.find("<section"), Some(verdict), "it is the first");
    for word in [
        "rand-read-4k: read_iops",
        "id=\"sides\"",
        "id=\"latency\"",
        "Believe it?",
    ] {
        assert!(page.contains(word), "{word}");
    }
    // The words are those of assay compare.
    let path = bed.join("compared.json");
    bed.run(&["report", &a, &b, "-o", text(&path)])
        .assert_code(0);
    let json: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(json, bed.run(&["compare", &a, &b, "--json"]).json());
    let line = &json["pairs"][0];
    assert!(page.contains(line["verdict"].as_str().unwrap()), "{line}");
}

#[test]
fn a_margin_that_is_wider_makes_another_verdict() {
    let (bed, [a, b]) = two_runs();
    let path = bed.join("x.html");
    let words = ["report", &a, &b, "--margin", "90", "-o", text(&path)];
    bed.run(&words).assert_code(0);
    assert!(fs::read_to_string(&path).unwrap().contains("within 90 %"));
}

#[test]
fn all_runs_are_a_folder_with_a_list() {
    let (bed, ids) = two_runs();
    let folder = bed.join("reports");
    let words = ["report", "--all", text(&folder)];
    let ended = bed.run(&words);
    ended.assert_code(0);
    assert_eq!(ended.out, "");
    let index = fs::read_to_string(folder.join("index.html")).unwrap();
    for id in &ids {
        assert!(index.contains(&format!("href=\"{id}.html\"")), "{id}");
        let page = fs::read_to_string(folder.join(format!("{id}.html"))).unwrap();
        assert!(page.contains("id=\"summary\"") && page.contains("application/zip"));
    }
    bed.run(&words).assert_code(0);
    let said = bed.refused(&["report", "--all", text(&folder), &ids[0]]);
    assert!(said.contains("cannot be used together"), "{said}");
}

#[test]
fn a_comparison_is_no_table_of_trials_and_takes_two() {
    let (bed, [a, b]) = two_runs();
    let path = bed.join("x.csv");
    let said = bed.refused(&["report", &a, &b, "-o", text(&path)]);
    let expected = "a comparison cannot be written as csv: it can be html";
    assert!(said.contains(expected) && !path.exists(), "{said}");
    let said = bed.refused(&["report", &a, &b, &a, "-o", text(&path)]);
    assert!(said.contains("unexpected value"), "{said}");
    let said = bed.refused(&["report", "--all", text(&path), "-o", text(&path)]);
    assert!(said.contains("cannot be used together"), "{said}");
}
