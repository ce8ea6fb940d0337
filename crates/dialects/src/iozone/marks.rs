//! Labels of cells: a letter at the position of each figure of iozone's table. Each line begins
//! with `#`, so that no program reads it as a row.

use super::Output;
use super::table::columns;
use assay_model::act::iozone::{IozoneRow, Test};

/// Letters of the labels.
pub(crate) const LETTERS: [(&str, &str); 6] = [
    ("device", "D"),
    ("device-unflushed", "d"),
    ("page-cache", "P"),
    ("mixed", "M"),
    ("differs", "x"),
    ("unknown", "?"),
];

/// Formats the labels of all cells, without the last line break. `label` returns the common label
/// of a cell's trials; `None` if the cell was not run or has no evidence.
pub fn marks(
    output: &Output,
    tests: &[Test],
    rows: &[IozoneRow],
    label: impl Fn(Test, IozoneRow) -> Option<String>,
) -> String {
    let shown: Vec<Test> = columns(output)
        .into_iter()
        .filter(|test| tests.contains(test))
        .collect();
    let mut text =
        "# What was measured: D device, d device but not all of it flushed, P page cache,\n\
         # M both, x not the same in all trials, ? unknown\n"
            .to_owned();
    let mut head = format!("# {:>14}{:>8}", "kB", "reclen");
    for test in &shown {
        head.push_str(&format!(" {test:>width$}", width = width(*test)));
    }
    text.push_str(&head);
    text.push('\n');
    for &row in rows {
        let letters: Vec<String> = shown
            .iter()
            .map(|&test| {
                let letter = label(test, row).map_or("-", |label| letter(&label));
                format!(" {letter:>width$}", width = width(test))
            })
            .collect();
        text.push_str(&format!(
            "# {:14}{:8}{}\n",
            row.file_kib,
            row.record_kib,
            letters.concat()
        ));
    }
    text.pop();
    text
}

fn width(test: Test) -> usize {
    test.name().len().max(5)
}

fn letter(label: &str) -> &'static str {
    let known = LETTERS.iter().find(|(word, _)| *word == label);
    known.map_or("?", |(_, letter)| letter)
}
