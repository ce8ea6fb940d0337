//! Lists, names, tags and notes of stored runs, removing them, and where a report goes.

use crate::assay::{Bed, Running, text};
use std::fs;

/// A store with one short run that is called `base`, and its id.
fn named() -> (Bed, String) {
    let bed = Bed::new();
    let words = [
        "--size",
        "4M",
        "--trials",
        "1",
        "--only",
        "rand-read-4k",
        "--name",
        "base",
        "--tag",
        "nightly",
        "--tag",
        "=1+1",
        "--note",
        "<b>two\nlines</b>",
    ];
    let ended = bed.qualify(&bed.folder(), &words).end();
    ended.assert_code(0);
    let id = ended.run_id().expect("an id").to_owned();
    (bed, id)
}

fn listed(bed: &Bed, words: &[&str]) -> serde_json::Value {
    let list = bed.run(&[&["list", "--json"], words].concat());
    list.assert_code(0);
    serde_json::from_str(&list.out).expect("JSON")
}

#[test]
fn a_name_stands_for_its_run_until_another_gets_it() {
    let (bed, first) = named();
    let second = bed.short_run(&bed.folder_named("second"));
    let second = second.run_id().expect("an id");
    let shown = bed.run(&["report", "base"]);
    shown.assert_code(0);
    assert!(shown.out.contains(&first), "{}", shown.out);
    assert!(shown.out.contains("Tags  =1+1, nightly"), "{}", shown.out);
    let line = bed.refused(&["store", "tag", second, "--name", "base"]);
    assert!(
        line.contains(&format!("{first} is called 'base' already")),
        "{line}"
    );
    bed.run(&["store", "tag", "base", "--no-name"])
        .assert_code(0);
    bed.run(&["store", "tag", second, "--name", "base"])
        .assert_code(0);
    assert!(bed.run(&["report", "base"]).out.contains(second));
    let folder = bed.folder_named("third");
    let line = bed.refused(&["qualify", text(&folder), "--name", "base"]);
    assert!(line.contains("is called 'base' already"), "{line}");
    assert_eq!(listed(&bed, &[])["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn hostile_names_are_refused_and_hostile_tags_cannot_steer_the_terminal() {
    let (bed, _) = named();
    let long = "x".repeat(10_000);
    for name in ["", "last", "a@b", "a/b", "a\nb", "\u{1b}[2J", &long] {
        let ended = bed.run(&["store", "tag", "base", "--name", name]);
        ended.assert_code(2);
        let err = ended.err.join("\n");
        assert!(!err.contains('\u{1b}'), "{err}");
    }
    bed.run(&["store", "tag", "base", "--tag", "\u{1b}]0;x\u{7}"])
        .assert_code(2);
    bed.run(&[
        "store",
        "tag",
        "base",
        "--name",
        "=HYPERLINK(\"x\") <script>",
    ])
    .assert_code(0);
    let list = bed.run(&["list"]);
    assert_eq!(list.out.lines().count(), 2, "{}", list.out);
}

#[test]
fn the_list_answers_with_figure_and_evidence_and_can_be_filtered() {
    let (bed, id) = named();
    let list = bed.run(&["list"]);
    for word in [
        "KEY FIGURE",
        "MEASURED",
        "qualify",
        "base",
        "rand-read-4k ",
        "4 MiB",
    ] {
        assert!(list.out.contains(word), "{word}: {}", list.out);
    }
    let all = listed(&bed, &[]);
    assert_eq!(all["schema"], 1);
    let run = &all["runs"][0];
    assert_eq!(
        (&run["id"], &run["name"]),
        (&id.clone().into(), &"base".into())
    );
    assert_eq!(run["file_size_bytes"], 4 << 20);
    assert_eq!(run["key_figure"]["metric"], "read_iops");
    for (words, count) in [
        (["--command", "qualify"], 1),
        (["--command", "sweep"], 0),
        (["--text", "NIGHTLY"], 1),
        (["--text", "absent"], 0),
        (["--since", "1h"], 1),
        (["--since", "2200-01-01"], 0),
        (["--device", "no such device"], 0),
    ] {
        let runs = listed(&bed, &words)["runs"].as_array().map(Vec::len);
        assert_eq!(runs, Some(count), "{words:?}");
    }
    bed.refused(&["list", "--since", "yesterday"]);
}

#[test]
fn rm_removes_all_or_nothing() {
    let (bed, id) = named();
    let line = bed.refused(&["store", "rm", "base", "nosuch"]);
    assert!(line.contains("nosuch"), "{line}");
    assert_eq!(listed(&bed, &[])["runs"].as_array().map(Vec::len), Some(1));
    let removed = bed.run(&["store", "rm", "base", &id]);
    removed.assert_code(0);
    let said = removed.err.join("\n");
    assert!(said.contains(&format!("removed run {id} (base)")), "{said}");
    assert_eq!(listed(&bed, &[])["runs"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_report_without_a_file_is_shown() {
    let (bed, id) = named();
    let folder = bed.join("empty");
    fs::create_dir(&folder).expect("a folder");
    let mut shown = bed.command(&["report", "base"]);
    let shown = Running::start(shown.current_dir(&folder)).end();
    shown.assert_code(0);
    assert!(shown.out.contains(&id), "{}", shown.out);
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    let json = bed.run(&["report", "base", "--json"]);
    assert_eq!(
        json.out,
        bed.run(&["report", "base", "--format", "json"]).out
    );
}

#[test]
fn a_table_that_is_not_understood_is_told_its_columns() {
    let bed = Bed::new();
    let table = bed.join("x.csv");
    fs::write(&table, "when,what\n1,2\n").expect("a file");
    let line = bed.refused(&["store", "import", text(&table)]);
    for word in ["condition,metric,unit,value", "bfq,seq_read,MB/s,166"] {
        assert!(line.contains(word), "{line}");
    }
}
