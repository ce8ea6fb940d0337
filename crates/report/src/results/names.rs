//! Sources of a comparison, and the names of its sides: what the user calls them, else what tells
//! them apart.
//!
//! Columns, legends, sentences and charts take the names from here. Data for programs says A and B.

use crate::words::labels::maker_and_model;
use crate::words::{clean, shorten, width};
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_model::storage::Backing;
use std::collections::BTreeSet;

/// Source of figures.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSource<'a> {
    /// Name in the user's words.
    pub name: &'a str,
    /// Name that does not depend on the user's words: of a run or an import, else its id; path of a
    /// file.
    pub lasting_name: &'a str,
    /// Figures of the source, of one condition.
    pub figures: &'a [Figure],
    /// Run of the figures; `None` for imported results.
    pub run: Option<&'a Run>,
    /// Tool, kernel and command line stated in imported results, one line each.
    pub circumstances: &'a [String],
}

impl ComparedSource<'_> {
    /// Returns the condition, if one was named.
    pub fn condition(&self) -> Option<&str> {
        self.name.rsplit_once('@').map(|(_, condition)| condition)
    }

    /// Identifies a run by its id and a file by its name without directories; with the condition,
    /// if one was named. Safe to display.
    pub fn known_by(&self) -> String {
        let (name, condition) = match self.name.rsplit_once('@') {
            Some((name, condition)) => (name, format!("@{condition}")),
            None => (self.name, String::new()),
        };
        let file = name.rsplit('/').next().unwrap_or_default();
        let name = self.run.map_or(file, |run| &run.header.id);
        clean(&format!("{name}{condition}"))
    }
}

/// Maximum width of a name, in columns.
const LONGEST: usize = 14;

/// Reads a name of one kind from a source.
type NameOf = fn(&ComparedSource<'_>) -> Option<String>;

/// Kinds of names that tell sides apart which have no name of their own, the first one that does.
const DIFFERENT: [NameOf; 3] = [
    |source| source.condition().map(str::to_owned),
    |source| model(source.run?),
    |source| Some(source.run?.header.system.kernel.clone()),
];

/// Returns the letters of the sides.
pub fn letters() -> [String; 2] {
    ["A", "B"].map(str::to_owned)
}

/// Returns short names of both sides that differ, safe to display; letters if there are none.
pub fn of_sides(a: &[ComparedSource<'_>], b: &[ComparedSource<'_>]) -> [String; 2] {
    of_all(&[a, b])
        .and_then(|names| names.try_into().ok())
        .unwrap_or_else(letters)
}

/// Returns short names of several sides that all differ, safe to display; `None` if there are none.
pub fn of_all(sides: &[&[ComparedSource<'_>]]) -> Option<Vec<String>> {
    let common = |side: &[ComparedSource<'_>], of: NameOf| {
        let mut names = side.iter().map(of);
        let first = names.next()??;
        names
            .all(|name| name.as_ref() == Some(&first))
            .then_some(first)
    };
    let of_kind = |of: NameOf| {
        let names: Option<Vec<String>> = sides.iter().map(|side| common(side, of)).collect();
        distinct(&names?)
    };
    let mixed = |kinds: [bool; 2]| {
        let name = |at: usize| {
            let own = || common(sides[at], own_name).filter(|_| kinds[0]);
            let file = || common(sides[at], file).filter(|_| kinds[1]);
            own().or_else(|| own_tag(sides, at)).or_else(file)
        };
        let names: Option<Vec<String>> = (0..sides.len()).map(name).collect();
        distinct(&names?)
    };
    of_kind(own_name)
        .or_else(|| mixed([false, false]))
        .or_else(|| of_kind(file))
        .or_else(|| mixed([true, true]))
        .or_else(|| DIFFERENT.into_iter().find_map(of_kind))
}

fn own_name(source: &ComparedSource<'_>) -> Option<String> {
    source.run?.annotation.name.clone()
}

/// Returns the path of a file without its ending, or the name of an import.
fn file(source: &ComparedSource<'_>) -> Option<String> {
    let is_file = source.run.is_none();
    let name = source.lasting_name;
    let stem = name.rsplit_once('.').filter(|(stem, ending)| {
        !stem.is_empty() && !ending.is_empty() && ending.chars().all(char::is_alphabetic)
    });
    is_file.then(|| stem.map_or(name, |(stem, _)| stem).to_owned())
}

/// Returns the first tag that all runs of a side have, and no run of another side.
fn own_tag(sides: &[&[ComparedSource<'_>]], at: usize) -> Option<String> {
    let has = |source: &ComparedSource<'_>, tag: &String| {
        source
            .run
            .is_some_and(|run| run.annotation.tags.contains(tag))
    };
    let first = sides[at].first()?.run?;
    let mut tags = first.annotation.tags.iter();
    let tag = tags.find(|tag| {
        let mut sides = sides.iter().enumerate();
        sides.all(|(side, sources)| match side == at {
            true => sources.iter().all(|source| has(source, tag)),
            false => !sources.iter().any(|source| has(source, tag)),
        })
    });
    tag.cloned()
}

fn model(run: &Run) -> Option<String> {
    let storage = &run.header.storage;
    match &storage.backing {
        Backing::Simulated { part } => Some(part.clone()),
        _ => maker_and_model(&storage.device()?.identity),
    }
}

/// Shortens names to what distinguishes them; `None` if they do not differ.
fn distinct(names: &[String]) -> Option<Vec<String>> {
    let mut names: Vec<String> = names.iter().map(|name| clean(name.trim())).collect();
    if names.iter().all(|name| name.contains('=')) {
        let is_of_all = |subject: &str| {
            let subject_of =
                |part: &str| part.rsplit_once('=').map(|(subject, _)| subject.to_owned());
            let mut names = names.iter();
            names.all(|name| {
                let mut parts = name.split(',');
                parts.any(|part| subject_of(part).is_some_and(|of| of == subject))
            })
        };
        // A number says nothing without its setting.
        let told = |setting: &&str| match setting.rsplit_once('=') {
            Some((subject, value))
                if is_of_all(subject) && !value.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                value.to_owned()
            }
            _ => (*setting).to_owned(),
        };
        names = own_parts(&names, ',', |parts| {
            parts.iter().map(told).collect::<Vec<_>>().join(",")
        });
    }
    if names.iter().any(|name| name.contains('/')) {
        names = own_parts(&names, '/', |parts| {
            parts.last().copied().unwrap_or_default().to_owned()
        });
    }
    if names.iter().any(|name| width(name) > LONGEST) {
        names = own_parts(&names, '-', |parts| shorten(&parts.join("-"), LONGEST));
    }
    let differ: BTreeSet<&String> = names.iter().collect();
    let complete = names.iter().all(|name| !name.is_empty());
    (complete && differ.len() == names.len()).then_some(names)
}

/// Joins the parts of each name that not all names have.
fn own_parts(names: &[String], between: char, join: impl Fn(&[&str]) -> String) -> Vec<String> {
    let is_common = |part: &str| {
        names
            .iter()
            .all(|name| name.split(between).any(|own| own == part))
    };
    let own = names.iter().map(|name| {
        let parts = name.split(between).filter(|part| !is_common(part));
        join(&parts.collect::<Vec<_>>())
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::Sides;

    fn shown(names: [&str; 2]) -> Option<[String; 2]> {
        distinct(&names.map(str::to_owned))?.try_into().ok()
    }

    #[test]
    fn names_are_shortened_to_what_differs() {
        for (names, expected) in [
            (["before", "after"], ["before", "after"]),
            (["old/result", "new/result"], ["old", "new"]),
            (["/t/before", "/t/after"], ["before", "after"]),
            (
                [
                    "scheduler=bfq,read_ahead_kb=128",
                    "scheduler=none,read_ahead_kb=128",
                ],
                ["bfq", "none"],
            ),
            (
                ["read_kb=512", "read_kb=128"],
                ["read_kb=512", "read_kb=128"],
            ),
            (["a=bfq", "b=bfq"], ["a=bfq", "b=bfq"]),
            (
                ["6.1.55-rpi-v8-stock", "6.1.55-rpi-v8-patched"],
                ["stock", "patched"],
            ),
        ] {
            assert_eq!(shown(names), Some(expected.map(str::to_owned)));
        }
        for same in [["", "x"], ["a", "a"], ["a", "b/a"], ["\u{1b}", "\u{1b} "]] {
            assert_eq!(shown(same), None, "{same:?}");
        }
    }

    #[test]
    fn a_name_of_the_user_comes_before_a_tag_and_a_tag_before_the_kernel() {
        let mut sides = Sides::new();
        assert_eq!(sides.compared().names, ["6.6.63", "6.6.8-board"]);
        sides.a.annotation.tags = vec!["nightly".to_owned(), "stock".to_owned()];
        sides.b.annotation.tags = vec!["nightly".to_owned(), "patched".to_owned()];
        assert_eq!(sides.compared().names, ["stock", "patched"]);
        sides.a.annotation.name = Some("before".to_owned());
        assert_eq!(sides.compared().names, ["stock", "patched"]);
        sides.a.annotation.tags.clear();
        sides.b.annotation.tags = vec!["patched".to_owned()];
        assert_eq!(sides.compared().names, ["before", "patched"]);
        sides.b.annotation.name = Some("after".to_owned());
        assert_eq!(sides.compared().names, ["before", "after"]);
    }

    #[test]
    fn parts_are_called_by_their_models_though_the_kernels_differ() {
        let mut sides = Sides::new();
        sides.b.header.storage.backing = Backing::Simulated {
            part: "other-part".to_owned(),
        };
        let [_, b] = sides.compared().names;
        assert_eq!(b, "other-part");
    }

    #[test]
    fn sides_without_a_difference_have_letters() {
        let mut sides = Sides::new();
        sides
            .b
            .header
            .system
            .kernel
            .clone_from(&sides.a.header.system.kernel);
        assert_eq!(sides.compared().names, letters());
    }
}
