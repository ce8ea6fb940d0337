//! Letters that assay's iozone writes below its table: what each cell measured.

use super::sizes;
use std::collections::HashMap;

/// Inverse of the letters of `dialects::iozone::marks`.
const LETTERS: [(&str, &str); 5] = [
    ("D", "device"),
    ("d", "device-unflushed"),
    ("P", "page-cache"),
    ("M", "mixed"),
    ("?", "unknown"),
];

/// Marks by sizes and test.
#[derive(Debug, Default)]
pub(super) struct Marks {
    tests: Vec<String>,
    cells: HashMap<(String, String), String>,
}

impl Marks {
    pub(super) fn line(&mut self, line: &str) {
        let Some(rest) = line.trim_start().strip_prefix("# ") else {
            return;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        match &words[..] {
            ["kB", "reclen", tests @ ..] => {
                self.tests = tests.iter().map(|&test| name(test).to_owned()).collect();
            }
            [file, record, letters @ ..] if letters.len() == self.tests.len() => {
                for (letter, test) in letters.iter().zip(&self.tests) {
                    let label = LETTERS.iter().find(|(known, _)| known == letter);
                    if let Some((_, label)) = label {
                        let of = (sizes(file, record), test.clone());
                        self.cells.insert(of, (*label).to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub(super) fn of(&self, sizes: &str, test: &str) -> Option<String> {
        self.cells
            .get(&(sizes.to_owned(), test.to_owned()))
            .cloned()
    }
}

/// The column's name for a test, which is one word in the marks.
fn name(test: &str) -> &str {
    match test {
        "random-read" => "random read",
        "random-write" => "random write",
        "backward-read" => "bkwd read",
        "record-rewrite" => "record rewrite",
        "stride-read" => "stride read",
        other => other,
    }
}
